//! What a tree lacks of what a laboratory kernel has, looked up in its own Kconfig files before anything is compiled:
//! filesystems come and go from release to release, and a user's tree may be anything.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::fragment;
use fsverdict_linux::host::beneath::Beneath;

/// Bytes of one Kconfig file, and of all of them; Linux 6.12 has 4 MiB of them.
const LARGEST: u64 = 4 << 20;
const ALL: usize = 64 << 20;
/// Folders that are looked into, and how deep they lie; Linux 6.12 has 5,000.
const MOST_FOLDERS: usize = 20_000;
const DEEPEST: usize = 12;

/// An option that no Kconfig file of a tree knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lack {
    /// `CONFIG_…`.
    pub symbol: &'static str,
    /// Since when, or until when, Linux has it, where that is known.
    pub note: &'static str,
}

/// What a tree does not know of the options a kernel is to have.
pub(super) fn lacking(tree: &Path) -> std::io::Result<Vec<Lack>> {
    let known = symbols(tree)?;
    let wanted =
        fragment::wanted().filter(|(symbol, _)| !known.contains(symbol.trim_start_matches("CONFIG_")));
    Ok(wanted.map(|(symbol, note)| Lack { symbol, note }).collect())
}

/// Every symbol that a Kconfig file of a tree defines. The tree is a stranger's: no link is followed, and no file of his is
/// read that is larger than such files are.
fn symbols(tree: &Path) -> std::io::Result<BTreeSet<String>> {
    let opened = Beneath::open(tree)?;
    let mut symbols = BTreeSet::new();
    let (mut looked, mut bytes) = (0, 0);
    let mut folders = vec![PathBuf::from(".")];
    while let Some(folder) = folders.pop() {
        looked += 1;
        if looked > MOST_FOLDERS {
            break;
        }
        for name in opened.list_names(&folder) {
            let path = folder.join(&name);
            if name.starts_with("Kconfig") && bytes < ALL {
                let Ok(text) = opened.read_file(&path, LARGEST) else { continue };
                bytes += text.len();
                symbols.extend(defined(&String::from_utf8_lossy(&text)).map(str::to_owned));
            } else if !name.contains('.') && path.components().count() <= DEEPEST && opened.is_folder(&path) {
                folders.push(path);
            }
        }
    }
    Ok(symbols)
}

/// The symbols that a Kconfig file defines (Documentation/kbuild/kconfig-language.rst).
fn defined(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        let is_definition = words.next().is_some_and(|word| ["config", "menuconfig"].contains(&word));
        words.next().filter(|_| is_definition)
    })
}

#[cfg(test)]
mod tests {
    use super::{Lack, lacking};

    #[test]
    fn what_a_tree_does_not_define_is_lacking_and_links_define_nothing() {
        let place = tempfile::tempdir().unwrap();
        let tree = place.path().join("tree");
        std::fs::create_dir_all(tree.join("fs/some")).unwrap();
        let all: String = crate::kernel::fragment::wanted()
            .map(|(symbol, _)| symbol.trim_start_matches("CONFIG_"))
            .filter(|symbol| !symbol.starts_with("REISERFS_FS"))
            .map(|symbol| format!("config {symbol}\n\tbool \"x\"\n\thelp\n\t  config REISERFS_FS_not\n"))
            .collect();
        std::fs::write(tree.join("fs/some/Kconfig"), all.replace("config XFS_FS\n", "menuconfig XFS_FS\n"))
            .unwrap();
        let outside = place.path().join("outside");
        std::fs::create_dir(&outside).unwrap();
        std::fs::write(outside.join("Kconfig"), "config REISERFS_FS\n").unwrap();
        std::os::unix::fs::symlink(&outside, tree.join("fs/reiserfs")).unwrap();
        std::os::unix::fs::symlink(outside.join("Kconfig"), tree.join("fs/Kconfig")).unwrap();
        let found = lacking(&tree).unwrap();
        assert_eq!(found[0], Lack { symbol: "CONFIG_REISERFS_FS", note: "Linux 6.13 dropped it" });
        assert!(found.iter().all(|lack| lack.symbol.starts_with("CONFIG_REISERFS_FS")), "{found:?}");
        std::fs::write(tree.join("fs/Kconfig.more"), "config REISERFS_FS\n").unwrap();
        assert!(!lacking(&tree).unwrap().contains(&found[0]));
    }
}

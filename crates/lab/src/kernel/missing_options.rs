//! Finds the options of a laboratory kernel that a source tree does not know, in its Kconfig files and before
//! anything is compiled: filesystems come and go between releases, and a user may name any tree.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::fragment;
use fsverdict_folders::FolderHandle;

/// Bytes of one Kconfig file, and of all of them; Linux 6.12 has 4 MiB of them.
const LARGEST: u64 = 4 << 20;
const ALL: usize = 64 << 20;
/// Folders that are looked into, and how deep they lie; Linux 6.12 has 5,000.
const MOST_FOLDERS: usize = 20_000;
const DEEPEST: usize = 12;

/// An option that no Kconfig file of a tree knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingOption {
    /// `CONFIG_…`.
    pub symbol: &'static str,
    /// Since when, or until when, Linux has it, where that is known.
    pub note: &'static str,
}

/// Finds the wanted options that no Kconfig file of a tree defines.
pub(super) fn find_missing_options(tree: &Path) -> std::io::Result<Vec<MissingOption>> {
    let known = read_kconfig_symbols(tree)?;
    let wanted = fragment::wanted_options()
        .filter(|(symbol, _)| !known.contains(symbol.trim_start_matches("CONFIG_")));
    Ok(wanted.map(|(symbol, note)| MissingOption { symbol, note }).collect())
}

/// Every symbol that a Kconfig file of a tree defines. The tree is a stranger's: no link is followed, and no file of his is
/// read that is larger than such files are.
fn read_kconfig_symbols(tree: &Path) -> std::io::Result<BTreeSet<String>> {
    let opened = FolderHandle::open_untrusted(tree)?;
    let mut symbols = BTreeSet::new();
    let (mut looked, mut bytes) = (0, 0);
    let mut folders = vec![PathBuf::from(".")];
    while let Some(folder) = folders.pop() {
        looked += 1;
        if looked > MOST_FOLDERS {
            break;
        }
        for name in opened.list_names_in(&folder) {
            let path = folder.join(&name);
            if name.starts_with("Kconfig") && bytes < ALL {
                let Ok(text) = opened.read_file(&path, LARGEST) else { continue };
                bytes += text.len();
                symbols.extend(parse_definitions(&String::from_utf8_lossy(&text)).map(str::to_owned));
            } else if !name.contains('.') && path.components().count() <= DEEPEST && opened.is_folder(&path) {
                folders.push(path);
            }
        }
    }
    Ok(symbols)
}

/// The symbols that a Kconfig file defines (Documentation/kbuild/kconfig-language.rst).
fn parse_definitions(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        let is_definition = words.next().is_some_and(|word| ["config", "menuconfig"].contains(&word));
        words.next().filter(|_| is_definition)
    })
}

#[cfg(test)]
mod tests {
    use super::{MissingOption, find_missing_options};

    #[test]
    fn what_a_tree_does_not_define_is_lacking_and_links_define_nothing() {
        let place = tempfile::tempdir().unwrap();
        let tree = place.path().join("tree");
        std::fs::create_dir_all(tree.join("fs/some")).unwrap();
        let all: String = crate::kernel::fragment::wanted_options()
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
        let found = find_missing_options(&tree).unwrap();
        assert_eq!(found[0], MissingOption { symbol: "CONFIG_REISERFS_FS", note: "Linux 6.13 dropped it" });
        assert!(found.iter().all(|lack| lack.symbol.starts_with("CONFIG_REISERFS_FS")), "{found:?}");
        std::fs::write(tree.join("fs/Kconfig.more"), "config REISERFS_FS\n").unwrap();
        assert!(!find_missing_options(&tree).unwrap().contains(&found[0]));
    }
}

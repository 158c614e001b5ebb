//! Emptying the kernel's caches, so that a cold phase reads from the device.

use std::io;
use std::path::Path;

use super::root::Root;

const DROP_CACHES: &str = "proc/sys/vm/drop_caches";

/// Why the caches could not be emptied.
#[derive(Debug, thiserror::Error)]
#[error("cannot drop the kernel's caches through {}: {source}\nhint: {hint}", file.display())]
pub struct CachesError {
    file: std::path::PathBuf,
    source: io::Error,
    hint: &'static str,
}

/// Drops clean pages, directory entries and inodes of the whole machine.
///
/// What is dirty is not dropped, nor what is in use: the filesystem under test is to be unmounted, and its device synced,
/// before. The machine's other filesystems are not: to wait for what others write would take as long as they like.
///
/// # Errors
/// When not root, or where the system forbids it (containers).
pub fn drop_caches(root: &Root) -> Result<(), CachesError> {
    let file = root.path(DROP_CACHES);
    std::fs::OpenOptions::new()
        .write(true)
        .open(&file)
        // 1: pages; 2: directory entries and inodes; 3: both.
        .and_then(|mut open| io::Write::write_all(&mut open, b"3\n"))
        .map_err(|source| CachesError { hint: hint(source.kind()), file, source })
}

/// Drops the clean pages of every file below a folder, one by one, which needs no root; names and attributes stay.
pub fn forget_contents(folder: &Path) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            forget_contents(&entry.path())?;
        } else if kind.is_file() {
            let file = std::fs::File::open(entry.path())?;
            rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed)?;
        }
    }
    Ok(())
}

fn hint(kind: io::ErrorKind) -> &'static str {
    match kind {
        io::ErrorKind::PermissionDenied => "this needs root; without, use the uml lab (--lab uml)",
        io::ErrorKind::ReadOnlyFilesystem => {
            "/proc/sys is read-only here, as in containers; use the uml lab (--lab uml)"
        }
        io::ErrorKind::NotFound => "is /proc mounted, and is it this kernel's?",
        _ => "without cold caches, reads would be timed from memory; use another lab (--lab uml)",
    }
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;

    use super::{DROP_CACHES, drop_caches, hint};
    use crate::host::root::fake_root;

    #[test]
    fn asks_for_all_caches() {
        let (_folder, root) = fake_root(&[(DROP_CACHES, "")]);
        drop_caches(&root).unwrap();
        assert_eq!(root.text(DROP_CACHES).unwrap(), "3\n");
    }

    #[test]
    fn says_what_to_do_when_it_cannot() {
        let (_folder, root) = fake_root(&[]);
        let shown = drop_caches(&root).unwrap_err().to_string();
        assert!(shown.contains("proc/sys/vm/drop_caches: No such file"), "{shown}");
        assert!(shown.contains("\nhint: is /proc mounted"), "{shown}");
        assert!(hint(ErrorKind::PermissionDenied).contains("root"));
        assert!(hint(ErrorKind::ReadOnlyFilesystem).contains("container"));
    }
}

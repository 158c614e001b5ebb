//! Emptying the kernel's caches, so that a cold phase reads from the device.

use std::io;
use std::path::Path;

use super::root::Root;

const DROP_CACHES: &str = "proc/sys/vm/drop_caches";

/// Drops clean pages, directory entries and inodes of the whole machine: for a folder on a filesystem that cannot be
/// unmounted.
///
/// # Errors
/// When not root, or where the system forbids it (containers).
pub fn drop_caches(root: &Root) -> io::Result<()> {
    // 1: pages; 2: directory entries and inodes; 3: both.
    std::fs::write(root.path(DROP_CACHES), "3\n")
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

#[cfg(test)]
mod tests {
    use super::{DROP_CACHES, drop_caches};
    use crate::host::root::fake_root;

    #[test]
    fn asks_for_all_caches() {
        let (_folder, root) = fake_root(&[(DROP_CACHES, "")]);
        drop_caches(&root).unwrap();
        assert_eq!(root.text(DROP_CACHES).unwrap(), "3\n");
    }
}

//! Lists a real folder into a [`Tree`] in the same order on every machine: by name, files before directories.

use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use rustix::fs::FileType;
use rustix::io::Errno;

use super::descriptor::{
    Listing, is_mount_root, open_directory_quietly, open_path_quietly, stat_entry, type_of,
};
use super::error::IoFailure;
use super::tree::{Directory, EntryKind, Tree, TreeEntry};

/// Lists the folder; sockets, pipes and devices are left out.
pub(crate) fn list_tree(path: &Path) -> Result<Tree, IoFailure> {
    let root = open_path_quietly(path)
        .map_err(|errno| IoFailure::new("open the directory", path.display().to_string(), errno))?;
    list_tree_of(root.as_fd()).map_err(|failure| failure.prefix_path(path))
}

/// The tree in a directory that is open for reading.
pub(crate) fn list_tree_of(root: BorrowedFd<'_>) -> Result<Tree, IoFailure> {
    let mut lister = Lister { tree: Tree::default(), listing: Listing::new(), linked: HashMap::new() };
    lister.list_directory(root, 0, c"", 0, None)?;
    Ok(lister.tree)
}

pub(crate) fn single_file_tree(size: u64, mode: u16) -> Tree {
    let mut tree = Tree::default();
    let name = tree.add_name(b"").unwrap_or_default();
    tree.directories.push(Directory { parent: 0, name, first: 0, count: 1, depth: 0, mode: 0o755 });
    tree.entries.push(TreeEntry { size, name, what: 0, mode, kind: EntryKind::File });
    tree
}

struct Lister {
    tree: Tree,
    listing: Listing,
    /// The first name of each file that has several, by inode.
    linked: HashMap<(u32, u32, u64), u32>,
}

impl Lister {
    fn list_directory(
        &mut self,
        here: BorrowedFd<'_>,
        parent: u32,
        name: &CStr,
        depth: u16,
        mode: Option<u16>,
    ) -> Result<(), IoFailure> {
        let number = self.tree.directories.len() as u32;
        let name = self.add_name(name.to_bytes())?;
        let first = self.tree.entries.len() as u32;
        let mode = mode.unwrap_or(0o755);
        self.tree.directories.push(Directory { parent, name, first, count: 0, depth, mode });
        let failed = |tree: &Tree, call, name: &CStr, errno| {
            let path = Path::new(&tree.directory_path(number as usize)).join(&*name.to_string_lossy());
            IoFailure::new(call, path.display().to_string(), errno)
        };
        let skip_lost_and_found = depth == 0 && is_mount_root(here);
        let mut names: Vec<CString> = Vec::new();
        let unread = |errno| failed(&self.tree, "list", c"", errno);
        self.listing.for_each_entry(here, unread, |name, _| {
            if !(skip_lost_and_found && name == c"lost+found") {
                names.push(name.to_owned());
            }
            Ok(())
        })?;
        names.sort_unstable();
        let mut below = Vec::new();
        for name in names {
            let status =
                stat_entry(here, &name).map_err(|errno| failed(&self.tree, "look at", &name, errno))?;
            let mode = status.stx_mode & 0o7777;
            let (kind, what, size) = match type_of(&status) {
                FileType::Directory => {
                    below.push((name, mode));
                    continue;
                }
                FileType::RegularFile => {
                    let number = self.tree.entries.len() as u32;
                    let identity = (status.stx_dev_major, status.stx_dev_minor, status.stx_ino);
                    let first = if status.stx_nlink > 1 {
                        *self.linked.entry(identity).or_insert(number)
                    } else {
                        number
                    };
                    let kind = if first == number { EntryKind::File } else { EntryKind::HardLink };
                    (kind, first, status.stx_size)
                }
                FileType::Symlink => {
                    let target = rustix::fs::readlinkat(here, &name, Vec::new())
                        .map_err(|errno| failed(&self.tree, "read the link", &name, errno))?;
                    (EntryKind::Symlink, self.add_name(target.as_bytes())?, 0)
                }
                _ => continue,
            };
            let name = self.add_name(name.as_bytes())?;
            self.tree.entries.push(TreeEntry { size, name, what, mode, kind });
        }
        self.tree.directories[number as usize].count = self.tree.entries.len() as u32 - first;
        for (name, mode) in below {
            let child = open_directory_quietly(here, &name)
                .map_err(|errno| failed(&self.tree, "open the directory", &name, errno))?;
            self.list_directory(child.as_fd(), number, &name, depth.saturating_add(1), Some(mode))?;
        }
        Ok(())
    }

    fn add_name(&mut self, name: &[u8]) -> Result<u32, IoFailure> {
        self.tree
            .add_name(name)
            .ok_or_else(|| IoFailure::new("list", "names of more than 4 GiB", Errno::OVERFLOW))
    }
}

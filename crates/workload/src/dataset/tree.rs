//! A tree in memory: directories in depth-first order, each followed by its entries; names lie in one arena.
//!
//! The same structure describes generated trees, flat directories, single files and staged folders. A million
//! files take some 40 MB, and the operations walk it as two arrays without looking anything up.

use std::ffi::CStr;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntryKind {
    /// A regular file; `what` identifies its content.
    File,
    /// Another name of an earlier file; `what` is that file's index.
    HardLink,
    /// A symbolic link; `what` is the offset of its target among the names.
    Symlink,
}

/// Anything in a directory that is not a directory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TreeEntry {
    /// Bytes (of the file linked to, for a hard link; 0 for a symbolic link).
    pub(crate) size: u64,
    pub(crate) name: u32,
    pub(crate) what: u32,
    pub(crate) mode: u16,
    pub(crate) kind: EntryKind,
}

/// A directory. The root is number 0; every directory comes right before those below it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Directory {
    /// Number of the directory it is in (its own for the root).
    pub(crate) parent: u32,
    /// Offset of its name (empty for the root).
    pub(crate) name: u32,
    pub(crate) first: u32,
    pub(crate) count: u32,
    pub(crate) depth: u16,
    pub(crate) mode: u16,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Names of regular files, further hard links included.
    pub files: u64,
    /// Directories, the root included.
    pub directories: u64,
    pub symlinks: u64,
    /// Further names of files already counted.
    pub hard_links: u64,
    /// Bytes of data in distinct files.
    pub bytes: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Tree {
    pub(crate) directories: Vec<Directory>,
    pub(crate) entries: Vec<TreeEntry>,
    /// NUL-terminated, one after the other.
    names: Vec<u8>,
}

impl Tree {
    /// Remembers a name and gives its offset; `None` when the names exceed 4 GiB.
    pub(crate) fn add_name(&mut self, name: &[u8]) -> Option<u32> {
        let offset = u32::try_from(self.names.len()).ok()?;
        self.names.extend_from_slice(name);
        self.names.push(0);
        Some(offset)
    }

    pub(crate) fn name_at(&self, offset: u32) -> &CStr {
        self.names
            .get(offset as usize..)
            .and_then(|rest| CStr::from_bytes_until_nul(rest).ok())
            .unwrap_or_default()
    }

    /// The entries of a directory, with the number of the first.
    pub(crate) fn entries_of(&self, directory: &Directory) -> &[TreeEntry] {
        let first = directory.first as usize;
        self.entries.get(first..first + directory.count as usize).unwrap_or_default()
    }

    pub(crate) fn directory_of(&self, entry: usize) -> usize {
        self.directories.partition_point(|directory| directory.first as usize <= entry).saturating_sub(1)
    }

    /// The path of a directory relative to the root, written to the end of `buffer` without allocation, NUL-terminated.
    fn path_into<'buffer>(
        &self,
        mut directory: usize,
        name: Option<u32>,
        buffer: &'buffer mut [u8; PATH_LIMIT],
    ) -> Option<&'buffer CStr> {
        let mut start = PATH_LIMIT - 1;
        buffer[start] = 0;
        let mut put = |part: &[u8], separate: bool| -> Option<usize> {
            if separate {
                start = start.checked_sub(1)?;
                buffer[start] = b'/';
            }
            start = start.checked_sub(part.len())?;
            buffer[start..start + part.len()].copy_from_slice(part);
            Some(start)
        };
        let mut begun = false;
        if let Some(name) = name {
            put(self.name_at(name).to_bytes(), false)?;
            begun = true;
        }
        while directory != 0 {
            let here = self.directories.get(directory)?;
            put(self.name_at(here.name).to_bytes(), begun)?;
            begun = true;
            directory = here.parent as usize;
        }
        CStr::from_bytes_until_nul(&buffer[start..]).ok()
    }

    /// The path of an entry relative to the root, in `buffer`; `None` when it is longer than Linux allows.
    pub(crate) fn entry_path_into<'buffer>(
        &self,
        entry: usize,
        buffer: &'buffer mut [u8; PATH_LIMIT],
    ) -> Option<&'buffer CStr> {
        self.path_into(self.directory_of(entry), Some(self.entries.get(entry)?.name), buffer)
    }

    /// The path of a directory relative to the root, in `buffer`; `None` when it is longer than Linux allows.
    pub(crate) fn directory_path_into<'buffer>(
        &self,
        directory: usize,
        buffer: &'buffer mut [u8; PATH_LIMIT],
    ) -> Option<&'buffer CStr> {
        self.path_into(directory, None, buffer)
    }

    /// Path of an entry relative to the root, for messages.
    pub(crate) fn entry_path(&self, entry: usize) -> String {
        let mut buffer = [0; PATH_LIMIT];
        self.entry_path_into(entry, &mut buffer)
            .map_or_else(|| "…".into(), |path| path.to_string_lossy().into_owned())
    }

    /// Path of a directory relative to the root, for messages.
    pub(crate) fn directory_path(&self, directory: usize) -> String {
        let mut buffer = [0; PATH_LIMIT];
        self.path_into(directory, None, &mut buffer)
            .map_or_else(|| "…".into(), |path| path.to_string_lossy().into_owned())
    }

    pub(crate) fn totals(&self) -> Totals {
        let mut totals = Totals { directories: self.directories.len() as u64, ..Totals::default() };
        for entry in &self.entries {
            match entry.kind {
                EntryKind::File => {
                    totals.files += 1;
                    totals.bytes += entry.size;
                }
                EntryKind::HardLink => {
                    totals.files += 1;
                    totals.hard_links += 1;
                }
                EntryKind::Symlink => totals.symlinks += 1,
            }
        }
        totals
    }

    #[cfg(test)]
    pub(crate) fn memory_bytes(&self) -> usize {
        self.names.capacity()
            + self.entries.capacity() * size_of::<TreeEntry>()
            + self.directories.capacity() * size_of::<Directory>()
    }
}

/// The longest path Linux takes, its NUL included.
pub(crate) const PATH_LIMIT: usize = 4096;

#[cfg(test)]
mod tests {
    use super::{Directory, EntryKind, Tree, TreeEntry};

    #[test]
    fn paths_and_owners_are_found_around_empty_directories() {
        let mut tree = Tree::default();
        let name = |tree: &mut Tree, text: &str| tree.add_name(text.as_bytes()).unwrap();
        for (text, parent, first, count, depth) in
            [("", 0, 0, 1, 0), ("a", 0, 1, 0, 1), ("b", 1, 1, 2, 2), ("c", 0, 3, 0, 1)]
        {
            let name = name(&mut tree, text);
            tree.directories.push(Directory { parent, name, first, count, depth, mode: 0o755 });
        }
        for text in ["x", "y", "z"] {
            let name = name(&mut tree, text);
            tree.entries.push(TreeEntry { size: 3, name, what: 0, mode: 0o644, kind: EntryKind::File });
        }
        assert_eq!(tree.entry_path(0), "x");
        assert_eq!(tree.entry_path(1), "a/b/y");
        assert_eq!(tree.entry_path(2), "a/b/z");
        assert_eq!(tree.directory_path(2), "a/b");
        assert_eq!(tree.totals().bytes, 9);
    }
}

//! Lists and measures the files of a user's folder, without changing the access times of its directories.

use std::convert::identity;
use std::ffi::{CStr, CString, OsStr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::rc::Rc;

use rustix::fs::FileType;
use rustix::io::Errno;
use xxhash_rust::xxh3::xxh3_64;

use super::descriptor::{
    Listing, open_directory, open_directory_below, open_directory_quietly, stat_entry, type_of,
};

/// A file of a folder that a sample is taken of.
pub(super) struct SampledFile {
    /// Its path in the folder.
    pub(super) directory: Rc<[u8]>,
    pub(super) name: CString,
    pub(super) size: u64,
}

impl SampledFile {
    /// The hash of its path.
    pub(super) fn hash(&self) -> u64 {
        xxh3_64(&join_name(&self.directory, &self.name))
    }
}

pub(super) struct Picker {
    pub(super) listing: Listing,
}

impl Picker {
    /// Names and types in a directory, types asked for where the filesystem does not volunteer them.
    fn list_entries(&mut self, here: BorrowedFd<'_>) -> Result<Vec<(CString, FileType)>, Errno> {
        let mut entries = Vec::new();
        // Opens the directory again: a descriptor that was read once stands at its end, and reading changes the access
        // time.
        let fresh = open_directory_quietly(here, c".")?;
        let keep = |name: &CStr, kind| {
            entries.push((name.to_owned(), kind));
            Ok(())
        };
        self.listing.for_each_entry(fresh.as_fd(), identity, keep)?;
        for (name, kind) in entries.iter_mut().filter(|(_, kind)| *kind == FileType::Unknown) {
            *kind = stat_entry(here, name).map_or(FileType::Unknown, |status| type_of(&status));
        }
        Ok(entries)
    }

    pub(super) fn list_directories(&mut self, here: BorrowedFd<'_>) -> Result<Vec<CString>, Errno> {
        let entries = self.list_entries(here)?.into_iter();
        Ok(entries.filter(|(_, kind)| *kind == FileType::Directory).map(|(name, _)| name).collect())
    }

    /// Bytes in a unit that this user can read; `None` when there are more than `room`.
    pub(super) fn unit_size(
        &mut self,
        root: BorrowedFd<'_>,
        path: &[u8],
        whole: bool,
        room: u64,
    ) -> Option<u64> {
        self.measure_files(open_unit(root, path).ok()?.as_fd(), whole, room)
    }

    pub(super) fn measure_files(&mut self, here: BorrowedFd<'_>, whole: bool, room: u64) -> Option<u64> {
        let mut bytes = 0u64;
        // A directory that cannot be listed or entered contributes nothing to the copy.
        for (name, kind) in self.list_entries(here).unwrap_or_default() {
            match kind {
                FileType::RegularFile => bytes = bytes.saturating_add(file_size(here, &name)),
                FileType::Directory if whole => {
                    if let Ok(inside) = open_directory(here, &name) {
                        bytes += self.measure_files(inside.as_fd(), whole, room.checked_sub(bytes)?)?;
                    }
                }
                _ => {}
            }
            if bytes > room {
                return None;
            }
        }
        Some(bytes)
    }

    /// Calls `visit` with each file of a directory, and of those below it if it is taken whole.
    pub(super) fn each_file(
        &mut self,
        here: BorrowedFd<'_>,
        path: &[u8],
        whole: bool,
        visit: &mut dyn FnMut(SampledFile),
    ) {
        let directory: Rc<[u8]> = path.into();
        for (name, kind) in self.list_entries(here).unwrap_or_default() {
            match kind {
                FileType::RegularFile => {
                    let size = file_size(here, &name);
                    visit(SampledFile { directory: Rc::clone(&directory), name, size });
                }
                FileType::Directory if whole => {
                    if let Ok(inside) = open_directory(here, &name) {
                        self.each_file(inside.as_fd(), &join_name(path, &name), whole, visit);
                    }
                }
                _ => {}
            }
        }
    }
}

/// Opens the directory of a unit, which is the root itself where the path is empty.
pub(super) fn open_unit(root: BorrowedFd<'_>, path: &[u8]) -> Result<OwnedFd, Errno> {
    open_directory_below(root, Path::new(OsStr::from_bytes(path)), false)
}

/// The path of a directory's entry, relative and without a leading slash.
pub(super) fn join_name(directory: &[u8], name: &CStr) -> Vec<u8> {
    let separator: &[u8] = if directory.is_empty() { b"" } else { b"/" };
    [directory, separator, name.to_bytes()].concat()
}

fn file_size(here: BorrowedFd<'_>, name: &CStr) -> u64 {
    stat_entry(here, name).map_or(0, |status| status.stx_size)
}

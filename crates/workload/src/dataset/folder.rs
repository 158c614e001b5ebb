//! Which part of a real folder is taken when the plan states a size: whole subdirectories, always the same ones.
//!
//! The folder is cut into units: each directory two levels down, and the loose files of each directory above
//! those. Units are taken in the order of a hash of their relative path, skipping what would overshoot, until the
//! size is about reached. The order depends on nothing but the names, so a run can be repeated elsewhere.

use std::collections::HashSet;
use std::convert::identity;
use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use fsverdict_judgement::plan::Dataset;

use super::descriptor::{Listing, look, open_directory, type_of};

/// Depth of the directories that are taken whole.
const DEPTH: usize = 2;

/// What part of a folder is wanted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Selection {
    All,
    /// Some units of it; paths are relative, without a slash in front.
    Some {
        /// Directories whose own files are wanted.
        loose: HashSet<Vec<u8>>,
        /// Directories two levels down that are wanted whole.
        whole: HashSet<Vec<u8>>,
    },
}

impl Selection {
    /// Whether to go into the directory at this path and depth.
    pub(crate) fn enters(&self, path: &[u8], depth: usize) -> bool {
        match self {
            Self::All => true,
            Self::Some { .. } if depth > DEPTH => true,
            Self::Some { whole, .. } if depth == DEPTH => whole.contains(path),
            Self::Some { loose, whole, .. } => {
                loose.contains(path)
                    || whole.iter().any(|unit| unit.starts_with(path) && unit.get(path.len()) == Some(&b'/'))
            }
        }
    }

    /// Whether to take the files right in the directory at this path and depth.
    pub(crate) fn takes_files(&self, path: &[u8], depth: usize) -> bool {
        match self {
            Self::All => true,
            Self::Some { loose, .. } => depth >= DEPTH || loose.contains(path),
        }
    }
}

/// The part of the user's folder that a dataset is, where it states a size and the folder can be looked through: the same
/// for every trial, so that looked through once is enough.
pub fn selection(dataset: &Dataset) -> Option<Selection> {
    let Dataset::Folder { path, size: Some(size) } = dataset else { return None };
    select(open_source(path).ok()?.as_fd(), size.0).ok()
}

/// Opens a user's folder. It may itself be reached through symbolic links; only inside are they data.
pub(super) fn open_source(path: &Path) -> Result<OwnedFd, Errno> {
    rustix::fs::open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

/// Picks units of the folder until they hold about `wanted` bytes (nine to eleven tenths, where the units allow it).
pub(super) fn select(root: BorrowedFd<'_>, wanted: u64) -> Result<Selection, Errno> {
    let mut picker = Picker { listing: Listing::new() };
    let mut units = vec![(Vec::new(), 0)];
    for first in picker.directories(root)? {
        units.push((first.to_bytes().to_vec(), 1));
        let Ok(inside) = open_directory(root, &first) else { continue };
        for second in picker.directories(inside.as_fd()).unwrap_or_default() {
            let mut path = first.to_bytes().to_vec();
            path.push(b'/');
            path.extend_from_slice(second.to_bytes());
            units.push((path, DEPTH));
        }
    }
    units.sort_by_cached_key(|(path, _)| (xxh3_64(path), path.clone()));
    let (mut loose, mut whole, mut bytes) = (HashSet::new(), HashSet::new(), 0u64);
    for (path, depth) in units {
        if bytes >= wanted - wanted / 10 {
            break;
        }
        let room = wanted + wanted / 10 - bytes;
        let Some(size) = picker.unit_size(root, &path, depth == DEPTH, room) else { continue };
        bytes += size;
        if depth == DEPTH {
            whole.insert(path)
        } else {
            loose.insert(path)
        };
    }
    Ok(Selection::Some { loose, whole })
}

struct Picker {
    listing: Listing,
}

impl Picker {
    /// Names and types in a directory, types asked for where the filesystem does not volunteer them.
    fn entries(&mut self, here: BorrowedFd<'_>) -> Result<Vec<(CString, FileType)>, Errno> {
        let mut entries = Vec::new();
        // Opened anew: a descriptor that was read once stands at the end of its directory.
        let fresh = open_directory(here, c".")?;
        let keep = |name: &CStr, kind| {
            entries.push((name.to_owned(), kind));
            Ok(())
        };
        self.listing.each(fresh.as_fd(), identity, keep)?;
        for (name, kind) in entries.iter_mut().filter(|(_, kind)| *kind == FileType::Unknown) {
            *kind = look(here, name).map_or(FileType::Unknown, |status| type_of(&status));
        }
        Ok(entries)
    }

    fn directories(&mut self, here: BorrowedFd<'_>) -> Result<Vec<CString>, Errno> {
        let entries = self.entries(here)?.into_iter();
        Ok(entries.filter(|(_, kind)| *kind == FileType::Directory).map(|(name, _)| name).collect())
    }

    /// Bytes in a unit that this user can read; `None` when there are more than `room`.
    fn unit_size(&mut self, root: BorrowedFd<'_>, path: &[u8], whole: bool, room: u64) -> Option<u64> {
        let mut here = None;
        for name in path.split(|byte| *byte == b'/').filter(|name| !name.is_empty()) {
            let parent = here.as_ref().map_or(root, OwnedFd::as_fd);
            here = Some(open_directory(parent, &CString::new(name).ok()?).ok()?);
        }
        self.size(here.as_ref().map_or(root, OwnedFd::as_fd), whole, room)
    }

    fn size(&mut self, here: BorrowedFd<'_>, whole: bool, room: u64) -> Option<u64> {
        let mut bytes = 0u64;
        // What cannot be listed or entered holds nothing that could be copied.
        for (name, kind) in self.entries(here).unwrap_or_default() {
            match kind {
                FileType::RegularFile => bytes = bytes.saturating_add(file_size(here, &name)),
                FileType::Directory if whole => {
                    if let Ok(inside) = open_directory(here, &name) {
                        bytes += self.size(inside.as_fd(), whole, room.checked_sub(bytes)?)?;
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
}

fn file_size(here: BorrowedFd<'_>, name: &CStr) -> u64 {
    look(here, name).map_or(0, |status| status.stx_size)
}

//! Which part of a real folder is taken when the plan states a size: whole subdirectories, or files of one that is too large,
//! always the same ones.
//!
//! The folder is divided into units: each directory two levels down, and the loose files of each directory above those.
//! Units are taken in the order of a hash of their relative path, skipping those that would exceed the wanted size,
//! until it is about reached. If it is not reached, files of the first skipped unit fill the rest, directory by
//! directory in the order of the same hash; the last file is truncated if it alone would exceed the size. The order
//! depends only on names, so that a run can be repeated elsewhere.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::rc::Rc;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use fsverdict_judgement::plan::Dataset;

use super::descriptor::{Listing, open_directory};
use super::folder_files::{Picker, SampledFile, join_name, open_unit};

/// Depth of the directories that are taken whole.
const DEPTH: usize = 2;

/// The part of a folder that is selected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Selection {
    All,
    /// Some units of it; paths are relative, without a slash in front.
    Some {
        /// Directories from which the files directly in them are selected.
        loose: HashSet<Vec<u8>>,
        /// Directories two levels down that are wanted whole.
        whole: HashSet<Vec<u8>>,
        /// The directory of which only some files are wanted.
        partial: Option<PartialDirectory>,
        /// The totals of the whole folder.
        folder: FolderTotals,
    },
}

/// A directory from which the files are selected that have a hash of their path up to `last`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartialDirectory {
    directory: Vec<u8>,
    last: u64,
    /// Bytes that are wanted of the file with the hash `last`, at most.
    last_bytes: u64,
}

/// Regular files of a folder and their bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FolderTotals {
    pub files: u64,
    pub bytes: u64,
}

impl Selection {
    /// Whether to go into the directory at this path and depth.
    pub(crate) fn enters_directory(&self, path: &[u8], depth: usize) -> bool {
        match self {
            Self::All => true,
            Self::Some { whole, .. } if depth >= DEPTH && whole.contains(unit_of(path)) => true,
            Self::Some { loose, whole, partial, .. } => {
                let partial = partial.as_ref().map(|partial| &partial.directory);
                let leads =
                    |to: &Vec<u8>| to.starts_with(path) && matches!(to.get(path.len()), None | Some(b'/'));
                loose.iter().chain(partial).any(leads) || depth < DEPTH && whole.iter().any(leads)
            }
        }
    }

    /// Whether to take the files right in the directory at this path and depth.
    pub(crate) fn takes_files(&self, path: &[u8], depth: usize) -> bool {
        match self {
            Self::All => true,
            Self::Some { loose, whole, partial, .. } => {
                depth >= DEPTH && whole.contains(unit_of(path))
                    || loose.contains(path)
                    || partial.as_ref().is_some_and(|partial| partial.directory == path)
            }
        }
    }

    /// The number of bytes to copy at most from the file at this path, in a selected directory; `None` if the file is
    /// left out.
    pub(crate) fn bytes_of(&self, directory: &[u8], path: &[u8]) -> Option<u64> {
        match self {
            Self::Some { partial: Some(partial), .. } if partial.directory == directory => {
                match xxh3_64(path).cmp(&partial.last) {
                    Ordering::Less => Some(u64::MAX),
                    Ordering::Equal => Some(partial.last_bytes),
                    Ordering::Greater => None,
                }
            }
            _ => Some(u64::MAX),
        }
    }
}

/// The first components of a path, which name the unit that it lies in.
fn unit_of(path: &[u8]) -> &[u8] {
    let mut slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
    slashes.nth(DEPTH - 1).and_then(|end| path.get(..end)).unwrap_or(path)
}

/// Whether there is a file with content in the folder.
///
/// # Errors
/// When the folder cannot be opened.
pub fn holds_data(path: &Path) -> Result<bool, Errno> {
    let root = open_source(path)?;
    let mut picker = Picker { listing: Listing::new() };
    Ok(picker.measure_files(root.as_fd(), true, 0).is_none())
}

/// The part of the user's folder that a dataset is, where it states a size and the folder can be looked through: the same
/// for every trial, so that looked through once is enough.
pub fn select_for_dataset(dataset: &Dataset) -> Option<Selection> {
    let Dataset::Folder { path, size: Some(size) } = dataset else { return None };
    select_files(open_source(path).ok()?.as_fd(), size.0).ok()
}

/// Opens a user's folder. It may itself be reached through symbolic links; only inside are they data.
pub(super) fn open_source(path: &Path) -> Result<OwnedFd, Errno> {
    rustix::fs::open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

/// Picks units of the folder until they hold about `wanted` bytes (nine to eleven tenths, where the units allow it).
pub(super) fn select_files(root: BorrowedFd<'_>, wanted: u64) -> Result<Selection, Errno> {
    let mut picker = Picker { listing: Listing::new() };
    let mut units = vec![(Vec::new(), 0)];
    for first in picker.list_directories(root)? {
        units.push((first.to_bytes().to_vec(), 1));
        let Ok(inside) = open_directory(root, &first) else { continue };
        for second in picker.list_directories(inside.as_fd()).unwrap_or_default() {
            units.push((join_name(first.to_bytes(), &second), DEPTH));
        }
    }
    units.sort_by_cached_key(|(path, _)| (xxh3_64(path), path.clone()));
    let (mut loose, mut whole, mut bytes) = (HashSet::new(), HashSet::new(), 0u64);
    let mut too_large = None;
    for (path, depth) in units {
        if bytes >= wanted - wanted / 10 {
            break;
        }
        let room = wanted + wanted / 10 - bytes;
        let Some(size) = picker.unit_size(root, &path, depth == DEPTH, room) else {
            too_large = too_large.or(Some((path, depth)));
            continue;
        };
        bytes += size;
        if depth == DEPTH {
            whole.insert(path)
        } else {
            loose.insert(path)
        };
    }
    let mut partial = None;
    if bytes < wanted - wanted / 10
        && let Some((path, depth)) = too_large
    {
        let mut files = Vec::new();
        if let Ok(unit) = open_unit(root, &path) {
            picker.each_file(unit.as_fd(), &path, depth == DEPTH, &mut |file| files.push(file));
        }
        partial = fill_up(files, wanted, bytes, &mut loose);
    }
    let mut folder = FolderTotals::default();
    picker.each_file(root, b"", true, &mut |file| {
        folder.files += 1;
        folder.bytes = folder.bytes.saturating_add(file.size);
    });
    Ok(Selection::Some { loose, whole, partial, folder })
}

/// Takes files until they hold about `wanted` bytes together with the `bytes` taken before. Directories that are taken whole
/// join `loose`; the last one is returned.
fn fill_up(
    mut files: Vec<SampledFile>,
    wanted: u64,
    mut bytes: u64,
    loose: &mut HashSet<Vec<u8>>,
) -> Option<PartialDirectory> {
    files.sort_by_cached_key(|file| (xxh3_64(&file.directory), Rc::clone(&file.directory), file.hash()));
    let mut partial: Option<PartialDirectory> = None;
    for file in files {
        if bytes >= wanted - wanted / 10 {
            break;
        }
        let overshoots = file.size > wanted.saturating_add(wanted / 10) - bytes;
        let last_bytes = if overshoots { wanted.saturating_sub(bytes) } else { u64::MAX };
        bytes = bytes.saturating_add(file.size.min(last_bytes));
        let here = PartialDirectory { directory: file.directory.to_vec(), last: file.hash(), last_bytes };
        if let Some(before) = partial.replace(here)
            && *before.directory != *file.directory
        {
            loose.insert(before.directory);
        }
    }
    partial
}

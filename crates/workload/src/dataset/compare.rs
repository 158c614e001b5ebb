//! Compares the content of a folder with the expected content: counts every difference and describes the first few.

use std::collections::{HashMap, HashSet};
use std::ffi::CStr;
use std::num::NonZero;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::thread::{available_parallelism, scope};

use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;
use thiserror::Error;

use super::content::TRANSFER;
use super::descriptor::{Listing, open_directory_quietly, open_path_quietly, stat_entry};
use super::error::IoFailure;
use super::manifest::Manifest;
use super::tree::{Directory, Tree};

/// How many differences are spelled out.
const SHOWN: usize = 5;

/// So many processors compare at most: past that, it is the disk that is waited for.
const SHARES: usize = 8;

/// Whether hard links must have stayed hard links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HardLinks {
    /// The same names must be the same file, and there must be no others.
    Exact,
    /// Each name may be a file of its own, as after `cp -R` or `rsync -a` without `-H`.
    MayBeCopies,
}

/// Why a comparison did not come out equal.
#[derive(Debug, Error)]
pub enum CompareError {
    #[error("{path} is not what was written: {}{}", differences.join("; "), count_not_shown(*.total, differences.len()))]
    Different { path: String, differences: Vec<String>, total: u64 },
    #[error("cannot verify: {0}")]
    Io(#[from] IoFailure),
}

fn count_not_shown(total: u64, shown: usize) -> String {
    match total.saturating_sub(shown as u64) {
        0 => String::new(),
        rest => format!("; and {rest} more"),
    }
}

impl Manifest {
    /// Compares with the folder at `path`. Symbolic links are compared, never followed; permission bits, owners and
    /// times are ignored, and so is `lost+found` at the root of a mounted filesystem.
    ///
    /// # Errors
    /// [`CompareError::Different`] names the first few differences; [`CompareError::Io`] when `path` itself cannot
    /// be opened. A file inside that cannot be read is a difference.
    pub fn compare_with(&self, path: &Path, hard_links: HardLinks) -> Result<(), CompareError> {
        let shares = match hard_links {
            // The names of a file are compared with each other.
            HardLinks::Exact if !self.hard_links().is_empty() || self.shared.is_some() => 1,
            _ => available_parallelism().map_or(1, NonZero::get).min(SHARES),
        };
        let parts: Vec<Result<TreeComparison<'_>, Errno>> = scope(|scope| {
            let begin = |share| {
                let mut part = TreeComparison::new(self, hard_links, (share, shares));
                scope.spawn(move || part.look_at(path).map(|()| part))
            };
            let begun: Vec<_> = (0..shares).map(begin).collect();
            begun.into_iter().map(|part| part.join().unwrap_or(Err(Errno::FAULT))).collect()
        });
        let (mut found, mut total) = (Vec::new(), 0);
        for part in parts {
            let part = part.map_err(|errno| IoFailure::new("open", path.display().to_string(), errno))?;
            total += part.total;
            found.extend(part.differences);
        }
        if total == 0 {
            return Ok(());
        }
        found.sort();
        let differences = found.into_iter().map(|(_, difference)| difference).take(SHOWN).collect();
        Err(CompareError::Different { path: path.display().to_string(), differences, total })
    }
}

/// A comparison in progress, or one thread's share of it: every n-th entry, and the names in every n-th directory.
pub(super) struct TreeComparison<'a> {
    pub(super) manifest: &'a Manifest,
    /// The number of this share, and the number of shares.
    pub(super) share: (usize, usize),
    pub(super) hard_links: HardLinks,
    /// How many further links each file must have.
    pub(super) links: HashMap<u32, u32>,
    /// Inode found for each of those files.
    pub(super) inodes: HashMap<u32, u64>,
    pub(super) buffer: Vec<u8>,
    /// Each difference with the number of its directory and, unless the directory itself differs, of its entry.
    pub(super) differences: Vec<((usize, Option<usize>), String)>,
    pub(super) total: u64,
}

impl<'a> TreeComparison<'a> {
    fn new(manifest: &'a Manifest, hard_links: HardLinks, share: (usize, usize)) -> Self {
        Self {
            manifest,
            share,
            hard_links,
            links: manifest.hard_links(),
            inodes: HashMap::new(),
            buffer: vec![0; TRANSFER],
            differences: Vec::new(),
            total: 0,
        }
    }

    /// Whether the item of this number belongs to this share.
    fn is_ours(&self, number: usize) -> bool {
        number % self.share.1 == self.share.0
    }

    pub(super) fn report_difference(
        &mut self,
        place: (usize, Option<usize>),
        say: impl FnOnce(&Tree) -> String,
    ) {
        self.total += 1;
        if self.differences.len() < SHOWN {
            self.differences.push((place, say(&self.manifest.tree)));
        }
    }

    fn look_at(&mut self, path: &Path) -> Result<(), Errno> {
        let tree = Arc::clone(&self.manifest.tree);
        if self.manifest.is_file {
            let status = rustix::fs::statx(
                CWD,
                path,
                rustix::fs::AtFlags::SYMLINK_NOFOLLOW,
                rustix::fs::StatxFlags::BASIC_STATS,
            )?;
            let above = path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
            let above =
                rustix::fs::open(above, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
            let name = path.file_name().unwrap_or_default();
            let name = std::ffi::CString::new(name.as_encoded_bytes()).map_err(|_| Errno::INVAL)?;
            if let (Some(entry), true) = (tree.entries.first(), self.is_ours(0)) {
                self.check_entry(above.as_fd(), 0, 0, entry, &name, Ok(status));
            }
            return Ok(());
        }
        let root = open_path_quietly(path)?;
        let mut directories = HashSet::new();
        for directory in tree.directories.iter().skip(1) {
            directories.insert((directory.parent, tree.name_at(directory.name)));
        }
        let mut listing = Listing::new();
        let mut open: Vec<OwnedFd> = Vec::new();
        let mut missing_below = None; // depth of a directory that is not there
        for (number, directory) in tree.directories.iter().enumerate() {
            if missing_below.is_some_and(|depth| directory.depth > depth) {
                continue;
            }
            missing_below = None;
            open.truncate(usize::from(directory.depth).saturating_sub(1));
            if number == 0 {
                self.check_directory(root.as_fd(), number, directory, &directories, &mut listing);
                continue;
            }
            let parent = open.last().map_or(root.as_fd(), OwnedFd::as_fd);
            match open_directory_quietly(parent, tree.name_at(directory.name)) {
                Ok(here) => {
                    self.check_directory(here.as_fd(), number, directory, &directories, &mut listing);
                    open.push(here);
                }
                Err(errno) => {
                    missing_below = Some(directory.depth);
                    if !self.is_ours(number) {
                        continue;
                    }
                    self.report_difference((number, None), |tree| {
                        let path = tree.directory_path(number);
                        match errno {
                            Errno::NOENT => format!("{path}/ is missing"),
                            Errno::NOTDIR | Errno::LOOP => format!("{path} is not a directory"),
                            errno => format!("{path}/ cannot be opened ({errno})"),
                        }
                    });
                }
            }
        }
        Ok(())
    }

    fn check_directory(
        &mut self,
        here: BorrowedFd<'_>,
        number: usize,
        directory: &Directory,
        directories: &HashSet<(u32, &CStr)>,
        listing: &mut Listing,
    ) {
        let tree = Arc::clone(&self.manifest.tree);
        let entries = tree.entries_of(directory);
        if self.is_ours(number) {
            self.report_unexpected_entries(here, number, directories, listing);
        }
        for (at, entry) in (directory.first as usize..).zip(entries) {
            if self.is_ours(at) {
                let name = tree.name_at(entry.name);
                self.check_entry(here, number, at, entry, name, stat_entry(here, name));
            }
        }
    }
}

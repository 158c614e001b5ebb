//! Copies a real folder into a staging folder: files, directories, symbolic and hard links, permission bits and times.
//!
//! Leaves out and counts files that this user may not read, special files (sockets, pipes, devices) and filesystems
//! mounted inside the folder. Drops set-user-id and set-group-id bits: a copy must not let anyone gain privileges.

use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::{AtFlags, FileType, Mode, Statx, Timespec, Timestamps};
use rustix::io::Errno;

use super::content::TRANSFER;
use super::descriptor::{Listing, open_directory};
use super::error::IoFailure;
use super::folder::Selection;
use super::skipped::Skipped;
use super::tree::{Directory, EntryKind, Tree, TreeEntry};

pub(super) struct Copied {
    /// The target, as listing it would show it.
    pub(super) tree: Tree,
    /// The digest of each entry of the tree that is a file.
    pub(super) digests: Vec<u64>,
    pub(super) skipped: Skipped,
}

/// Copies the selected part of `source` into the existing directory `target`.
pub(super) fn copy_folder(
    source: BorrowedFd<'_>,
    target: BorrowedFd<'_>,
    selection: &Selection,
) -> Result<Copied, IoFailure> {
    let status =
        |directory| status_of(directory).map_err(|errno| IoFailure::new("look at", "the folder", errno));
    let from = status(source)?;
    let mut copier = Copier {
        selection,
        root: target,
        device: device_number(&from),
        target: inode_identity(&status(target)?),
        linked: HashMap::new(),
        copied: Copied { tree: Tree::default(), digests: Vec::new(), skipped: Skipped::default() },
        listing: Listing::new(),
        buffer: vec![0; TRANSFER],
        mask: read_umask(),
    };
    copier.copy_directory(
        source,
        target,
        &from,
        &mut Vec::new(),
        Nested { parent: 0, depth: 0, name: c"" },
    )?;
    Ok(copier.copied)
}

pub(super) fn status_of(open: BorrowedFd<'_>) -> Result<Statx, Errno> {
    rustix::fs::statx(open, c"", AtFlags::EMPTY_PATH, rustix::fs::StatxFlags::BASIC_STATS)
}

pub(super) type InodeIdentity = (u32, u32, u64);

fn device_number(status: &Statx) -> (u32, u32) {
    (status.stx_dev_major, status.stx_dev_minor)
}

pub(super) fn inode_identity(status: &Statx) -> InodeIdentity {
    (status.stx_dev_major, status.stx_dev_minor, status.stx_ino)
}

pub(super) fn timestamps_of(status: &Statx) -> Timestamps {
    let time =
        |stamp: rustix::fs::StatxTimestamp| Timespec { tv_sec: stamp.tv_sec, tv_nsec: stamp.tv_nsec.into() };
    Timestamps { last_access: time(status.stx_atime), last_modification: time(status.stx_mtime) }
}

pub(super) struct Copier<'a> {
    pub(super) selection: &'a Selection,
    pub(super) root: BorrowedFd<'a>,
    pub(super) device: (u32, u32),
    pub(super) target: InodeIdentity,
    /// Where the first name of each file that has several was put, and the number of its entry.
    pub(super) linked: HashMap<InodeIdentity, (CString, u32)>,
    pub(super) copied: Copied,
    pub(super) listing: Listing,
    pub(super) buffer: Vec<u8>,
    pub(super) mask: Mode,
}

/// Reads this process's umask (umask(2) returns it only by setting another one).
fn read_umask() -> Mode {
    let mask = rustix::process::umask(Mode::RWXU);
    rustix::process::umask(mask);
    mask
}

/// Why one thing was not copied.
pub(super) enum Trouble {
    Source(Errno),
    Target(&'static str, Errno),
    /// Something in it could not be, for the target's sake.
    Inside(IoFailure),
}

impl Trouble {
    fn at_path(self, path: &[u8]) -> IoFailure {
        match self {
            Trouble::Source(errno) => IoFailure::new("copy", String::from_utf8_lossy(path), errno),
            Trouble::Target(call, errno) => IoFailure::new(call, String::from_utf8_lossy(path), errno),
            Trouble::Inside(failure) => failure,
        }
    }
}

/// A directory of the copy: its parent's number, its depth and its name.
#[derive(Clone, Copy)]
struct Nested<'a> {
    parent: u32,
    depth: u16,
    name: &'a CStr,
}

impl Copier<'_> {
    /// Copies a directory's content, files before folders as a listing has them.
    fn copy_directory(
        &mut self,
        source: BorrowedFd<'_>,
        target: BorrowedFd<'_>,
        status: &Statx,
        path: &mut Vec<u8>,
        place: Nested<'_>,
    ) -> Result<(), IoFailure> {
        let Nested { parent, depth, name } = place;
        let number = self.copied.tree.directories.len() as u32;
        let first = self.copied.tree.entries.len() as u32;
        let name = self.record_name(name).map_err(|trouble| trouble.at_path(path))?;
        let mode = status.stx_mode & 0o777 | 0o700;
        let shown = if depth == 0 { 0o755 } else { mode };
        self.copied.tree.directories.push(Directory { parent, name, first, count: 0, depth, mode: shown });
        let mut names: Vec<(CString, FileType)> = Vec::new();
        let keep = |name: &CStr, kind| {
            names.push((name.to_owned(), kind));
            Ok(())
        };
        if let Err(errno) = self.listing.for_each_entry(source, |errno| errno, keep) {
            self.count_skipped(errno);
        }
        names.sort_unstable_by(|one, other| one.0.cmp(&other.0));
        let length = path.len();
        let mut folders = Vec::new();
        for (name, kind) in names {
            set_last_component(path, length, &name);
            let taken = self.selection.takes_files(&path[..length], depth.into());
            let copied = match kind {
                FileType::Directory => Ok(true),
                // As the listing says; where it is something else by now, opening it says so.
                FileType::RegularFile if taken => {
                    self.copy_file(source, target, &name, path, length).map(|()| false)
                }
                FileType::RegularFile => Ok(false),
                _ => self.copy_special(source, target, &name, taken, path, length),
            };
            match copied {
                Ok(true) => folders.push(name),
                Ok(false) => {}
                Err(Trouble::Source(errno)) => self.count_skipped(errno),
                Err(trouble) => return Err(trouble.at_path(path)),
            }
        }
        self.copied.tree.directories[number as usize].count = self.copied.tree.entries.len() as u32 - first;
        for name in folders {
            set_last_component(path, length, &name);
            match self.copy_subfolder(
                source,
                target,
                path,
                Nested { parent: number, depth: depth + 1, name: &name },
            ) {
                Ok(()) => {}
                Err(Trouble::Source(errno)) => self.count_skipped(errno),
                Err(trouble) => return Err(trouble.at_path(path)),
            }
        }
        path.truncate(length);
        rustix::fs::fchmod(target, Mode::from_raw_mode(mode.into()))
            .and_then(|()| rustix::fs::futimens(target, &timestamps_of(status)))
            .map_err(|errno| IoFailure::new("set mode and times of", String::from_utf8_lossy(path), errno))
    }

    fn count_skipped(&mut self, errno: Errno) {
        match errno {
            Errno::NOENT => self.copied.skipped.vanished += 1,
            _ => self.copied.skipped.unreadable += 1,
        }
    }

    pub(super) fn record_name(&mut self, name: &CStr) -> Result<u32, Trouble> {
        self.copied
            .tree
            .add_name(name.to_bytes())
            .ok_or(Trouble::Target("remember the name of", Errno::OVERFLOW))
    }

    /// Remembers an entry of the directory that is being copied.
    pub(super) fn record_entry(
        &mut self,
        name: &CStr,
        what: Option<u32>,
        kind: EntryKind,
        size: u64,
        mode: u16,
    ) -> Result<u32, Trouble> {
        let number = self.copied.tree.entries.len() as u32;
        let (name, what) = (self.record_name(name)?, what.unwrap_or(number));
        self.copied.tree.entries.push(TreeEntry { size, name, what, mode, kind });
        self.copied.digests.push(0);
        Ok(number)
    }

    fn copy_subfolder(
        &mut self,
        source: BorrowedFd<'_>,
        target: BorrowedFd<'_>,
        path: &mut Vec<u8>,
        place: Nested<'_>,
    ) -> Result<(), Trouble> {
        let Nested { depth, name, .. } = place;
        if !self.selection.enters_directory(path, depth.into()) {
            return Ok(());
        }
        let from = open_directory(source, name).map_err(Trouble::Source)?;
        let status = status_of(from.as_fd()).map_err(Trouble::Source)?;
        if inode_identity(&status) == self.target {
            return Ok(());
        }
        if device_number(&status) != self.device {
            self.copied.skipped.mounts += 1;
            return Ok(());
        }
        let made = rustix::fs::mkdirat(target, name, Mode::from_raw_mode(0o700));
        let to = made
            .and_then(|()| open_directory(target, name))
            .map_err(|errno| Trouble::Target("make the directory", errno))?;
        self.copy_directory(from.as_fd(), to.as_fd(), &status, path, place).map_err(Trouble::Inside)
    }
}

/// Puts a name behind the first `length` bytes of a path.
fn set_last_component(path: &mut Vec<u8>, length: usize, name: &CStr) {
    path.truncate(length);
    if length > 0 {
        path.push(b'/');
    }
    path.extend_from_slice(name.to_bytes());
}

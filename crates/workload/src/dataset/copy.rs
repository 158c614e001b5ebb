//! Copies a real folder into a staging folder: files, directories, symbolic and hard links, permission bits and times.
//!
//! Leaves out and counts files that this user may not read, special files (sockets, pipes, devices) and filesystems
//! mounted inside the folder. Drops set-user-id and set-group-id bits: a copy must not let anyone gain privileges.

use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::fmt;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Statx, Timespec, Timestamps};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3;

use super::content::TRANSFER;
use super::descriptor::{Listing, open_directory, stat_entry, type_of};
use super::error::IoFailure;
use super::folder::Selection;
use super::tree::{Directory, EntryKind, Tree, TreeEntry};
use super::write::{read_some, write_fully};

/// The entries that were left out of a copy.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    /// Files and directories that this user may not read, or that the disk failed to return.
    pub unreadable: u64,
    /// Sockets, pipes and devices.
    pub special: u64,
    /// Things that disappeared during the copy.
    pub vanished: u64,
    /// Directories on which another filesystem is mounted.
    pub mounts: u64,
}

impl Skipped {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl fmt::Display for Skipped {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            (self.unreadable, "unreadable"),
            (self.special, "sockets, pipes or devices"),
            (self.vanished, "gone during the copy"),
            (self.mounts, "other filesystems mounted inside"),
        ];
        let parts: Vec<String> = parts
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{count} {what}"))
            .collect();
        if parts.is_empty() {
            return formatter.write_str("nothing left out");
        }
        write!(formatter, "left out: {}", parts.join(", "))
    }
}

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

fn status_of(open: BorrowedFd<'_>) -> Result<Statx, Errno> {
    rustix::fs::statx(open, c"", AtFlags::EMPTY_PATH, rustix::fs::StatxFlags::BASIC_STATS)
}

type InodeIdentity = (u32, u32, u64);

fn device_number(status: &Statx) -> (u32, u32) {
    (status.stx_dev_major, status.stx_dev_minor)
}

fn inode_identity(status: &Statx) -> InodeIdentity {
    (status.stx_dev_major, status.stx_dev_minor, status.stx_ino)
}

fn timestamps_of(status: &Statx) -> Timestamps {
    let time =
        |stamp: rustix::fs::StatxTimestamp| Timespec { tv_sec: stamp.tv_sec, tv_nsec: stamp.tv_nsec.into() };
    Timestamps { last_access: time(status.stx_atime), last_modification: time(status.stx_mtime) }
}

struct Copier<'a> {
    selection: &'a Selection,
    root: BorrowedFd<'a>,
    device: (u32, u32),
    target: InodeIdentity,
    /// Where the first name of each file that has several was put, and the number of its entry.
    linked: HashMap<InodeIdentity, (CString, u32)>,
    copied: Copied,
    listing: Listing,
    buffer: Vec<u8>,
    mask: Mode,
}

/// Reads this process's umask (umask(2) returns it only by setting another one).
fn read_umask() -> Mode {
    let mask = rustix::process::umask(Mode::RWXU);
    rustix::process::umask(mask);
    mask
}

/// Why one thing was not copied.
enum Trouble {
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

    fn record_name(&mut self, name: &CStr) -> Result<u32, Trouble> {
        self.copied
            .tree
            .add_name(name.to_bytes())
            .ok_or(Trouble::Target("remember the name of", Errno::OVERFLOW))
    }

    /// Remembers an entry of the directory that is being copied.
    fn record_entry(
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

    /// Copies an entry that is not, or not known to be, a regular file; returns whether it is a directory.
    fn copy_special(
        &mut self,
        source: BorrowedFd<'_>,
        target: BorrowedFd<'_>,
        name: &CStr,
        taken: bool,
        path: &[u8],
        length: usize,
    ) -> Result<bool, Trouble> {
        let status = stat_entry(source, name).map_err(Trouble::Source)?;
        match type_of(&status) {
            FileType::Directory => return Ok(true),
            _ if !taken => {}
            FileType::RegularFile => self.copy_file(source, target, name, path, length)?,
            FileType::Symlink => {
                let to = rustix::fs::readlinkat(source, name, Vec::new()).map_err(Trouble::Source)?;
                rustix::fs::symlinkat(&to, target, name)
                    .and_then(|()| {
                        rustix::fs::utimensat(
                            target,
                            name,
                            &timestamps_of(&status),
                            AtFlags::SYMLINK_NOFOLLOW,
                        )
                    })
                    .map_err(|errno| Trouble::Target("make the symbolic link", errno))?;
                let target_name = self.record_name(&to)?;
                self.record_entry(name, Some(target_name), EntryKind::Symlink, 0, 0o777)?;
            }
            _ => self.copied.skipped.special += 1,
        }
        Ok(false)
    }

    fn copy_file(
        &mut self,
        source: BorrowedFd<'_>,
        target: BorrowedFd<'_>,
        name: &CStr,
        path: &[u8],
        length: usize,
    ) -> Result<(), Trouble> {
        let Some(most) = self.selection.bytes_of(&path[..length], path) else { return Ok(()) };
        // O_NONBLOCK: the file may have become a pipe meanwhile. The file is opened before it is examined: two lookups
        // by name would take a guest twice as long.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let from = rustix::fs::openat(source, name, flags, Mode::empty()).map_err(Trouble::Source)?;
        let status = &status_of(from.as_fd()).map_err(Trouble::Source)?;
        if type_of(status) != FileType::RegularFile {
            return Err(Trouble::Source(Errno::NOENT));
        }
        let mode = status.stx_mode & 0o777;
        if let Some((first, number)) = self.linked.get(&inode_identity(status)) {
            let number = *number;
            rustix::fs::linkat(self.root, first, target, name, AtFlags::empty())
                .map_err(|errno| Trouble::Target("make the hard link", errno))?;
            let size = self.copied.tree.entries[number as usize].size;
            return self.record_entry(name, Some(number), EntryKind::HardLink, size, mode).map(drop);
        }
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let wanted = Mode::from_raw_mode(mode.into());
        let to = rustix::fs::openat(target, name, flags, wanted)
            .map_err(|errno| Trouble::Target("create", errno))?;
        let (mut digest, mut size) = (Xxh3::new(), 0);
        loop {
            match read_some(from.as_fd(), &mut self.buffer) {
                Ok(0) => break,
                Ok(count) => {
                    let wanted = usize::try_from(most - size).map_or(count, |left| count.min(left));
                    let bytes = &self.buffer[..wanted];
                    write_fully(to.as_fd(), bytes).map_err(|errno| Trouble::Target("write", errno))?;
                    digest.update(bytes);
                    size += wanted as u64;
                    // End of file, without another read; some network filesystems return short reads elsewhere.
                    if size == most || count < self.buffer.len() && size == status.stx_size {
                        break;
                    }
                }
                Err(errno) => {
                    rustix::fs::unlinkat(target, name, AtFlags::empty())
                        .map_err(|errno| Trouble::Target("remove the half-copied", errno))?;
                    return Err(Trouble::Source(errno));
                }
            }
        }
        let number = self.record_entry(name, None, EntryKind::File, size, mode)?;
        self.copied.digests[number as usize] = digest.digest();
        let masked = if wanted.intersects(self.mask) { rustix::fs::fchmod(&to, wanted) } else { Ok(()) };
        masked
            .and_then(|()| rustix::fs::futimens(&to, &timestamps_of(status)))
            .map_err(|errno| Trouble::Target("set mode and times of", errno))?;
        if status.stx_nlink > 1 {
            // A path cannot hold a NUL: it was put together from names the kernel gave.
            let first = CString::new(path).map_err(|_| Trouble::Source(Errno::INVAL))?;
            self.linked.insert(inode_identity(status), (first, number));
        }
        Ok(())
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

//! Copying a real folder into a staging folder: files, directories, symbolic and hard links, permission bits, times.
//!
//! What this user may not read, what is not a file (sockets, pipes, devices) and other filesystems mounted inside
//! are left out and counted. Set-user-id and set-group-id bits are dropped: a copy must not become a way in.

use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::fmt;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Statx, Timespec, Timestamps};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3;

use super::content::TRANSFER;
use super::descriptor::{Listing, Stopped, look, open_directory, type_of};
use super::error::IoFailure;
use super::folder::Selection;
use super::write::{read_some, write_fully};

/// What was left out of a copy.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    /// Files and directories this user may not read, or whose disk failed to give them.
    pub unreadable: u64,
    /// Sockets, pipes and devices.
    pub special: u64,
    /// Things that disappeared during the copy.
    pub vanished: u64,
    /// Directories on which another filesystem is mounted.
    pub mounts: u64,
}

impl Skipped {
    /// Whether nothing was left out.
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

/// Digests of the content of copied files, by path.
pub(super) type Digests = HashMap<Vec<u8>, u64>;

/// Copies the selected part of `source` into the existing directory `target`.
pub(super) fn copy_folder(
    source: BorrowedFd<'_>,
    target: BorrowedFd<'_>,
    selection: &Selection,
) -> Result<(Skipped, Digests), IoFailure> {
    let status =
        |directory| status_of(directory).map_err(|errno| IoFailure::new("look at", "the folder", errno));
    let from = status(source)?;
    let mut copier = Copier {
        selection,
        root: target,
        device: device(&from),
        target: identity(&status(target)?),
        linked: HashMap::new(),
        digests: HashMap::new(),
        skipped: Skipped::default(),
        listing: Listing::new(),
        buffer: vec![0; TRANSFER],
        mask: mask(),
    };
    copier.directory(source, target, &from, &mut Vec::new(), 0)?;
    Ok((copier.skipped, copier.digests))
}

fn status_of(open: BorrowedFd<'_>) -> Result<Statx, Errno> {
    rustix::fs::statx(open, c"", AtFlags::EMPTY_PATH, rustix::fs::StatxFlags::BASIC_STATS)
}

type Identity = (u32, u32, u64);

fn device(status: &Statx) -> (u32, u32) {
    (status.stx_dev_major, status.stx_dev_minor)
}

fn identity(status: &Statx) -> Identity {
    (status.stx_dev_major, status.stx_dev_minor, status.stx_ino)
}

fn times(status: &Statx) -> Timestamps {
    let time =
        |stamp: rustix::fs::StatxTimestamp| Timespec { tv_sec: stamp.tv_sec, tv_nsec: stamp.tv_nsec.into() };
    Timestamps { last_access: time(status.stx_atime), last_modification: time(status.stx_mtime) }
}

struct Copier<'a> {
    selection: &'a Selection,
    root: BorrowedFd<'a>,
    device: (u32, u32),
    target: Identity,
    /// Where the first name of each file that has several was put.
    linked: HashMap<Identity, CString>,
    digests: Digests,
    skipped: Skipped,
    listing: Listing,
    buffer: Vec<u8>,
    mask: Mode,
}

/// What this process takes from the mode of files it makes (umask(2), which tells it only by setting another).
fn mask() -> Mode {
    let mask = rustix::process::umask(Mode::RWXU);
    rustix::process::umask(mask);
    mask
}

/// Why one thing was not copied.
enum Trouble {
    Source(Errno),
    Target(&'static str, Errno),
}

impl Copier<'_> {
    fn directory(
        &mut self,
        source: BorrowedFd<'_>,
        target: BorrowedFd<'_>,
        status: &Statx,
        path: &mut Vec<u8>,
        depth: usize,
    ) -> Result<(), IoFailure> {
        let mut names: Vec<(CString, FileType)> = Vec::new();
        let read = self.listing.each::<Errno>(source, |name, kind| {
            names.push((name.to_owned(), kind));
            Ok(())
        });
        if let Err(Stopped::Reading(errno) | Stopped::Entry(errno)) = read {
            self.skip(errno);
        }
        names.sort_unstable_by(|one, other| one.0.cmp(&other.0));
        let length = path.len();
        for (name, kind) in names {
            path.truncate(length);
            if length > 0 {
                path.push(b'/');
            }
            path.extend_from_slice(name.as_bytes());
            let copied = match kind {
                // As the listing says; where it is something else by now, opening it says so.
                FileType::RegularFile if !self.selection.takes_files(path_above(path), depth) => Ok(()),
                FileType::RegularFile => self.file(source, target, &name, path),
                _ => self.one(source, target, &name, path, depth),
            };
            match copied {
                Ok(()) => {}
                Err(Trouble::Source(errno)) => self.skip(errno),
                Err(Trouble::Target(call, errno)) => {
                    return Err(IoFailure::new(call, String::from_utf8_lossy(path), errno));
                }
            }
        }
        path.truncate(length);
        let mode = Mode::from_raw_mode(u32::from(status.stx_mode & 0o777 | 0o700));
        rustix::fs::fchmod(target, mode)
            .and_then(|()| rustix::fs::futimens(target, &times(status)))
            .map_err(|errno| IoFailure::new("set mode and times of", String::from_utf8_lossy(path), errno))
    }

    fn skip(&mut self, errno: Errno) {
        match errno {
            Errno::NOENT => self.skipped.vanished += 1,
            _ => self.skipped.unreadable += 1,
        }
    }

    fn one(
        &mut self,
        source: BorrowedFd<'_>,
        target: BorrowedFd<'_>,
        name: &CStr,
        path: &mut Vec<u8>,
        depth: usize,
    ) -> Result<(), Trouble> {
        let status = look(source, name).map_err(Trouble::Source)?;
        let kind = type_of(&status);
        if kind == FileType::Directory {
            if !self.selection.enters(path, depth + 1) || identity(&status) == self.target {
                return Ok(());
            }
            if device(&status) != self.device {
                self.skipped.mounts += 1;
                return Ok(());
            }
            let from = open_directory(source, name).map_err(Trouble::Source)?;
            rustix::fs::mkdirat(target, name, Mode::from_raw_mode(0o700))
                .map_err(|errno| Trouble::Target("make the directory", errno))?;
            let to =
                open_directory(target, name).map_err(|errno| Trouble::Target("open the directory", errno))?;
            return self
                .directory(from.as_fd(), to.as_fd(), &status, path, depth + 1)
                .map_err(|failure| Trouble::Target(failure.call, failure.errno));
        }
        if !self.selection.takes_files(path_above(path), depth) {
            return Ok(());
        }
        match kind {
            FileType::RegularFile => self.file(source, target, name, path),
            FileType::Symlink => {
                let to = rustix::fs::readlinkat(source, name, Vec::new()).map_err(Trouble::Source)?;
                rustix::fs::symlinkat(&to, target, name)
                    .and_then(|()| {
                        rustix::fs::utimensat(target, name, &times(&status), AtFlags::SYMLINK_NOFOLLOW)
                    })
                    .map_err(|errno| Trouble::Target("make the symbolic link", errno))
            }
            _ => {
                self.skipped.special += 1;
                Ok(())
            }
        }
    }

    fn file(
        &mut self,
        source: BorrowedFd<'_>,
        target: BorrowedFd<'_>,
        name: &CStr,
        path: &[u8],
    ) -> Result<(), Trouble> {
        // Not blocking: what was a file may have become a pipe meanwhile. Opened first and then looked at: to find it by its
        // name twice takes a guest twice as long.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let from = rustix::fs::openat(source, name, flags, Mode::empty()).map_err(Trouble::Source)?;
        let status = &status_of(from.as_fd()).map_err(Trouble::Source)?;
        if type_of(status) != FileType::RegularFile {
            return Err(Trouble::Source(Errno::NOENT));
        }
        if let Some(first) = self.linked.get(&identity(status)) {
            if let Some(digest) = self.digests.get(first.as_bytes()).copied() {
                self.digests.insert(path.to_vec(), digest);
            }
            return rustix::fs::linkat(self.root, first, target, name, AtFlags::empty())
                .map_err(|errno| Trouble::Target("make the hard link", errno));
        }
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(u32::from(status.stx_mode & 0o777));
        let to = rustix::fs::openat(target, name, flags, mode)
            .map_err(|errno| Trouble::Target("create", errno))?;
        let (mut digest, mut size) = (Xxh3::new(), 0);
        loop {
            match read_some(from.as_fd(), &mut self.buffer) {
                Ok(0) => break,
                Ok(count) => {
                    let bytes = &self.buffer[..count];
                    write_fully(to.as_fd(), bytes).map_err(|errno| Trouble::Target("write", errno))?;
                    digest.update(bytes);
                    size += count as u64;
                    // The end, without asking once more; short reads elsewhere are what some network filesystems give.
                    if count < self.buffer.len() && size == status.stx_size {
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
        self.digests.insert(path.to_vec(), digest.digest());
        let masked = if mode.intersects(self.mask) { rustix::fs::fchmod(&to, mode) } else { Ok(()) };
        masked
            .and_then(|()| rustix::fs::futimens(&to, &times(status)))
            .map_err(|errno| Trouble::Target("set mode and times of", errno))?;
        if status.stx_nlink > 1 {
            // A path cannot hold a NUL: it was put together from names the kernel gave.
            let first = CString::new(path).map_err(|_| Trouble::Source(Errno::INVAL))?;
            self.linked.insert(identity(status), first);
        }
        Ok(())
    }
}

fn path_above(path: &[u8]) -> &[u8] {
    path.iter().rposition(|byte| *byte == b'/').map_or(&[], |slash| &path[..slash])
}

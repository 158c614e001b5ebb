//! Writing a tree below a directory at the speed of the system calls: every call relative to an open directory.
//!
//! Used with a clock by the operations and without one for staging.

use std::ffi::CStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use super::content::{Body, Content, TRANSFER};
use super::descriptor::open_directory;
use super::error::IoFailure;
use super::tree::{Directory, Entry, EntryKind, PATH_LIMIT, Tree};

/// What is timed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Call {
    /// `mkdirat` of one directory.
    MakeDirectory,
    /// Opening, writing and closing one file.
    WriteFile,
    /// `linkat` or `symlinkat`.
    Link,
}

/// A clock around calls, or none.
pub(crate) trait Probe {
    /// A call begins.
    fn begin(&mut self);
    /// It ended.
    fn end(&mut self, call: Call);
}

/// No clock.
pub(crate) struct Untimed;

impl Probe for Untimed {
    fn begin(&mut self) {}
    fn end(&mut self, _: Call) {}
}

/// Where the bytes come from.
#[derive(Clone, Copy)]
pub(crate) enum Source<'a> {
    /// Generated on the way.
    Generated {
        /// The pool.
        content: &'a Content,
        /// How often it was overwritten before.
        generation: u32,
    },
    /// The same tree, staged in this directory.
    Folder(BorrowedFd<'a>),
}

/// Whether the tree is new.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    /// Nothing of it may exist but the root.
    Create,
    /// All of it exists; each distinct file is truncated and written again.
    Overwrite,
    /// The same, where what were hard links may have become files of their own: each name is written again.
    OverwriteNames,
}

/// How much was written.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Written {
    /// Files (names).
    pub(crate) files: u64,
    /// Bytes.
    pub(crate) bytes: u64,
}

/// Writes the tree below `root`.
pub(crate) fn write_tree(
    tree: &Tree,
    source: Source<'_>,
    root: BorrowedFd<'_>,
    manner: Manner,
    probe: &mut impl Probe,
) -> Result<Written, IoFailure> {
    let mut writer = Writer { tree, source, root, manner, buffer: Vec::new(), written: Written::default() };
    if matches!(source, Source::Folder(_)) {
        writer.buffer = vec![0; TRANSFER];
    }
    // The open directories from the root down to the one being filled, there and at the source.
    let mut open: Vec<(OwnedFd, Option<OwnedFd>)> = Vec::new();
    for (number, directory) in tree.directories.iter().enumerate() {
        open.truncate(usize::from(directory.depth).saturating_sub(1));
        let (here, from) = match (number, open.last()) {
            (0, _) => (None, None),
            (_, None) => (Some(root), source_root(source)),
            (_, Some((here, from))) => (Some(here.as_fd()), from.as_ref().map(OwnedFd::as_fd)),
        };
        let Some(parent) = here else {
            writer.fill(directory, root, source_root(source), probe)?;
            continue;
        };
        let failed = |call, errno| IoFailure::new(call, tree.directory_path(number), errno);
        let name = tree.name(directory.name);
        if manner == Manner::Create {
            probe.begin();
            let made =
                rustix::fs::mkdirat(parent, name, Mode::from_raw_mode((directory.mode | 0o700).into()));
            probe.end(Call::MakeDirectory);
            made.map_err(|errno| failed("make the directory", errno))?;
        }
        let here = open_directory(parent, name).map_err(|errno| failed("open the directory", errno))?;
        let from = from.map(|from| open_directory(from, name)).transpose();
        let from = from.map_err(|errno| failed("open the staged directory", errno))?;
        writer.fill(directory, here.as_fd(), from.as_ref().map(OwnedFd::as_fd), probe)?;
        open.push((here, from));
    }
    Ok(writer.written)
}

fn source_root(source: Source<'_>) -> Option<BorrowedFd<'_>> {
    match source {
        Source::Folder(root) => Some(root),
        Source::Generated { .. } => None,
    }
}

struct Writer<'a> {
    tree: &'a Tree,
    source: Source<'a>,
    root: BorrowedFd<'a>,
    manner: Manner,
    buffer: Vec<u8>,
    written: Written,
}

impl Writer<'_> {
    /// Writes the entries of one directory.
    fn fill(
        &mut self,
        directory: &Directory,
        here: BorrowedFd<'_>,
        from: Option<BorrowedFd<'_>>,
        probe: &mut impl Probe,
    ) -> Result<(), IoFailure> {
        let tree = self.tree;
        for (place, entry) in tree.entries_of(directory).iter().enumerate() {
            let number = directory.first as usize + place;
            let done = match (entry.kind, self.manner) {
                (EntryKind::File, manner) | (EntryKind::HardLink, manner @ Manner::OverwriteNames) => {
                    probe.begin();
                    let done = self.file(entry, manner, here, from);
                    probe.end(Call::WriteFile);
                    self.written.files += 1;
                    self.written.bytes += entry.size;
                    done.map_err(|errno| ("write", errno))
                }
                (_, Manner::Overwrite | Manner::OverwriteNames) => Ok(()),
                (EntryKind::HardLink, Manner::Create) => {
                    let mut buffer = [0; PATH_LIMIT];
                    let target = tree.entry_path_into(entry.what as usize, &mut buffer);
                    probe.begin();
                    let done = target.ok_or(Errno::NAMETOOLONG).and_then(|target| {
                        rustix::fs::linkat(self.root, target, here, tree.name(entry.name), AtFlags::empty())
                    });
                    probe.end(Call::Link);
                    self.written.files += 1;
                    done.map_err(|errno| ("make the hard link", errno))
                }
                (EntryKind::Symlink, Manner::Create) => {
                    probe.begin();
                    let done = rustix::fs::symlinkat(tree.name(entry.what), here, tree.name(entry.name));
                    probe.end(Call::Link);
                    done.map_err(|errno| ("make the symbolic link", errno))
                }
            };
            done.map_err(|(call, errno)| IoFailure::new(call, tree.entry_path(number), errno))?;
        }
        Ok(())
    }

    /// Writes one file.
    fn file(
        &mut self,
        entry: &Entry,
        manner: Manner,
        here: BorrowedFd<'_>,
        from: Option<BorrowedFd<'_>>,
    ) -> Result<(), Errno> {
        let name = self.tree.name(entry.name);
        let flags = match manner {
            Manner::Create => OFlags::CREATE | OFlags::EXCL,
            Manner::Overwrite | Manner::OverwriteNames => OFlags::TRUNC,
        };
        let flags = flags | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(here, name, flags, Mode::from_raw_mode(entry.mode.into()))?;
        match (self.source, from) {
            (Source::Generated { content, generation }, _) => {
                let identity = match entry.kind {
                    EntryKind::HardLink => self.tree.entries[entry.what as usize].what,
                    _ => entry.what,
                };
                content.write_all(file.as_fd(), &Body { identity, generation, size: entry.size })
            }
            (Source::Folder(_), Some(from)) => {
                copy_file(from, name, file.as_fd(), entry.size, &mut self.buffer)
            }
            (Source::Folder(_), None) => Err(Errno::BADF),
        }
    }
}

/// Copies exactly `size` bytes of the file `name` of a staged directory; `buffer` has a length.
pub(crate) fn copy_file(
    from: BorrowedFd<'_>,
    name: &CStr,
    file: BorrowedFd<'_>,
    size: u64,
    buffer: &mut [u8],
) -> Result<(), Errno> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let source = rustix::fs::openat(from, name, flags, Mode::empty())?;
    let source = source.as_fd();
    let mut left = size;
    while left > 0 {
        let want = left.min(buffer.len() as u64) as usize;
        let got = read_some(source, &mut buffer[..want])?;
        if got == 0 {
            return Err(Errno::STALE); // the staged file has shrunk under us
        }
        write_fully(file, &buffer[..got])?;
        left -= got as u64;
    }
    Ok(())
}

/// Reads once, again when a signal came between.
pub(crate) fn read_some(file: BorrowedFd<'_>, buffer: &mut [u8]) -> Result<usize, Errno> {
    loop {
        match rustix::io::read(file, &mut *buffer) {
            Err(Errno::INTR) => {}
            other => return other,
        }
    }
}

/// Writes all of `bytes`.
pub(crate) fn write_fully(file: BorrowedFd<'_>, mut bytes: &[u8]) -> Result<(), Errno> {
    while !bytes.is_empty() {
        match rustix::io::write(file, bytes) {
            Ok(0) => return Err(Errno::NOSPC),
            Ok(count) => bytes = &bytes[count..],
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

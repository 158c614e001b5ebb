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
use super::transfer::copy_file;
use super::tree::{Directory, EntryKind, PATH_LIMIT, Tree, TreeEntry};
use super::write_probe::{Call, WriteProbe};

#[derive(Clone, Copy)]
pub(crate) enum TreeSource<'a> {
    Generated {
        content: &'a Content,
        /// How often it was overwritten before.
        generation: u32,
    },
    /// The same tree, staged in this directory.
    Folder(BorrowedFd<'a>),
}

#[derive(Clone, Copy)]
pub(crate) enum Manner<'a> {
    /// Nothing of it may exist but the root.
    Create,
    /// All of it exists; each distinct file is truncated and written again.
    Overwrite,
    /// Overwrites each name separately: hard links may have become files of their own.
    OverwriteNames,
    /// A new tree that shares unchanged data with a former one.
    Next {
        /// The root of the former tree.
        former: BorrowedFd<'a>,
        sharing: Sharing,
        /// Whether the entry of this number has changed.
        changes: &'a (dyn Fn(usize) -> bool + Sync),
    },
}

/// How a file of a new tree and the same one of the former are one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sharing {
    /// A hard link to the former file.
    HardLink,
    /// By their blocks, until one of them is written (FICLONE).
    Clone,
}

impl Manner<'_> {
    fn is_new(self) -> bool {
        matches!(self, Self::Create | Self::Next { .. })
    }
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct WrittenTotals {
    pub(crate) files: u64,
    pub(crate) bytes: u64,
}

pub(crate) fn write_tree(
    tree: &Tree,
    source: TreeSource<'_>,
    root: BorrowedFd<'_>,
    manner: Manner<'_>,
    probe: &mut impl WriteProbe,
) -> Result<WrittenTotals, IoFailure> {
    let mut writer = TreeWriter {
        tree,
        source,
        root,
        manner,
        only: None,
        buffer: Vec::new(),
        written: WrittenTotals::default(),
    };
    let staged = match source {
        TreeSource::Folder(staged) => Some(staged),
        TreeSource::Generated { .. } => None,
    };
    if staged.is_some() {
        writer.buffer = vec![0; TRANSFER];
    }
    let former = match manner {
        Manner::Next { former, .. } => Some(former),
        _ => None,
    };
    let top = WriteLevel { here: root, staged, former };
    // From the one below the root down to the one being filled.
    let mut open: Vec<OpenLevel> = Vec::new();
    for (number, directory) in tree.directories.iter().enumerate() {
        if number == 0 {
            writer.write_directory(directory, top, probe)?;
            continue;
        }
        open.truncate(usize::from(directory.depth).saturating_sub(1));
        let above = open.last().map_or(top, OpenLevel::as_level);
        let failed =
            |call: &'static str| move |errno| IoFailure::new(call, tree.directory_path(number), errno);
        let name = tree.name_at(directory.name);
        if manner.is_new() {
            probe.begin();
            let made =
                rustix::fs::mkdirat(above.here, name, Mode::from_raw_mode((directory.mode | 0o700).into()));
            probe.end(Call::MakeDirectory);
            made.map_err(failed("make the directory"))?;
        }
        let below = |folder: Option<BorrowedFd<'_>>| folder.map(|it| open_directory(it, name)).transpose();
        let level = OpenLevel {
            here: open_directory(above.here, name).map_err(failed("open the directory"))?,
            staged: below(above.staged).map_err(failed("open the staged directory"))?,
            former: below(above.former).map_err(failed("open the directory of the generation before"))?,
        };
        writer.write_directory(directory, level.as_level(), probe)?;
        open.push(level);
    }
    Ok(writer.written)
}

/// A tree that is being written where there is nothing of it, by several.
#[derive(Clone, Copy)]
pub(crate) struct NewTree<'a> {
    pub(crate) tree: &'a Tree,
    pub(crate) source: TreeSource<'a>,
    pub(crate) root: BorrowedFd<'a>,
    /// The metadata of a new file.
    pub(crate) manner: Manner<'a>,
}

/// A directory of a tree that is open, at its source too where that is a folder, and in the former tree if there is one.
pub(super) struct DirectoryPlace<'a> {
    pub(super) directory: &'a Directory,
    pub(super) here: BorrowedFd<'a>,
    pub(super) staged: Option<BorrowedFd<'a>>,
    pub(super) former: Option<BorrowedFd<'a>>,
}

/// Writes some new entries of a directory.
pub(super) fn write_entries(
    writing: &NewTree<'_>,
    place: &DirectoryPlace<'_>,
    only: &dyn Fn(usize) -> bool,
    probe: &mut impl WriteProbe,
) -> Result<WrittenTotals, IoFailure> {
    let NewTree { tree, source, root, manner } = *writing;
    let DirectoryPlace { directory, here, staged, former } = *place;
    let buffer = if staged.is_some() { vec![0; TRANSFER] } else { Vec::new() };
    let written = WrittenTotals::default();
    let mut writer = TreeWriter { tree, source, root, manner, only: Some(only), buffer, written };
    writer.write_directory(directory, WriteLevel { here, staged, former }, probe)?;
    Ok(writer.written)
}

/// A directory being filled, the same one at the source if that is a folder, and in the former tree if there is one.
#[derive(Clone, Copy)]
struct WriteLevel<'a> {
    here: BorrowedFd<'a>,
    staged: Option<BorrowedFd<'a>>,
    former: Option<BorrowedFd<'a>>,
}

struct OpenLevel {
    here: OwnedFd,
    staged: Option<OwnedFd>,
    former: Option<OwnedFd>,
}

impl OpenLevel {
    fn as_level(&self) -> WriteLevel<'_> {
        WriteLevel {
            here: self.here.as_fd(),
            staged: self.staged.as_ref().map(OwnedFd::as_fd),
            former: self.former.as_ref().map(OwnedFd::as_fd),
        }
    }
}

struct TreeWriter<'a> {
    tree: &'a Tree,
    source: TreeSource<'a>,
    root: BorrowedFd<'a>,
    manner: Manner<'a>,
    /// Which entries; all where it does not say.
    only: Option<&'a dyn Fn(usize) -> bool>,
    buffer: Vec<u8>,
    written: WrittenTotals,
}

impl TreeWriter<'_> {
    fn write_directory(
        &mut self,
        directory: &Directory,
        level: WriteLevel<'_>,
        probe: &mut impl WriteProbe,
    ) -> Result<(), IoFailure> {
        let tree = self.tree;
        for (place, entry) in tree.entries_of(directory).iter().enumerate() {
            let number = directory.first as usize + place;
            if self.only.is_some_and(|only| !only(number)) {
                continue;
            }
            let name = tree.name_at(entry.name);
            let unchanged = match self.manner {
                Manner::Next { former, sharing, changes } => {
                    let same = match entry.kind {
                        EntryKind::File => !changes(number),
                        EntryKind::Symlink => sharing == Sharing::HardLink,
                        EntryKind::HardLink => false,
                    };
                    same.then_some((level.former.unwrap_or(former), sharing))
                }
                _ => None,
            };
            let mut buffer = [0; PATH_LIMIT];
            probe.begin();
            let (call, verb, done) = match (entry.kind, self.manner) {
                _ if let Some((former, Sharing::HardLink)) = unchanged => {
                    let linked = rustix::fs::linkat(former, name, level.here, name, AtFlags::empty());
                    (Call::Link, "make the hard link", linked)
                }
                _ if let Some((former, Sharing::Clone)) = unchanged => {
                    (Call::Clone, "clone", clone_file(former, entry, name, level.here))
                }
                (EntryKind::File, _) | (EntryKind::HardLink, Manner::OverwriteNames) => {
                    self.written.bytes += entry.size;
                    (Call::WriteFile, "write", self.write_file(entry, level))
                }
                (_, manner) if !manner.is_new() => continue,
                // A further name of a file that may have changed: of the one in this tree.
                (EntryKind::HardLink, _) => {
                    let target = tree.entry_path_into(entry.what as usize, &mut buffer);
                    probe.begin(); // finding the path is our own work
                    let linked = target.ok_or(Errno::NAMETOOLONG).and_then(|target| {
                        rustix::fs::linkat(self.root, target, level.here, name, AtFlags::empty())
                    });
                    (Call::Link, "make the hard link", linked)
                }
                (EntryKind::Symlink, _) => {
                    let linked = rustix::fs::symlinkat(tree.name_at(entry.what), level.here, name);
                    (Call::Link, "make the symbolic link", linked)
                }
            };
            probe.end(call);
            self.written.files += u64::from(entry.kind != EntryKind::Symlink);
            done.map_err(|errno| IoFailure::new(verb, tree.entry_path(number), errno))?;
        }
        Ok(())
    }

    fn write_file(&mut self, entry: &TreeEntry, level: WriteLevel<'_>) -> Result<(), Errno> {
        let name = self.tree.name_at(entry.name);
        let flags = if self.manner.is_new() { OFlags::CREATE | OFlags::EXCL } else { OFlags::TRUNC };
        let flags = flags | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(level.here, name, flags, Mode::from_raw_mode(entry.mode.into()))?;
        match (self.source, level.staged) {
            (TreeSource::Generated { content, generation }, _) => {
                let identity = match entry.kind {
                    EntryKind::HardLink => self.tree.entries[entry.what as usize].what,
                    _ => entry.what,
                };
                content.write_all(file.as_fd(), &Body { identity, generation, size: entry.size })
            }
            (TreeSource::Folder(_), Some(staged)) => {
                copy_file(staged, name, file.as_fd(), entry.size, &mut self.buffer)
            }
            (TreeSource::Folder(_), None) => Err(Errno::BADF),
        }
    }
}

/// Makes a file that shares the blocks of the former of this name.
fn clone_file(
    former: BorrowedFd<'_>,
    entry: &TreeEntry,
    name: &CStr,
    here: BorrowedFd<'_>,
) -> Result<(), Errno> {
    let from =
        rustix::fs::openat(former, name, OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let to = rustix::fs::openat(here, name, flags, Mode::from_raw_mode(entry.mode.into()))?;
    rustix::fs::ioctl_ficlone(to, from)
}

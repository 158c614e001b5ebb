//! The calls of which sequences are made, and those that promise something.

use super::place::SequencePlace;
use super::place::SequencePlace::{A, ABar, ABaz, AC, AFoo, AQux, B, BFoo, C, CFoo};

/// One call, with all that it is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum SequenceStep {
    /// An empty file.
    Create(SequencePlace),
    MakeDirectory(SequencePlace),
    /// A symbolic link, which leads to `foo`.
    Symlink(SequencePlace),
    MakeFifo(SequencePlace),
    /// A file that had no name (open(2), O_TMPFILE) is given one.
    LinkUnnamed(SequencePlace),
    Link(SequencePlace, SequencePlace),
    Unlink(SequencePlace),
    /// The same of a file that is open, and stays so until the end of the sequence.
    UnlinkOpen(SequencePlace),
    RemoveDirectory(SequencePlace),
    /// The same of a directory that is open, and stays so.
    RemoveOpenDirectory(SequencePlace),
    Rename(SequencePlace, SequencePlace),
    /// Two names change places.
    Exchange(SequencePlace, SequencePlace),
    /// Offset and length in bytes.
    Write(SequencePlace, u32, u32),
    /// The same past the cache of pages.
    WriteDirect(SequencePlace, u32, u32),
    /// The same through a shared mapping (mmap(2)), within the file.
    WriteMapped(SequencePlace, u32, u32),
    /// All of the first in place of the beginning of the second, by sharing its blocks (ioctl_ficlone(2)).
    Clone(SequencePlace, SequencePlace),
    /// Behind the end: length in bytes.
    Append(SequencePlace, u32),
    /// To this size in bytes.
    Truncate(SequencePlace, u32),
    /// Blocks set aside: offset and length in bytes, and whether the size stays.
    Allocate(SequencePlace, u32, u32, bool),
    PunchHole(SequencePlace, u32, u32),
    /// Zeroes, and whether the size stays.
    ZeroRange(SequencePlace, u32, u32, bool),
    /// An extended attribute of this value.
    SetAttribute(SequencePlace, u8),
    RemoveAttribute(SequencePlace),
}

/// A call that makes data durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum SequencePersist {
    Fsync(SequencePlace),
    Fdatasync(SequencePlace),
    /// fsync of what was unlinked or removed while it was open: it has no name.
    FsyncOpen,
    /// syncfs of the whole filesystem.
    Sync,
}

/// A call of a sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum SequenceCall {
    Step(SequenceStep),
    Persist(SequencePersist),
}

/// Bytes of a block, as the steps below have it.
pub(super) const BLOCK: u32 = 4096;

/// Every call that a sequence may have, in a fixed order: the number of a sequence stands for the same on every machine.
pub(super) const STEPS: &[SequenceStep] = &[
    SequenceStep::Create(ABaz),
    SequenceStep::Create(AFoo),
    SequenceStep::Create(BFoo),
    SequenceStep::MakeDirectory(AC),
    SequenceStep::MakeDirectory(C),
    SequenceStep::MakeDirectory(B),
    SequenceStep::MakeDirectory(A),
    SequenceStep::Symlink(ABaz),
    SequenceStep::Symlink(BFoo),
    SequenceStep::MakeFifo(ABaz),
    SequenceStep::LinkUnnamed(ABaz),
    SequenceStep::Link(AFoo, ABaz),
    SequenceStep::Link(AFoo, BFoo),
    SequenceStep::Link(ABar, ABaz),
    SequenceStep::Link(ABar, BFoo),
    SequenceStep::Unlink(AFoo),
    SequenceStep::Unlink(ABar),
    SequenceStep::Unlink(ABaz),
    SequenceStep::Unlink(BFoo),
    SequenceStep::RemoveDirectory(B),
    SequenceStep::RemoveDirectory(C),
    SequenceStep::RemoveDirectory(AC),
    SequenceStep::Rename(AFoo, ABaz),
    SequenceStep::Rename(AFoo, ABar),
    SequenceStep::Rename(ABar, AFoo),
    SequenceStep::Rename(AFoo, BFoo),
    SequenceStep::Rename(ABar, BFoo),
    SequenceStep::Rename(BFoo, AFoo),
    SequenceStep::Rename(ABaz, AFoo),
    SequenceStep::Rename(A, C),
    SequenceStep::Rename(B, AC),
    SequenceStep::Rename(B, C),
    SequenceStep::Rename(C, AC),
    SequenceStep::Exchange(AFoo, ABar),
    SequenceStep::Exchange(AFoo, BFoo),
    SequenceStep::Write(AFoo, 0, BLOCK),
    SequenceStep::Write(AFoo, 1000, 5000),
    SequenceStep::Write(AFoo, 8 * BLOCK, BLOCK),
    SequenceStep::Append(AFoo, BLOCK),
    SequenceStep::Append(AFoo, 1000),
    SequenceStep::Append(ABar, 2 * BLOCK),
    SequenceStep::Append(ABaz, BLOCK),
    SequenceStep::Append(BFoo, BLOCK),
    SequenceStep::Append(CFoo, BLOCK),
    SequenceStep::WriteDirect(AFoo, BLOCK, BLOCK),
    SequenceStep::WriteDirect(AFoo, 3 * BLOCK, BLOCK),
    SequenceStep::WriteMapped(AFoo, BLOCK, BLOCK),
    SequenceStep::WriteMapped(AFoo, 4 * BLOCK, BLOCK),
    SequenceStep::Clone(AFoo, ABar),
    SequenceStep::Clone(ABar, AFoo),
    SequenceStep::Truncate(AFoo, 0),
    SequenceStep::Truncate(AFoo, 5000),
    SequenceStep::Truncate(AFoo, 5 * BLOCK + 100),
    SequenceStep::Truncate(ABar, 0),
    SequenceStep::Allocate(AFoo, 3 * BLOCK, 2 * BLOCK, false),
    SequenceStep::Allocate(AFoo, 3 * BLOCK, 4 * BLOCK, true),
    SequenceStep::Allocate(ABaz, 0, 2 * BLOCK, true),
    SequenceStep::PunchHole(AFoo, BLOCK, BLOCK),
    SequenceStep::PunchHole(AFoo, 1000, 9000),
    SequenceStep::ZeroRange(AFoo, BLOCK, BLOCK, false),
    SequenceStep::ZeroRange(AFoo, 2 * BLOCK, 3 * BLOCK, false),
    SequenceStep::ZeroRange(AFoo, 2 * BLOCK, 4 * BLOCK, true),
    SequenceStep::SetAttribute(AFoo, 2),
    SequenceStep::SetAttribute(ABar, 3),
    SequenceStep::SetAttribute(A, 4),
    SequenceStep::RemoveAttribute(AFoo),
    SequenceStep::UnlinkOpen(AFoo),
    SequenceStep::UnlinkOpen(ABar),
    SequenceStep::UnlinkOpen(ABaz),
    SequenceStep::RemoveOpenDirectory(B),
    SequenceStep::RemoveOpenDirectory(AC),
    // Of a symbolic link, once one is there.
    SequenceStep::Rename(ABaz, AQux),
    SequenceStep::Rename(ABaz, BFoo),
    SequenceStep::Rename(BFoo, ABaz),
];

impl SequenceStep {
    /// The places that it uses: the last is the one that it creates or changes.
    pub(super) fn places(self) -> Vec<SequencePlace> {
        use SequenceStep as S;
        match self {
            S::Link(from, to) | S::Rename(from, to) | S::Exchange(from, to) | S::Clone(from, to) => {
                vec![from, to]
            }
            S::Create(at)
            | S::MakeDirectory(at)
            | S::Symlink(at)
            | S::MakeFifo(at)
            | S::LinkUnnamed(at)
            | S::Unlink(at)
            | S::UnlinkOpen(at)
            | S::RemoveDirectory(at)
            | S::RemoveOpenDirectory(at)
            | S::Write(at, ..)
            | S::WriteDirect(at, ..)
            | S::WriteMapped(at, ..)
            | S::Append(at, _)
            | S::Truncate(at, _)
            | S::Allocate(at, ..)
            | S::PunchHole(at, ..)
            | S::ZeroRange(at, ..)
            | S::SetAttribute(at, _)
            | S::RemoveAttribute(at) => vec![at],
        }
    }

    /// Whether it leaves something open that has no name.
    pub(super) fn leaves_open(self) -> bool {
        matches!(self, SequenceStep::UnlinkOpen(_) | SequenceStep::RemoveOpenDirectory(_))
    }

    /// Whether it changes directory entries.
    pub(super) fn changes_names(self) -> bool {
        use SequenceStep as S;
        matches!(
            self,
            S::Create(_)
                | S::MakeDirectory(_)
                | S::Symlink(_)
                | S::MakeFifo(_)
                | S::LinkUnnamed(_)
                | S::Link(..)
                | S::Unlink(_)
                | S::UnlinkOpen(_)
                | S::RemoveDirectory(_)
                | S::RemoveOpenDirectory(_)
                | S::Rename(..)
                | S::Exchange(..)
        )
    }
}

//! The calls that sequences consist of: steps that change something, and calls that make data durable.

use super::place::SequencePlace;
use super::place::SequencePlace::{A, ABar, ABaz, AC, AFoo, AQux, B, BFoo, C, CFoo};

/// A call that changes something, with its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum SequenceStep {
    /// Creates an empty file.
    Create(SequencePlace),
    MakeDirectory(SequencePlace),
    /// Creates a symbolic link to `foo`.
    Symlink(SequencePlace),
    MakeFifo(SequencePlace),
    /// Gives a name to a file without one (open(2), O_TMPFILE).
    LinkUnnamed(SequencePlace),
    Link(SequencePlace, SequencePlace),
    Unlink(SequencePlace),
    /// Unlinks a file that remains open until the end of the sequence.
    UnlinkOpen(SequencePlace),
    RemoveDirectory(SequencePlace),
    /// Removes a directory that remains open until the end of the sequence.
    RemoveOpenDirectory(SequencePlace),
    Rename(SequencePlace, SequencePlace),
    /// Exchanges two names.
    Exchange(SequencePlace, SequencePlace),
    /// Writes at this offset with this length, in bytes.
    Write(SequencePlace, u32, u32),
    /// Writes without the page cache (O_DIRECT).
    WriteDirect(SequencePlace, u32, u32),
    /// Writes through a shared mapping (mmap(2)), within the file.
    WriteMapped(SequencePlace, u32, u32),
    /// Replaces the content of the second file by that of the first, by sharing its blocks (ioctl_ficlone(2)).
    Clone(SequencePlace, SequencePlace),
    /// Appends this many bytes.
    Append(SequencePlace, u32),
    /// Truncates or extends the file to this size in bytes.
    Truncate(SequencePlace, u32),
    /// Allocates blocks: offset and length in bytes, and whether the size remains.
    Allocate(SequencePlace, u32, u32, bool),
    PunchHole(SequencePlace, u32, u32),
    /// Zeroes a range: offset and length in bytes, and whether the size remains.
    ZeroRange(SequencePlace, u32, u32, bool),
    /// Sets the extended attribute to this value.
    SetAttribute(SequencePlace, u8),
    RemoveAttribute(SequencePlace),
}

/// A call that makes data durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum SequencePersist {
    Fsync(SequencePlace),
    Fdatasync(SequencePlace),
    /// fsync of a file or directory that was unlinked or removed while it was open, and has no name.
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

/// The size of a block in bytes that the steps below assume.
pub(super) const BLOCK: u32 = 4096;

/// Every step that a sequence may have, in a fixed order, so that the number of a sequence has the same meaning on every
/// machine.
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
    // Steps on a symbolic link, which an earlier step may have created.
    SequenceStep::Rename(ABaz, AQux),
    SequenceStep::Rename(ABaz, BFoo),
    SequenceStep::Rename(BFoo, ABaz),
];

impl SequenceStep {
    /// The places that the step uses. It creates or changes the last one.
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

    /// Whether the step leaves a node open that has no name.
    pub(super) fn leaves_open(self) -> bool {
        matches!(self, SequenceStep::UnlinkOpen(_) | SequenceStep::RemoveOpenDirectory(_))
    }

    /// Whether the step changes directory entries.
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

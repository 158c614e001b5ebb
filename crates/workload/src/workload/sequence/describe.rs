//! Describes calls in words, as shell commands if a common program makes the call.

use std::fmt;

use super::step::{SequenceCall, SequencePersist, SequenceStep};

impl fmt::Display for SequenceStep {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        use SequenceStep as S;
        match self {
            S::Create(at) => write!(formatter, "create {}", at.path()),
            S::MakeDirectory(at) => write!(formatter, "mkdir {}", at.path()),
            S::Symlink(at) => write!(formatter, "symlink foo {}", at.path()),
            S::MakeFifo(at) => write!(formatter, "mkfifo {}", at.path()),
            S::LinkUnnamed(at) => write!(formatter, "link O_TMPFILE {}", at.path()),
            S::Link(from, to) => write!(formatter, "link {} {}", from.path(), to.path()),
            S::Unlink(at) => write!(formatter, "unlink {}", at.path()),
            S::UnlinkOpen(at) => write!(formatter, "unlink {} while it is open", at.path()),
            S::RemoveDirectory(at) => write!(formatter, "rmdir {}", at.path()),
            S::RemoveOpenDirectory(at) => write!(formatter, "rmdir {} while it is open", at.path()),
            S::Rename(from, to) => write!(formatter, "rename {} {}", from.path(), to.path()),
            S::Exchange(from, to) => write!(formatter, "exchange {} {}", from.path(), to.path()),
            S::Write(at, offset, length) => write!(formatter, "write {} {offset}+{length}", at.path()),
            S::WriteDirect(at, offset, length) => {
                write!(formatter, "write O_DIRECT {} {offset}+{length}", at.path())
            }
            S::WriteMapped(at, offset, length) => {
                write!(formatter, "write through a mapping {} {offset}+{length}", at.path())
            }
            S::Clone(from, to) => write!(formatter, "clone {} {}", from.path(), to.path()),
            S::Append(at, length) => write!(formatter, "append {} {length}", at.path()),
            S::Truncate(at, size) => write!(formatter, "truncate {} {size}", at.path()),
            S::Allocate(at, offset, length, keep) => {
                write!(formatter, "fallocate{} {} {offset}+{length}", keep_size_words(*keep), at.path())
            }
            S::PunchHole(at, offset, length) => {
                write!(formatter, "punch hole {} {offset}+{length}", at.path())
            }
            S::ZeroRange(at, offset, length, keep) => {
                write!(formatter, "zero range{} {} {offset}+{length}", keep_size_words(*keep), at.path())
            }
            S::SetAttribute(at, value) => write!(formatter, "setxattr {} user.fsverdict={value}", at.path()),
            S::RemoveAttribute(at) => write!(formatter, "removexattr {} user.fsverdict", at.path()),
        }
    }
}

fn keep_size_words(keep: bool) -> &'static str {
    if keep { " KEEP_SIZE" } else { "" }
}

impl fmt::Display for SequenceCall {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SequenceCall::Step(step) => step.fmt(formatter),
            SequenceCall::Persist(SequencePersist::Fsync(at)) => write!(formatter, "fsync {}", at.path()),
            SequenceCall::Persist(SequencePersist::Fdatasync(at)) => {
                write!(formatter, "fdatasync {}", at.path())
            }
            SequenceCall::Persist(SequencePersist::FsyncOpen) => {
                formatter.write_str("fsync what is open without a name")
            }
            SequenceCall::Persist(SequencePersist::Sync) => formatter.write_str("sync"),
        }
    }
}

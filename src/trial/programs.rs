//! The command lines of a trial, by the names that things have there: those the agent runs, and those a dry run tells.

use crate::filesystem::{Cleaner, Filesystem, MountOptions};
use fsverdict_judgement::plan::Candidate;

/// What a trial's programs are told of the place they run in.
#[derive(Debug, Clone)]
pub(super) struct TrialNames {
    /// The device that the filesystem lies on.
    pub(super) top: String,
    pub(super) mount: &'static str,
}

/// What decides about a candidate's command lines.
#[derive(Debug, Clone, Copy)]
pub(super) struct Programs<'a> {
    pub(super) candidate: &'a Candidate,
    pub(super) filesystem: &'static Filesystem,
}

/// Programs that are run once a trial's layers are open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Line {
    Mkfs,
    Mount,
    Cleaner,
    Unmount,
    Check,
}

impl Line {
    /// What the journal calls it; a check bears the name of its phase.
    pub(super) const fn step(self) -> &'static str {
        match self {
            Line::Mkfs => "mkfs",
            Line::Mount => "mount",
            Line::Cleaner => "start the cleaner",
            Line::Unmount => "unmount",
            Line::Check => "fsck",
        }
    }
}

impl Programs<'_> {
    /// The command line; none where this candidate has no such program.
    pub(super) fn argv(&self, line: Line, names: &TrialNames) -> Option<Vec<String>> {
        let TrialNames { top, mount } = names;
        match line {
            Line::Mkfs => Some(self.filesystem.mkfs_argv(top, &self.candidate.mkfs)),
            Line::Mount => Some(self.mount().argv(top, mount)),
            Line::Cleaner => Some(self.cleaner()?.argv(top, mount)),
            // Without helpers, as it was mounted: a helper would look for a cleaner that fsverdict started itself.
            Line::Unmount => Some(["umount", "-i", mount].map(str::to_owned).into()),
            Line::Check => self.filesystem.fsck_argv(top),
        }
    }

    fn mount(&self) -> MountOptions {
        self.filesystem.mount(&self.candidate.mount)
    }

    /// The garbage collector that the candidate asks for.
    pub(super) fn cleaner(&self) -> Option<Cleaner> {
        self.mount().cleaner
    }
}

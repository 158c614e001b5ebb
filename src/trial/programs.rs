//! The command lines of a trial, by the names that things have there: those the agent runs, and those a dry run tells.

use crate::filesystem::{Cleaner, Filesystem, MountOptions};
use crate::layer::Encryption;
use crate::plan::Candidate;

/// What a trial's programs are told of the place they run in.
#[derive(Debug, Clone)]
pub(super) struct TrialNames {
    /// The device that was claimed.
    pub(super) bottom: String,
    /// The device that the filesystem lies on.
    pub(super) top: String,
    /// Of the encrypted layer, for the kernel's device mapper.
    pub(super) mapping: String,
    /// The file with its key.
    pub(super) key: String,
    pub(super) mount: &'static str,
}

/// What decides about a candidate's command lines.
#[derive(Debug, Clone, Copy)]
pub(super) struct Programs<'a> {
    pub(super) candidate: &'a Candidate,
    pub(super) filesystem: &'static Filesystem,
    pub(super) encryption: &'static Encryption,
}

/// Programs that are run once a trial's device is claimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Line {
    FormatLayer,
    OpenLayer,
    MarkLayer,
    DescribeLayer,
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
            Line::FormatLayer => "encrypt",
            Line::OpenLayer => "open encryption",
            Line::MarkLayer => "mark encryption for removal",
            Line::DescribeLayer => "describe encryption",
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
        let TrialNames { bottom, top, mapping, key, mount } = names;
        match line {
            Line::FormatLayer => self.encryption.format_argv(bottom, key),
            Line::OpenLayer => self.encryption.open_argv(bottom, mapping, key),
            Line::MarkLayer => self.encryption.close_deferred_argv(mapping),
            Line::DescribeLayer => self.encryption.status_argv(mapping),
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

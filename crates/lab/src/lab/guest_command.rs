//! The input from which a lab with guests starts a trial's kernel, and its result: a command for the sandbox.

use std::os::fd::OwnedFd;
use std::path::PathBuf;

use crate::trial::{Assignment, TrialSpec};
use fsverdict_judgement::journal::TrialId;
use fsverdict_linux::sandbox::Devices;

use super::Attachments;
use super::kernel::Kernel;
use super::modelled::Modelled;

/// Everything that a lab needs to start the guest of one trial.
#[derive(Debug)]
pub(super) struct GuestInputs<'a> {
    pub(super) kernel: &'a Kernel,
    pub(super) trial: &'a TrialId,
    /// Bytes.
    pub(super) memory: u64,
    pub(super) assignment: &'a Assignment,
    /// Open images or block devices; or sockets, where they are served.
    pub(super) disks: Vec<OwnedFd>,
    pub(super) served: Option<DiskService<'a>>,
    pub(super) staging: Option<OwnedFd>,
    /// The word of the kernel's command line that sets the prices of computation, if it has some.
    pub(super) prices: Option<String>,
    /// Where the agent's events go.
    pub(super) events: OwnedFd,
}

/// Disks that a process of fsverdict serves.
#[derive(Debug)]
pub(super) struct DiskService<'a> {
    pub(super) models: &'a [Modelled<'a>],
    /// The socket of the guest's clock.
    pub(super) clock: OwnedFd,
}

/// The command that starts a guest's kernel in its sandbox.
pub(super) struct GuestCommand {
    pub(super) argv: Vec<String>,
    /// Descriptors that the command inherits, in the order of their numbers.
    pub(super) lent: Vec<OwnedFd>,
    /// A path that the sandbox shows at another path.
    pub(super) shown: Option<(PathBuf, PathBuf)>,
}

/// The traits in which the labs with guests differ.
#[derive(Debug, Clone, Copy)]
pub(super) struct GuestTraits {
    /// The guest's name of a candidate's disk, by its number from 1; and of the disk for datasets, by the number of
    /// disks.
    pub(super) disk: fn(number: usize) -> String,
    pub(super) staging: fn(disks: usize) -> String,
    /// The devices of this machine that the guest's kernel can see.
    pub(super) devices: Devices,
    /// Whether its times mean anything.
    pub(super) timed: bool,
    /// Whether the guest's clock starts with the device's, so that a trace can be divided into phases.
    pub(super) same_clock: bool,
}

/// The requested trial; `job` is its number among those that run at once.
#[derive(Clone, Copy)]
pub(super) struct TrialRequest<'a> {
    pub(super) spec: &'a TrialSpec,
    pub(super) attachments: &'a Attachments,
    pub(super) job: usize,
}

//! What the process that serves a device is to do with a log of its writes: record one, or take on the states or the rotten
//! blocks that one allows.

use std::os::fd::{AsFd, OwnedFd, RawFd};

use fsverdict_disk::crash::{CrashState, LossRule, RottenBlock};
use fsverdict_linux::sandbox::{SandboxError, make_inheritable};
use serde::{Deserialize, Serialize};

/// The purpose of a log of the writes to a device.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum LogTask {
    Record { file: RawFd, bound: u64 },
    Enter { file: RawFd, states: Vec<CrashState>, rule: LossRule },
    Rot { file: RawFd, blocks: Vec<Option<RottenBlock>> },
}

impl LogTask {
    pub(super) fn log_descriptor(&self) -> RawFd {
        let (LogTask::Record { file, .. } | LogTask::Enter { file, .. } | LogTask::Rot { file, .. }) = self;
        *file
    }
}

/// A log of the writes to a device, with their contents.
#[derive(Debug, Clone, Copy)]
pub struct DeviceLog<'a> {
    /// Empty, where it is to be written.
    pub file: &'a OwnedFd,
    pub purpose: &'a LogPurpose,
}

/// The purpose of a log of writes.
#[derive(Debug, Clone, PartialEq)]
pub enum LogPurpose {
    /// Record all writes, in at most this many bytes.
    Record { bound: u64 },
    /// To be read: the device takes on one of these states after the other.
    Enter {
        states: Vec<CrashState>,
        /// The rule by which the device may lose writes.
        rule: LossRule,
    },
    /// To be read: one of these blocks rots after the other.
    Rot { blocks: Vec<Option<RottenBlock>> },
}

impl DeviceLog<'_> {
    pub(super) fn log_task(&self) -> Result<LogTask, SandboxError> {
        let file = make_inheritable(self.file.as_fd())?;
        Ok(match self.purpose {
            LogPurpose::Record { bound } => LogTask::Record { file, bound: *bound },
            LogPurpose::Enter { states, rule } => {
                LogTask::Enter { file, states: states.clone(), rule: *rule }
            }
            LogPurpose::Rot { blocks } => LogTask::Rot { file, blocks: blocks.clone() },
        })
    }
}

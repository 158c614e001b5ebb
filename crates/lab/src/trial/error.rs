//! Errors that end a trial early.

use fsverdict_judgement::journal::{CommandRecord, DeviceEvent};
use fsverdict_linux::guard::Refusal;
use fsverdict_linux::host::limits::cannot_start;
use fsverdict_linux::sandbox::SandboxError;
use fsverdict_linux::sandbox::program::ProgramError;
use fsverdict_text::{Hinted, Reason};
use fsverdict_workload::dataset::DatasetError;
use fsverdict_workload::measure::MeasureError;
use fsverdict_workload::workload::{AdapterError, OwnMetricError, WorkError};

/// A trial could not go on. The text becomes the reason in the journal.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    #[error("the agent does not know the {0}")]
    Unknown(String),
    #[error(transparent)]
    Program(#[from] ProgramError),
    #[error("phase `{phase}`: {error}")]
    Phase { phase: String, error: ProgramError, hint: Option<String> },
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    #[error(transparent)]
    Dataset(#[from] DatasetError),
    #[error(transparent)]
    Work(#[from] WorkError),
    #[error("phase `{phase}`: {error}")]
    Adapter { phase: String, error: Box<AdapterError> },
    #[error("phase `{phase}`: {error}")]
    OwnMetric { phase: String, error: OwnMetricError },
    #[error(transparent)]
    Measure(#[from] MeasureError),
    #[error("cannot {what}: {source}")]
    Io { what: &'static str, source: std::io::Error },
    #[error("{0}")]
    Host(String),
    #[error("{}", .0.what)]
    Refused(Reason),
    /// A device cannot be used any longer; the candidate is not the cause.
    #[error("{error}")]
    Device {
        /// Its number, from 1.
        device: usize,
        error: Refusal,
    },
    /// A program was killed from outside, of which no event tells.
    #[error(transparent)]
    Killed(ProgramError),
    /// A service or the background of a phase ended early or misbehaved; with its record, which no event has carried
    /// yet.
    #[error("{}", .reason.what)]
    Companion { reason: Reason, record: Option<Box<CommandRecord>> },
    #[error("{0}")]
    Damaged(String),
    /// The result of a command differs from the plan's requirement.
    #[error("phase `{phase}`: {difference}")]
    Different { phase: String, difference: String },
}

impl TrialError {
    /// Whether this machine, not the candidate, prevented a program from starting.
    pub fn is_of_machine(&self) -> bool {
        match self {
            TrialError::Program(ProgramError::Start { source, .. }) => cannot_start(source),
            TrialError::Phase { error: ProgramError::Start { source, .. }, .. } => cannot_start(source),
            TrialError::Sandbox(error) => error.is_of_machine(),
            _ => false,
        }
    }

    /// The event about a device, if a device ended the trial.
    pub(super) fn device_event(&self) -> Option<DeviceEvent> {
        match self {
            TrialError::Device { device, error: Refusal::ForeignWrite(foreign) } => {
                Some(DeviceEvent::ForeignWrite { device: *device, found: foreign.found.clone() })
            }
            TrialError::Device { device, error } => {
                Some(DeviceEvent::Failed { device: *device, found: error.to_string() })
            }
            _ => None,
        }
    }

    /// The record of the program that caused it, if no event has carried it yet.
    pub(super) fn untold_record(&self) -> Option<&CommandRecord> {
        match self {
            TrialError::Companion { record, .. } => record.as_deref(),
            TrialError::Killed(ProgramError::Failed(record)) => Some(record),
            _ => None,
        }
    }

    /// For `map_err`: an error of the agent's own system calls.
    pub(super) fn io_error(what: &'static str) -> impl FnOnce(std::io::Error) -> TrialError {
        move |source| TrialError::Io { what, source }
    }

    /// For `map_err`: an error of this machine, reported as it is.
    pub(super) fn host_error(error: impl std::fmt::Display) -> TrialError {
        TrialError::Host(error.to_string())
    }
}

impl Hinted for TrialError {
    fn hint(&self) -> Option<String> {
        match self {
            TrialError::Program(error) => error.hint(),
            TrialError::Phase { error, hint, .. } => hint.clone().or_else(|| error.hint()),
            TrialError::Adapter { error, .. } => Some(error.hint.to_owned()),
            TrialError::OwnMetric { error, .. } => Some(error.hint.clone()).filter(|hint| !hint.is_empty()),
            TrialError::Refused(reason) | TrialError::Companion { reason, .. } => reason.hint(),
            TrialError::Device { error, .. } => error.hint(),
            _ => None,
        }
    }
}

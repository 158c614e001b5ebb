//! What ends a trial early.

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
    Adapter { phase: String, error: AdapterError },
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
    /// A device cannot be used any more, whatever the candidate.
    #[error("{error}")]
    Device {
        /// Its number, from 1.
        device: usize,
        error: Refusal,
    },
    /// A program was killed from outside, of which no event tells.
    #[error(transparent)]
    Killed(ProgramError),
    /// A service, or the background of a phase, did not go on as it should; with its record, which no event has told yet.
    #[error("{}", .reason.what)]
    Company { reason: Reason, record: Option<Box<CommandRecord>> },
    #[error("{0}")]
    Damaged(String),
    /// What a command left behind is not what the plan says must be there.
    #[error("phase `{phase}`: {difference}")]
    Different { phase: String, difference: String },
}

impl TrialError {
    /// Whether this machine kept a program from being started, whatever the candidate.
    pub fn is_of_machine(&self) -> bool {
        match self {
            TrialError::Program(ProgramError::Start { source, .. }) => cannot_start(source),
            TrialError::Phase { error: ProgramError::Start { source, .. }, .. } => cannot_start(source),
            TrialError::Sandbox(error) => error.is_of_machine(),
            _ => false,
        }
    }

    /// What has to be told of a device, if that is what ends the trial.
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

    /// The record of the program that was the cause, where no event has told it yet.
    pub(super) fn untold_record(&self) -> Option<&CommandRecord> {
        match self {
            TrialError::Company { record, .. } => record.as_deref(),
            TrialError::Killed(ProgramError::Failed(record)) => Some(record),
            _ => None,
        }
    }

    /// For `map_err`: an error of the agent's own system calls.
    pub(super) fn io(what: &'static str) -> impl FnOnce(std::io::Error) -> TrialError {
        move |source| TrialError::Io { what, source }
    }

    /// Likewise: what this machine refused, told as it is.
    pub(super) fn host(error: impl std::fmt::Display) -> TrialError {
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
            TrialError::Refused(reason) | TrialError::Company { reason, .. } => reason.hint(),
            TrialError::Device { error, .. } => error.hint(),
            _ => None,
        }
    }
}

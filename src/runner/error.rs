//! Errors that keep a run from being carried out.

use std::path::PathBuf;

use crate::fleet::FleetError;
use crate::study::{RunFolder, SessionError};
use fsverdict_judgement::journal::JournalError;
use fsverdict_lab::lab::LabError;
use fsverdict_text::{Hinted, Reason, quoted};

/// A run's folder is no consent to erase a device: any user may have made it, and the filesystem that a trial left may
/// have got data since.
const LEFT_ON_DEVICE: &str = "the last trial of a run, also of an interrupted one, leaves its filesystem on the device; only you can tell whether this is that filesystem, so look at it first";

/// Why a run cannot be carried out.
#[derive(Debug, thiserror::Error)]
pub enum RunnerError {
    #[error(transparent)]
    Fleet(#[from] FleetError),
    /// There is no lab for the run.
    #[error(transparent)]
    Lab(LabError),
    /// The lab cannot run so many trials at once.
    #[error(transparent)]
    Jobs(LabError),
    /// Of the candidates that were to be compared only one can be tried here.
    #[error("{}", .0.what)]
    NoRivals(Reason),
    #[error(transparent)]
    NotBegun(SessionError),
    #[error("{source}")]
    NotResumed { on_device: bool, source: SessionError },
    /// The run in this folder has a journal, and ended before its conclusion.
    #[error("{source}")]
    Interrupted { run: PathBuf, source: Box<SessionError> },
    /// The run ended before its first record.
    #[error(transparent)]
    Unrecorded(SessionError),
    /// The trials of the run have ended, and its faults are not examined.
    #[error("{source}")]
    Faults { run: PathBuf, source: Box<SessionError> },
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error("{}", .0.what)]
    View(Reason),
}

impl RunnerError {
    /// The error of a session that could not be conducted to its end.
    pub(super) fn interrupted(folder: &RunFolder, source: SessionError) -> Self {
        match folder.journal().is_there() {
            true => RunnerError::Interrupted { run: folder.path().to_owned(), source: source.into() },
            false => RunnerError::Unrecorded(source),
        }
    }

    /// Whether the request is wrong, so that the user has to change it.
    pub fn is_of_request(&self) -> bool {
        match self {
            RunnerError::Fleet(error) => error.is_of_request(),
            RunnerError::NotBegun(error) => matches!(error, SessionError::Dataset { .. }),
            RunnerError::Jobs(_) => true,
            _ => false,
        }
    }
}

impl Hinted for RunnerError {
    fn hint(&self) -> Option<String> {
        self.reason().hint()
    }

    fn reason(&self) -> Reason {
        match self {
            RunnerError::Fleet(error) => error.reason(),
            RunnerError::Lab(error) | RunnerError::Jobs(error) => error.reason(),
            RunnerError::NotResumed { on_device: true, source: source @ SessionError::Disk(_) } => {
                source.reason().and_hint(LEFT_ON_DEVICE)
            }
            RunnerError::NotBegun(source)
            | RunnerError::NotResumed { source, .. }
            | RunnerError::Unrecorded(source) => source.reason(),
            RunnerError::Interrupted { run, source } => {
                let run = quoted(&run.to_string_lossy());
                let hint =
                    format!("the measurements so far are in {run}; `fsverdict resume {run}` continues");
                source.reason().and_hint(hint)
            }
            RunnerError::Faults { run, source } => {
                let run = quoted(&run.to_string_lossy());
                let hint = format!(
                    "`fsverdict report {run}` shows the measurements; `fsverdict crash {run}` examines the rest"
                );
                source.reason().and_hint(hint)
            }
            RunnerError::Journal(error) => error.reason(),
            RunnerError::View(reason) | RunnerError::NoRivals(reason) => reason.clone(),
        }
    }
}

//! What ends a trial early.

use crate::dataset::DatasetError;
use crate::host::cell::CellError;
use crate::host::program::ProgramError;
use crate::measure::MeasureError;
use crate::workload::{AdapterError, WorkError};

/// A trial could not go on. The text becomes the reason in the journal.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    /// The conductor and the agent do not know the same words.
    #[error("the agent does not know the {0}")]
    Unknown(String),
    /// A program failed.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// The program of a phase failed.
    #[error("phase `{phase}`: {error}{}", hinted(.hint))]
    Phase {
        /// The phase.
        phase: String,
        /// How it failed.
        error: ProgramError,
        /// What to do about it, where that is known.
        hint: Option<String>,
    },
    /// A cell could not be made.
    #[error(transparent)]
    Cell(#[from] CellError),
    /// A dataset could not be prepared or staged.
    #[error(transparent)]
    Dataset(#[from] DatasetError),
    /// An operation failed, or what it wrote did not read back.
    #[error(transparent)]
    Work(#[from] WorkError),
    /// A benchmark program printed something that cannot be used.
    #[error("phase `{phase}`: {error}")]
    Adapter {
        /// The phase.
        phase: String,
        /// What is wrong with it.
        error: AdapterError,
    },
    /// Something could not be measured.
    #[error(transparent)]
    Measure(#[from] MeasureError),
    /// A system call of the agent's own failed.
    #[error("cannot {what}: {source}")]
    Io {
        /// What was being done.
        what: &'static str,
        /// Why it failed.
        source: std::io::Error,
    },
    /// Something the host room reports.
    #[error("{0}")]
    Host(String),
    /// The filesystem is not in order after the work.
    #[error("{0}")]
    Damaged(String),
    /// What a command left behind is not what the plan says must be there.
    #[error("phase `{phase}`: {difference}")]
    Different {
        /// The phase.
        phase: String,
        /// What differs.
        difference: String,
    },
}

fn hinted(hint: &Option<String>) -> String {
    hint.as_ref().map_or(String::new(), |hint| format!("\nhint: {hint}"))
}

impl TrialError {
    /// For `map_err`: an error of the agent's own system calls.
    pub(super) fn io(what: &'static str) -> impl FnOnce(std::io::Error) -> TrialError {
        move |source| TrialError::Io { what, source }
    }
}

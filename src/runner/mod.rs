//! Carries out a run that the user asked for, from the request to its outcome: the trials, here or at several sites, and
//! then the faults of the plan.
//!
//! This room does not know the command line: the request was parsed and confirmed before, and the caller presents the
//! outcome. The user is told and asked through [`RunView`].

mod carry_out;
mod dry_run;
mod error;
mod faults;
mod request;
mod session;
mod sites;
mod view;

pub use carry_out::{carry_out, resume};
pub use dry_run::{DryRun, predict_candidates};
pub use error::RunnerError;
pub use faults::{FaultExamination, FaultKind, FaultNews, prepare_power_cutting};
pub use request::{ResumeRequest, RunOutcome, RunPlace, RunRequest, RunResult};
pub use session::Session;
pub use view::{RunView, SiteNews};

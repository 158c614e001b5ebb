//! The one model of time: how long a trial takes, how much is left to do and how long that takes, and how much fits into the time
//! of a run (`--for`). The forecast, the dry run, the progress, `fsverdict status`, the end of trials and the examination
//! of faults use it.

pub(super) mod budget;
mod outlook;
mod trial_time;

pub use budget::{FaultTime, TimeBudget};
pub use outlook::{Leader, Outlook, ToCome, TrialsToCome};
pub use trial_time::TrialTimeEstimate;

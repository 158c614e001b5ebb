//! Conducts a plan: blocks of trials in random order, one after the other (or several at once, in simulated time). Each
//! event is written to the journal at once.
//!
//! This room does not know how a lab runs a trial or how a phase does its work.

mod abilities;
mod block_validity;
mod calibration;
mod changes;
mod claim;
mod clocks;
mod conclusion;
mod conduct;
mod cpu_calibration;
mod earlier_tries;
mod error;
mod folder;
mod machine_speed;
mod preparation;
mod prospect;
mod rehearsal;
mod repeats;
mod schedule;
mod space_needed;
mod time;
mod trials;
mod watcher;

pub use abilities::find_missing_ability;
pub use calibration::measure_device;
pub use changes::Changes;
pub use claim::{DeviceProspect, Permission};
pub use clocks::JumpWatch;
pub use conclusion::{Conclusion, Conclusions, next_to_try, still_in};
pub use conduct::{BLOCK_ATTEMPTS, Observer, Silent, Study};
pub use cpu_calibration::{CalibratedPrice, CalibrationPlans, CpuCalibration, calibrate_cpu};
pub use error::SessionError;
pub use folder::{
    FolderRequest, LONGEST_PLAN, OpenedRun, PLAN_FILE, RunFolder, RunFolderError, hint_of_runs,
};
pub use preparation::PreparedTrials;
pub use prospect::Prospect;
pub use rehearsal::has_options;
pub use schedule::{draw_order, draw_order_seed};
pub use time::{FaultTime, Leader, Outlook, TimeBudget, ToCome, TrialTimeEstimate, TrialsToCome};
pub use watcher::{MachineWatcher, UnwatchedMachine, Watcher};

//! Carries a plan out: blocks in random order, their trials one after the other (or side by side, in simulated time), each
//! event into the journal as it comes.
//!
//! How a lab works and what a phase does is no business of this room.

mod budget;
mod calibration;
mod cipher;
mod claim;
mod clocks;
mod conclusion;
mod conduct;
mod cpu_calibration;
mod disturbance;
mod environment;
mod error;
mod folder;
#[cfg(test)]
#[path = "../../crates/judgement/src/journal/made.rs"]
pub mod made;
mod observer;
mod one_block;
mod power_cutting;
mod price;
mod prospect;
mod rehearsal;
mod repeats;
mod schedule;
mod sentinel;
mod session;
mod space_needed;
mod staged;
mod trials;
mod unchanged;
mod watcher;

pub use budget::fault_deadline;
pub use calibration::measure_device;
pub use claim::{DeviceProspect, Permission};
pub use conclusion::{Conclusion, Conclusions, next_to_try};
pub use conduct::{BLOCK_ATTEMPTS, Study};
pub use cpu_calibration::{CalibrationPlans, CpuCalibration, calibrate_cpu};
pub use error::SessionError;
pub use folder::{FolderRequest, LONGEST_PLAN, OpenedRun, PLAN_FILE, RunFolder, RunFolderError};
pub use observer::{Observer, Silent};
pub use one_block::OneBlock;
pub use power_cutting::power_cutting;
pub use price::price;
pub use prospect::{Prospect, has_property, inability};
pub use schedule::order;
pub use session::{Resumed, Session};
pub use unchanged::Changes;
pub use watcher::{Machine, Unwatched, Watcher};

//! Calibrates a model: measures a device with reads, and with writes where it may be erased, and produces a model of
//! it.
//!
//! The grid defines the reads and writes and their order; it is the same for the real device and for a modelled one. A
//! model is fitted by measuring the grid on it, too, and moving its numbers until both answer alike. Half of the grid
//! is held out: the fitted model predicts it, and the error is reported.

mod against;
mod demerit;
mod disk;
mod figures;
mod fit;
mod grid;
mod grid_cell;
mod text;

pub use against::fit_model as fit_to_trace;
pub use against::{
    BLANK_LINES, Durability, Fitted, LineAccount, LineFault, LineOutcome, Measured, RecordForm, ReplayError,
    RequestAccount, RequestRecord, TraceFault, TraceScore, UnreadRequests, first_fifth, read_record,
    read_recording, replay_trace,
};
pub use demerit::Demerit;
pub use disk::{ModelledDisk, Raw, TimedDisk};
pub use fit::{CalibrateError, Calibrated, Titled, calibrate_model};
pub use grid::measure_grid;
pub use grid_cell::{Grid, GridCell, GridFindings, GridKind};

//! Measures a device by reading it, and by writing where it may be erased, and writes what it finds as a model of it.
//!
//! What is read and written, and in which order, is the grid; it is the same for the real device and for a modelled one. So a model is
//! fitted by doing the grid on it, too, and moving its numbers until both answer alike. Half of the grid is left out of
//! that; on it the fitted model has to say what the device will take, and by how much it errs is reported.

mod against;
mod demerit;
mod disk;
mod figures;
mod fit;
mod grid;
mod text;

pub use against::fit as fit_to_trace;
pub use against::{
    Durability, Fitted, Measured, RecordForm, ReplayError, RequestAccount, RequestRecord, TraceFault,
    TraceScore, UnreadRequests, first_fifth, read, read_record, replay,
};
pub use demerit::Demerit;
pub use disk::{ModelledDisk, Raw, TimedDisk};
pub use fit::{CalibrateError, Calibrated, Titled, calibrate};
pub use grid::measure;

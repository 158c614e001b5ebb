//! Tests candidates against faults: power cuts, bit rot and failed writes.
//!
//! A trial is recorded once with a log of its writes. Each possible state of the device after a power cut, and each rotten block, is
//! then computed from that log and mounted in a guest. Each module below imports only from those above it.

// Both panic when the stream is closed: messages go through host/messages.rs, results are written to standard output.
#![warn(clippy::print_stderr, clippy::print_stdout)]

mod error;

mod guest_batches;

mod interruptions;

pub mod power_cuts;

pub mod rot;

pub use error::FaultError;
pub use guest_batches::ExaminationTime;
pub use power_cuts::{
    CutName, CutProgress, FOLDER as CUTS, MinimisedState, PowerCutting, TRIED_IN, WrittenState,
};
pub use rot::WrittenRot;

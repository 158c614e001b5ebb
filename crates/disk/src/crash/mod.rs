//! Computes the states that a device may hold after a power cut: from a log of all writes with their contents, and
//! the rule by which a class of devices may lose writes at any time.
//!
//! Everything is computed from one recording: no power is cut, and no time is raced for. A write that was completed
//! before a flush was submitted survives once that flush is completed (the rule of the kernel's dm-log-writes,
//! Documentation/admin-guide/device-mapper/log-writes.rst); of the later writes, a device with a volatile cache may
//! keep any subset that its class allows.

mod export;
mod image;
mod log;
mod loss;
mod rot;
mod rotten_image;
mod sample;
mod state;
mod writer;

#[cfg(test)]
mod rot_tests;
#[cfg(test)]
mod tests;

pub use export::export_log;
pub use image::{ImageStateError, StateImage};
pub use log::{LogError, LoggedRequest, WriteLog};
pub use loss::LossRule;
pub use rot::{Decay, ROT_BLOCK, RotNameError, RottenBlock};
pub use rotten_image::RottenImage;
pub use sample::{CutWindow, sample_states};
pub use state::{CrashState, StateNameError, Survivors};
pub use writer::LogWriter;

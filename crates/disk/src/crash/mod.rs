//! What a device would hold had its power been cut: a log of all that was written, with its content, and the states that the rule
//! of a device's class allows at any moment of it.
//!
//! Pure arithmetic on what was recorded once: no power is cut, and no moment raced for. A write that was completed before a flush
//! was submitted survives once that flush is completed (the rule of the kernel's dm-log-writes, Documentation/admin-guide/device-mapper/log-writes.rst);
//! of what came later a device with a volatile cache may keep any part that its class allows.

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
mod tests;

pub use export::export;
pub use image::{ImageStateError, StateImage};
pub use log::{LogError, LoggedRequest, WriteLog};
pub use loss::LossRule;
pub use rot::{Decay, ROT_BLOCK, RotNameError, RottenBlock};
pub use rotten_image::RottenImage;
pub use sample::{CutWindow, sample};
pub use state::{CrashState, StateNameError, Survivors};
pub use writer::LogWriter;

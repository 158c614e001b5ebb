//! What lies between a filesystem and its device: encryption, and the I/O scheduler of the device.
//!
//! Pure data and small pure functions, as in [`crate::filesystem`].

mod encryption;
mod least_device;
mod scheduler;

pub use encryption::{Encryption, encryption_names, encryptions, find_encryption};
pub use least_device::least_device;
pub use scheduler::{SCHEDULERS, Scheduler, find_scheduler};

//! What lies between a filesystem and its device: layers such as encryption, in any order, and the I/O scheduler of the device.
//!
//! Pure data and small pure functions, as in [`crate::filesystem`]: one file per layer and one line in [`registry`]; the
//! tests walk the registry, so that a new one cannot be half described.

mod least_device;
mod luks;
mod luks1;
mod luks2;
mod model;
mod registry;
mod scheduler;

pub use least_device::least_device;
pub use model::{InUse, Layer, LayerLine, LayerPlace};
pub use registry::{NO_LAYER, find, names, of, registry, usual_layers};
pub use scheduler::{SCHEDULERS, Scheduler, find_scheduler};

//! The one place that touches the machine: programs, devices, mounts, and what the kernel tells about itself.

pub mod caches;
pub mod environment;
pub mod procfs;
pub mod root;
pub mod sysfs;

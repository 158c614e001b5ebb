//! The one place that touches the machine: programs, namespaces, devices, mounts, and what the kernel tells about
//! itself. It knows no filesystem by name.

pub mod caches;
pub mod cell;
pub mod environment;
pub mod mounts;
pub mod procfs;
pub mod program;
pub mod root;
pub mod sysfs;

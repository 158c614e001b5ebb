//! The one place that touches the machine: programs, namespaces, block devices, mounts, /proc and /sys.
//!
//! It knows no filesystem by name.

pub mod cell;
pub mod mounts;
pub mod program;

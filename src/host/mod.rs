//! The machine below: programs, devices, mounts, /proc and /sys, and the guard that stands before a real disk.

pub mod block_device;
pub mod guard;
pub mod identity;
pub mod image;
pub mod leftovers;
pub mod loop_device;
pub mod mount_table;
pub mod process_key;
pub mod signature;
pub mod syscall;
pub mod system_root;

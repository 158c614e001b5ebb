//! Access to the machine: devices, images, mounts, system calls, and the kernel's information about itself. Independent
//! of filesystem types.

pub mod blank;
pub mod block_device;
pub mod borrowed_scheduler;
pub mod cache_folder;
pub mod caches;
pub mod environment;
pub mod foreign;
pub mod identity;
pub mod image;
pub mod kernel_log;
pub mod limits;
pub mod loop_device;
pub mod messages;
pub mod mounts;
pub mod own_folder;
pub mod placement;
pub mod process_key;
pub mod procfs;
pub mod results;
pub mod root;
pub mod secrets;
pub mod syscall;
pub mod sysfs;

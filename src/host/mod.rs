//! The one place that touches the machine: programs, namespaces, devices, mounts, what the kernel says about itself,
//! and the guard that stands before a real disk. It knows no filesystem by name.

pub mod beneath;
pub mod blank;
pub mod block_device;
pub mod borrowed_scheduler;
pub mod caches;
pub mod environment;
pub mod foreign;
pub mod guard;
pub mod identity;
pub mod image;
pub mod kernel_log;
pub mod leftovers;
pub mod limits;
pub mod loop_device;
pub mod mounts;
pub mod own_folder;
pub mod placement;
pub mod process_key;
pub mod processors;
pub mod procfs;
pub mod program;
pub mod root;
pub mod sandbox;
pub mod secrets;
pub mod signature;
pub mod syscall;
pub mod sysfs;
pub mod talk;
pub mod viewer;
pub mod whole_file;

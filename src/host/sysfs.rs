//! Readers of `/sys/class/block`: what a block device has done, how its queue is set, and what lies below it.

mod device;
mod queue;
mod stat;

pub use device::{DeviceIdentity, LoopSettings, bottom_devices, identity, loop_settings, partition_parent};
pub use queue::{QueueSettings, Scheduler, cpu_governor, queue_settings};
pub use stat::{DeviceStat, Discards, Flushes, InFlight, SECTOR, device_stat, in_flight};

use std::path::PathBuf;

/// The folder of a block device, relative to the root; `name` as in `/proc/partitions` (`sda1`, `cciss/c0d0`).
pub fn device_folder(name: &str) -> PathBuf {
    // sysfs has no slashes in names: it writes an exclamation mark.
    PathBuf::from("sys/class/block").join(name.replace('/', "!"))
}

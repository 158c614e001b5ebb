//! Readers of `/proc`: what the kernel says about CPU, memory, pressure, mounts and itself.

mod cpu;
mod kernel;
mod memory;
mod mounts;
mod processes;

pub use cpu::{CpuTimes, children_ticks, cpu_count, cpu_times, own_user_ticks};
pub use kernel::{CpuModel, DirtyLimits, cpu_model, dirty_limits, has_cpu_flag, known_filesystems};
pub use memory::{Memory, io_pressure, memory};
pub use mounts::{Mount, mounts, unescape};
pub use processes::processes_named;

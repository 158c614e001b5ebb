//! Measures the cost of a phase: wall time, CPU, device, space, I/O pressure and latencies, collected into an
//! observation.
//!
//! This module does not know which work is measured. The agent wraps each phase in a [`Meter`]:
//!
//! ```no_run
//! # fn work() -> fsverdict_workload::measure::WorkDone { Default::default() }
//! # fn sync(_: &std::path::Path) {}
//! use fsverdict_linux::host::root::Root;
//! use fsverdict_workload::measure;
//! let root = Root::default();
//! let idle = measure::idle_load(&root, measure::IDLE_WINDOW)?;
//! let meter = measure::Meter::new(&root, &["loop0"], idle)?;
//! let mount_point = std::path::Path::new("/mnt/candidate");
//! let (done, clocked) = meter.clock(
//!     "write",
//!     "fresh",
//!     &mut (),
//!     |()| Ok::<_, measure::MeasureError>(work()),
//!     |()| Ok(sync(mount_point)),
//! )?;
//! let fresh = measure::Fresh::before_phase(mount_point, 1 << 30)?;
//! let observation = clocked.finish(done, Some(&fresh))?;
//! let settled = measure::wait_until_settled(&root, &["loop0"], &measure::SettleLimits::default())?;
//! # Ok::<(), measure::MeasureError>(())
//! ```

mod account;
mod computation;
mod dirty;
mod error;
mod latency;
mod meter;
mod sample;
mod settle;
mod space;

pub use account::WorkDone;
pub use computation::ComputationClasses;
pub use error::MeasureError;
pub use meter::{Clocked, IDLE_WINDOW, Meter, idle_load};
pub use settle::{QuietDevice, SettleLimits, Settled, wait_until_settled};
pub use space::Fresh;

/// A temporary folder with these files in it, which stands for `/` in the tests of this room.
#[cfg(test)]
fn fake_root(files: &[(&str, &str)]) -> (tempfile::TempDir, fsverdict_linux::host::root::Root) {
    let folder = fsverdict_testutil::folder_with_files(files);
    let root = fsverdict_linux::host::root::Root::new(folder.path());
    (folder, root)
}

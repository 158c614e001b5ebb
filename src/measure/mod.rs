//! What a phase cost: clocks, CPU, device, space, pressure, latencies, gathered into an observation.
//!
//! This room does not know what is being run. The agent wraps each phase in a [`Meter`]:
//!
//! ```no_run
//! # fn work() -> fsverdict::measure::WorkDone { Default::default() }
//! # fn sync(_: &std::path::Path) {}
//! use fsverdict::{host::root::Root, measure};
//! let root = Root::default();
//! let idle = measure::idle_load(&root, measure::IDLE_WINDOW)?;
//! let meter = measure::Meter::new(&root, Some("loop0"), idle)?;
//! let mount_point = std::path::Path::new("/mnt/candidate");
//! let mut running = meter.start("write", "fresh")?;
//! let done = work();
//! running.returned()?;
//! sync(mount_point);
//! running.durable()?;
//! let observation = running.finish(done, Some(mount_point))?;
//! let settled = measure::settle(&root, Some("loop0"), &measure::SettleLimits::default())?;
//! # Ok::<(), measure::MeasureError>(())
//! ```

mod account;
mod dirty;
mod latency;
mod meter;
mod sample;
mod settle;

pub use account::{ToolUse, WorkDone};
pub use meter::{IDLE_WINDOW, MeasureError, Meter, Running, idle_load};
pub use settle::{SettleLimits, Settled, settle};

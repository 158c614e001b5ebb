//! Traces hold every request of a device, in a small file beside the journal: this module writes, reads, measures and
//! exports them.

mod access_time;
mod blktrace;
mod export;
mod metrics;
mod queue_steps;
mod reader;
mod record;
mod submitter;
mod writer;

#[cfg(test)]
mod tests;

pub use access_time::AccessTimes;
pub use export::{TraceFormat, export};
pub use metrics::{Metrics, Share};
pub use reader::{TraceError, TraceReader};
pub use record::{Flags, Traced};
pub use submitter::Submitter;
pub use writer::{TraceSize, TraceWriter};

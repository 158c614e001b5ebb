//! The trace: every request a device was given, in a small file beside the journal, and what can be made of it.

mod blktrace;
mod export;
mod files;
mod metrics;
mod reader;
mod reckoned;
mod record;
mod writer;

#[cfg(test)]
mod tests;

pub use export::{TraceFormat, export};
pub use files::{FOLDER, TraceFile, files};
pub use metrics::{Metrics, Share};
pub use reader::{TraceError, TraceReader};
pub use reckoned::reckon;
pub use record::{Flags, Traced};
pub use writer::{TraceSize, TraceWriter};

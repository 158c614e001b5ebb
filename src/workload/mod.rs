//! What phases do: built-in operations, command lines, and benchmark programs, blind to the filesystem they work on.
//!
//! An operation runs at the speed of the system calls: names and layout lie in memory, every call is relative to an
//! open directory, nothing is allocated for a file. The caller holds the clock and syncs; an operation times only its
//! single calls, for the latency histograms. Afterwards, outside the clock, it reads back what it did and compares.

mod adapter;
mod command;
mod device;
mod directory;
mod error;
mod latency;
mod rotation;
mod site;
mod stream;
mod tree;
mod verify;
mod walk;

pub use adapter::{Adapter, AdapterError, FOLDER, Reading, adapter, adapter_metric, adapters};
pub use command::{Surroundings, command};
pub use device::{DEVICE_OPERATIONS, DEVICE_READ, DEVICE_WRITE, read_device, verify_device, write_device};
pub use error::WorkError;
pub use rotation::Generations;
pub use site::{Ledger, Remains, Site, Written};
pub use verify::verify_written;

use crate::dataset::Kind;
use crate::journal::Histogram;

/// What an operation did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Done {
    /// Bytes read or written, as the user of the operation would count them.
    pub logical_bytes: u64,
    /// Files worked on.
    pub files: u64,
    /// Latencies by kind of call.
    pub histograms: Vec<Histogram>,
    /// The call whose latency stands for the operation.
    pub main_call: &'static str,
}

/// A built-in operation.
pub trait Operation: Sync {
    /// Its name in a plan.
    fn name(&self) -> &'static str;

    /// What it does, in a sentence.
    fn summary(&self) -> &'static str;

    /// The kinds of datasets it takes.
    fn datasets(&self) -> &'static [Kind];

    /// Does the work. The caller times it, and syncs afterwards.
    ///
    /// # Errors
    /// When the site does not suit it, or a system call fails. The site is then in no defined state.
    fn run(&self, site: &mut Site<'_>) -> Result<Done, WorkError>;

    /// Outside the clock, right after [`run`](Self::run): compares what is there, and what was seen, with what must be.
    ///
    /// # Errors
    /// [`WorkError::Wrong`] or [`WorkError::Miscounted`] when the data are not right.
    fn verify(&self, site: &Site<'_>) -> Result<(), WorkError>;
}

const OPERATIONS: &[&dyn Operation] = &[
    &tree::Write,
    &walk::Read,
    &tree::Overwrite,
    &walk::Remove,
    &stream::Write,
    &stream::Read,
    &stream::Rewrite,
    &directory::Fill,
    &directory::List,
    &directory::Empty,
    &rotation::Create,
    &rotation::Next,
    &rotation::Drop,
];

/// Every built-in operation that works on a dataset. (`fsck` is a step of the trial itself.)
pub fn operations() -> &'static [&'static dyn Operation] {
    OPERATIONS
}

/// The operation of this name.
pub fn operation(name: &str) -> Option<&'static dyn Operation> {
    OPERATIONS.iter().copied().find(|known| known.name() == name)
}

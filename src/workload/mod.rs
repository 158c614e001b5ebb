//! What is done to the filesystem under test: command lines and benchmark programs.

mod adapter;
mod command;

pub use adapter::{Adapter, AdapterError, FOLDER, Reading, adapter, adapter_metric, adapters};
pub use command::{Surroundings, command};

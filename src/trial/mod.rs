//! One trial, from a bare device back to a bare device: what the agent does, the same in every lab.

mod sink;
mod spec;

pub use sink::Sink;
pub use spec::{Modules, TrialDevice, TrialSpec};

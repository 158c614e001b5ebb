//! One trial, from a bare device back to a bare device: what the agent does, the same in every lab.

mod act;
mod agent;
mod bare_device;
mod calibration;
mod cell;
mod complaint;
mod error;
mod hold;
mod layers;
mod mapping;
mod phase;
mod plain;
mod programs;
mod raw;
mod sink;
mod spec;
mod stack;
mod staging;
mod steps;
mod tools;

pub use act::{Act, CacheState, Durable, OfLayer, Timed};
pub use agent::{EVENTS_VARIABLE, agent};
pub use cell::{agent_cell, staging_cell};
pub use error::TrialError;
pub use hold::{STAGED, stage};
pub use plain::command_lines;
pub use sink::Sink;
pub use spec::{Assignment, Bench, Drawn, Modules, QueueLimits, Repeats, Staging, TrialDevice, TrialSpec};
pub use stack::THE_KERNEL;
pub use staging::bytes_to_stage;
pub use steps::{Course, Step};

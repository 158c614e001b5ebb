//! One trial, from a bare device back to a bare device: the agent and everything that it does, the same in every lab.

mod above;
mod act;
mod adapter_log;
mod after_cut;
mod after_rot;
mod agent;
mod arrangement;
mod bare_device;
mod beside;
mod changing_devices;
mod circumstances;
mod companions;
mod error;
mod from_cache;
mod layers;
mod mapping;
mod phase;
mod plain;
mod program_failure;
mod programs;
mod raw;
mod recheck;
mod redundancy;
mod sandbox;
pub mod seeds;
mod sequences;
mod sink;
mod spec;
mod stack;
mod staged_once;
mod staging;
mod steps;
mod sync_after_error;
mod tools;

pub use act::{Act, CacheState, Durable, OfLayer, Timed};
pub use agent::{EVENTS_VARIABLE, run_agent};
pub use arrangement::{Arrangement, Below, LayerSite, TopDevice};
pub use circumstances::{
    CIRCUMSTANCES_FACT, are_drawn, circumstances_of_block, draw_circumstances, smallest_size,
};
pub use error::TrialError;
pub use plain::command_lines;
pub use redundancy::{can_be_scrubbed, outlives_a_device};
pub use sandbox::{agent_sandbox, staging_sandbox};
pub use sequences::sequence_bounds;
pub use sink::Sink;
pub use spec::{
    Assignment, CutLook, Drawn, GuestModules, Modules, QueueLimits, Repeats, RotLook, Staging, TestBench,
    TrialDevice, TrialSpec,
};
pub use stack::THE_KERNEL;
pub use staged_once::{STAGED, run_stage};
pub use staging::bytes_to_stage;
pub use steps::{Step, TrialCourse};

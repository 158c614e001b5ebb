//! What is to be tried: the typed plan, its TOML form, presets, and the matrix of candidates.
//!
//! This room only reads and checks; nothing here touches a device or runs a program. The words a plan may
//! use for filesystems, operations, layers and profiles come from the rooms that own them, as a [`Vocabulary`].

mod model;

pub use model::{
    Blocks, Candidate, Dataset, Device, DeviceSource, Goal, LabChoice, Phase, Plan, Protocol, TreeShape,
    Verify, Vocabulary, Work,
};
pub use units::Bytes;

mod units;

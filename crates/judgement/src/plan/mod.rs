//! Plans: the typed plan, its TOML form, presets, and the matrix of candidates.
//!
//! This module only reads and checks plans; it touches no device and runs no program. The names of filesystems,
//! operations, layers and profiles come from the crates that define them, as a [`Vocabulary`].

mod axes;
mod axis;
mod candidate;
mod candidate_name;
mod change;
mod choice;
mod command_variables;
mod control;
mod device;
mod environment;
mod faults;
mod folders;
mod keys;
mod lab;
mod layers;
mod limits;
mod lists;
mod model;
mod number_pattern;
mod operation;
mod own_metric;
mod phase;
mod phase_rules;
mod preconditions;
mod preset;
mod printed_unit;
mod protection;
mod protocol;
mod published;
mod read;
mod read_candidate;
mod read_dataset;
mod read_device;
mod read_goal;
mod read_phase;
mod read_phase_data;
mod read_service;
mod read_work;
mod recorded;
mod require;
mod safeguards;
mod scale;
mod space;
mod tree_form;
mod unit;
mod value;
mod write;

pub use axes::{AXES, csv_columns, find_axis};
pub use axis::{Axis, AxisLevel, AxisRole, Disclosure, EnvironmentAxis};
pub use candidate::{Candidate, DEFAULT_CPU, DIRECTORY, Environment, FREE_CPU};
pub use change::Overrides;
pub use control::{CONTROL_SUFFIX, Twice, is_twin, ranked_candidates};
pub use device::{DeviceFailure, DeviceSource, PlannedDevice, StagingChoice, devices_named, with_devices};
pub use environment::PlannedModel;
pub use faults::Faults;
pub use lab::LabChoice;
pub use layers::{Layers, split_layer};
pub(crate) use limits::{ENTERED as MOST_ENTERED, NAME as LONGEST_NAME};
pub use lists::{group_by_key, once_each};
pub use model::{Aggregation, ClockChoice, Dataset, Goal, Plan, TreeShape, Vocabulary};
pub use number_pattern::NumberPattern;
pub use operation::{
    Amount, FilesystemAbility, Flow, Needs, Operation, OperationEffect, OperationKind, Syncs,
};
pub use own_metric::{NumberSource, OwnMetric};
pub use phase::{ArrayState, Pace, Phase, PhaseWork, Remake, Service, Verify};
pub use preconditions::Precondition;
pub use preset::{AskedBy, Preset, preset, presets};
pub use printed_unit::is_printed_unit;
pub use protection::{Protection, ProtectionFeature, ProtectionGroup};
pub use protocol::{Blocks, DevicesChoice, Disturbance, Legacy, NuisancesChoice, Protocol, Until};
pub use published::{Assertion, Denominator, GOAL, Published};
pub use read::{keys_by_table, read_with};
pub use read_dataset::{check_dataset_name, measure_variable, variable};
pub use recorded::digest;
pub use require::{Bound, RequiredProperty, Requirement, Requirements};
pub use safeguards::Safeguards;
pub use scale::scale;
pub use space::{bytes_written, folder_room, image_room, least_space};
pub use tree_form::TreeForm;
pub use unit::{Better, Unit};
pub use write::write;

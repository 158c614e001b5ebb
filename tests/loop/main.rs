//! What needs root and loop devices: native trials, and devices of the user's.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic in its helpers too")]

#[path = "../common/mod.rs"]
mod common;

mod attribution;
mod calibration;
mod compare;
mod confinement;
mod crash;
mod device_faults;
mod fleet_engines;
mod fleet_refusals;
mod folders;
mod foreign_writes;
mod kernel_strangers;
mod measure;
mod native;
mod open;
mod operations;
mod output_limits;
mod questions;
mod refusals;
mod robustness;
mod run_folder_attacks;
mod secrets;
mod served;
mod snapshots;
mod staging;
mod steps;
mod traces;

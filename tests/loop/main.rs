//! What needs root and loop devices: native trials, and devices of the user's.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic in its helpers too")]

#[path = "../common/mod.rs"]
mod common;

mod attribution;
mod calibration;
mod compare;
mod confinement;
mod crash;
mod fleet_engines;
mod fleet_refusals;
mod folders;
mod kernel_strangers;
mod measure;
mod native;
mod open;
mod operations;
mod questions;
mod refusals;
mod robustness;
mod secrets;
mod served;
mod snapshots;
mod staging;
mod steps;
mod traces;

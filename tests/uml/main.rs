//! What needs `linux.uml`: trials in User-Mode Linux, in real and in simulated time.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic in its helpers too")]

#[path = "../common/mod.rs"]
mod common;

mod ages;
mod atlas;
mod attribution;
mod calibration;
mod computation;
mod confinement;
mod crash;
mod device_faults;
mod devices;
mod fetched_tools;
mod fleet;
mod foreign_writes;
mod fullness;
mod guest_reports;
mod guests;
mod kernel_trials;
mod known_facts;
mod models;
mod power_cuts;
mod questions;
mod refusals;
mod rot;
mod run_folder_attacks;
mod secrets;
mod simulated;
mod snapshots;
mod staging;
mod steps;
mod traces;
mod volumes;
mod zfs;

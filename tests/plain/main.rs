//! What needs nothing but the program, the tools of this machine and somebody to run it, who need not be root.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic in its helpers too")]

#[path = "../common/mod.rs"]
mod common;

mod ages;
mod amplification;
mod asks;
mod atlas;
mod before_consent;
mod browser;
mod bundles;
mod calibrations;
mod captures;
mod classes;
mod commands;
mod compare;
mod confinement;
mod consent;
mod curves;
mod datasets;
mod display;
mod dist;
mod documents;
mod drives;
mod fetched_tools;
mod filesystem_tools;
mod fleet;
mod fleet_strangers;
mod folders;
mod image_readers;
mod kernel_build;
mod kernel_imports;
mod kernel_modules;
mod kernel_strangers;
mod length;
mod odd_files;
mod open;
mod operations;
mod oracle;
mod other_tools;
mod output_limits;
mod pager;

mod parsers;
mod plan;
mod promises;
mod recording_example;
mod resume;
mod robustness;
mod rooms;
mod run_folder_access;
mod run_folder_attacks;
mod setup;
mod snapshots;
mod status;
mod steps;
mod studies;
mod tables;
mod traced_programs;
mod traces;
mod traces_of_calls;
mod unasked_files;
mod width;
mod words;

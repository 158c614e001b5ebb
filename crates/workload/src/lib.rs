//! The work of a phase and its measurement: datasets, operations, adapters of other programs, clocks and counters.
//!
//! Each module below imports only from those above it.

// Both panic when the reader closes the stream: messages go through host/messages.rs, results to standard output.
#![warn(clippy::print_stderr, clippy::print_stdout)]

pub mod dataset;

pub mod workload;

pub mod measure;

pub mod cpu_work;

//! What a phase does and what is measured of it: datasets, operations, adapters of other programs, clocks and counters.
//!
//! Each module below imports only from those above it.

// Both panic when nobody reads the stream: messages go through host/talk.rs, results are written to standard output.
#![warn(clippy::print_stderr, clippy::print_stdout)]

pub mod dataset;

pub mod workload;

pub mod measure;

pub mod cpu_work;

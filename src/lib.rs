//! fsverdict: which filesystem, with which options, on this device, for this work?
//!
//! Each module below imports only from modules above it in this list. ARCHITECTURE.md describes their responsibilities.

// Both panic when the stream has no reader: messages go through host/messages.rs, results are written to standard output.
#![warn(clippy::print_stderr, clippy::print_stdout)]

pub mod study;

pub mod fleet;

pub mod runner;

pub mod cli;

//! fsverdict: which filesystem, with which options, on this device, for this work?
//!
//! The rooms below stand on one another, ground floor first; a room imports only from rooms
//! above it in this list. ARCHITECTURE.md says what each owns.

// Both panic where nobody listens: talk goes through host/talk.rs, results are written to standard output.
#![warn(clippy::print_stderr, clippy::print_stdout)]

pub mod study;

pub mod fleet;

pub mod cli;

//! Where trials run: packages that are fetched and not installed, laboratory kernels, the agent that carries out a trial, and
//! the labs `native`, `uml` and `vm`.
//!
//! Each module below imports only from those above it.

// Both panic when the stream has no reader: messages go through host/messages.rs, results are written to standard output.
#![warn(clippy::print_stderr, clippy::print_stdout)]

pub mod packages;

pub mod kernel;

pub mod cpu;

pub mod trial;

pub mod lab;

//! What touches the machine: system calls, sandboxes, and the guard that decides whether a device may be written.
//!
//! All unsafe code of the workspace lies in [`host::syscall`]. Each module below imports only from those above it.

// Both panic when nobody reads the stream: messages go through host/talk.rs, results are written to standard output.
#![warn(clippy::print_stderr, clippy::print_stdout)]

pub mod host;

pub mod sandbox;

pub mod guard;

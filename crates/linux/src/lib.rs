//! Access to the machine: system calls, sandboxes, and the guard that decides whether a device may be written.
//!
//! All unsafe code of the workspace lies in [`host::syscall`]. Each module below imports only from those above it.

// These macros panic if the stream is closed: messages go through host/messages.rs, results to standard output.
#![warn(clippy::print_stderr, clippy::print_stdout)]

pub mod host;

pub mod sandbox;

pub mod guard;

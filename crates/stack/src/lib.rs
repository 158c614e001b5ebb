//! Describes filesystems and layers, which lie on a device, as data. Also contains the readers of filesystem images.
//!
//! Each module below imports only from those above it.

// These macros panic if the stream is closed: messages go through host/messages.rs, results to standard output.
#![warn(clippy::print_stderr, clippy::print_stdout)]

pub mod filesystem;

pub mod layer;

pub mod anatomy;

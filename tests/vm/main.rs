//! What needs QEMU: trials in virtual machines.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic in its helpers too")]

#[path = "../common/mod.rs"]
mod common;

mod guests;
mod kernel_packages;

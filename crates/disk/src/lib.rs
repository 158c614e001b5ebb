//! Modelled block devices: computes how long a disk, a stick, a card or an SSD takes over each request.
//!
//! - [`device`]: the models and the devices built from them; pure calculation, without a clock. The owner of a clock
//!   submits requests and asks which are done at a time.
//! - [`crash`]: the states that a device may hold after a power cut: a log of its writes with their contents, and the
//!   states that its class allows.
//! - [`calibrate`]: the reads and writes that show a device's properties, the model that fits their times, and a
//!   comparison of a model with a trace that was measured elsewhere.
//! - `backend`, with the feature `vhost-user`: serves a device to a guest kernel and keeps its clock.
//!
//! ```
//! use fsverdict_disk::device::{Action, Device, Model, Request};
//!
//! let model = Model::named("usb-disk-5400")?;
//! let mut disk = Device::new(&model, 1_000_000_000, 1)?;
//! disk.submit(0, Request { id: 1, operation: Action::Read, sector: 123_456, sectors: 8 });
//! let mut done = Vec::new();
//! while let Some(at_ns) = disk.next_event() {
//!     disk.advance(at_ns, &mut done);
//! }
//! // The time includes a seek and the rotational latency.
//! assert!(done[0].completed_ns > 1_000_000);
//! # Ok::<(), fsverdict_disk::device::ModelError>(())
//! ```
//!
//! A model is a TOML file with the source of each number (`models/` in this package). You can use a built-in
//! one or write your own.

// Printing panics if the reader of the stream is gone: everything is returned instead.
#![warn(clippy::print_stderr, clippy::print_stdout)]

pub mod device;

pub mod crash;

pub mod calibrate;

#[cfg(feature = "vhost-user")]
pub mod backend;

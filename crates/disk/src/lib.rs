//! Modelled block devices: how long a disk, a stick, a card or an SSD takes over each request, and why.
//!
//! - [`device`]: the models and the devices made of them; pure calculation, without a clock of its own. Whoever keeps one
//!   submits requests and asks what is done by when.
//! - [`crash`]: what a device may hold when its power is cut: a log of its writes with their contents, and the states that its class
//!   allows.
//! - [`calibrate`]: which reads and writes show what a device is, the model that fits what they took, and a model held against
//!   a trace that was measured elsewhere.
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
//! // The arm has to get there, and the platter to come round.
//! assert!(done[0].completed_ns > 1_000_000);
//! # Ok::<(), fsverdict_disk::device::ModelError>(())
//! ```
//!
//! A model is a TOML file with the source of each number (`models/` in this package): one of those that ship, or one of your own.

// Both panic where nobody listens: what there is to say is returned.
#![warn(clippy::print_stderr, clippy::print_stdout)]

pub mod device;

pub mod crash;

pub mod calibrate;

#[cfg(feature = "vhost-user")]
pub mod backend;

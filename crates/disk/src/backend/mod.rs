//! Serves the modelled devices of a guest kernel over vhost-user, and keeps its clock: one process without rights
//! beside each guest. In simulated time it has one thread and no clock; in real time it keeps the machine's clock,
//! with a thread for each device.
//!
//! ```text
//! guest ── vhost-user socket ──► session ─► disk ─► model, store, trace     (one such line for each device)
//!   └───── time-travel socket ─► clock ─┘
//! ```
//!
//! Guest and devices never run at the same time: a kick, a call and a turn on the clock each wait for an answer. This
//! makes a trial deterministic, and is why both belong on one processor.

use fsverdict_text::Hinted;

mod configuration;
mod connection;
mod disk;
mod lateness;
mod protocol;
mod real;
mod rot;
mod session;
mod silence;
mod simulated;
mod simulation_clock;
mod states;
mod tally;

#[cfg(test)]
mod tests;

use std::fs::File;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::crash::{CrashState, ImageStateError, LogError, LogWriter, LossRule, RottenBlock};
use crate::device::trace::TraceWriter;
use crate::device::{Device, Draw, Model, ModelError, Store, StoreError};

use disk::ServedDisk;
use rot::ServedRot;
use states::{Contents, ServedStates};

pub use tally::BackendReport;

/// The time that a device keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Clock {
    /// The device keeps the time of the guest's clock.
    Simulated,
    /// The device keeps the time of the machine's clock.
    Real,
}

/// Selects the device to serve.
#[derive(Debug, Clone, Copy)]
pub struct Served<'a> {
    /// As [`Model::find`] takes it.
    pub model: &'a str,
    /// The member of a class of devices; `None` selects the typical one.
    pub draw: Option<Draw>,
    pub size_bytes: u64,
    /// Seed of the device's random properties.
    pub seed: u64,
    /// From this time on, on the guest's clock, the device answers every request with an error.
    pub fails_after: Option<Duration>,
}

/// Why a device cannot be served, or not any longer.
#[derive(Debug, thiserror::Error)]
pub enum BackendError {
    #[error(transparent)]
    Model(#[from] ModelError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the device process failed: {0}")]
    Io(#[from] std::io::Error),
    #[error("cannot write the trace: {0}")]
    Trace(std::io::Error),
    #[error("cannot write the log of what was written: {0}")]
    WritingLog(std::io::Error),
    #[error(transparent)]
    Log(#[from] LogError),
    #[error("the guest ended before it asked for its disk")]
    Absent,
    #[error("the guest named memory it does not have: {0}")]
    Memory(String),
    #[error("the guest's ring is invalid: {0}")]
    Ring(String),
    #[error("the guest sent an invalid request: {0}")]
    Chain(&'static str),
    #[error("the guest's message {request} is invalid: {what}")]
    Protocol { request: u32, what: &'static str },
    #[error("the guest's clock sent a message of kind {operation}, which is not known")]
    Calendar { operation: u32 },
    #[error("the guest {doing} for {seconds} s of processor time without asking for time or disk")]
    Silent { seconds: u64, doing: &'static str },
    #[error("the guest went on for an hour of its own time without asking its disk for anything")]
    Idle,
}

impl BackendError {
    /// Whether this machine lacked a resource. A host disk that cannot hold the data is not a fault of the modelled
    /// device.
    fn is_of_machine(&self) -> bool {
        match self {
            BackendError::Store(error) => error.is_of_machine(),
            BackendError::Trace(_) | BackendError::WritingLog(_) => true,
            BackendError::Io(error) => is_out_of_resources(error),
            _ => false,
        }
    }

    fn memory_error(error: impl std::fmt::Display) -> Self {
        BackendError::Memory(error.to_string())
    }

    fn ring_error(error: impl std::fmt::Display) -> Self {
        BackendError::Ring(error.to_string())
    }
}

impl Hinted for BackendError {
    fn hint(&self) -> Option<String> {
        let hint = match self {
            BackendError::Silent { .. } => {
                "a program that spins until a clock says so must read the kernel's clock, not the processor's (fio: --clocksource=clock_gettime); `clock = \"real\"` does without simulated time"
            }
            BackendError::Idle => {
                "a program slept or waited longer than that; `timeout` in its command would end the wait"
            }
            BackendError::Store(error) => return error.hint(),
            _ => return None,
        };
        Some(hint.to_owned())
    }
}

impl From<ImageStateError> for BackendError {
    fn from(error: ImageStateError) -> Self {
        match error {
            ImageStateError::Log(error) => BackendError::Log(error),
            ImageStateError::Store(error) => BackendError::Store(error),
        }
    }
}

/// The use of a log of the writes to a device.
#[derive(Debug)]
pub enum LogToServe {
    /// Records the writes in this empty file, of at most `bound` bytes.
    Record { file: File, bound: u64 },
    /// Replays the log: the device holds the first of these crash states when the guest first asks for its serial,
    /// and the next each time after that. The serial is the number of the state, from 0, and empty when there are no
    /// more.
    Enter {
        file: File,
        states: Vec<CrashState>,
        /// The rule by which the device loses writes.
        rule: LossRule,
    },
    /// Replays the log: the device holds everything that was written, except for one of these blocks at a time; for
    /// `None` it is intact. The blocks take turns as states do.
    Rot { file: File, blocks: Vec<Option<RottenBlock>> },
}

/// A device with the files and sockets that are needed to serve it.
#[derive(Debug)]
pub struct DeviceToServe<'a> {
    pub device: Served<'a>,
    /// An empty file for the data that is written to the device.
    pub store: File,
    /// An empty file for the trace, and the largest size of the trace in bytes.
    pub trace: Option<(File, u64)>,
    pub log: Option<LogToServe>,
    /// The socket that listens for the disk's driver.
    pub socket: OwnedFd,
}

/// Serves these devices to the guest that connects to their sockets and to that of the clock, until it hangs up.
/// Returns a report of each device, in their order; an error of the guest is in the first. `silence` bounds the
/// processor time for which a guest in simulated time may send nothing. If a device cannot be prepared, the only report is
/// about that.
pub fn serve_devices(
    devices: Vec<DeviceToServe<'_>>,
    clock: Clock,
    silence: Duration,
    clock_socket: &OwnedFd,
) -> Vec<BackendReport> {
    let (mut disks, mut drivers) = (Vec::new(), Vec::new());
    for DeviceToServe { device, store, trace, log, socket } in devices {
        match prepare_disk(device, store, trace, log) {
            Ok(disk) => disks.push(disk),
            Err(error) => return vec![BackendReport::from_error(&error)],
        }
        drivers.push(socket);
    }
    let result = match clock {
        Clock::Simulated => simulated::serve_in_simulated_time(&mut disks, &drivers, clock_socket, silence),
        Clock::Real => serve_in_real_time(&mut disks, &drivers).map(|()| 0),
    };
    let simulated_ns = result.unwrap_or_else(|error| {
        if let Some(disk) = disks.first_mut() {
            disk.tally.record_error(&error);
        }
        0
    });
    let finish = |disk: &mut ServedDisk| {
        disk.finish_trace();
        BackendReport { simulated_ns, held_bytes: disk.held_bytes(), ..disk.tally.to_report() }
    };
    disks.iter_mut().map(finish).collect()
}

/// Serves the devices in real time, with a thread for each, because each waits for its own events.
fn serve_in_real_time(disks: &mut [ServedDisk], drivers: &[OwnedFd]) -> Result<(), BackendError> {
    std::thread::scope(|scope| {
        let serve_one = |(disk, driver): (&'_ mut ServedDisk, &'_ OwnedFd)| {
            connection(driver).and_then(|connection| real::serve_in_real_time(disk, connection))
        };
        let mut pairs = disks.iter_mut().zip(drivers);
        let first = pairs.next();
        let threads: Vec<_> = pairs.map(|pair| scope.spawn(move || serve_one(pair))).collect();
        let first_result = first.map_or(Ok(()), serve_one);
        let results = threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        results.fold(first_result, Result::and)
    })
}

/// Whether this machine ran out of a resource of the process: descriptors or memory. A lack of space for files has
/// errors of its own.
fn is_out_of_resources(error: &std::io::Error) -> bool {
    let exhausted = [Errno::MFILE, Errno::NFILE, Errno::NOMEM, Errno::AGAIN];
    Errno::from_io_error(error).is_some_and(|errno| exhausted.contains(&errno))
}

fn prepare_disk(
    Served { model, draw, size_bytes, seed, fails_after }: Served<'_>,
    store: File,
    trace: Option<(File, u64)>,
    log: Option<LogToServe>,
) -> Result<ServedDisk, BackendError> {
    let store = Store::new(store, size_bytes)?;
    let trace = trace.map(|(file, bound)| TraceWriter::new(file, bound)).transpose();
    let model = draw.map_or_else(|| Model::find(model), |draw| Model::find_drawn(model, &draw))?;
    let device = Device::new(&model, size_bytes, seed)?;
    let contents = match log {
        None => Contents::Kept,
        Some(LogToServe::Record { file, bound }) => {
            Contents::new_recorded(LogWriter::new(file, bound).map_err(BackendError::WritingLog)?)
        }
        Some(LogToServe::Enter { file, states, rule }) => {
            Contents::Entered(ServedStates::new(file, rule, states)?)
        }
        Some(LogToServe::Rot { file, blocks }) => Contents::Rotten(ServedRot::new(file, blocks)?),
    };
    ServedDisk::new(device, store, contents, trace.map_err(BackendError::Trace)?, fails_after)
}

/// Accepts the connection of a guest. The conductor shuts the sockets down if the guest ended before it connected.
fn connection(listener: &OwnedFd) -> Result<OwnedFd, BackendError> {
    rustix::net::accept(listener).map_err(|errno| match errno {
        Errno::INVAL => BackendError::Absent,
        other => std::io::Error::from(other).into(),
    })
}

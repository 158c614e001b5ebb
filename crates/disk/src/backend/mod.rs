//! Serves the modelled devices of a guest kernel, and keeps its clock: one process beside each guest, with one thread, no
//! rights, and no clock of its own unless it is to keep the machine's, which takes a thread for each device.
//!
//! ```text
//! guest ── vhost-user socket ──► session ─► disk ─► model, store, trace     (one such line for each device)
//!   └───── time-travel socket ─► clock ─┘
//! ```
//!
//! Guest and devices never run at the same time: a kick, a call and a turn on the clock each wait for an answer. That
//! makes a trial the same every time, and is why both belong on one processor.

use fsverdict_text::Hinted;

mod connection;
mod disk;
mod lateness;
mod real;
mod rot;
mod session;
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

/// Which time a device keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Clock {
    /// That of the guest's clock.
    Simulated,
    Real,
}

/// Which device is to be served.
#[derive(Debug, Clone, Copy)]
pub struct Served<'a> {
    /// As [`Model::find`] takes it.
    pub model: &'a str,
    /// Of a class of devices; `None`: the typical one.
    pub draw: Option<Draw>,
    pub size_bytes: u64,
    /// Of what is left to chance in it.
    pub seed: u64,
    /// From then on, on the guest's clock, it answers every request with an error.
    pub fails_after: Option<Duration>,
}

/// A device cannot be served, or not any longer.
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
    #[error("the guest's ring is not in order: {0}")]
    Ring(String),
    #[error("a request of the guest is not in order: {0}")]
    Chain(&'static str),
    #[error("the guest's message {request} is not in order: {what}")]
    Protocol { request: u32, what: &'static str },
    #[error("the guest's clock sent a message of kind {operation}, which is not known")]
    Calendar { operation: u32 },
    #[error("the guest {doing} for {seconds} s of wall time without asking for time or disk")]
    Silent { seconds: u64, doing: &'static str },
    #[error("the guest went on for an hour of its own time without asking its disk for anything")]
    Idle,
}

impl BackendError {
    /// Whether this machine lacked something: a disk that fails to hold what is written to the device is not the device's.
    fn is_of_machine(&self) -> bool {
        match self {
            BackendError::Store(error) => error.is_of_machine(),
            BackendError::Trace(_) | BackendError::WritingLog(_) => true,
            BackendError::Io(error) => ran_out(error),
            _ => false,
        }
    }

    fn memory(error: impl std::fmt::Display) -> Self {
        BackendError::Memory(error.to_string())
    }

    fn ring(error: impl std::fmt::Display) -> Self {
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
                "a program slept so long, or waited for something that never came; `timeout` inside the command ends such a wait"
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

/// What a log of the writes to a device is for.
#[derive(Debug)]
pub enum LogToServe {
    /// To be written into this empty file, of so many bytes at most.
    Record { file: File, bound: u64 },
    /// To be read: the device holds the first of these states when it is first asked for its name, and the next each time after
    /// that; its name is the state's number, from 0, and nothing when there are no more.
    Enter {
        file: File,
        states: Vec<CrashState>,
        /// What the device may lose.
        rule: LossRule,
    },
    /// To be read: the device holds all that was written, each time but for one of these blocks; none of them is it as it was
    /// written. They take turns as states do.
    Rot { file: File, blocks: Vec<Option<RottenBlock>> },
}

/// A device with all that it takes to serve it.
#[derive(Debug)]
pub struct DeviceToServe<'a> {
    pub device: Served<'a>,
    /// Empty, for what is written to it.
    pub store: File,
    /// Empty, for the trace, and how many bytes of it at most.
    pub trace: Option<(File, u64)>,
    pub log: Option<LogToServe>,
    /// Listens for the disk's driver.
    pub socket: OwnedFd,
}

/// Serves these devices to the guest that connects to their sockets and to that of the clock, until it hangs up; a report of
/// each, in their order. What went wrong with the guest is in the first.
pub fn serve(
    devices: Vec<DeviceToServe<'_>>,
    clock: Clock,
    silence: Duration,
    clock_socket: &OwnedFd,
) -> Vec<BackendReport> {
    let (mut disks, mut drivers) = (Vec::new(), Vec::new());
    for DeviceToServe { device, store, trace, log, socket } in devices {
        match prepare(device, store, trace, log) {
            Ok(disk) => disks.push(disk),
            Err(error) => return vec![BackendReport::of(&error)],
        }
        drivers.push(socket);
    }
    let served = match clock {
        Clock::Simulated => simulated::serve(&mut disks, &drivers, clock_socket, silence),
        Clock::Real => side_by_side(&mut disks, &drivers).map(|()| 0),
    };
    let simulated_ns = served.unwrap_or_else(|error| {
        if let Some(disk) = disks.first_mut() {
            disk.tally.trouble(&error);
        }
        0
    });
    let told = |disk: &mut ServedDisk| {
        disk.end();
        BackendReport { simulated_ns, held_bytes: disk.held_bytes(), ..disk.tally.report() }
    };
    disks.iter_mut().map(told).collect()
}

/// In real time each device waits for itself.
fn side_by_side(disks: &mut [ServedDisk], drivers: &[OwnedFd]) -> Result<(), BackendError> {
    std::thread::scope(|scope| {
        let one = |(disk, driver): (&'_ mut ServedDisk, &'_ OwnedFd)| {
            connection(driver).and_then(|connection| real::serve(disk, connection))
        };
        let mut all = disks.iter_mut().zip(drivers);
        let first = all.next();
        let others: Vec<_> = all.map(|one_of| scope.spawn(move || one(one_of))).collect();
        let ended = first.map_or(Ok(()), one);
        let joined = others
            .into_iter()
            .map(|other| other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        joined.fold(ended, Result::and)
    })
}

/// Whether this machine ran out of what the process itself takes: descriptors, memory. Room for its files is said by the
/// errors of these.
fn ran_out(error: &std::io::Error) -> bool {
    let short = [Errno::MFILE, Errno::NFILE, Errno::NOMEM, Errno::AGAIN];
    Errno::from_io_error(error).is_some_and(|errno| short.contains(&errno))
}

fn prepare(
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
            Contents::recorded(LogWriter::new(file, bound).map_err(BackendError::WritingLog)?)
        }
        Some(LogToServe::Enter { file, states, rule }) => {
            Contents::Entered(ServedStates::new(file, rule, states)?)
        }
        Some(LogToServe::Rot { file, blocks }) => Contents::Rotten(ServedRot::new(file, blocks)?),
    };
    ServedDisk::new(device, store, contents, trace.map_err(BackendError::Trace)?, fails_after)
}

/// A guest that ended before it connected never will: the conductor has shut the sockets then.
fn connection(listener: &OwnedFd) -> Result<OwnedFd, BackendError> {
    rustix::net::accept(listener).map_err(|errno| match errno {
        Errno::INVAL => BackendError::Absent,
        other => std::io::Error::from(other).into(),
    })
}

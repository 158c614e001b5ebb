//! Starts the process that serves modelled devices to a guest, and defines the task that it is given.

mod log_task;
mod process;

pub use log_task::{DeviceLog, LogPurpose};
pub use process::main;

use log_task::LogTask;

use std::io::Read;
use std::os::fd::{AsFd, OwnedFd, RawFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::{FdFlags, fcntl_setfd};
use serde::{Deserialize, Serialize};

use fsverdict_disk::backend::{BackendReport, Clock, Served};
use fsverdict_disk::device::Draw;

use fsverdict_linux::sandbox::{Capabilities, FROM_OUTSIDE, Isolation, Sandbox, make_inheritable};

use super::interruption::{Interruption, terminating_signal};

/// How long it may take to end after its guest.
const FAREWELL: Duration = Duration::from_secs(20);
/// SIGBUS: a process accessed mapped memory that the guest no longer backs.
const BUS: i32 = 7;

impl ServingError {
    /// Attributes the error to an interruption: a candidate cannot cause it, because the process treats the served
    /// content as plain data.
    pub(super) fn as_interruption(&self) -> Interruption {
        match self {
            ServingError::Killed { signal } => Interruption::Signal(*signal),
            _ => Interruption::DeviceProcess,
        }
    }
}

/// Environment variable that carries the task to the process.
const TASK: &str = "FSVERDICT_DEVICE";

/// The step of this program that serves a device.
pub const COMMAND: &str = "device";

/// A device's process cannot be started, or did not end as it should.
#[derive(Debug, thiserror::Error)]
pub enum ServingError {
    #[error("the device process failed: {0}")]
    Io(#[from] std::io::Error),
    #[error("it did not end when its guest had")]
    Unfinished,
    #[error("it was killed by signal {signal}")]
    Killed { signal: i32 },
    #[error("it ended without a report: it crashed")]
    Unreported,
    #[error(
        "memory that its guest had shown it was taken away: the file that memory is became shorter, or there was no room for it any more"
    )]
    MemoryGone,
    #[error("`fsverdict device` is an internal command that only fsverdict starts")]
    NotForPeople,
}

/// The task of the process: the disks to serve, and on which descriptors. Descriptors are inherited by number.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct ServeTask {
    devices: Vec<DeviceTask>,
    clock: Clock,
    /// Seconds of processor time for which a guest may go without asking for anything.
    silence_s: u64,
    /// Listening socket of the guest's clock.
    clock_socket: RawFd,
    report: RawFd,
}

/// One of the devices.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct DeviceTask {
    model: String,
    /// The draw from a class of devices; `None` for the typical device.
    draw: Option<Draw>,
    size_bytes: u64,
    seed: u64,
    fails_after: Option<Duration>,
    /// Listening socket of the disk's driver.
    socket: RawFd,
    /// An empty file for the device's data.
    store: RawFd,
    /// An empty file for the trace, and how many bytes of it at most.
    trace: Option<(RawFd, u64)>,
    log: Option<LogTask>,
}

/// Sockets without names, one for each disk and one for the clock: a guest connects through descriptors of their files.
#[derive(Debug)]
pub struct Sockets {
    disks: Vec<ListeningSocket>,
    clock: ListeningSocket,
}

#[derive(Debug)]
struct ListeningSocket {
    listener: OwnedFd,
    file: OwnedFd,
}

/// The files of the sockets, which the guest must inherit.
#[derive(Debug)]
pub struct GuestSockets {
    pub disks: Vec<OwnedFd>,
    pub clock: OwnedFd,
}

impl Sockets {
    /// Creates the sockets of this many disks and of the clock. Their names are removed before a guest connects, so
    /// that none can be left behind.
    pub fn new(disks: usize) -> std::io::Result<Self> {
        let folder = tempfile::tempdir()?;
        let socket = |name: String| -> std::io::Result<ListeningSocket> {
            let path = folder.path().join(name);
            let listener = UnixListener::bind(&path)?;
            // Any process that inherits the descriptor may connect, as any user.
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o666))?;
            let file = open(&path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
            Ok(ListeningSocket { listener: listener.into(), file })
        };
        Ok(Sockets {
            disks: (0..disks).map(|disk| socket(format!("disk{disk}"))).collect::<Result<_, _>>()?,
            clock: socket("clock".to_owned())?,
        })
    }

    fn into_parts(self) -> (Vec<OwnedFd>, GuestSockets) {
        let (mut listeners, mut files) = (vec![self.clock.listener], Vec::new());
        for ListeningSocket { listener, file } in self.disks {
            listeners.push(listener);
            files.push(file);
        }
        (listeners, GuestSockets { disks: files, clock: self.clock.file })
    }
}

#[derive(Debug)]
pub struct Files<'a> {
    /// An empty file for the device's data.
    pub store: &'a OwnedFd,
    /// Empty, for the trace, and how many bytes of it at most.
    pub trace: Option<(&'a OwnedFd, u64)>,
    pub log: Option<DeviceLog<'a>>,
}

/// A device to be served, with the files for its data, trace and log.
#[derive(Debug)]
pub struct DeviceOrder<'a> {
    pub device: Served<'a>,
    pub files: Files<'a>,
}

/// Devices that are being served.
#[derive(Debug)]
pub struct Backend {
    child: Child,
    report: std::io::PipeReader,
    /// The clock's, then those of the disks.
    listeners: Vec<OwnedFd>,
}

impl Backend {
    /// Starts serving these devices; `sockets` must have one for each. The guest must inherit the returned
    /// descriptors.
    pub fn start_serving(
        devices: &[DeviceOrder<'_>],
        clock: Clock,
        silence_s: u64,
        isolation: Isolation,
        sockets: Sockets,
    ) -> Result<(Self, GuestSockets), ServingError> {
        let failed = |error: fsverdict_linux::sandbox::SandboxError| std::io::Error::other(error.to_string());
        let inherited = |descriptor: &OwnedFd| make_inheritable(descriptor.as_fd()).map_err(failed);
        let (report, theirs) = std::io::pipe()?;
        let task_of = |(order, socket): (&DeviceOrder<'_>, &ListeningSocket)| -> std::io::Result<DeviceTask> {
            let DeviceOrder { device, files } = order;
            Ok(DeviceTask {
                model: device.model.to_owned(),
                draw: device.draw,
                size_bytes: device.size_bytes,
                seed: device.seed,
                fails_after: device.fails_after,
                socket: inherited(&socket.listener)?,
                store: inherited(files.store)?,
                trace: match files.trace {
                    Some((file, bound)) => Some((inherited(file)?, bound)),
                    None => None,
                },
                log: files.log.map(|log| log.log_task()).transpose().map_err(failed)?,
            })
        };
        let task = ServeTask {
            devices: devices.iter().zip(&sockets.disks).map(task_of).collect::<Result<_, _>>()?,
            clock,
            silence_s,
            clock_socket: inherited(&sockets.clock.listener)?,
            report: make_inheritable(theirs.as_fd()).map_err(failed)?,
        };
        let program = std::env::current_exe()?;
        let mut sandbox =
            Sandbox::new(isolation, [program.to_string_lossy().into_owned(), COMMAND.to_owned()]);
        sandbox.capabilities = Capabilities::Reader;
        // A program of ours, which shares a processor with its guest.
        sandbox.process_limit = None;
        sandbox.variables = vec![TASK.to_owned()];
        sandbox.keeps = vec![task.clock_socket, task.report];
        for device in &task.devices {
            sandbox.keeps.extend([device.socket, device.store]);
            sandbox.keeps.extend(device.trace.map(|(descriptor, _)| descriptor));
            sandbox.keeps.extend(device.log.as_ref().map(LogTask::log_descriptor));
        }
        let mut command = sandbox.command().map_err(failed)?;
        command.env(TASK, serde_json::to_string(&task).map_err(std::io::Error::from)?);
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn()?;
        let (listeners, files) = sockets.into_parts();
        // The guest is not to have these.
        for listener in &listeners {
            fcntl_setfd(listener, FdFlags::CLOEXEC).map_err(std::io::Error::from)?;
        }
        Ok((Backend { child, report, listeners }, files))
    }

    /// The number of its process.
    pub(super) fn process(&self) -> u32 {
        self.child.id()
    }

    /// Whether it still serves.
    pub fn is_there(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Waits for the report on each device, after the guest has ended: a guest that has not connected yet never will.
    pub fn wait_for_reports(mut self) -> Result<Vec<BackendReport>, ServingError> {
        for listener in &self.listeners {
            // A killed process no longer listens; errors are ignored.
            let _ = rustix::net::shutdown(listener, rustix::net::Shutdown::Both);
        }
        let report = self.read_answer(Instant::now() + FAREWELL)?;
        let Some(text) = report else {
            // Dropped, it is ended.
            return Err(ServingError::Unfinished);
        };
        let status = self.child.wait()?;
        let signal = terminating_signal(status);
        serde_json::from_slice(&text).map_err(|_| match signal {
            Some(BUS) => ServingError::MemoryGone,
            Some(signal) if FROM_OUTSIDE.contains(&signal) => ServingError::Killed { signal },
            _ => ServingError::Unreported,
        })
    }

    /// All that it says; none where it has not ended by then.
    fn read_answer(&mut self, deadline: Instant) -> Result<Option<Vec<u8>>, ServingError> {
        let (mut text, mut piece) = (Vec::new(), [0; 4096]);
        loop {
            let time_left = Timespec::try_from(deadline.saturating_duration_since(Instant::now()));
            let mut watched = [PollFd::new(&self.report, PollFlags::IN)];
            match poll(&mut watched, time_left.ok().as_ref()) {
                Ok(0) => return Ok(None),
                Ok(_) => {}
                Err(rustix::io::Errno::INTR) => continue,
                Err(error) => return Err(std::io::Error::from(error).into()),
            }
            match self.report.read(&mut piece)? {
                0 => return Ok(Some(text)),
                length => text.extend(piece.get(..length).unwrap_or_default()),
            }
        }
    }
}

impl Drop for Backend {
    fn drop(&mut self) {
        if self.child.try_wait().ok().flatten().is_none() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

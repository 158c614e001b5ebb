//! The process that serves a device: started beside a guest that is about to be started, and what it does.

mod process;

pub use process::main;

use std::io::Read;
use std::os::fd::{AsFd, OwnedFd, RawFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::{FdFlags, fcntl_setfd};
use serde::{Deserialize, Serialize};

use fsverdict_disk::backend::{BackendReport, Clock, Served};
use fsverdict_disk::device::Draw;

use crate::sandbox::{Capabilities, FROM_OUTSIDE, Isolation, Sandbox, inherit};

/// How long it may take to end after its guest.
const FAREWELL: Duration = Duration::from_secs(20);
/// The signal of who looks at mapped memory that is gone.
const BUS: i32 = 7;

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
    #[error("it was ended from outside (signal {signal})")]
    Killed { signal: i32 },
    #[error("it ended without a report: it crashed")]
    Unreported,
    #[error(
        "memory that its guest had shown it was taken away: the file that memory is became shorter, or there was no room for it any more"
    )]
    MemoryGone,
    #[error("`fsverdict device` is called by fsverdict itself, not by people")]
    NotForPeople,
}

/// What to serve, and where. Descriptors are inherited by number.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct ServeTask {
    model: String,
    /// Of a class of devices; `None`: the typical one.
    #[serde(default)]
    draw: Option<Draw>,
    size_bytes: u64,
    seed: u64,
    clock: Clock,
    /// Seconds of wall time a guest may go without asking for anything.
    silence_s: u64,
    /// Listening sockets: the disk's driver, the guest's clock.
    sockets: (RawFd, RawFd),
    /// An empty file for what is written.
    store: RawFd,
    /// An empty file for the trace, and how many bytes of it at most.
    #[serde(default)]
    trace: Option<(RawFd, u64)>,
    report: RawFd,
}

/// Two sockets without names: a guest connects through descriptors of their files.
#[derive(Debug)]
pub struct Sockets {
    listeners: (OwnedFd, OwnedFd),
    files: (OwnedFd, OwnedFd),
}

impl Sockets {
    /// Makes both. Their names are gone before anybody connects, so that none can stay.
    pub fn new() -> std::io::Result<Self> {
        let folder = tempfile::tempdir()?;
        let socket = |name: &str| -> std::io::Result<(OwnedFd, OwnedFd)> {
            let path = folder.path().join(name);
            let listener = UnixListener::bind(&path)?;
            // Whoever has the descriptor may connect, as whatever user the guest runs.
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o666))?;
            let file = open(&path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
            Ok((listener.into(), file))
        };
        let ((disk, disk_file), (clock, clock_file)) = (socket("disk")?, socket("clock")?);
        Ok(Sockets { listeners: (disk, clock), files: (disk_file, clock_file) })
    }
}

#[derive(Debug)]
pub struct Files<'a> {
    /// Empty, for what is written to the device.
    pub store: &'a OwnedFd,
    /// Empty, for the trace, and how many bytes of it at most.
    pub trace: Option<(&'a OwnedFd, u64)>,
}

/// A device that is being served.
#[derive(Debug)]
pub struct Backend {
    child: Child,
    report: std::io::PipeReader,
    listeners: (OwnedFd, OwnedFd),
}

impl Backend {
    /// Starts serving a device of this model on `sockets`, with these files. What is given back with it
    /// the guest must inherit: the files of the disk's socket and of the clock's.
    pub fn start(
        device: Served<'_>,
        clock: Clock,
        silence_s: u64,
        isolation: Isolation,
        sockets: Sockets,
        files: &Files<'_>,
    ) -> Result<(Self, (OwnedFd, OwnedFd)), ServingError> {
        let failed = |error: crate::sandbox::SandboxError| std::io::Error::other(error.to_string());
        let (report, theirs) = std::io::pipe()?;
        let task = ServeTask {
            model: device.model.to_owned(),
            draw: device.draw,
            size_bytes: device.size_bytes,
            seed: device.seed,
            clock,
            silence_s,
            sockets: (
                inherit(sockets.listeners.0.as_fd()).map_err(failed)?,
                inherit(sockets.listeners.1.as_fd()).map_err(failed)?,
            ),
            store: inherit(files.store.as_fd()).map_err(failed)?,
            trace: match files.trace {
                Some((file, bound)) => Some((inherit(file.as_fd()).map_err(failed)?, bound)),
                None => None,
            },
            report: inherit(theirs.as_fd()).map_err(failed)?,
        };
        let program = std::env::current_exe()?;
        let mut sandbox =
            Sandbox::new(isolation, [program.to_string_lossy().into_owned(), COMMAND.to_owned()]);
        sandbox.capabilities = Capabilities::Reader;
        sandbox.keeps = vec![task.sockets.0, task.sockets.1, task.store, task.report];
        sandbox.keeps.extend(task.trace.map(|(descriptor, _)| descriptor));
        let mut command = sandbox.command().map_err(failed)?;
        command.env(TASK, serde_json::to_string(&task).map_err(std::io::Error::from)?);
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn()?;
        // The guest is not to have these.
        for listener in [&sockets.listeners.0, &sockets.listeners.1] {
            fcntl_setfd(listener, FdFlags::CLOEXEC).map_err(std::io::Error::from)?;
        }
        Ok((Backend { child, report, listeners: sockets.listeners }, sockets.files))
    }

    /// Whether it still serves.
    pub fn is_there(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Waits for what it says at its end, the guest having ended: one that has not connected yet never will.
    pub fn finish(mut self) -> Result<BackendReport, ServingError> {
        for listener in [&self.listeners.0, &self.listeners.1] {
            // Nobody may be listening any more, if that process was killed.
            let _ = rustix::net::shutdown(listener, rustix::net::Shutdown::Both);
        }
        let told = self.hear(Instant::now() + FAREWELL)?;
        let Some(text) = told else {
            // Dropped, it is ended.
            return Err(ServingError::Unfinished);
        };
        let status = self.child.wait()?;
        // The first process of its sandbox says it as a shell does.
        let signal = status.signal().or(status.code().map(|code| code - 128));
        serde_json::from_slice(&text).map_err(|_| match signal {
            Some(BUS) => ServingError::MemoryGone,
            Some(signal) if FROM_OUTSIDE.contains(&signal) => ServingError::Killed { signal },
            _ => ServingError::Unreported,
        })
    }

    /// All that it says; none where it has not ended by then.
    fn hear(&mut self, deadline: Instant) -> Result<Option<Vec<u8>>, ServingError> {
        let (mut text, mut piece) = (Vec::new(), [0; 4096]);
        loop {
            let left = Timespec::try_from(deadline.saturating_duration_since(Instant::now()));
            let mut watched = [PollFd::new(&self.report, PollFlags::IN)];
            match poll(&mut watched, left.ok().as_ref()) {
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

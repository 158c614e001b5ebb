//! A sandbox: a process in its own PID and mount namespaces that cannot outlive its creator.
//!
//! Three uses share one mechanism: the native agent, the User-Mode-Linux kernel, and every command of the user. The
//! sandbox is entered through this same binary, in two steps (`fsverdict sandbox SPEC`): the *supervisor* makes the
//! namespaces and waits; the *inmate*, PID 1 of the new PID namespace, arranges the mounts, drops unneeded privileges
//! and executes the program. Both carry a parent-death signal (prctl(2), `PR_SET_PDEATHSIG`): when any ancestor dies,
//! the kernel ends all processes of the sandbox and removes its mounts (pid_namespaces(7)).

mod capabilities;
mod covers;
mod devices;
mod enter;
mod furnish;
pub mod leftovers;
mod process_count;
pub mod program;
mod tool_spawner;

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};

use serde::{Deserialize, Serialize};

use crate::host::secrets::Secrets;
use crate::host::{limits, mounts};

pub use capabilities::Capabilities;
pub use devices::{make_node, private_devices};
pub use enter::enter_sandbox;
pub use tool_spawner::ToolSpawner;

use crate::host::procfs::THIS_PROGRAM;

/// Environment variable that carries the sandbox's description to the two steps.
const SPEC: &str = "FSVERDICT_SANDBOX";

/// Environment variable that tells an agent the descriptor to which stops of its programs are reported.
pub const STOPS_VARIABLE: &str = "FSVERDICT_STOPS";

/// A sandbox could not be entered.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    #[error("cannot {what}: {source}")]
    System { what: &'static str, source: std::io::Error },
    #[error("cannot show {} to a sandbox: {source}; hint: name the folder itself, by a path without links", path.display())]
    Path { path: PathBuf, source: std::io::Error },
    #[error(transparent)]
    Mount(#[from] mounts::MountError),
    #[error("`fsverdict sandbox` is an internal command of fsverdict")]
    NotForPeople,
}

impl SandboxError {
    /// Whether the error is a resource limit of this machine, which says nothing about the sandboxed program.
    pub fn is_of_machine(&self) -> bool {
        matches!(self, SandboxError::System { source, .. } if limits::cannot_start(source))
    }
}

/// The exit status of a sandbox, and of an agent, that could not do its work for this machine's sake.
pub const OF_MACHINE: u8 = 125;

/// How many processes and threads an untrusted program may have at a time on this machine. Far more than programs that
/// people run have (PostgreSQL: one for each connection), and fewer than the kernel allows where memory is small
/// (`threads-max` is about 7,600 for each GiB).
pub const PROCESS_LIMIT: u32 = 8192;

/// Signals with which kernels and programs do not end themselves: SIGINT, SIGKILL, SIGTERM.
pub const FROM_OUTSIDE: [i32; 3] = [2, 9, 15];

fn system<E: Into<std::io::Error>>(what: &'static str) -> impl FnOnce(E) -> SandboxError {
    move |source| SandboxError::System { what, source: source.into() }
}

/// How far a sandbox is shut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Isolation {
    /// Parent-death signals only: for machines that forbid namespaces to ordinary users.
    None,
    /// PID and mount namespaces; needs root.
    Namespaces,
    /// The same inside a user namespace, for ordinary users.
    UserNamespaces,
}

/// The content of a sandbox's `/dev`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Devices {
    /// The caller's.
    Shared,
    /// A `/dev` of its own without disks.
    Bare,
    /// The same, with KVM if this machine has it.
    BareAndKvm,
    /// The caller's, but no node in `/dev` itself opens a device. In a `/dev` made by [`private_devices`] these are the
    /// disks: the others are mounts of their own. Shared memory is the sandbox's own.
    Closed,
}

/// The point at which an inmate waits: it says that it is ready, and is told to go.
#[derive(Debug)]
pub struct StartBarrier {
    ready: (OwnedFd, OwnedFd),
    go: (OwnedFd, OwnedFd),
}

impl StartBarrier {
    pub fn new() -> Result<Self, SandboxError> {
        let pipe =
            || rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).map_err(system("make a pipe"));
        Ok(StartBarrier { ready: pipe()?, go: pipe()? })
    }

    /// The ends the inmate uses, let through to it.
    pub fn child_fds(&self) -> Result<(RawFd, RawFd), SandboxError> {
        Ok((make_inheritable(self.ready.1.as_fd())?, make_inheritable(self.go.0.as_fd())?))
    }

    /// The ends that stay here: read one byte from the first, write one to the second. To be taken after the
    /// inmate was spawned, so that its death is seen as the end of the first.
    pub fn into_parent_fds(self) -> (OwnedFd, OwnedFd) {
        (self.ready.0, self.go.1)
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Sandbox {
    pub isolation: Isolation,
    /// Mount points that stay writable; everything else becomes read-only.
    pub writable: Vec<PathBuf>,
    /// Folders covered by a fresh tmpfs each, which is writable.
    pub memory: Vec<PathBuf>,
    /// Folders and files shown elsewhere: (source, as it was before `memory` covered it; where, made if absent).
    pub shown: Vec<(PathBuf, PathBuf)>,
    /// The owners of links that are followed in writable and shown paths; every owner if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link_owners: Option<Vec<u32>>,
    /// Paths that are hidden, also from everything that this sandbox starts. Only for [`Isolation::Namespaces`]: an
    /// ordinary user can only read their own files.
    #[serde(default)]
    pub secrets: Secrets,
    pub devices: Devices,
    /// The capabilities that root keeps. An untrusted program ([`Capabilities::of_a_stranger`]) is isolated further: it
    /// shares neither services nor IPC nor a terminal with other processes.
    pub capabilities: Capabilities,
    /// Let a stranger use this machine's network; otherwise it has one of its own, with itself alone in it.
    pub network: bool,
    /// Descriptors that a stranger gets besides its standard streams.
    pub keeps: Vec<RawFd>,
    /// Variables that a stranger gets of the caller's environment besides PATH; others may hold secrets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<String>,
    /// An open descriptor of a mount namespace to start from instead of the caller's. Only for
    /// [`Isolation::Namespaces`].
    pub joins: Option<RawFd>,
    /// Say `ready` on the first descriptor and wait for a byte on the second before becoming the program.
    pub gate: Option<(RawFd, RawFd)>,
    /// The supervisor writes a byte here each time the program is stopped (SIGSTOP): times measured then include the
    /// pause.
    #[serde(default)]
    pub stops: Option<RawFd>,
    /// How many processes and threads a stranger's program may have at a time; then all of them are ended. `None` in a
    /// guest, whose own kernel has limits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process_limit: Option<u32>,
    /// The program and its arguments; the program as an absolute path.
    pub argv: Vec<String>,
    /// The process that starts the supervisor; set by [`Sandbox::command`].
    #[serde(default)]
    pub parent: Option<u32>,
    /// End of a pipe that hangs up when the supervisor dies; set by the supervisor.
    #[serde(default)]
    pub lifeline: Option<RawFd>,
}

impl Sandbox {
    /// A sandbox with this isolation that changes nothing else.
    pub fn new<S: Into<String>>(isolation: Isolation, argv: impl IntoIterator<Item = S>) -> Self {
        Sandbox {
            isolation,
            writable: Vec::new(),
            memory: Vec::new(),
            shown: Vec::new(),
            link_owners: None,
            secrets: Secrets::default(),
            devices: Devices::Shared,
            capabilities: Capabilities::All,
            network: false,
            keeps: Vec::new(),
            variables: Vec::new(),
            joins: None,
            gate: None,
            stops: None,
            process_limit: Some(PROCESS_LIMIT),
            argv: argv.into_iter().map(Into::into).collect(),
            parent: None,
            lifeline: None,
        }
    }

    /// The command that enters the sandbox. The caller adds descriptors and environment, and spawns it from a
    /// thread that lives as long as the sandbox: the parent-death signal is the thread's, not the process's.
    pub fn command(&self) -> Result<Command, SandboxError> {
        let sandbox = Sandbox { parent: Some(std::process::id()), ..self.clone() };
        let mut command = Command::new(THIS_PROGRAM);
        command.arg("sandbox").env(SPEC, serde_json::to_string(&sandbox).unwrap_or_default());
        Ok(command)
    }
}

/// The isolation that an ordinary user, or root, can have here.
pub fn possible_isolation() -> Isolation {
    let wanted =
        if rustix::process::geteuid().is_root() { Isolation::Namespaces } else { Isolation::UserNamespaces };
    let probe = || Sandbox::new(wanted, ["/bin/true"]).command().ok()?.stderr(Stdio::null()).status().ok();
    // One that was killed says nothing of the machine.
    let killed = |status: &ExitStatus| status.code().is_none_or(|code| code > 128);
    let answer = (0..3).map(|_| probe()).find(|status| !status.as_ref().is_some_and(killed));
    if answer.flatten().is_some_and(|status| status.success()) { wanted } else { Isolation::None }
}

/// Lets a descriptor through to the program that is started next.
pub fn make_inheritable(descriptor: BorrowedFd<'_>) -> Result<RawFd, SandboxError> {
    rustix::io::fcntl_setfd(descriptor, rustix::io::FdFlags::empty())
        .map_err(system("let a descriptor through"))?;
    Ok(descriptor.as_raw_fd())
}

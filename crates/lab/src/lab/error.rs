//! The errors of preparing a lab and of starting a trial in it, each with its hint.

use std::path::PathBuf;

use fsverdict_judgement::plan::DeviceSource;
use fsverdict_linux::sandbox::SandboxError;
use fsverdict_text::{Hinted, Reason};

use super::attachment;

/// A lab cannot be used, or a trial could not be started in it.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    #[error("the native lab formats and mounts, which only root may")]
    NotRoot,
    #[error("this machine lets not even root make PID and mount namespaces (a container?)")]
    NoNamespaces,
    #[error(
        "this machine lets no ordinary user make namespaces, in which what phases do is kept to its folder"
    )]
    NoUserNamespaces,
    #[error(transparent)]
    Folder(#[from] fsverdict_linux::host::own_folder::FolderError),
    #[error("there is no User-Mode-Linux kernel here (linux.uml)")]
    NoKernel,
    #[error("the kernel {} ({release}) does not start on this machine's processors: they have AMX, which it does not know", path.display())]
    UnknownProcessor { path: PathBuf, release: String },
    #[error(
        "{asked} trials cannot be tried side by side: they are timed by this machine's clock, and each would slow down the others"
    )]
    OneByOne { asked: usize },
    #[error(
        "{asked} trials cannot be tried side by side here: each takes a processor and a guest's memory, and there is room for {room}"
    )]
    TooManyJobs { asked: usize, room: usize },
    #[error("the kernel {} was built without {symbol}, which a guest needs", path.display())]
    LacksSymbol { path: PathBuf, symbol: &'static str },
    #[error("the phase `{0}` wants this machine's network, which no guest has any of")]
    NoNetwork(String),
    #[error("the kernel {} cannot be given simulated time: it was built without {symbol}", path.display())]
    NoSimulatedTime { path: PathBuf, symbol: &'static str },
    #[error("the goal is `{0}`, and in simulated time CPU times are not measured")]
    FreeGoal(String),
    #[error("the kernel {} does not count what it computes, so that `cpu` cannot price it", path.display())]
    CannotCount { path: PathBuf },
    #[error("no kernel in the cache counts what it computes, which `cpu` in the plan needs")]
    NoCountingKernel,
    #[error(transparent)]
    Cache(#[from] crate::kernel::KernelBuildError),
    #[error("the path of this program has a blank or a quotation mark in it, which a kernel command line cannot carry: {}", .0.display())]
    PathOfProgram(PathBuf),
    #[error("the lab {lab} has no {}", attachment::kind_of(wanted).0)]
    NoSuchDevice { lab: &'static str, wanted: DeviceSource },
    #[error(transparent)]
    Kernel(#[from] crate::lab::kernel::KernelError),
    #[error("there is no QEMU here (qemu-system-x86_64)")]
    NoQemu,
    #[error("the lab vm knows PCs only, and this machine is {0}")]
    NoVirtualMachine(&'static str),
    #[error(transparent)]
    KernelFile(#[from] crate::lab::vm::KernelFileError),
    #[error(transparent)]
    Program(#[from] fsverdict_linux::sandbox::program::ProgramError),
    #[error("cannot stage the datasets: {}", .0.what)]
    Staging(Reason),
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// The scratch image could not be made, or the device not be opened.
    #[error(transparent)]
    Disk(#[from] attachment::AttachmentError),
    #[error("cannot start the trial: {0}")]
    Io(#[from] std::io::Error),
    #[error("cannot start the trial: {}", .0.what)]
    NotStarted(Reason),
    #[error("{0}")]
    Host(String),
    #[error("{}", .0.what)]
    Given(Reason),
    #[error("a trial was ended because of this machine, not because of its candidate: {}", .0.what)]
    Machine(Reason),
}

impl Hinted for LabError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            LabError::NotRoot => "run it with sudo, or take `--lab uml`, which needs no root".to_owned(),
            LabError::NoNamespaces => "`--lab uml` can do without".to_owned(),
            LabError::NoUserNamespaces => "run it with sudo, or ask for user namespaces (`sysctl kernel.unprivileged_userns_clone user.max_user_namespaces`)".to_owned(),
            LabError::NoKernel => "`fsverdict kernel build` makes one, for simulated time too; or install the package user-mode-linux (Debian, Ubuntu), or name one you built: `kernel = \"/path/to/linux\"` in the plan".to_owned(),
            LabError::UnknownProcessor { .. } => "`fsverdict kernel build` makes one that does, and is taken from then on".to_owned(),
            LabError::OneByOne { .. } => "leave --jobs out; in simulated time (a modelled device in the lab uml) nothing can disturb them".to_owned(),
            LabError::TooManyJobs { room, .. } => format!("--jobs {room}, or leave it out"),
            LabError::LacksSymbol { symbol, .. } => format!("build it with {symbol}=y"),
            LabError::NoNetwork(_) => "`--lab native` (as root); or take `network = true` out: its own loopback every phase has".to_owned(),
            LabError::NoSimulatedTime { .. } => "`fsverdict kernel build` makes one that can".to_owned(),
            LabError::FreeGoal(_) => "`--lab native`, or clock = \"real\" in the plan, measures it; in simulated time the metric `charged` is what a processor model charges for computation (`cpu` in the plan)".to_owned(),
            LabError::CannotCount { .. } | LabError::NoCountingKernel => {
                "`fsverdict kernel build` makes one of Linux 6.12 that does; `--set cpu=free` does without a price of computation".to_owned()
            }
            LabError::PathOfProgram(_) => "install it in another folder".to_owned(),
            LabError::NoQemu => "install qemu-system-x86 (Debian, Ubuntu, Fedora, Arch) or qemu-x86 (openSUSE); or take `--lab uml`, which needs none".to_owned(),
            LabError::NoVirtualMachine(_) => "--lab uml, or --lab native".to_owned(),
            LabError::NoSuchDevice { wanted, .. } => attachment::kind_of(wanted).1.to_owned(),
            LabError::Cache(error) => return error.hint(),
            LabError::Kernel(error) => return error.hint(),
            LabError::KernelFile(error) => return error.hint(),
            LabError::Program(error) => return error.hint(),
            LabError::Staging(reason) | LabError::Machine(reason) | LabError::NotStarted(reason) | LabError::Given(reason) => {
                return reason.hint();
            }
            LabError::Disk(error) => return error.hint(),
            LabError::Folder(_)
            | LabError::Sandbox(_)
            | LabError::Io(_)
            | LabError::Host(_) => return None,
        })
    }

    fn reason(&self) -> Reason {
        match self {
            LabError::Given(reason) => reason.clone(),
            other => Reason::new(other, other.hint().unwrap_or_default()),
        }
    }
}

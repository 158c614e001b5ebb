//! Labs: each provides a kernel and a block device for the agent. `trial/` defines the agent's work.

mod attachment;
mod attachments;
pub mod backend;
mod background;
mod by_default;
mod choose;
mod console;
mod description;
mod drive;
mod entry;
mod event_lines;
mod first_process;
mod free_cpu;
mod guest;
mod guest_command;
mod guest_trial;
mod guests;
mod held;
mod hidden;
mod interruption;
mod kernel;
mod kernels;
mod launch;
mod modelled;
mod native;
mod processors;
mod running_trial;
mod scheduler_obstacle;
mod stop_watcher;
mod time_limit;
mod trace_file;
mod traced;
mod trial_end;
mod trial_processes;
mod try_kernel;
mod uml;
mod vm;
mod write_log;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::trial::TrialSpec;
use fsverdict_judgement::journal::{Event, Facts, ProcessorModel};
use fsverdict_judgement::plan::{Candidate, DeviceSource, once_each};
use fsverdict_linux::sandbox::SandboxError;
use fsverdict_text::{Hinted, Reason};

pub use attachment::Attachment;
pub use attachments::Attachments;
pub use backend::LogPurpose;
pub use by_default::{ByDefault, by_default};
pub use choose::{Candidacy, ChosenLab, choose_lab, choose_to_look, list_candidacies};
pub use entry::LabEntry;
pub use guest::main as guest;
pub use hidden::{hidden_from, list_missing_content};
pub use interruption::{ATTEMPTS, Interruption, describe_interruptions};
pub use launch::main as launch;
pub use trace_file::{FOLDER as TRACES, TraceFile};
pub use trial_end::TrialEnd;
pub use trial_processes::{TRIAL_PROCESSES, TrialProcess};
pub use try_kernel::try_kernel;
pub use vm::is_kernel_package;
pub use write_log::WriteLogFile;

/// Every lab, the preferred one first.
pub static LABS: &[LabEntry] = &[native::ENTRY, uml::ENTRY, vm::ENTRY];

/// Receives events as they arrive.
pub type Watch<'a> = &'a mut dyn FnMut(Event);

/// A kernel that runs trials.
pub trait Lab: Send + Sync {
    /// `native`, `uml` …
    fn name(&self) -> &'static str;

    /// The basis of results from this lab, apart from the device.
    fn fidelity(&self) -> String;

    /// Facts about the lab for the reader of the results, beyond those about the host.
    fn facts(&self) -> Facts;

    /// Why a candidate cannot be tried here, if so.
    fn find_obstacle(&self, candidate: &Candidate) -> Option<Reason>;

    /// Memory of the guests; `None` where trials use this machine's.
    fn guest_memory(&self) -> Option<GuestMemory> {
        None
    }

    /// The processor models that price computation; none where it takes no time, or this machine's.
    fn processor_models(&self) -> Vec<ProcessorModel> {
        Vec::new()
    }

    /// By how much times of modelled devices may be wrong, by kind of access: the largest of all models (one standard
    /// deviation of the logarithm). None on a device that is not modelled.
    fn access_errors(&self) -> BTreeMap<String, f64> {
        BTreeMap::new()
    }

    /// The command line that starts a trial.
    fn command_line(&self) -> Vec<String>;

    /// How many trials may be under way at once, where nothing on this machine can disturb one; `None` where they are timed
    /// by this machine's clock, and each has to be alone.
    fn side_by_side(&self) -> Option<usize> {
        None
    }

    /// Why the options of mkfs and mount cannot be tried when only looking, if so.
    fn against_trying(&self) -> Option<&'static str> {
        None
    }

    /// Runs one trial to its end; events are handed to `watch` as they come. `job` is the number of the trial among those
    /// that are under way at once, from 0.
    ///
    /// # Errors
    /// When the trial could not be started. A trial that fails is not an error but a [`TrialEnd`].
    fn run_trial(
        &self,
        spec: &TrialSpec,
        attachments: &Attachments,
        job: usize,
        watch: Watch<'_>,
    ) -> Result<TrialEnd, LabError>;
}

/// In bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuestMemory {
    /// The memory sizes of the guests in bytes, the smallest first.
    pub each: Vec<u64>,
    /// The part of it for staged datasets, in bytes.
    pub datasets: u64,
}

/// Why a lab is prepared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Intent {
    Run,
    /// To show the commands of a run: nothing is unpacked, and no makefile runs.
    Look,
}

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
    #[error("a trial was given up for this machine's sake, which says nothing about its candidate: {}", .0.what)]
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
                "`fsverdict kernel build --counting` makes one that counts; `--set cpu=free` does without a price of computation".to_owned()
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

fn missing_tools(candidate: &Candidate) -> Option<Reason> {
    not_installed(tools_of(candidate))
}

/// The same where further programs lie beside a guest's kernel.
fn missing_tools_with(candidate: &Candidate, beside: Option<&Path>) -> Option<Reason> {
    let is_beside = |program: &str| beside.is_some_and(|folder| folder.join(program).is_file());
    not_installed(tools_of(candidate).filter(|tool| !is_beside(tool.program)))
}

/// The programs that a candidate's filesystem and layers need.
fn tools_of(candidate: &Candidate) -> impl Iterator<Item = fsverdict_stack::filesystem::Tool> {
    let filesystem = fsverdict_stack::filesystem::find_filesystem(&candidate.filesystem)
        .into_iter()
        .flat_map(fsverdict_stack::filesystem::Filesystem::tools);
    let layers = fsverdict_stack::layer::layers_of(candidate);
    filesystem.chain(layers.flat_map(|layer| layer.tools.iter().copied()))
}

/// Which of these programs are not here, and how they come here.
pub fn not_installed(tools: impl Iterator<Item = fsverdict_stack::filesystem::Tool>) -> Option<Reason> {
    let missing =
        tools.filter(|tool| fsverdict_linux::sandbox::program::find_program(tool.program).is_none());
    let missing = once_each(missing);
    missing.first()?;
    let programs = missing.iter().map(|tool| tool.program).collect::<Vec<_>>().join(", ");
    Some(Reason::new(format!("not installed: {programs}"), how_to_install(&missing)))
}

/// One command for all that the distribution has, and for the rest where to find it.
fn how_to_install(missing: &[fsverdict_stack::filesystem::Tool]) -> String {
    use fsverdict_stack::filesystem::{Distribution, Package};
    let release = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
    let Some(distribution) = Distribution::from_os_release(&release) else {
        let programs: Vec<&str> = missing.iter().map(|tool| tool.program).collect();
        return format!("install the packages that have {}", programs.join(", "));
    };
    let (mut official, mut elsewhere) = (Vec::new(), Vec::new());
    for tool in missing {
        let (list, name) = match tool.packages.package_on(distribution) {
            Package::Official(name) => (&mut official, name),
            Package::Elsewhere(note) => (&mut elsewhere, note),
        };
        if !list.contains(&name) {
            list.push(name);
        }
    }
    if !official.is_empty() {
        official.insert(0, distribution.install_command());
    }
    let command = Some(official.join(" ")).filter(|command| !command.is_empty());
    command.into_iter().chain(elsewhere.into_iter().map(str::to_owned)).collect::<Vec<_>>().join("; ")
}

//! The agent's input, as JSON on its standard input: one resolved trial, and the bench for it.

use std::collections::BTreeMap;
use std::os::fd::RawFd;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use fsverdict_disk::calibrate::Grid;
use fsverdict_disk::device::Draw;
use fsverdict_judgement::journal::TrialId;
use fsverdict_judgement::plan::{Candidate, Dataset, Needs, Phase, PhaseWork, Service};
use fsverdict_linux::guard::LeaseTicket;
use fsverdict_linux::host::process_key::ProcessKey;
use fsverdict_linux::host::root::Root;
use fsverdict_workload::dataset::Selection;
use fsverdict_workload::workload::{CutPromises, OneSequence, SavedFolder};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Assignment {
    pub spec: TrialSpec,
    pub bench: TestBench,
}

/// One resolved trial: its work, independent of the lab.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrialSpec {
    pub trial: TrialId,
    /// Seed of the generated data: the same for every trial of a run, so that all write the same bytes.
    pub seed: u64,
    pub candidate: Candidate,
    pub datasets: BTreeMap<String, Dataset>,
    pub phases: Vec<Phase>,
    /// Services that run while phases do.
    #[serde(default)]
    pub services: Vec<Service>,
    /// How many times phases are done that leave everything as it was; those that are not named, once.
    pub repeats: BTreeMap<String, Repeats>,
    /// No single program of the trial may take longer than this.
    pub limit: Duration,
    /// When the conductor stops the trial, because the time of the run is up; the agent does not know it.
    #[serde(skip)]
    pub deadline: Option<Instant>,
    /// Where it is to differ from the plan's.
    pub drawn: Option<Drawn>,
    /// Measure the device itself by this half of the grid, and do nothing else.
    pub calibration: Option<Grid>,
    /// Look at states that cuts of power left, and do nothing else.
    pub cuts: Option<CutLook>,
    /// Look at rotten blocks, and do nothing else.
    #[serde(default)]
    pub rot: Option<RotLook>,
    /// Which part of its sequences is done, from 0.
    #[serde(default)]
    pub part: u32,
    /// None of them but this.
    #[serde(default)]
    pub only: Option<OneSequence>,
    /// How many devices it has.
    pub devices: usize,
}

/// The requirements on the crash states that the trial's device presents one after another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CutLook {
    /// When power was cut in each, in nanoseconds of the device's clock.
    pub moments_ns: Vec<u64>,
    /// Whether the checker has its say of each, and all that lies there is removed: otherwise of a state in which something is wrong alone.
    pub thorough: Vec<bool>,
    pub promises: CutPromises,
    /// Whether waiting costs nothing, because time is simulated.
    #[serde(default)]
    pub waits_freely: bool,
}

/// The requirements on the trial's device, on which one block after another is rotten.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RotLook {
    pub folders: Vec<SavedFolder>,
    /// Whether saved files are overwritten with their own content, by the number of the block.
    pub rewrites: Vec<bool>,
}

impl TrialSpec {
    /// The first trial of a candidate, with no work to do.
    pub fn without_work(candidate: Candidate, seed: u64, limit: Duration) -> Self {
        TrialSpec {
            trial: TrialId { block: 1, candidate: candidate.name.clone(), attempt: 1 },
            seed,
            candidate,
            datasets: BTreeMap::new(),
            phases: Vec::new(),
            services: Vec::new(),
            repeats: BTreeMap::new(),
            limit,
            deadline: None,
            drawn: None,
            calibration: None,
            cuts: None,
            rot: None,
            part: 0,
            only: None,
            devices: 1,
        }
    }
}

/// Random circumstances of a trial, which vary between machines like the plan's: the same for all candidates of a
/// block.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Drawn {
    /// The guest's own memory, and the device's size, as factors of the plan's values.
    pub memory: f64,
    pub size: f64,
    /// How long nothing happens before the device is first used, and again before the first phase.
    pub pause: Duration,
    /// Seed of the names of generated files; their contents are the same in every block.
    pub names: u64,
    /// The draw from a class of devices; `None` for the typical device.
    #[serde(default)]
    pub device: Option<Draw>,
}

/// How many times a phase is done within a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repeats {
    pub times: u32,
    /// The plan asks for them, so that they are done even where the first reading leaves traces: times of access.
    pub asked_for: bool,
}

/// The bench of a trial, which the lab fills in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TestBench {
    /// The trial's devices, in the order of the plan's.
    pub devices: Vec<TrialDevice>,
    /// Where datasets that are needed as files lie.
    pub staging: Staging,
    /// CPU seconds per second that the machine uses without the trial; 0 in a fresh guest, where nothing else runs.
    pub idle_load: f64,
    /// The kernel modules a guest must load first; a native kernel finds its own.
    pub modules: Option<Modules>,
    /// The modules of a laboratory kernel. The field is omitted if there are none, so that the description for other guests
    /// stays the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub laboratory_modules: Option<GuestModules>,
    /// The folders in which a guest looks for programs before its usual ones, as in `PATH`: the programs that run must
    /// be those of the versions recorded here. A trial on this machine's kernel has the user's `PATH`.
    pub programs: Option<String>,
    /// The selected files of the user's folders, by dataset, if they were selected before.
    pub selected: BTreeMap<String, Selection>,
    /// Bytes per second that modelled devices can move together; none of a real device, and of a model that takes no time.
    #[serde(default)]
    pub device_rate: Option<u64>,
    /// Whether the kernel counts its computation. Other kernels must not even be asked: a failing system call takes
    /// simulated time. The field is omitted if false, so that the description for such guests stays the same.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub counts_computation: bool,
}

impl TestBench {
    /// Whether the kernel is there for this trial alone.
    pub fn is_in_guest(&self) -> bool {
        self.devices.iter().any(|device| matches!(device, TrialDevice::Guest { .. }))
    }
}

/// Where datasets lie that commands, or copies of a user's folder, need as files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Staging {
    Memory,
    /// On a scratch disk, staged by this process: they are too large for memory.
    Disk {
        device: TrialDevice,
        /// The folder of the image, for messages.
        folder: PathBuf,
    },
    /// Staged once for the whole run by another process. The agent's sandbox inherits its mounts.
    Held {
        /// The folder of the scratch disk they lie on, where they are too large for memory.
        on_disk: Option<PathBuf>,
    },
}

/// Settings of `/sys/block/…/queue` that a guest's driver does not know of a modelled device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueLimits {
    pub rotational: bool,
    pub max_sectors_kb: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Modules {
    /// The folder that holds `modules.dep`, named for the kernel's version.
    pub folder: PathBuf,
    /// Their names, in the order to load them.
    pub names: Vec<String>,
}

/// The modules of a laboratory kernel that a guest loads before anything else, and no others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuestModules {
    pub folder: PathBuf,
    /// Names of files in the folder, in the order to load them.
    pub files: Vec<String>,
}

/// A device that is formatted, as the agent finds it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrialDevice {
    /// An unlinked scratch image, inherited as an open descriptor; the agent attaches it to a loop device.
    Image { descriptor: RawFd, owner: Option<ProcessKey> },
    /// A block device the conductor has cleared for writing.
    Block {
        /// The permission to write it, checked again right before the first write.
        ticket: LeaseTicket,
    },
    /// A disk that belongs to the guest alone.
    Guest {
        path: PathBuf,
        /// Settings of its queue that must be made before anything reads it.
        queue: Option<QueueLimits>,
    },
    /// No device: an empty folder of the conductor's, inside a folder of the user's.
    Folder { path: PathBuf },
}

impl TrialDevice {
    /// An image of this process's, which is the conductor.
    pub fn from_image(descriptor: RawFd) -> Self {
        TrialDevice::Image { descriptor, owner: ProcessKey::current(&Root::default()) }
    }
}

pub(super) fn is_raw(phase: &Phase) -> bool {
    matches!(phase.work, PhaseWork::Operation(operation) if operation.needs() == Needs::BareDevice)
}

/// Whether a shell line mentions a variable, as `$NAME` or `${NAME`.
pub(super) fn mentions_variable(line: &str, variable: &str) -> bool {
    line.match_indices('$').any(|(at, _)| {
        let rest = &line[at + 1..];
        let rest = rest.strip_prefix('{').unwrap_or(rest);
        rest.strip_prefix(variable)
            .is_some_and(|after| !after.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_'))
    })
}

#[cfg(test)]
mod tests {
    use super::mentions_variable;

    #[test]
    fn variables_are_found_as_a_shell_would() {
        assert!(
            mentions_variable("rsync -a \"$USR/\" x", "USR") && mentions_variable("cp ${USR}/a b", "USR")
        );
        assert!(!mentions_variable("echo $USRX", "USR") && !mentions_variable("echo USR", "USR"));
    }
}

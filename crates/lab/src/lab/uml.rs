//! The `uml` lab: a Linux kernel as an ordinary process (User-Mode Linux), fresh for every trial.
//!
//! The guest's root is the host's, read-only; its first disk is an unlinked scratch image or a cleared block device,
//! its second the trial's description, its first serial line a pipe for events. The kernel runs in a sandbox, so that
//! it and its helper processes end with the conductor, and it sees a tree that it cannot write to: it may be any
//! program that the plan names, and has the right to read and no other, whichever user started it.

use std::collections::BTreeMap;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use crate::trial::TrialSpec;
use fsverdict_disk::backend::Clock;
use fsverdict_judgement::journal::{Facts, ProcessorModel, TrialId};
use fsverdict_judgement::plan::{Candidate, ClockChoice, DeviceSource, LabChoice, NuisancesChoice, Plan};
use fsverdict_linux::sandbox::{Devices, Isolation, possible_isolation};
use fsverdict_text::Reason;

use super::description::{UBD_OF_STAGING, describe_trial, ubd_disks, ubd_number};
use super::guest::Arrival;
use super::guest_command::{DiskService, GuestCommand, GuestInputs, GuestTraits, TrialRequest};
use super::guests::{Guests, MEMORY_FOLDER};
use super::kernel::Kernel;
use super::kernels::{self, GuestKernels};
use super::modelled::{self, DESCRIPTION, LENT_DESCRIPTORS, disk_of};
use super::trial_end::TrialEnd;
use super::{Attachments, GuestMemory, Lab, LabEntry, LabError, Watch};

/// Where a guest's sandbox shows this program.
const FIRST_PROGRAM: &str = "/dev/shm/fsverdict";

pub(super) const ENTRY: LabEntry = LabEntry {
    choice: LabChoice::Uml,
    summary: "a Linux kernel as an ordinary process: no root, no real disk",
    takes: |source| *source != DeviceSource::Folders,
    prepare: |plan, _| Ok(Box::new(Uml::prepare_uml(plan)?)),
    arrival: Some(ARRIVAL),
};

/// Its root is the host's from the start, its first serial line the way out.
const ARRIVAL: Arrival =
    Arrival { word: None, description: DESCRIPTION, events: "/dev/ttyS0", enter: is_dev_of_host };

/// Whether the nodes under /dev are the host's, seen through hostfs.
fn is_dev_of_host() -> std::io::Result<bool> {
    /// `HOSTFS_SUPER_MAGIC` (`include/uapi/linux/magic.h`).
    const HOSTFS: i64 = 0x00c0_ffee;
    Ok(rustix::fs::statfs("/dev")?.f_type == HOSTFS)
}

const TRAITS: GuestTraits = GuestTraits {
    disk: |number| disk_of(UBD, ubd_number(number) + 1),
    // Its number is the one that is left between the first disk of the candidate and the others.
    staging: |_| disk_of(UBD, UBD_OF_STAGING + 1),
    devices: Devices::Bare,
    timed: true,
    same_clock: true,
};
/// How the names of its own disks begin.
const UBD: &str = "/dev/ubd";

#[derive(Debug)]
struct Uml(Guests);

/// The kernel that a guest boots, its first program, and its memory in bytes.
struct Boots<'a> {
    first_program: &'a Path,
    kernel: &'a Kernel,
    memory: u64,
}

impl Uml {
    /// Finds the kernel: the plan's, or the packaged one.
    fn prepare_uml(plan: &Plan) -> Result<Self, LabError> {
        let isolation = possible_isolation();
        let kernels = GuestKernels::find_kernels(plan, |wanted| kernels::find_usable_kernel(plan, wanted))?;
        let modelled = plan.device.source.is_modelled();
        // Priced computation needs simulated time.
        let choice = if plan.cpus().is_empty() { plan.clock } else { ClockChoice::Simulated };
        let clock = if modelled { modelled::choose_clock(choice, kernels.iter())? } else { Clock::Real };
        for kernel in kernels.iter().filter(|_| modelled) {
            modelled::find_driver(kernel)
                .map_err(|symbol| LabError::LacksSymbol { path: kernel.path.clone(), symbol })?;
        }
        Ok(Uml(Guests::new(plan, isolation, kernels, clock)?))
    }

    /// The command line of the kernel, with descriptors by number.
    fn kernel_argv(
        &self,
        boots: &Boots<'_>,
        disks: Vec<String>,
        events: i32,
        description: &str,
    ) -> Vec<String> {
        let Boots { first_program, kernel, memory } = boots;
        let mut argv = vec![kernel.path.to_string_lossy().into_owned()];
        argv.extend([
            format!("mem={}M", memory.div_ceil(1 << 20)),
            "root=/dev/root".into(),
            "rootfstype=hostfs".into(),
            "rootflags=/".into(),
            "ro".into(),
            // The packaged kernel mounts it by itself, over the description in the sandbox's /dev.
            "devtmpfs.mount=0".into(),
            format!("init={}", first_program.display()),
        ]);
        if kernel.cooperates {
            // Where this machine does not support it, the kernel traces its programs by ptrace: the requests to their
            // disks are the same.
            argv.push("seccomp=auto".into());
        }
        if self.0.clock == Clock::Real {
            // Not measured at each boot, which takes hundredths of a second: nothing here waits by counting loops.
            argv.push("lpj=10000000".into());
        }
        argv.extend(disks);
        argv.extend([
            "con=null".into(),
            "con0=null,fd:1".into(),
            format!("ssl0=null,fd:{events}"),
            format!("uml_dir={MEMORY_FOLDER}/"),
            "quiet".into(),
            "--".into(),
            "guest".into(),
        ]);
        argv.extend(Some(description.to_owned()).filter(|description| !description.is_empty()));
        argv
    }

    /// Where a guest finds this program: always at the same place, wherever it lies. How long a path is, the guest's kernel
    /// knows: it takes memory for each folder.
    fn first_program<'a>(&self, program: &'a Path) -> &'a Path {
        if self.0.isolation == Isolation::None { program } else { Path::new(FIRST_PROGRAM) }
    }

    fn start_command(&self, program: &Path, given: GuestInputs<'_>) -> Result<GuestCommand, LabError> {
        let description = describe_trial(given.assignment)?;
        let first_program = self.first_program(program);
        let boots = Boots { first_program, kernel: given.kernel, memory: given.memory };
        let shown = (first_program != program).then(|| (program.to_owned(), first_program.to_owned()));
        let GuestInputs { events, disks, .. } = given;
        Ok(match given.served {
            Some(DiskService { models, clock }) => {
                let mut words = modelled::command_line_words(models, given.trial)?;
                words.extend(given.prices);
                let kernel = self.kernel_argv(&boots, words, LENT_DESCRIPTORS[2], DESCRIPTION);
                let mut disks = disks.into_iter();
                let first = disks.next().ok_or_else(|| std::io::Error::from(rustix::io::Errno::NODEV))?;
                let mut lent = vec![first, clock, events];
                lent.extend(disks);
                let numbers: Vec<i32> = lent.iter().map(AsRawFd::as_raw_fd).collect();
                let argv = modelled::launch_argv(first_program, description.as_raw_fd(), &numbers, kernel);
                lent.push(description);
                GuestCommand { argv, lent, shown }
            }
            None => {
                let staging = given.staging.as_ref().map(AsRawFd::as_raw_fd);
                let numbers: Vec<i32> = disks.iter().map(AsRawFd::as_raw_fd).collect();
                let words = ubd_disks(&numbers, description.as_raw_fd(), staging);
                let argv = self.kernel_argv(&boots, words, events.as_raw_fd(), "");
                let lent = disks.into_iter().chain([description, events]).chain(given.staging).collect();
                GuestCommand { argv, lent, shown }
            }
        })
    }
}

impl Lab for Uml {
    fn name(&self) -> &'static str {
        ENTRY.name()
    }

    fn fidelity(&self) -> String {
        let kernel = format!("Linux {} as a process", self.0.kernels.releases());
        let memory = self.0.memory_title();
        match (self.0.models_title(), self.0.clock) {
            (None, _) => format!(
                "sandbox: {kernel} (User-Mode Linux), one CPU, {memory}; a system call costs far more than natively, so times on a fast disk are mostly CPU; bytes, requests and flushes are right"
            ),
            (Some(models), Clock::Simulated) => {
                let drawn = match self.0.plan.protocol.circumstances {
                    NuisancesChoice::Drawn => {
                        ", drawn within 5 % for each block, as the device's size and its start are"
                    }
                    NuisancesChoice::Fixed => "",
                };
                let varied = self.0.varied_parameters();
                let class = if varied.is_empty() {
                    String::new()
                } else {
                    // A long list is in the facts of each trial, and in the model's file.
                    let drawn = match varied.len() {
                        0..=4 => varied.join(", "),
                        many => format!("{many} of its numbers"),
                    };
                    format!(", each block on another device of its class ({drawn} drawn)")
                };
                let computation = self.0.computation_title();
                format!("device time on the {models}{class}; {computation}; {kernel}, {memory}{drawn}")
            }
            (Some(models), Clock::Real) => format!(
                "real time on the {models}; {kernel}, {memory}; a system call costs far more than natively"
            ),
        }
    }

    fn facts(&self) -> Facts {
        self.0.collect_facts()
    }

    fn find_obstacle(&self, candidate: &Candidate) -> Option<Reason> {
        self.0.find_obstacle(candidate)
    }

    fn compile_missing(&self) -> Result<(), LabError> {
        Ok(self.0.compile_missing()?)
    }

    fn guest_memory(&self) -> Option<GuestMemory> {
        Some(self.0.guest_memory())
    }

    fn against_trying(&self) -> Option<&'static str> {
        // Looking at a plan starts no program that it names, whoever wrote it.
        let plan = &self.0.plan;
        let names_program = |candidate: &Candidate| plan.kernel_of(candidate).is_some_and(Path::is_absolute);
        plan.candidates.iter().any(names_program).then_some(
            "not tried: the plan names a kernel's file, and a run tries them with it before its first trial",
        )
    }

    fn side_by_side(&self) -> Option<usize> {
        self.0.side_by_side()
    }

    fn processor_models(&self) -> Vec<ProcessorModel> {
        self.0.processors.describe_models()
    }

    fn access_errors(&self) -> BTreeMap<String, f64> {
        self.0.access_errors()
    }

    fn command_line(&self) -> Vec<String> {
        // The descriptor numbers differ between trials; to repeat the command, name files instead.
        let program = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("fsverdict"));
        let Some(first) = self.0.plan.candidates.first() else { return Vec::new() };
        let first_program = self.first_program(&program);
        let boots =
            Boots { first_program, kernel: self.0.kernel_for(first), memory: self.0.memory_bytes(first) };
        let modelled = self.0.modelled_devices(first);
        if modelled.is_empty() {
            let disks: Vec<i32> = (3..).take(self.0.plan.device.count()).collect();
            let next = disks.last().map_or(3, |last| last + 1);
            return self.kernel_argv(&boots, ubd_disks(&disks, next, None), next + 1, "");
        }
        let trial = TrialId { block: 1, candidate: String::new(), attempt: 1 };
        let mut disks = modelled::command_line_words(&modelled, &trial).unwrap_or_default();
        disks.extend(self.0.processor_model(first).map(|model| model.kernel_word(&model.prices(None))));
        self.kernel_argv(&boots, disks, LENT_DESCRIPTORS[2], DESCRIPTION)
    }

    fn run_trial(
        &self,
        spec: &TrialSpec,
        attachments: &Attachments,
        job: usize,
        watch: Watch<'_>,
    ) -> Result<TrialEnd, LabError> {
        let program = std::env::current_exe()?;
        // A quotation mark would open a word that the kernel reads on behind the blank after it.
        if self
            .first_program(&program)
            .to_string_lossy()
            .contains(|letter: char| letter.is_whitespace() || letter == '"')
        {
            return Err(LabError::PathOfProgram(program));
        }
        let kernel = self.0.kernel_for(&spec.candidate);
        let modelled = !self.0.modelled_devices(&spec.candidate).is_empty();
        let driver = modelled::find_driver(kernel).ok().flatten().filter(|_| modelled);
        self.0.run_guest_trial(
            &TrialRequest { spec, attachments, job },
            TRAITS,
            driver,
            |given| self.start_command(&program, given),
            watch,
        )
    }
}

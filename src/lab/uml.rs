//! The `uml` lab: a Linux kernel as an ordinary process (User-Mode Linux), fresh for every trial.
//!
//! The guest's root is the host's, read-only; its first disk is an unlinked scratch image or a cleared block device,
//! its second the trial's description, its first serial line a pipe for events. The kernel runs in a cell, so that
//! it and its helper processes end with the conductor, and sees a tree it could not write even if told to: it may be
//! any program the plan names, and has the rights to read and nothing else, whoever started it.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::dataset::{Selection, selection};
use crate::endpoint::Clock;
use crate::host::cell::{Walls, inherit, possible_walls};
use crate::host::placement::Placement;
use crate::host::procfs::memory;
use crate::host::root::Root;
use crate::journal::{Caution, Event, TrialId};
use crate::plan::{Candidate, DeviceSource, Plan};
use crate::trial::{Assignment, Bench, QueueLimits, Staging, TrialDevice, TrialSpec, bytes_to_stage};

use super::description::{covered_folder, describe, ubd_disks};
use super::drive::{Company, Stops, TrialEnd, at_step, drive};
use super::free_cpu;
use super::held::{disk_for, in_memory};
use super::kernel::{Kernel, kernel_cell};
use super::kernels::Kernels;
use super::modelled::{self, DESCRIPTION, DISK, LENT_DESCRIPTORS, Modelled, close};
use super::traced::Spans;
use super::{Lab, LabError, Medium, Obstacle, missing_tools};

/// Where the guest's memory lies: it must be possible to execute from there, and be fast.
const MEMORY_FOLDER: &str = "/dev/shm";
/// Guest memory beyond what staged datasets take, in bytes.
const BASE_MEMORY: u64 = 1 << 30;

#[derive(Debug)]
pub(super) struct Uml {
    clock: Clock,
    kernels: Kernels,
    walls: Walls,
    /// Of each trial that may be under way at once.
    placements: Vec<Placement>,
    plan: Plan,
    /// Bytes of the datasets; found out when they are first asked for: measuring a user's folder takes its time, and who only wants to know
    /// which candidates can run need not wait for it.
    staged: OnceLock<u64>,
    /// What is taken of the user's folders: a guest would look through them anew for each trial, and slowly.
    selected: OnceLock<BTreeMap<String, Selection>>,
}

#[derive(Debug)]
struct Room {
    /// Of a guest, in bytes.
    memory: u64,
    /// Bytes of the datasets, where they are staged on a disk because a guest's memory would be too large.
    on_disk: Option<u64>,
}

impl Uml {
    /// Finds the kernel: the plan's, or the packaged one.
    ///
    /// # Errors
    /// When there is none, or it cannot be used.
    pub(super) fn prepare(plan: &Plan) -> Result<Self, LabError> {
        if let Some(phase) = plan.phases.iter().find(|phase| phase.network) {
            return Err(LabError::NoNetwork(phase.name.clone()));
        }
        let walls = possible_walls();
        let kernels = Kernels::find(plan, walls)?;
        let modelled = matches!(plan.device.source, DeviceSource::Model { .. });
        let clock = if modelled { modelled::clock(plan.clock, kernels.each())? } else { Clock::Real };
        for kernel in kernels.each().filter(|_| modelled) {
            modelled::driver(kernel)
                .map_err(|symbol| LabError::LacksSymbol { path: kernel.path.clone(), symbol })?;
        }
        let placements = match clock {
            Clock::Simulated => Placement::each()?,
            Clock::Real => vec![Placement::choose()?],
        };
        Ok(Uml {
            clock,
            kernels,
            walls,
            placements,
            plan: plan.clone(),
            staged: OnceLock::new(),
            selected: OnceLock::new(),
        })
    }

    fn kernel(&self, candidate: &Candidate) -> &Kernel {
        self.kernels.of(&self.plan, candidate)
    }

    /// What a guest of this candidate is given.
    fn room(&self, candidate: Option<&Candidate>) -> Room {
        let bytes =
            *self.staged.get_or_init(|| bytes_to_stage(&self.plan.datasets, &self.plan.phases).unwrap_or(0));
        let own = candidate.and_then(|candidate| candidate.under.memory).or(self.plan.memory);
        let own = own.map_or(BASE_MEMORY, |memory| memory.0);
        // No more than staging takes: what a guest has left for its caches is what the plan says.
        let memory = own.saturating_add(bytes.saturating_add(bytes / 16));
        let modelled = matches!(self.plan.device.source, DeviceSource::Model { .. });
        // In simulated time another disk would answer at another moment every time.
        if bytes == 0 || modelled || in_memory(self.plan.device.staging, memory) {
            Room { memory, on_disk: None }
        } else {
            Room { memory: own, on_disk: Some(bytes) }
        }
    }

    /// What is taken of which of the user's folders.
    fn selected(&self) -> BTreeMap<String, Selection> {
        let found = self.selected.get_or_init(|| {
            let all = self.plan.datasets.iter();
            all.filter_map(|(name, dataset)| Some((name.clone(), selection(dataset)?))).collect()
        });
        found.clone()
    }

    /// The memory of its guests in bytes, the smallest first.
    fn memories(&self) -> Vec<u64> {
        let each = self.plan.candidates.iter().map(|candidate| self.room(Some(candidate)).memory);
        let mut each: Vec<u64> = each.collect();
        each.sort_unstable();
        each.dedup();
        each
    }

    /// A candidate's modelled device, if it has one.
    fn modelled<'a>(&'a self, candidate: &'a Candidate) -> Option<Modelled<'a>> {
        let (model, size) = self.plan.model_of(candidate)?;
        Some(Modelled {
            model,
            size: size.0,
            walls: self.walls,
            seed: self.plan.protocol.seed,
            clock: self.clock,
        })
    }

    /// Numbers of bytes as MiB, for people.
    fn mebibytes(sizes: &[u64]) -> String {
        sizes.iter().map(|size| size.div_ceil(1 << 20).to_string()).collect::<Vec<_>>().join(", ")
    }

    /// The command line of the kernel, with descriptors by number.
    fn argv(
        &self,
        (program, candidate): (&Path, &Candidate),
        disks: Vec<String>,
        events: i32,
        description: &str,
    ) -> Vec<String> {
        let mut argv = vec![self.kernel(candidate).path.to_string_lossy().into_owned()];
        argv.extend([
            format!("mem={}M", self.room(Some(candidate)).memory.div_ceil(1 << 20)),
            "root=/dev/root".into(),
            "rootfstype=hostfs".into(),
            "rootflags=/".into(),
            "ro".into(),
            // The packaged kernel mounts it by itself, over the description in the cell's /dev.
            "devtmpfs.mount=0".into(),
            format!("init={}", program.display()),
        ]);
        if self.clock == Clock::Real {
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
}

impl Lab for Uml {
    fn name(&self) -> &'static str {
        "uml"
    }

    fn fidelity(&self) -> String {
        let mut titles: Vec<String> = Vec::new();
        for modelled in self.plan.candidates.iter().filter_map(|candidate| self.modelled(candidate)) {
            if !titles.contains(&modelled.title()) {
                titles.push(modelled.title());
            }
        }
        let kernel = format!("Linux {} as a process", self.kernels.releases());
        let memory = format!("{} MiB of memory", Self::mebibytes(&self.memories()));
        if titles.is_empty() {
            return format!(
                "sandbox: {kernel} (User-Mode Linux), one CPU, {memory}; a system call costs far more than natively, so times on a fast disk are mostly CPU; bytes, requests and flushes are right"
            );
        }
        let models = if titles.len() == 1 { "model" } else { "models" };
        let titles = titles.join(", ");
        match self.clock {
            Clock::Simulated => {
                format!("device time on the {models} {titles}; CPU taken as free; {kernel}, {memory}")
            }
            Clock::Real => format!(
                "real time on the {models} {titles}; {kernel}, {memory}; a system call costs far more than natively"
            ),
        }
    }

    fn facts(&self) -> crate::journal::Facts {
        let fact = |name: &str, value: String| (name.to_owned(), value);
        let join = |words: Vec<String>| words.join(", ");
        let paths = self.kernels.each().map(|kernel| kernel.path.display().to_string()).collect();
        let mut facts = crate::journal::Facts::from([
            fact("lab.kernel", join(paths)),
            fact("lab.kernel_release", self.kernels.releases()),
            fact("lab.memory", join(self.memories().iter().map(u64::to_string).collect())),
            fact("lab.walls", format!("{:?}", self.walls)),
        ]);
        if self.side_by_side().is_none() {
            facts.extend(self.placements.first().map(Placement::facts).unwrap_or_default());
        }
        facts
    }

    fn obstacle(&self, candidate: &Candidate) -> Option<Obstacle> {
        let lacks = || {
            let (wanted, there) = (self.room(Some(candidate)).memory, memory(&Root::default()).ok()?.total);
            (wanted > there).then(|| Obstacle {
                reason: format!("its guest's memory, {} MiB, is more than this machine has", wanted >> 20),
                hint: "give it less: `memory`, or smaller datasets (--scale)".to_owned(),
            })
        };
        self.kernel(candidate).modules(candidate).err().or_else(|| missing_tools(candidate)).or_else(lacks)
    }

    fn side_by_side(&self) -> Option<usize> {
        if self.clock == Clock::Real {
            return None;
        }
        let available = memory(&Root::default()).map_or(u64::MAX, |memory| memory.available);
        let largest = self.memories().last().copied().unwrap_or(1);
        // Guests take what they touch; half of what is free stays with what they write to their disks.
        let room = usize::try_from(available / 2 / largest.max(1)).unwrap_or(usize::MAX);
        Some(self.placements.len().min(room).max(1))
    }

    fn command_line(&self) -> Vec<String> {
        // The numbers differ from trial to trial; a reader who repeats it by hand names files instead.
        let program = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("fsverdict"));
        let Some(first) = self.plan.candidates.first() else { return Vec::new() };
        match self.modelled(first) {
            Some(modelled) => {
                let trial = TrialId { block: 1, candidate: String::new(), attempt: 1 };
                let disks = modelled.words(&trial).unwrap_or_default();
                self.argv((&program, first), disks, LENT_DESCRIPTORS[2], DESCRIPTION)
            }
            None => self.argv((&program, first), ubd_disks(3, 4, None), 5, ""),
        }
    }

    fn run(
        &self,
        spec: &TrialSpec,
        medium: &Medium,
        job: usize,
        watch: &mut dyn FnMut(Event),
    ) -> Result<TrialEnd, LabError> {
        let placement =
            *self.placements.get(job).ok_or_else(|| std::io::Error::from(rustix::io::Errno::NODEV))?;
        let program = std::env::current_exe()?;
        // A quotation mark would open a word that the kernel reads on behind the blank after it.
        if program.to_string_lossy().contains(|letter: char| letter.is_whitespace() || letter == '"') {
            return Err(LabError::PathOfProgram(program));
        }
        if let Some(modelled) = self.modelled(&spec.candidate) {
            return self.run_modelled(&modelled, placement, spec, (medium, &program), watch);
        }
        let modules = self.kernel(&spec.candidate).modules_for(&spec.candidate, None);
        let (on_disk, staging) = match self.room(Some(&spec.candidate)).on_disk {
            Some(bytes) => {
                let folder = medium.scratch_folder()?;
                let device = TrialDevice::Guest { path: "/dev/ubdc".into() };
                (Some(disk_for(bytes, &folder)?), Staging::Disk { device, folder })
            }
            None => (None, Staging::Memory),
        };
        let bench = Bench {
            device: TrialDevice::Guest { path: "/dev/ubda".into() },
            staging,
            idle_load: 0.0,
            queue: None,
            modules,
            selected: self.selected(),
        };
        let disk = medium.attach()?.open()?;
        let description = describe(&Assignment { spec: spec.clone(), bench })?;
        let (events, sender) =
            rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).map_err(std::io::Error::from)?;
        let lent = (
            inherit(disk.as_fd())?,
            on_disk.as_ref().map(|disk| inherit(disk.as_fd())).transpose()?,
            inherit(description.as_fd())?,
            inherit(sender.as_fd())?,
        );
        let argv = self.argv((&program, &spec.candidate), ubd_disks(lent.0, lent.2, lent.1), lent.3, "");
        let mut cell = kernel_cell(self.walls, argv);
        cell.keeps = [lent.0, lent.2, lent.3].into_iter().chain(lent.1).collect();
        // Theirs may lie where the cell covers what is there, as disks do that a desktop mounts below /run.
        cell.shown = spec.datasets.values().filter_map(covered_folder).collect();
        let mut inherited: Vec<OwnedFd> = [disk, description, sender].into_iter().chain(on_disk).collect();
        let stops = Stops::of(&mut cell, &mut inherited)?;
        let mut command = cell.command()?;
        command.env("TMPDIR", MEMORY_FOLDER).stdin(std::process::Stdio::null());
        Ok(drive(
            command,
            events,
            &stops,
            spec,
            watch,
            inherited,
            Some(Company { placement, there: &mut || true }),
        )?)
    }
}

impl Uml {
    /// One trial on a modelled device.
    fn run_modelled(
        &self,
        modelled: &Modelled<'_>,
        placement: Placement,
        spec: &TrialSpec,
        (medium, program): (&Medium, &Path),
        watch: &mut dyn FnMut(Event),
    ) -> Result<TrialEnd, LabError> {
        let limits = modelled.limits()?;
        let kernel = self.kernel(&spec.candidate);
        let driver = modelled::driver(kernel).unwrap_or_default();
        let modules = kernel.modules_for(&spec.candidate, driver);
        let bench = Bench {
            device: TrialDevice::Guest { path: DISK.into() },
            staging: Staging::Memory,
            idle_load: 0.0,
            queue: Some(QueueLimits { rotational: limits.rotational, max_sectors_kb: limits.max_sectors_kb }),
            modules,
            selected: self.selected(),
        };
        let free = self.clock == Clock::Simulated;
        for text in free_cpu::cautions(&spec.candidate, &limits).into_iter().filter(|_| free) {
            watch(Event::Caution(Caution { phase: String::new(), text }));
        }
        let description = describe(&Assignment { spec: spec.clone(), bench })?;
        let (events, sender) =
            rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).map_err(std::io::Error::from)?;
        let (mut endpoint, (disk_socket, clock_socket)) =
            modelled.serve(&spec.trial, medium, (placement, spec.limit))?;
        let lent = (inherit(description.as_fd())?, inherit(sender.as_fd())?);
        let sockets = (inherit(disk_socket.as_fd())?, inherit(clock_socket.as_fd())?);
        let kernel = self.argv(
            (program, &spec.candidate),
            modelled.words(&spec.trial)?,
            LENT_DESCRIPTORS[2],
            DESCRIPTION,
        );
        let argv = modelled.argv(program, lent.0, [sockets.0, sockets.1, lent.1], kernel);
        let mut cell = kernel_cell(self.walls, argv);
        cell.keeps = vec![lent.0, lent.1, sockets.0, sockets.1];
        cell.shown = spec.datasets.values().filter_map(covered_folder).collect();
        let mut inherited = vec![description, sender, disk_socket, clock_socket];
        let stops = Stops::of(&mut cell, &mut inherited)?;
        let mut command = cell.command()?;
        command.env("TMPDIR", MEMORY_FOLDER).stdin(std::process::Stdio::null());
        let mut step = String::new();
        let mut spans = Spans::default();
        let mut watch_steps = |event: Event| {
            if let Event::StepStarted { step: begun } = &event {
                step.clone_from(begun);
            }
            spans.note(&event);
            watch(event);
        };
        let company = Company { placement, there: &mut || endpoint.is_there() };
        let end = drive(command, events, &stops, spec, &mut watch_steps, inherited, Some(company))?;
        let traced = (&spans, medium.trace_path(&spec.trial), modelled.device(&spec.trial)?);
        Ok(close(endpoint, end, &at_step(spec, &step), traced, watch))
    }
}

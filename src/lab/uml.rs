//! The `uml` lab: a Linux kernel as an ordinary process (User-Mode Linux), fresh for every trial.
//!
//! The guest's root is the host's, read-only; its first disk is an unlinked scratch image or a cleared block device,
//! its second the trial's description, its first serial line a pipe for events. The kernel runs in a cell, so that
//! it and its helper processes end with the conductor, and sees a tree it could not write even if told to: it may be
//! any program the plan names, and has the rights to read and nothing else, whoever started it.

use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::host::cell::{CellError, Walls, inherit, possible_walls};
use crate::host::placement::Placement;
use crate::host::procfs::memory;
use crate::host::program::locate;
use crate::host::root::Root;
use crate::journal::{Event, TrialId};
use crate::kernel::Cache;
use crate::layer::{SCHEDULERS, Scheduler, find_scheduler};
use crate::plan::{Candidate, ClockChoice, Dataset, DeviceSource, Plan};
use crate::trial::{
    Assignment, Bench, Modules, QueueLimits, Staging, TrialDevice, TrialSpec, bytes_to_stage,
};

use super::drive::{Stops, TrialEnd, drive};
use super::held::{disk_for, in_memory};
use super::kernel::{Kernel, Provision, fits_processor, kernel_cell};
use super::modelled::{DESCRIPTION, DISK, LENT_DESCRIPTORS, Modelled, close, lacks};
use super::scheduler::scheduler_obstacle;
use super::{Lab, LabError, Medium, Obstacle, missing_tools};

/// The kernel's name where a distribution packages it.
const PROGRAM: &str = "linux.uml";
/// Where the guest's memory lies: it must be possible to execute from there (SANDBOX), and be fast.
const MEMORY_FOLDER: &str = "/dev/shm";
/// The description's disk is a multiple of this; the kernel looks for partition tables that far into a disk.
const DESCRIPTION_SIZE: usize = 64 * 1024;
/// Guest memory beyond what staged datasets take, in bytes.
const BASE_MEMORY: u64 = 1 << 30;

/// User-Mode Linux, ready to run trials.
#[derive(Debug)]
pub(super) struct Uml {
    kernel: Kernel,
    walls: Walls,
    /// Of each trial that may be under way at once.
    placements: Vec<Placement>,
    plan: Plan,
    /// Found out when it is first asked for: measuring a user's folder takes its time, and who only wants to know
    /// which candidates can run need not wait for it.
    room: OnceLock<Room>,
}

/// What a guest is given for its datasets.
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
        let modelled = matches!(plan.device.source, DeviceSource::Model { .. });
        let path = find_kernel(plan)?;
        let walls = possible_walls();
        let kernel = Kernel::inspect(&path, walls)?;
        let packaged = locate(PROGRAM).is_some_and(|packaged| packaged == path);
        let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        if packaged && !fits_processor(&kernel.release, &cpuinfo) {
            return Err(LabError::UnknownProcessor { path, release: kernel.release });
        }
        if modelled {
            if plan.clock == ClockChoice::Real {
                return Err(LabError::NoRealClock);
            }
            if let Some(symbol) = lacks(&kernel) {
                return Err(LabError::NoSimulatedTime { path, symbol });
            }
        }
        for symbol in ["CONFIG_HOSTFS", "CONFIG_PID_NS", "CONFIG_BLK_DEV_UBD", "CONFIG_SSL"] {
            if kernel.provides(symbol) != Provision::Builtin {
                return Err(LabError::LacksSymbol { path, symbol });
            }
        }
        let placements = if modelled { Placement::each()? } else { vec![Placement::choose()?] };
        Ok(Uml { kernel, walls, placements, plan: plan.clone(), room: OnceLock::new() })
    }

    fn room(&self) -> &Room {
        self.room.get_or_init(|| {
            let bytes = bytes_to_stage(&self.plan.datasets, &self.plan.phases).unwrap_or(0);
            let memory = BASE_MEMORY.saturating_add(bytes.saturating_add(bytes / 2));
            // In simulated time another disk would answer at another moment every time.
            if bytes == 0 || self.modelled().is_some() || in_memory(self.plan.device.staging, memory) {
                Room { memory, on_disk: None }
            } else {
                Room { memory: BASE_MEMORY, on_disk: Some(bytes) }
            }
        })
    }

    /// The run's modelled device, if it has one.
    fn modelled(&self) -> Option<Modelled<'_>> {
        let DeviceSource::Model { name, size } = &self.plan.device.source else { return None };
        Some(Modelled { model: name, size: size.0, walls: self.walls, seed: self.plan.protocol.seed })
    }

    /// The modules a candidate needs, or what this kernel lacks for it.
    fn modules(&self, candidate: &Candidate) -> Result<Vec<String>, Obstacle> {
        let lacks = |symbol: &str| Obstacle {
            reason: format!(
                "the kernel {} ({}) has no {symbol}",
                self.kernel.path.display(),
                self.kernel.release
            ),
            hint: format!(
                "to run it, name a User-Mode-Linux kernel that has it: `kernel = \"/path/to/linux\"` beside `lab = \"uml\"` in the plan (build with {symbol}=y, ARCH=um)"
            ),
        };
        let mut names = Vec::new();
        if let Some(filesystem) = crate::filesystem::find(&candidate.filesystem) {
            let provided =
                filesystem.drivers.iter().find_map(|driver| match self.kernel.provides(driver.config) {
                    Provision::Builtin => Some(&[][..]),
                    Provision::Module => Some(driver.modules),
                    Provision::Absent => None,
                });
            let first = filesystem.drivers.first().map_or("driver for it", |driver| driver.config);
            names.extend(provided.ok_or_else(|| lacks(first))?.iter().map(|name| (*name).to_owned()));
        }
        if let Some(encryption) = crate::layer::find_encryption(&candidate.encryption) {
            let mut modular = false;
            for symbol in encryption.config {
                match self.kernel.provides(symbol) {
                    Provision::Builtin => {}
                    Provision::Module => modular = true,
                    Provision::Absent => return Err(lacks(symbol)),
                }
            }
            if modular {
                names.extend(encryption.modules.iter().map(|name| (*name).to_owned()));
            }
        }
        if let Some(wanted) = &candidate.scheduler {
            names.extend(self.scheduler_module(wanted)?);
        }
        Ok(names)
    }

    /// The module of an I/O scheduler, where it is one; or which schedulers there are.
    fn scheduler_module(&self, wanted: &str) -> Result<Option<String>, Obstacle> {
        let provision = |scheduler: &Scheduler| {
            scheduler.driver.map_or(Provision::Builtin, |(symbol, _)| self.kernel.provides(symbol))
        };
        let offered: Vec<String> = SCHEDULERS
            .iter()
            .filter(|scheduler| provision(scheduler) != Provision::Absent)
            .map(|scheduler| scheduler.name.to_owned())
            .collect();
        let whom = format!("the kernel {} ({})", self.kernel.path.display(), self.kernel.release);
        match scheduler_obstacle(wanted, &whom, &offered) {
            Some(obstacle) => Err(obstacle),
            None => Ok(find_scheduler(wanted)
                .filter(|scheduler| provision(scheduler) == Provision::Module)
                .and_then(|scheduler| scheduler.driver)
                .map(|(_, module)| module.to_owned())),
        }
    }

    /// The command line of the kernel, with descriptors by number.
    fn argv(&self, program: &Path, disks: Vec<String>, events: i32, description: &str) -> Vec<String> {
        let mut argv = vec![self.kernel.path.to_string_lossy().into_owned()];
        argv.extend([
            format!("mem={}M", self.room().memory.div_ceil(1 << 20)),
            "root=/dev/root".into(),
            "rootfstype=hostfs".into(),
            "rootflags=/".into(),
            "ro".into(),
            // Kernels that would mount it by themselves cover the description, which lies in the cell's /dev.
            "devtmpfs.mount=0".into(),
            format!("init={}", program.display()),
        ]);
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
        if let Some(modelled) = self.modelled() {
            return format!(
                "device time on the model {}; CPU taken as free; Linux {} as a process, {} MiB of memory",
                modelled.title(),
                self.kernel.release,
                self.room().memory.div_ceil(1 << 20)
            );
        }
        format!(
            "sandbox: Linux {} as a process (User-Mode Linux), one CPU, {} MiB of memory; a system call costs far more than natively, so times on a fast disk are mostly CPU; bytes, requests and flushes are right",
            self.kernel.release,
            self.room().memory.div_ceil(1 << 20)
        )
    }

    fn facts(&self) -> crate::journal::Facts {
        let fact = |name: &str, value: String| (name.to_owned(), value);
        let mut facts = crate::journal::Facts::from([
            fact("lab.kernel", self.kernel.path.display().to_string()),
            fact("lab.kernel_release", self.kernel.release.clone()),
            fact("lab.memory", self.room().memory.to_string()),
            fact("lab.walls", format!("{:?}", self.walls)),
        ]);
        if self.modelled().is_none() {
            facts.extend(self.placements.first().map(Placement::facts).unwrap_or_default());
        }
        facts
    }

    fn obstacle(&self, candidate: &Candidate) -> Option<Obstacle> {
        self.modules(candidate).err().or_else(|| missing_tools(candidate))
    }

    fn side_by_side(&self) -> Option<usize> {
        self.modelled()?;
        let available = memory(&Root::default()).map_or(u64::MAX, |memory| memory.available);
        // Guests take what they touch; half of what is free stays with what they write to their disks.
        let room = usize::try_from(available / 2 / self.room().memory.max(1)).unwrap_or(usize::MAX);
        Some(self.placements.len().min(room).max(1))
    }

    fn command_line(&self) -> Vec<String> {
        // The numbers differ from trial to trial; a reader who repeats it by hand names files instead.
        let program = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("fsverdict"));
        let disks = match self.modelled() {
            Some(modelled) => {
                let first = TrialId { block: 1, candidate: String::new(), attempt: 1 };
                modelled.words(&first).unwrap_or_default()
            }
            None => ubd_disks(3, 4, None),
        };
        match self.modelled() {
            Some(_) => self.argv(&program, disks, LENT_DESCRIPTORS[2], DESCRIPTION),
            None => self.argv(&program, disks, 5, ""),
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
        if program.to_string_lossy().contains(char::is_whitespace) {
            return Err(LabError::BlankInPath(program));
        }
        if let Some(modelled) = self.modelled() {
            return self.run_modelled(&modelled, placement, spec, (medium, &program), watch);
        }
        let names = self.modules(&spec.candidate).unwrap_or_default();
        let folder = self.kernel.modules.clone().filter(|_| !names.is_empty());
        let (on_disk, staging) = match self.room().on_disk {
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
            modules: folder.map(|folder| Modules { folder, names }),
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
        let argv = self.argv(&program, ubd_disks(lent.0, lent.2, lent.1), lent.3, "");
        let mut cell = kernel_cell(self.walls, argv);
        cell.keeps = [lent.0, lent.2, lent.3].into_iter().chain(lent.1).collect();
        // Theirs may lie where the cell covers what is there, as disks do that a desktop mounts below /run.
        cell.shown = spec.datasets.values().filter_map(covered_folder).collect();
        let mut inherited: Vec<OwnedFd> = [disk, description, sender].into_iter().chain(on_disk).collect();
        let stops = Stops::of(&mut cell, &mut inherited)?;
        let mut command = cell.command()?;
        command.env("TMPDIR", MEMORY_FOLDER).stdin(std::process::Stdio::null());
        let limit = spec.limit;
        Ok(drive(command, events, &stops, limit, watch, inherited, Some(placement))?)
    }
}

/// A user's folder, to be shown where it is.
fn covered_folder(dataset: &Dataset) -> Option<(PathBuf, PathBuf)> {
    match dataset {
        Dataset::Folder { path, .. } if ["/run", "/dev"].iter().any(|covered| path.starts_with(covered)) => {
            Some((path.clone(), path.clone()))
        }
        _ => None,
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
        let names = self.modules(&spec.candidate).unwrap_or_default();
        let folder = self.kernel.modules.clone().filter(|_| !names.is_empty());
        let bench = Bench {
            device: TrialDevice::Guest { path: DISK.into() },
            staging: Staging::Memory,
            idle_load: 0.0,
            queue: Some(QueueLimits { rotational: limits.rotational, max_sectors_kb: limits.max_sectors_kb }),
            modules: folder.map(|folder| Modules { folder, names }),
        };
        let description = describe(&Assignment { spec: spec.clone(), bench })?;
        let (events, sender) =
            rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).map_err(std::io::Error::from)?;
        let (endpoint, (disk_socket, clock_socket)) = modelled.serve(&spec.trial, medium, placement)?;
        let lent = (inherit(description.as_fd())?, inherit(sender.as_fd())?);
        let sockets = (inherit(disk_socket.as_fd())?, inherit(clock_socket.as_fd())?);
        let kernel = self.argv(program, modelled.words(&spec.trial)?, LENT_DESCRIPTORS[2], DESCRIPTION);
        let argv = modelled.argv(program, lent.0, [sockets.0, sockets.1, lent.1], kernel);
        let mut cell = kernel_cell(self.walls, argv);
        cell.keeps = vec![lent.0, lent.1, sockets.0, sockets.1];
        cell.shown = spec.datasets.values().filter_map(covered_folder).collect();
        let mut inherited = vec![description, sender, disk_socket, clock_socket];
        let stops = Stops::of(&mut cell, &mut inherited)?;
        let mut command = cell.command()?;
        command.env("TMPDIR", MEMORY_FOLDER).stdin(std::process::Stdio::null());
        let end = drive(command, events, &stops, spec.limit, watch, inherited, Some(placement))?;
        Ok(close(endpoint, end, watch))
    }
}

/// The words for disks in real time: the candidate's, the trial's description, and datasets.
fn ubd_disks(disk: i32, description: i32, staging: Option<i32>) -> Vec<String> {
    let mut words = vec![format!("ubd0=/proc/self/fd/{disk}"), format!("ubd1r=/proc/self/fd/{description}")];
    words.extend(staging.map(|staging| format!("ubd2=/proc/self/fd/{staging}")));
    words
}

/// The plan's kernel, by path or by its name in the cache; else the newest in the cache, which has every filesystem built
/// in and starts on processors the packaged one does not know; else the packaged one.
fn find_kernel(plan: &Plan) -> Result<PathBuf, LabError> {
    let cached = || Cache::of_user().ok().and_then(|cache| cache.newest()).map(|entry| entry.kernel);
    match &plan.kernel {
        Some(path) if path.is_absolute() => Ok(path.clone()),
        Some(name) => Ok(Cache::of_user()?.find(&name.to_string_lossy())?.kernel),
        None => cached().or_else(|| locate(PROGRAM)).ok_or(LabError::NoKernel),
    }
}

/// The trial's description as a disk: JSON and then zeros up to a whole number of sectors.
fn describe(assignment: &Assignment) -> Result<OwnedFd, CellError> {
    let failed =
        |source: std::io::Error| CellError::System { what: "describe the trial to the guest", source };
    let descriptor = rustix::fs::memfd_create("fsverdict-trial", rustix::fs::MemfdFlags::CLOEXEC)
        .map_err(|errno| failed(errno.into()))?;
    let mut file = std::fs::File::from(descriptor);
    let mut bytes = serde_json::to_vec(assignment).map_err(|error| failed(error.into()))?;
    bytes.resize((bytes.len() + 1).next_multiple_of(DESCRIPTION_SIZE), 0);
    file.write_all(&bytes).map_err(failed)?;
    Ok(file.into())
}

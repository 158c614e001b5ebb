//! What the labs with a kernel of their own have in common: which kernel, how much memory and which device a candidate's
//! guest has, and the way of one trial. How such a kernel is started is the lab's.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::sync::OnceLock;

use crate::cpu::CpuModel;
use crate::trial::{
    Assignment, Drawn, QueueLimits, Staging, TestBench, TrialDevice, TrialSpec, bytes_to_stage,
};
use fsverdict_disk::backend::Clock;
use fsverdict_disk::device::Limits;
use fsverdict_judgement::journal::{Caution, Event, Facts, Learnt, TrialId, is_of_cpu};
use fsverdict_judgement::plan::{
    Candidate, DevicesChoice, NuisancesChoice, PhaseWork, Plan, Protocol, once_each,
};
use fsverdict_linux::host::placement::Placement;
use fsverdict_linux::host::procfs::read_memory;
use fsverdict_linux::host::root::Root;
use fsverdict_linux::host::secrets::Secrets;
use fsverdict_linux::sandbox::{Devices, Isolation, make_inheritable};
use fsverdict_text::{DrawnNumbers, Reason};
use fsverdict_workload::dataset::{Selection, select_for_dataset};

use super::backend::{Backend, GuestSockets};
use super::description::{covered_folder, program_folders};
use super::drive::{Company, Stops, TrialEnd, at_step, drive};
use super::free_cpu;
use super::held::{disk_for, in_memory};
use super::hidden::hidden_from;
use super::kernel::{Kernel, kernel_sandbox};
use super::kernels::GuestKernels;
use super::modelled::{Modelled, Trail, close, disk_name, fastest_together, serve};
use super::processors::{Processors, drawn_prices};
use super::traced::{Spans, TracedDevice};
use super::{Attachments, GuestMemory, LabError, missing_tools, tools_of};

/// Where programs put what is to be in memory: it must be possible to execute from there, and be fast.
pub(super) const MEMORY_FOLDER: &str = "/dev/shm";
/// Guest memory beyond what staged datasets take, in bytes.
const BASE_MEMORY: u64 = 1 << 30;

#[derive(Debug)]
pub(super) struct Guests {
    pub(super) clock: Clock,
    pub(super) kernels: GuestKernels,
    pub(super) processors: Processors,
    pub(super) isolation: Isolation,
    /// Of each trial that may be under way at once.
    placements: Vec<Placement>,
    pub(super) plan: Plan,
    /// Bytes of the datasets; found out when they are first asked for: measuring a user's folder takes its time, and who only wants to know
    /// which candidates can run need not wait for it.
    staged: OnceLock<u64>,
    /// What is taken of the user's folders: a guest would look through them anew for each trial, and slowly.
    selected: OnceLock<BTreeMap<String, Selection>>,
    /// What its guests, whose root is this machine's, do not see of it; looked for once.
    secrets: OnceLock<Secrets>,
}

#[derive(Debug)]
struct GuestSizes {
    /// Of a guest, in bytes.
    memory: u64,
    /// What datasets take of it.
    staged: u64,
    /// Bytes of the datasets, where they are staged on a disk because a guest's memory would be too large.
    on_disk: Option<u64>,
}

#[derive(Debug)]
pub(super) struct Handover<'a> {
    pub(super) kernel: &'a Kernel,
    pub(super) trial: &'a TrialId,
    /// Bytes.
    pub(super) memory: u64,
    pub(super) assignment: &'a Assignment,
    /// Open images or block devices; or sockets, where they are served.
    pub(super) disks: Vec<OwnedFd>,
    pub(super) served: Option<DiskService<'a>>,
    pub(super) staging: Option<OwnedFd>,
    /// The word of the kernel's command line that sets the prices of computation, if it has some.
    pub(super) prices: Option<String>,
    /// Where the agent's events go.
    pub(super) events: OwnedFd,
}

/// Of disks that a process of ours serves.
#[derive(Debug)]
pub(super) struct DiskService<'a> {
    pub(super) models: &'a [Modelled<'a>],
    /// The socket of the guest's clock.
    pub(super) clock: OwnedFd,
}

pub(super) struct Start {
    pub(super) argv: Vec<String>,
    /// What it is lent by number.
    pub(super) lent: Vec<OwnedFd>,
    /// What its sandbox shows elsewhere than it lies.
    pub(super) shown: Option<(PathBuf, PathBuf)>,
}

/// What differs from one such lab to the other.
#[derive(Debug, Clone, Copy)]
pub(super) struct Habits {
    /// The guest's names of a candidate's disk, by its number from 1, and of the one for datasets where there are so many.
    pub(super) disk: fn(number: usize) -> String,
    pub(super) staging: fn(disks: usize) -> String,
    /// What its kernel sees of this machine's devices.
    pub(super) devices: Devices,
    /// Whether its times mean anything.
    pub(super) timed: bool,
    /// Whether its clock begins when that of its device does, so that a trace says what was asked for in which phase.
    pub(super) same_clock: bool,
}

/// The trial that is asked for; `job` is its number among those that are under way at once.
#[derive(Clone, Copy)]
pub(super) struct Ordered<'a> {
    pub(super) spec: &'a TrialSpec,
    pub(super) attachments: &'a Attachments,
    pub(super) job: usize,
}

fn drawn_facts(drawn: &Drawn, memory: u64, size: u64, numbers: &DrawnNumbers) -> Facts {
    let fact = |name: &str, value: String| (format!("drawn.{name}"), value);
    let of_device = numbers.iter().map(|(key, number)| fact(&format!("device.{key}"), number.to_string()));
    let of_block = [
        fact("memory", memory.to_string()),
        fact("size", size.to_string()),
        fact("pause", format!("{:.6}", drawn.pause.as_secs_f64())),
        fact("names", format!("{:016x}", drawn.names)),
    ];
    of_block.into_iter().chain(of_device).collect()
}

/// What must be known where devices take different numbers of requests at once: the guest's driver has one number for all.
fn uneven_depths(limits: &[Limits]) -> Option<String> {
    let (least, most) =
        (limits.iter().map(|one| one.queue_depth).min()?, limits.iter().map(|one| one.queue_depth).max()?);
    (least < most).then(|| {
        format!(
            "the devices take {least} and {most} requests at once, and the guest's driver gives up to {most} to each: what waits for the one with fewer waits inside it, where the kernel can no longer put requests together"
        )
    })
}

impl Guests {
    pub(super) fn new(
        plan: &Plan,
        isolation: Isolation,
        kernels: GuestKernels,
        clock: Clock,
    ) -> Result<Self, LabError> {
        if let Some(phase) = plan.phases.iter().find(|phase| phase.network) {
            return Err(LabError::NoNetwork(phase.name.clone()));
        }
        if clock == Clock::Simulated && is_of_cpu(&plan.goal.metric) {
            return Err(LabError::FreeGoal(plan.goal.metric.clone()));
        }
        let placements = match clock {
            Clock::Simulated => Placement::every_placement()?,
            Clock::Real => vec![Placement::choose_processors()?],
        };
        Ok(Guests {
            clock,
            kernels,
            processors: Processors::find(plan)?,
            isolation,
            placements,
            plan: plan.clone(),
            staged: OnceLock::new(),
            selected: OnceLock::new(),
            secrets: OnceLock::new(),
        })
    }

    pub(super) fn kernel(&self, candidate: &Candidate) -> &Kernel {
        self.kernels.of(&self.plan, candidate)
    }

    /// The model that prices a candidate's computation, if it has a price.
    pub(super) fn processor(&self, candidate: &Candidate) -> Option<&CpuModel> {
        self.processors.of(&self.plan, candidate)
    }

    /// What its times say of computation, for people.
    pub(super) fn computation_title(&self) -> String {
        self.processors.title(&self.plan, self.draws_class())
    }

    /// Of a candidate's guest; `factor` is that of its own memory.
    fn room(&self, candidate: Option<&Candidate>, factor: f64) -> GuestSizes {
        let bytes =
            *self.staged.get_or_init(|| bytes_to_stage(&self.plan.datasets, &self.plan.phases).unwrap_or(0));
        let own = candidate.and_then(|candidate| candidate.under.memory).or(self.plan.memory);
        // Bytes are far below 2⁵³.
        let own = (own.map_or(BASE_MEMORY, |memory| memory.0) as f64 * factor) as u64;
        // No more than staging takes: what a guest has left for its caches is what the plan says.
        let staged = bytes.saturating_add(bytes / 16);
        let memory = own.saturating_add(staged);
        let modelled = self.plan.device.source.is_modelled();
        // In simulated time another disk would answer at another moment every time.
        if bytes == 0 || modelled || in_memory(self.plan.device.staging, memory) {
            GuestSizes { memory, staged, on_disk: None }
        } else {
            GuestSizes { memory: own, staged: 0, on_disk: Some(bytes) }
        }
    }

    /// Of a candidate's guest, in bytes.
    pub(super) fn memory(&self, candidate: &Candidate) -> u64 {
        self.room(Some(candidate), 1.0).memory
    }

    /// What is taken of which of the user's folders.
    fn selected(&self) -> BTreeMap<String, Selection> {
        let found = self.selected.get_or_init(|| {
            let all = self.plan.datasets.iter();
            all.filter_map(|(name, dataset)| Some((name.clone(), select_for_dataset(dataset)?))).collect()
        });
        found.clone()
    }

    fn secrets(&self) -> std::io::Result<&Secrets> {
        if self.secrets.get().is_none() {
            // A guest starts with this program, and loads its modules from this machine's.
            let kernels =
                self.kernels.each().flat_map(|kernel| [Some(kernel.path.clone()), kernel.modules.clone()]);
            let needed = kernels.flatten().chain([std::env::current_exe()?]);
            let _ = self.secrets.set(hidden_from(&self.plan, needed));
        }
        self.secrets.get().ok_or_else(|| rustix::io::Errno::SRCH.into())
    }

    /// The folders in which its guests look for programs, besides the usual ones.
    fn program_folders(&self) -> Option<String> {
        let works = self.plan.phases.iter().map(|phase| &phase.work);
        let has_commands = works.into_iter().any(|work| !matches!(work, PhaseWork::Operation(_)));
        let tools: Vec<&str> =
            self.plan.candidates.iter().flat_map(tools_of).map(|tool| tool.program).collect();
        program_folders(&once_each(tools), has_commands)
    }

    /// The memory of its guests in bytes, the smallest first.
    fn memories(&self) -> Vec<u64> {
        let mut each: Vec<u64> =
            self.plan.candidates.iter().map(|candidate| self.memory(candidate)).collect();
        each.sort_unstable();
        each.dedup();
        each
    }

    /// The same, for people.
    pub(super) fn memory_title(&self) -> String {
        let each: Vec<String> =
            self.memories().iter().map(|size| size.div_ceil(1 << 20).to_string()).collect();
        format!("{} MiB of memory", each.join(", "))
    }

    /// The models of its devices, for people, as in `model usb-stick v1`; none where nothing is modelled.
    pub(super) fn models_title(&self) -> Option<String> {
        let mut titles: Vec<String> = Vec::new();
        for modelled in self.plan.candidates.iter().flat_map(|candidate| self.modelled(candidate)) {
            if !titles.contains(&modelled.title()) {
                titles.push(modelled.title());
            }
        }
        let word = if titles.len() == 1 { "model" } else { "models" };
        Some(format!("{word} {}", titles.join(", "))).filter(|_| !titles.is_empty())
    }

    /// Whether each block has another device and other prices of computation.
    fn draws_class(&self) -> bool {
        let Protocol { circumstances, devices, .. } = &self.plan.protocol;
        (*circumstances, *devices) == (NuisancesChoice::Drawn, DevicesChoice::Class)
    }

    /// The numbers of its models that differ from block to block, by their keys; nothing where each block has the same device.
    pub(super) fn varied(&self) -> Vec<String> {
        if !self.draws_class() {
            return Vec::new();
        }
        let models = self.plan.candidates.iter().flat_map(|candidate| self.modelled(candidate));
        once_each(models.flat_map(|modelled| modelled.class().into_keys()))
    }

    /// A candidate's modelled devices, if it has such.
    pub(super) fn modelled<'a>(&'a self, candidate: &'a Candidate) -> Vec<Modelled<'a>> {
        let fails = self.plan.device.fails;
        let numbered = (1..).zip(self.plan.models_of(candidate));
        let modelled = numbered.map(|(number, model)| Modelled {
            model: model.name,
            size: model.size.0,
            isolation: self.isolation,
            seed: self.plan.protocol.seed,
            clock: self.clock,
            draw: None,
            number,
            fails_after: fails.filter(|fails| fails.device == number).map(|fails| fails.after),
        });
        modelled.collect()
    }

    pub(super) fn guest_memory(&self) -> GuestMemory {
        GuestMemory { each: self.memories(), datasets: self.room(None, 1.0).staged }
    }

    pub(super) fn facts(&self) -> Facts {
        let fact = |name: &str, value: String| (name.to_owned(), value);
        let join = |words: Vec<String>| words.join(", ");
        let paths = self.kernels.each().map(|kernel| kernel.path.display().to_string()).collect();
        let GuestMemory { each, datasets } = self.guest_memory();
        let mut facts = Facts::from([
            fact("lab.kernel", join(paths)),
            fact("lab.kernel_release", self.kernels.releases()),
            fact("lab.memory", join(each.iter().map(u64::to_string).collect())),
            fact("lab.memory_of_datasets", datasets.to_string()),
            fact("lab.walls", format!("{:?}", self.isolation)),
        ]);
        let why = self.kernels.each().find_map(|kernel| kernel.why.clone());
        facts.extend(why.map(|why| fact("lab.kernel_choice", why)));
        if self.side_by_side().is_none() {
            facts.extend(self.placements.first().map(Placement::to_facts).unwrap_or_default());
        }
        facts
    }

    pub(super) fn obstacle(&self, candidate: &Candidate) -> Option<Reason> {
        let lacks = || {
            let (wanted, there) = (self.memory(candidate), read_memory(&Root::default()).ok()?.total);
            (wanted > there).then(|| {
                Reason::new(
                    format!("its guest's memory, {} MiB, is more than this machine has", wanted >> 20),
                    "give it less: `memory`, or smaller datasets (--scale)",
                )
            })
        };
        self.kernel(candidate).modules(candidate).err().or_else(|| missing_tools(candidate)).or_else(lacks)
    }

    pub(super) fn side_by_side(&self) -> Option<usize> {
        if self.clock == Clock::Real {
            return None;
        }
        let available = read_memory(&Root::default()).map_or(u64::MAX, |memory| memory.available);
        let largest = self.memories().last().copied().unwrap_or(1);
        // Guests take what they touch; half of what is free stays with what they write to their disks.
        let room = usize::try_from(available / 2 / largest.max(1)).unwrap_or(usize::MAX);
        Some(self.placements.len().min(room).max(1))
    }

    /// One trial. `driver` is the module of the disk's driver, if the guest must load it; `start` is how a lab starts its
    /// kernel.
    pub(super) fn run(
        &self,
        ordered: &Ordered<'_>,
        habits: Habits,
        driver: Option<&str>,
        start: impl FnOnce(Handover<'_>) -> Result<Start, LabError>,
        watch: &mut dyn FnMut(Event),
    ) -> Result<TrialEnd, LabError> {
        let Ordered { spec, attachments, job } = *ordered;
        let placement =
            *self.placements.get(job).ok_or_else(|| std::io::Error::from(rustix::io::Errno::NODEV))?;
        let factors = spec.drawn.map_or((1.0, 1.0), |drawn| (drawn.memory, drawn.size));
        let (kernel, room) = (self.kernel(&spec.candidate), self.room(Some(&spec.candidate), factors.0));
        let draw = spec.drawn.and_then(|drawn| drawn.device);
        let modelled: Vec<Modelled<'_>> = self
            .modelled(&spec.candidate)
            .into_iter()
            .map(|modelled| modelled.drawn_by(draw).of_size(factors.1))
            .collect();
        if let (Some(drawn), Some(first)) = (&spec.drawn, modelled.first()) {
            let numbers = first.drawn()?;
            let mut facts = drawn_facts(drawn, room.memory, first.size, &numbers);
            for modelled in modelled.iter().skip(1) {
                let key = |key: &str| format!("drawn.device.{}.{key}", modelled.number);
                facts.extend(modelled.drawn()?.iter().map(|(name, number)| (key(name), number.to_string())));
            }
            watch(Event::Facts { facts, learnt: Learnt { drawn: numbers, ..Learnt::default() } });
        }
        let processor = self.processor(&spec.candidate);
        let prices = processor.map(|model| {
            let prices = model.prices(draw);
            let facts = drawn_prices(&prices, draw);
            if !facts.is_empty() {
                watch(Event::Facts { facts, learnt: Learnt::default() });
            }
            model.kernel_word(&prices)
        });
        let (on_disk, staging) = match room.on_disk {
            Some(bytes) => {
                let folder = attachments.scratch_folder()?;
                let path = (habits.staging)(self.plan.device.count()).into();
                let device = TrialDevice::Guest { path, queue: None };
                (Some(disk_for(bytes, &folder)?), Staging::Disk { device, folder })
            }
            None => (None, Staging::Memory),
        };
        let limits = modelled.iter().map(Modelled::limits).collect::<Result<Vec<_>, _>>()?;
        if self.clock == Clock::Simulated {
            let free = limits.iter().filter(|_| processor.is_none());
            let told = free.flat_map(|limits| free_cpu::cautions(spec, limits));
            for text in once_each(told.chain(uneven_depths(&limits))) {
                watch(Event::Caution(Caution { phase: String::new(), text }));
            }
        }
        let bench = TestBench {
            devices: (1..=attachments.each().count())
                .map(|number| TrialDevice::Guest {
                    path: if modelled.is_empty() { (habits.disk)(number) } else { disk_name(number) }.into(),
                    queue: limits.get(number - 1).map(|limits| QueueLimits {
                        rotational: limits.rotational,
                        max_sectors_kb: limits.max_sectors_kb,
                    }),
                })
                .collect(),
            staging,
            idle_load: 0.0,
            modules: kernel.modules_for(&spec.candidate, driver),
            programs: self.program_folders(),
            selected: self.selected(),
            device_rate: fastest_together(&modelled)?,
            counts_computation: processor.is_some(),
        };
        let (events, sender) =
            rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).map_err(std::io::Error::from)?;
        let (mut endpoint, disks, served) = if modelled.is_empty() {
            (None, attachments.open()?, None)
        } else {
            let (endpoint, GuestSockets { disks, clock }) =
                serve(&modelled, &spec.trial, attachments, placement, spec.limit)?;
            (Some(endpoint), disks, Some(DiskService { models: &modelled, clock }))
        };
        let start = start(Handover {
            kernel,
            trial: &spec.trial,
            memory: room.memory,
            assignment: &Assignment { spec: spec.clone(), bench },
            disks,
            served,
            staging: on_disk,
            prices,
            events: sender,
        })?;
        let mut sandbox = kernel_sandbox(self.isolation, self.secrets()?.clone(), start.argv);
        sandbox.devices = habits.devices;
        sandbox.keeps =
            start.lent.iter().map(|lent| make_inheritable(lent.as_fd())).collect::<Result<_, _>>()?;
        // Theirs may lie where the sandbox covers what is there, as disks do that a desktop mounts below /run.
        sandbox.shown = spec.datasets.values().filter_map(covered_folder).chain(start.shown).collect();
        let mut inherited = start.lent;
        let stops = Stops::of(&mut sandbox, &mut inherited)?;
        let mut command = sandbox.command()?;
        command.env("TMPDIR", MEMORY_FOLDER).stdin(std::process::Stdio::null());
        let mut step = String::new();
        let filesystem = fsverdict_stack::filesystem::find_filesystem(&spec.candidate.filesystem);
        let mut spans = Spans::beside(filesystem.map_or(&[], |known| known.background));
        let mut watch_steps = |mut event: Event| {
            if self.clock == Clock::Simulated {
                free_cpu::forget(&mut event);
            }
            if let Event::StepStarted { step: begun } = &event {
                step.clone_from(begun);
            }
            spans.note(&event);
            // What a guest says of leases is nothing: it has none.
            if !matches!(event, Event::Device(_)) {
                watch(event);
            }
        };
        let mut there = || endpoint.as_mut().is_none_or(Backend::is_there);
        let company = Company { placement, there: &mut there };
        let end = drive(command, events, &stops, spec, &mut watch_steps, inherited, Some(company))?;
        let Some(endpoint) = endpoint else { return Ok(end) };
        // A modelled device fails where the plan says so, and how a candidate takes that is what is asked.
        let end = TrialEnd { device_error: None, ..end };
        let traced = |modelled: &Modelled<'_>| -> Result<Option<TracedDevice>, LabError> {
            let trace = attachments.trace_file(&spec.trial, modelled.number).filter(|_| habits.same_clock);
            let of = |trace| Ok(TracedDevice { trace, device: modelled.device(&spec.trial)? });
            trace.map(of).transpose()
        };
        let devices = modelled.iter().map(traced).collect::<Result<Vec<_>, _>>()?;
        let traced = Trail { spans: &spans, devices: devices.into_iter().flatten().collect() };
        let at = (!step.is_empty()).then(|| at_step(spec, &step));
        close(endpoint, end, at.as_deref(), habits.timed, traced, watch)
    }
}

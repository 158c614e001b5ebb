//! Common parts of the labs that run guest kernels: chooses kernel, memory and device of a candidate's guest.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::OnceLock;

use crate::cpu::CpuModel;
use crate::kernel::KernelBuildError;
use crate::trial::{GuestModules, bytes_to_stage};
use fsverdict_disk::backend::Clock;
use fsverdict_disk::device::{AccessKind, Model, ModelErrors};
use fsverdict_judgement::journal::{Facts, is_of_cpu};
use fsverdict_judgement::plan::{
    Candidate, DevicesChoice, NuisancesChoice, PhaseWork, Plan, Protocol, once_each,
};
use fsverdict_linux::host::placement::Placement;
use fsverdict_linux::host::procfs::read_memory;
use fsverdict_linux::host::root::Root;
use fsverdict_linux::host::secrets::Secrets;
use fsverdict_linux::sandbox::Isolation;
use fsverdict_text::Reason;
use fsverdict_workload::dataset::{Selection, select_for_dataset};

use super::description::program_folders;
use super::hidden::hidden_from;
use super::kernel::Kernel;
use super::kernels::GuestKernels;
use super::missing_tools::{fetched_folders_of, missing_tools_with, tools_of};
use super::modelled::Modelled;
use super::processors::Processors;
use super::staged_datasets::in_memory;
use super::{GuestMemory, LabError};

/// Folder for files that must be in memory: it must be executable and fast.
pub(super) const MEMORY_FOLDER: &str = "/dev/shm";
/// Where the modules of a laboratory kernel are shown to a guest.
const MODULES_SHOWN: &str = "/dev/shm/modules";
/// Guest memory beyond the staged datasets, in bytes.
const BASE_MEMORY: u64 = 1 << 30;

#[derive(Debug)]
pub(super) struct Guests {
    pub(super) clock: Clock,
    pub(super) kernels: GuestKernels,
    pub(super) processors: Processors,
    pub(super) isolation: Isolation,
    /// Of each trial that may be under way at once.
    pub(super) placements: Vec<Placement>,
    pub(super) plan: Plan,
    /// Size of the datasets in bytes; measured on first use, because measuring a user's folder takes time and a check
    /// of the candidates does not need it.
    staged: OnceLock<u64>,
    /// The selected files of the user's folders: selecting them again in each guest would be slow.
    selected: OnceLock<BTreeMap<String, Selection>>,
    /// Files that are hidden from guests, which have this machine's root as theirs; collected on first use.
    secrets: OnceLock<Secrets>,
}

#[derive(Debug)]
pub(super) struct GuestSizes {
    /// Of a guest, in bytes.
    pub(super) memory: u64,
    /// Memory for staged datasets, in bytes.
    pub(super) staged: u64,
    /// Bytes of the datasets, where they are staged on a disk because a guest's memory would be too large.
    pub(super) on_disk: Option<u64>,
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
            processors: Processors::read_models(plan)?,
            isolation,
            placements,
            plan: plan.clone(),
            staged: OnceLock::new(),
            selected: OnceLock::new(),
            secrets: OnceLock::new(),
        })
    }

    pub(super) fn kernel_for(&self, candidate: &Candidate) -> &Kernel {
        self.kernels.kernel_for(&self.plan, candidate)
    }

    /// The model that prices a candidate's computation, if it has a price.
    pub(super) fn processor_model(&self, candidate: &Candidate) -> Option<&CpuModel> {
        self.processors.model_for(&self.plan, candidate)
    }

    /// How times include computation, as a text.
    pub(super) fn computation_title(&self) -> String {
        self.processors.title(&self.plan, self.draws_class())
    }

    /// The memory sizes of a candidate's guest; `factor` scales the memory beyond the datasets.
    pub(super) fn guest_sizes(&self, candidate: Option<&Candidate>, factor: f64) -> GuestSizes {
        // Of a folder that cannot be read the guest's agent tells, since it is to stage it.
        let to_stage = || bytes_to_stage(&self.plan.datasets, &self.plan.phases).ok().flatten().unwrap_or(0);
        let bytes = *self.staged.get_or_init(to_stage);
        let planned_memory = candidate.and_then(|candidate| candidate.under.memory).or(self.plan.memory);
        // Bytes are far below 2⁵³.
        let memory_bytes = (planned_memory.map_or(BASE_MEMORY, |memory| memory.0) as f64 * factor) as u64;
        // No more than staging takes, so that the plan's memory is left for caches.
        let staged = bytes.saturating_add(bytes / 16);
        let memory = memory_bytes.saturating_add(staged);
        let modelled = self.plan.device.source.is_modelled();
        // In simulated time another disk would answer at another moment every time.
        if bytes == 0 || modelled || in_memory(self.plan.device.staging, memory) {
            GuestSizes { memory, staged, on_disk: None }
        } else {
            GuestSizes { memory: memory_bytes, staged: 0, on_disk: Some(bytes) }
        }
    }

    /// Of a candidate's guest, in bytes.
    pub(super) fn memory_bytes(&self, candidate: &Candidate) -> u64 {
        self.guest_sizes(Some(candidate), 1.0).memory
    }

    /// The selected files of the user's folders, by dataset.
    pub(super) fn folder_selections(&self) -> BTreeMap<String, Selection> {
        let found = self.selected.get_or_init(|| {
            let all = self.plan.datasets.iter();
            all.filter_map(|(name, dataset)| Some((name.clone(), select_for_dataset(dataset)?))).collect()
        });
        found.clone()
    }

    pub(super) fn find_secrets(&self) -> std::io::Result<&Secrets> {
        if self.secrets.get().is_none() {
            // A guest starts with this program, and loads its modules from this machine's.
            let kernels = self.kernels.iter().flat_map(|kernel| {
                let laboratory = kernel.laboratory_modules.as_ref().map(|modules| modules.folder.clone());
                [Some(kernel.path.clone()), kernel.modules.clone(), laboratory, kernel.programs.clone()]
            });
            let needed = kernels.flatten().chain([std::env::current_exe()?]);
            let _ = self.secrets.set(hidden_from(&self.plan, needed));
        }
        self.secrets.get().ok_or_else(|| rustix::io::Errno::SRCH.into())
    }

    /// The folders in which its guests look for programs, besides the usual ones.
    pub(super) fn program_folders(&self, candidate: &Candidate) -> Option<String> {
        let works = self.plan.phases.iter().map(|phase| &phase.work);
        let has_commands = works.into_iter().any(|work| !matches!(work, PhaseWork::Operation(_)));
        let tools: Vec<&str> =
            self.plan.candidates.iter().flat_map(tools_of).map(|tool| tool.program).collect();
        let usual = program_folders(&once_each(tools), has_commands);
        // A guest's kernel looks into each folder whenever it starts a program: none without a tool of the candidate.
        let beside = self.kernel_for(candidate).programs.as_ref();
        let beside =
            beside.filter(|folder| tools_of(candidate).any(|tool| folder.join(tool.program).is_file()));
        // Fetched programs come last, since those of the system go before them.
        let fetched = fetched_folders_of(candidate);
        let folders = beside.into_iter().filter_map(|folder| folder.to_str()).chain(usual.as_deref());
        let folders: Vec<&str> = folders.chain(fetched.iter().filter_map(|folder| folder.to_str())).collect();
        (!folders.is_empty()).then(|| folders.join(":"))
    }

    /// The memory of its guests in bytes, the smallest first.
    fn guest_memory_sizes(&self) -> Vec<u64> {
        let mut each: Vec<u64> =
            self.plan.candidates.iter().map(|candidate| self.memory_bytes(candidate)).collect();
        each.sort_unstable();
        each.dedup();
        each
    }

    /// The memory sizes of all guests, as a text.
    pub(super) fn memory_title(&self) -> String {
        let each: Vec<String> =
            self.guest_memory_sizes().iter().map(|size| size.div_ceil(1 << 20).to_string()).collect();
        format!("{} MiB of memory", each.join(", "))
    }

    /// The models of its devices, for people, as in `model usb-stick v1`; none where nothing is modelled.
    pub(super) fn models_title(&self) -> Option<String> {
        let mut titles: Vec<String> = Vec::new();
        for modelled in self.plan.candidates.iter().flat_map(|candidate| self.modelled_devices(candidate)) {
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
    pub(super) fn varied_parameters(&self) -> Vec<String> {
        if !self.draws_class() {
            return Vec::new();
        }
        let models = self.plan.candidates.iter().flat_map(|candidate| self.modelled_devices(candidate));
        once_each(models.flat_map(|modelled| modelled.class_numbers().into_keys()))
    }

    /// A candidate's modelled devices, if it has such.
    pub(super) fn modelled_devices<'a>(&'a self, candidate: &'a Candidate) -> Vec<Modelled<'a>> {
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

    /// By how much times of the plan's modelled devices may be wrong, by kind of access: the largest of all models. A
    /// model that cannot be read has been refused before.
    pub(super) fn access_errors(&self) -> BTreeMap<String, f64> {
        let models = self.plan.models().into_iter().filter_map(|name| Model::find(name).ok());
        let errors = models.map(|model| model.errors).reduce(ModelErrors::max);
        let by_kind =
            errors.map(|errors| AccessKind::ALL.map(|kind| (kind.name().to_owned(), errors.of(kind))));
        by_kind.into_iter().flatten().collect()
    }

    pub(super) fn guest_memory(&self) -> GuestMemory {
        GuestMemory { each: self.guest_memory_sizes(), datasets: self.guest_sizes(None, 1.0).staged }
    }

    pub(super) fn collect_facts(&self) -> Facts {
        let fact = |name: &str, value: String| (name.to_owned(), value);
        let join = |words: Vec<String>| words.join(", ");
        let paths = self.kernels.iter().map(|kernel| kernel.path.display().to_string()).collect();
        let GuestMemory { each, datasets } = self.guest_memory();
        let mut facts = Facts::from([
            fact("lab.kernel", join(paths)),
            fact("lab.kernel_release", self.kernels.releases()),
            fact("lab.memory", join(each.iter().map(u64::to_string).collect())),
            fact("lab.memory_of_datasets", datasets.to_string()),
            fact("lab.walls", format!("{:?}", self.isolation)),
        ]);
        let why = self.kernels.iter().find_map(|kernel| kernel.why.clone());
        facts.extend(why.map(|why| fact("lab.kernel_choice", why)));
        if self.side_by_side().is_none() {
            facts.extend(self.placements.first().map(Placement::to_facts).unwrap_or_default());
        }
        facts
    }

    pub(super) fn find_obstacle(&self, candidate: &Candidate) -> Option<Reason> {
        let lacks = || {
            let (wanted, there) = (self.memory_bytes(candidate), read_memory(&Root::default()).ok()?.total);
            (wanted > there).then(|| {
                Reason::new(
                    format!("its guest's memory, {} MiB, is more than this machine has", wanted >> 20),
                    "give it less: `memory`, or smaller datasets (--scale)",
                )
            })
        };
        self.kernel_for(candidate)
            .required_modules(candidate)
            .err()
            .or_else(|| missing_tools_with(candidate, self.kernel_for(candidate).programs.as_deref()))
            .or_else(lacks)
    }

    /// Compiles the modules of laboratory kernels that candidates need and that were never compiled.
    pub(super) fn compile_missing(&self) -> Result<(), KernelBuildError> {
        let able = |kernel: &Kernel| {
            let path = kernel.path.clone();
            let candidates = self.plan.candidates.iter();
            candidates
                .filter(move |one| self.kernel_for(one).path == path && self.find_obstacle(one).is_none())
        };
        self.kernels.iter().try_for_each(|kernel| kernel.compile_for(able(kernel)))
    }

    /// Where a candidate's guest finds its kernel's modules, and their files in the order of loading.
    pub(super) fn guest_modules(&self, candidate: &Candidate) -> Option<GuestModules> {
        let kernel = self.kernel_for(candidate);
        let files =
            kernel.laboratory_modules_for(candidate).iter().map(|module| module.file_name()).collect();
        let folder = self.shown_modules(kernel).map(|(_, shown)| shown);
        let own = kernel.laboratory_modules.as_ref()?.folder.clone();
        Some(GuestModules { folder: folder.unwrap_or(own), files })
            .filter(|modules| !modules.files.is_empty())
    }

    /// The folder of a kernel's modules, and the path at which its guests see it: in simulated time always the same, because
    /// a guest's kernel takes memory for each folder of a path.
    pub(super) fn shown_modules(&self, kernel: &Kernel) -> Option<(PathBuf, PathBuf)> {
        let modules = kernel.laboratory_modules.as_ref()?;
        let is_shown = self.clock == Clock::Simulated && self.isolation != Isolation::None;
        is_shown.then(|| (modules.folder.clone(), PathBuf::from(MODULES_SHOWN)))
    }

    pub(super) fn side_by_side(&self) -> Option<usize> {
        if self.clock == Clock::Real {
            return None;
        }
        // Without a mount namespace, all guests find their trial's description in the same file.
        if self.isolation == Isolation::None {
            return Some(1);
        }
        let available = read_memory(&Root::default()).map_or(u64::MAX, |memory| memory.available);
        let largest = self.guest_memory_sizes().last().copied().unwrap_or(1);
        // Guests take memory as they touch it; half of the free memory is left for their writes to disks.
        let room = usize::try_from(available / 2 / largest.max(1)).unwrap_or(usize::MAX);
        Some(self.placements.len().min(room).max(1))
    }
}

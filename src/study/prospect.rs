//! Predicts which devices and candidates a run would refuse or skip, with the run's own checks. No check writes to or
//! claims anything that is not fsverdict's own.

use fsverdict_judgement::plan::{
    ArrayState, Candidate, Dataset, FilesystemAbility, Operation, Phase, PhaseWork, Plan, RequiredProperty,
    split_layer,
};
use fsverdict_lab::lab::{Lab, not_installed};
use fsverdict_lab::trial::outlives_a_device;
use fsverdict_stack::filesystem;
use fsverdict_stack::layer::{self, Layer, LayerKind};
use fsverdict_text::Reason;
use fsverdict_workload::workload::{Adapter, adapter_by_name};

use super::claim::{DeviceProspect, Permission};
use super::error::SessionError;
use super::rehearsal::{find_refused_options, has_options};
use super::space_needed::find_shortage;

/// The predicted refusals and skipped candidates of a run.
#[derive(Debug)]
pub struct Prospect {
    /// The names of the candidates that cannot be tried, each with the reason.
    pub skipped: Vec<(String, Reason)>,
    /// Why the run would not begin, independently of its devices.
    refused: Option<SessionError>,
    /// The predicted outcome of claiming each device, in the order of the plan.
    pub devices: Vec<DeviceProspect>,
    /// The size of the smallest device in bytes; `None` where there is no device or its size is unknown.
    pub size: Option<u64>,
}

impl Prospect {
    /// Checks this plan in this lab, with this permission.
    pub fn from_plan(plan: &Plan, lab: &dyn Lab, permission: &Permission<'_>) -> Self {
        let devices = permission.predict_devices(plan);
        let size = devices.iter().filter_map(|device| device.size).min();
        let refused = check_datasets(plan).err();
        Prospect { refused, devices, ..Self::for_device(plan, lab, size) }
    }

    /// All errors that keep the run from beginning.
    pub fn refusals(&self) -> impl Iterator<Item = &SessionError> {
        self.refused.iter().chain(self.devices.iter().filter_map(|device| device.refused.as_ref()))
    }

    /// The candidates with mkfs or mount options that have not been tried yet.
    pub fn candidates_with_untried_options<'a>(
        &'a self,
        plan: &'a Plan,
    ) -> impl Iterator<Item = &'a Candidate> {
        plan.candidates.iter().filter(|one| has_options(one) && self.reason_to_skip(&one.name).is_none())
    }

    /// Tries those options in the lab on scratch images, as a run does before its first trial. A candidate whose
    /// options are refused is skipped.
    pub fn try_options(&mut self, plan: &Plan, lab: &dyn Lab) {
        let refused = find_refused_options(plan, lab, self.size, self.candidates_with_untried_options(plan));
        self.skipped.extend(refused);
    }

    /// Checks this plan on a device of this many bytes that may be used.
    pub(super) fn for_device(plan: &Plan, lab: &dyn Lab, size: Option<u64>) -> Self {
        // A device of unknown size counts as large enough for every candidate.
        let obstacle_of =
            |candidate: &Candidate| find_obstacle(plan, lab, candidate, size.unwrap_or(u64::MAX));
        let skipped =
            plan.candidates.iter().filter_map(|one| Some((one.name.clone(), obstacle_of(one)?))).collect();
        Prospect { skipped, refused: None, devices: Vec::new(), size }
    }

    pub fn reason_to_skip(&self, candidate: &str) -> Option<&Reason> {
        self.skipped.iter().find(|(name, _)| name == candidate).map(|(_, obstacle)| obstacle)
    }
}

/// Why a candidate cannot be tried in this lab on a device of this many bytes.
pub(super) fn find_obstacle(plan: &Plan, lab: &dyn Lab, candidate: &Candidate, size: u64) -> Option<Reason> {
    let short = || find_shortage(plan, candidate, size);
    // A candidate that fits the plan's device may not fit a device that is up to 5 % smaller.
    let least = fsverdict_lab::trial::smallest_size(plan, lab.side_by_side().is_some(), size);
    let short_if_drawn = || {
        let Reason { what, hint, .. } = find_shortage(plan, candidate, least)?;
        let statement = format!("{what} in some blocks, where it is drawn up to 5 % smaller than the plan's");
        Some(Reason::new(statement, format!("{hint}, or --set protocol.circumstances=fixed")))
    };
    let unable = || {
        lacks_required(plan, candidate)
            .or_else(|| find_missing_ability(plan, candidate))
            .or_else(|| lacks_redundancy(plan, candidate))
            .or_else(|| check_layer_above(plan, candidate))
            .or_else(|| check_seal(plan, candidate))
    };
    // A guest uses the programs that are installed on this machine.
    let programs = || {
        let adapters = plan.phases.iter().filter_map(|phase| match &phase.work {
            PhaseWork::Adapter { name, .. } => adapter_by_name(name).map(Adapter::tool),
            _ => None,
        });
        not_installed(adapters)
    };
    lab.find_obstacle(candidate).or_else(programs).or_else(unable).or_else(short).or_else(short_if_drawn)
}

/// A property that the goal requires and the candidate lacks; no measurement can change that.
fn lacks_required(plan: &Plan, candidate: &Candidate) -> Option<Reason> {
    let required = &plan.goal.require.properties;
    let lacked = required.iter().find(|property| !has_property(candidate, **property))?;
    let word = lacked.word();
    let statement = match &candidate.path {
        Some(_) => format!("the goal requires `{word}`, and of a folder of yours it is not known"),
        None => format!("the goal requires `{word}`, which it does not have"),
    };
    let hint = match lacked {
        RequiredProperty::Encryption => "encryption = \"luks2\" gives it".to_owned(),
        _ => {
            let has = |known: &&&filesystem::Filesystem| has_property(&Candidate::plain(known.name), *lacked);
            let names: Vec<&str> =
                filesystem::registry().iter().filter(has).map(|known| known.name).collect();
            format!("{} have it; or take it out of `require`", names.join(", "))
        }
    };
    Some(Reason::new(statement, hint))
}

/// Whether a candidate has a property, with its mkfs and mount options.
pub fn has_property(candidate: &Candidate, property: RequiredProperty) -> bool {
    if property == RequiredProperty::Encryption {
        return candidate.layers.names().any(|name| split_layer(name).0.starts_with("luks"));
    }
    let Some(known) = filesystem::find_filesystem(&candidate.filesystem) else { return false };
    let has = known.properties(&candidate.mkfs, &candidate.mount);
    let having = |words: &str| has.has.contains(&words);
    // Other systems cannot read a layer below the filesystem (LUKS, md, LVM), even if they can read the filesystem
    // itself.
    let bare = layer::layers_of(candidate).all(|layer| layer.kind.is_above());
    match property {
        RequiredProperty::Encryption => true,
        RequiredProperty::DataChecksums => having("checksums of data"),
        RequiredProperty::CrashSafe => having("a journal") || having("copy-on-write"),
        RequiredProperty::Permissions => having("owners and permissions"),
        RequiredProperty::Snapshots => known.has_ability(FilesystemAbility::Snapshots),
        RequiredProperty::Clones => known.has_ability(FilesystemAbility::Clones),
        RequiredProperty::Windows => bare && has.read_by.contains(&"Windows"),
        RequiredProperty::Macos => bare && has.read_by.contains(&"macOS"),
    }
}

/// An ability that a phase needs and the candidate's filesystem lacks. In a folder, clones depend on the filesystem
/// below it.
pub fn find_missing_ability(plan: &Plan, candidate: &Candidate) -> Option<Reason> {
    let able = |ability: FilesystemAbility| match candidate.path {
        Some(_) => matches!(ability, FilesystemAbility::Clones | FilesystemAbility::HardLinks),
        None => {
            filesystem::find_filesystem(&candidate.filesystem).is_none_or(|known| known.has_ability(ability))
        }
    };
    // The kernel's FUSE does not hand clone requests on to a served filesystem.
    let is_served = || layer::layers_of(candidate).any(|layer| layer.kind == LayerKind::Served);
    let able = |ability| able(ability) && !(ability == FilesystemAbility::Clones && is_served());
    let able = |ability| {
        able(ability)
            || candidate.path.is_none()
                && match ability {
                    FilesystemAbility::Clones | FilesystemAbility::HardLinks => false,
                    FilesystemAbility::Snapshots => has_snapshots_below(candidate),
                    // The snapshots must be the filesystem's own, or those of the layer directly below it, with
                    // nothing between.
                    FilesystemAbility::Rollback => {
                        lacks_own_snapshots(candidate) && has_snapshots_directly_below(candidate)
                    }
                }
    };
    let asked = |phase: &Phase| match phase.work {
        PhaseWork::Operation(operation) => {
            let linked = || makes_links(plan, phase).then_some(FilesystemAbility::HardLinks);
            operation.asks_for().or_else(linked).filter(|ability| !able(*ability))
        }
        _ => None,
    };
    let (phase, ability) = plan.phases.iter().find_map(|phase| Some((phase, asked(phase)?)))?;
    let can =
        filesystem::registry().iter().filter(|known| known.has_ability(ability)).map(|known| known.name);
    let whose = match ability {
        _ if candidate.path.is_some() => "a folder",
        FilesystemAbility::Clones if is_served() => "what is seen through `fuse`",
        _ => candidate.filesystem.as_str(),
    };
    let ability_name = match ability {
        FilesystemAbility::Clones => "clones of files",
        FilesystemAbility::HardLinks => "hard links",
        FilesystemAbility::Snapshots => "snapshots of the whole filesystem",
        FilesystemAbility::Rollback => "going back to a snapshot",
    };
    let mut can: Vec<String> = can.map(str::to_owned).collect();
    let of_layers = [FilesystemAbility::Snapshots, FilesystemAbility::Rollback].contains(&ability);
    if of_layers && candidate.path.is_none() {
        let layers = layer::registry().iter().filter_map(|layer| layer.snapshots);
        let any = if ability == FilesystemAbility::Snapshots {
            "any"
        } else {
            "those without snapshots of their own"
        };
        can.extend(layers.map(|snapshots| format!("{any} on {}", snapshots.hint)));
    }
    Some(Reason::new(
        format!("phase `{}` asks for {ability_name}, which {whose} does not have", phase.name),
        format!("{} can; or leave the phase out", can.join(", ")),
    ))
}

/// Whether the phase writes a generated tree with hard links.
fn makes_links(plan: &Plan, phase: &Phase) -> bool {
    // Other phases can do without: a command may have made copies in place of links, and those can still be read.
    let writes = phase.work == PhaseWork::Operation(Operation::TreeWrite);
    let dataset = phase.dataset.as_ref().filter(|_| writes).and_then(|name| plan.datasets.get(name));
    matches!(dataset, Some(Dataset::Tree(shape))
        if shape.linked().is_some_and(|share| share > 0.0))
}

/// Whether a layer below the filesystem has snapshots and room for one.
fn has_snapshots_below(candidate: &Candidate) -> bool {
    candidate.layers.names().any(has_room)
}

/// Whether the layer directly below the filesystem has snapshots and room for one.
fn has_snapshots_directly_below(candidate: &Candidate) -> bool {
    let below = |name: &&str| layer::find_layer(name).is_some_and(|layer| !layer.kind.is_above());
    candidate.layers.names().rfind(below).is_some_and(has_room)
}

fn lacks_own_snapshots(candidate: &Candidate) -> bool {
    filesystem::find_filesystem(&candidate.filesystem).is_some_and(|known| known.snapshots.is_none())
}

fn has_room(name: &str) -> bool {
    let snapshots = layer::find_layer(name).and_then(|layer| layer.snapshots);
    snapshots.is_some_and(|snapshots| (snapshots.has_room)(split_layer(name).1))
}

/// Why the layers above the candidate's filesystem cannot be set up.
fn check_layer_above(plan: &Plan, candidate: &Candidate) -> Option<Reason> {
    let kind = |name: &str| layer::find_layer(name).map(|layer| layer.kind);
    let is_above = |name: &str| kind(name).is_some_and(LayerKind::is_above);
    let names: Vec<&str> = candidate.layers.names().collect();
    let at = names.iter().position(|name| is_above(name))?;
    let name = names.get(at)?;
    if at + 1 < names.len() {
        let statement = format!("`{name}` lies above the filesystem, and stands before another layer");
        return Some(Reason::new(statement, "it is the last of `layers`, and the only one above"));
    }
    if kind(name) == Some(LayerKind::Served) {
        return None;
    }
    let is_cold = plan.phases.iter().any(|phase| phase.cold);
    (!is_cold).then(|| {
        let statement = format!(
            "`{name}` is laid above what was written before the first phase that is cold, and none is"
        );
        Reason::new(statement, "cold = true of the first phase that is to be seen through it")
    })
}

/// Why a layer that is sealed after all data is written could not be sealed, or which phase would write to it after
/// that.
fn check_seal(plan: &Plan, candidate: &Candidate) -> Option<Reason> {
    let known: Vec<&Layer> = layer::layers_of(candidate).collect();
    let at = known.iter().position(|layer| layer.seal.is_some())?;
    let name = known.get(at)?.name;
    let over = known.get(at + 1..).unwrap_or_default();
    if over.iter().any(|layer| layer.kind != LayerKind::Served) {
        let statement = format!(
            "`{name}` is sealed, and what lies on it is only read: nothing that writes can lie between"
        );
        return Some(Reason::new(
            statement,
            "it is the last of `layers` below the filesystem, with no overlay above",
        ));
    }
    let Some(first) = plan.phases.iter().position(|phase| phase.cold) else {
        let statement = format!("`{name}` is sealed before the first phase that is cold, and none is");
        return Some(Reason::new(statement, "cold = true of the first phase that is to read what is sealed"));
    };
    let writes = |phase: &&Phase| {
        let operation = match phase.work {
            PhaseWork::Operation(operation) => Some(operation),
            _ => None,
        };
        operation.is_some_and(|operation| !operation.leaves_all_as_it_was()) || phase.remake.is_some()
    };
    let phase = plan.phases.iter().skip(first).find(writes)?;
    Some(Reason::new(
        format!(
            "phase `{}` writes, and all that lies on `{name}` was sealed before the first phase that is cold",
            phase.name
        ),
        "leave it out, or let it come before the first phase with cold = true",
    ))
}

/// Why a candidate cannot run with a missing device, where a phase requires that.
fn lacks_redundancy(plan: &Plan, candidate: &Candidate) -> Option<Reason> {
    let phase = plan.phases.iter().find(|phase| phase.state.is_some())?;
    let state = phase.state.map_or("", ArrayState::word);
    (!outlives_a_device(candidate, plan.device.count())).then(|| {
        Reason::new(
            format!(
                "the phase `{}` wants its devices {state}, and it keeps its data once: none can be missing",
                phase.name
            ),
            "layers = [\"md:raid1\"], or for btrfs mkfs = \"-d raid1\", with two devices at least",
        )
    })
}

/// Checks that every dataset folder can be read, so that a missing folder fails now and not in the first trial.
pub(super) fn check_datasets(plan: &Plan) -> Result<(), SessionError> {
    for (name, dataset) in &plan.datasets {
        if let Dataset::Folder { path, .. } = dataset
            && let Err(source) = std::fs::read_dir(path)
        {
            return Err(SessionError::Dataset { dataset: name.clone(), path: path.clone(), source });
        }
    }
    Ok(())
}

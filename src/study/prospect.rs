//! What a run would meet, before it begins: the checks that it makes itself, none of which writes to or claims what is not its own.

use crate::filesystem;
use crate::lab::{Lab, not_installed};
use crate::layer::{self, LayerKind};
use crate::trial::outlives_a_device;
use crate::workload::{Adapter, adapter};
use fsverdict_judgement::plan::{
    ArrayState, Candidate, Dataset, FilesystemAbility, Phase, PhaseWork, Plan, RequiredProperty, split_layer,
};
use fsverdict_text::Reason;

use super::claim::Permission;
use super::error::SessionError;
use super::nuisances::smallest;
use super::rehearsal::{has_options, refusals};
use super::space_needed::shortage;

/// What a run would meet.
#[derive(Debug)]
pub struct Prospect {
    /// Candidates that could not be tried, by name.
    pub skipped: Vec<(String, Reason)>,
    /// Why it would not begin at all.
    pub refused: Vec<SessionError>,
    /// Bytes of the device; `None` where it has none, or nobody can tell.
    pub size: Option<u64>,
}

impl Prospect {
    /// That of this plan in this lab, with this permission.
    pub fn of(plan: &Plan, lab: &dyn Lab, permission: &Permission<'_>) -> Self {
        let (size, refused) = permission.look(plan);
        let refused = check_datasets(plan).err().into_iter().chain(refused).collect();
        Prospect { refused, ..Self::on(plan, lab, size) }
    }

    /// Those whose mkfs and mount options nobody has tried yet.
    pub fn choosy<'a>(&'a self, plan: &'a Plan) -> impl Iterator<Item = &'a Candidate> {
        plan.candidates.iter().filter(|one| has_options(one) && self.skips(&one.name).is_none())
    }

    /// Tries those options in the lab as a run does before its first trial, on scratch images of its own: what is refused is skipped.
    pub fn try_options(&mut self, plan: &Plan, lab: &dyn Lab) {
        let refused = refusals(plan, lab, self.size, self.choosy(plan));
        self.skipped.extend(refused);
    }

    /// That of this plan on a device of so many bytes that nobody refuses.
    pub(super) fn on(plan: &Plan, lab: &dyn Lab, size: Option<u64>) -> Self {
        // A device of unknown size is too small for nobody.
        let of = |candidate: &Candidate| obstacle(plan, lab, candidate, size.unwrap_or(u64::MAX));
        let skipped = plan.candidates.iter().filter_map(|one| Some((one.name.clone(), of(one)?))).collect();
        Prospect { skipped, refused: Vec::new(), size }
    }

    pub fn skips(&self, candidate: &str) -> Option<&Reason> {
        self.skipped.iter().find(|(name, _)| name == candidate).map(|(_, obstacle)| obstacle)
    }
}

/// Why a candidate cannot be tried in this lab on a device of this many bytes.
pub(super) fn obstacle(plan: &Plan, lab: &dyn Lab, candidate: &Candidate, size: u64) -> Option<Reason> {
    let short = || shortage(plan, candidate, size);
    // What fits the plan's device may not fit one that is a little smaller.
    let least = smallest(plan, lab.side_by_side().is_some(), size);
    let short_if_drawn = || {
        let Reason { what, hint, .. } = shortage(plan, candidate, least)?;
        let what = format!("{what} in some blocks, where it is drawn up to 5 % smaller than the plan's");
        Some(Reason::new(what, format!("{hint}, or --set protocol.circumstances=fixed")))
    };
    let unable = || {
        lacks_required(plan, candidate)
            .or_else(|| inability(plan, candidate))
            .or_else(|| kept_once(plan, candidate))
            .or_else(|| nothing_above(plan, candidate))
    };
    // Guests have this machine's programs.
    let programs = || {
        let adapters = plan.phases.iter().filter_map(|phase| match &phase.work {
            PhaseWork::Adapter { name, .. } => adapter(name).map(Adapter::tool),
            _ => None,
        });
        not_installed(adapters)
    };
    lab.obstacle(candidate).or_else(programs).or_else(unable).or_else(short).or_else(short_if_drawn)
}

/// What the goal requires that the candidate does not have, whatever it measures.
fn lacks_required(plan: &Plan, candidate: &Candidate) -> Option<Reason> {
    let required = &plan.goal.require.properties;
    let lacked = required.iter().find(|property| !has_property(candidate, **property))?;
    let word = lacked.word();
    let what = match &candidate.path {
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
    Some(Reason::new(what, hint))
}

/// Whether a candidate has something, as it is made and mounted.
fn has_property(candidate: &Candidate, property: RequiredProperty) -> bool {
    if property == RequiredProperty::Encryption {
        return candidate.layers.names().any(|name| split_layer(name).0.starts_with("luks"));
    }
    let Some(known) = filesystem::find(&candidate.filesystem) else { return false };
    let has = known.properties(&candidate.mkfs, &candidate.mount);
    let having = |words: &str| has.has.contains(&words);
    match property {
        RequiredProperty::Encryption => true,
        RequiredProperty::DataChecksums => having("checksums of data"),
        RequiredProperty::CrashSafe => having("a journal") || having("copy-on-write"),
        RequiredProperty::Permissions => having("owners and permissions"),
        RequiredProperty::Snapshots => known.can(FilesystemAbility::Snapshots),
        RequiredProperty::Clones => known.can(FilesystemAbility::Clones),
        RequiredProperty::Windows => has.read_by.contains(&"Windows"),
        RequiredProperty::Macos => has.read_by.contains(&"macOS"),
    }
}

/// What a phase asks for that the candidate's filesystem cannot do. What clones in a folder come to depends on what it lies on.
fn inability(plan: &Plan, candidate: &Candidate) -> Option<Reason> {
    let able = |ability: FilesystemAbility| match candidate.path {
        Some(_) => ability == FilesystemAbility::Clones,
        None => filesystem::find(&candidate.filesystem).is_none_or(|known| known.can(ability)),
    };
    let able = |ability| able(ability) || ability == FilesystemAbility::Snapshots && on_layer(candidate);
    let asked = |phase: &Phase| match phase.work {
        PhaseWork::Operation(operation) => operation.asks_for().filter(|ability| !able(*ability)),
        _ => None,
    };
    let (phase, ability) = plan.phases.iter().find_map(|phase| Some((phase, asked(phase)?)))?;
    let can = filesystem::registry().iter().filter(|known| known.can(ability)).map(|known| known.name);
    let whose = if candidate.path.is_some() { "a folder" } else { candidate.filesystem.as_str() };
    let what = match ability {
        FilesystemAbility::Clones => "clones of files",
        FilesystemAbility::Snapshots => "snapshots of the whole filesystem",
    };
    let mut can: Vec<String> = can.map(str::to_owned).collect();
    if ability == FilesystemAbility::Snapshots && candidate.path.is_none() {
        let layers = layer::registry().iter().filter_map(|layer| layer.snapshots);
        can.extend(layers.map(|snapshots| format!("any on {}", snapshots.hint)));
    }
    Some(Reason::new(
        format!("phase `{}` asks for {what}, which {whose} does not have", phase.name),
        format!("{} can; or leave the phase out", can.join(", ")),
    ))
}

/// Whether a layer below has snapshots, and room for one.
fn on_layer(candidate: &Candidate) -> bool {
    let has_room = |name: &str| {
        let snapshots = layer::find(name).and_then(|layer| layer.snapshots);
        snapshots.is_some_and(|snapshots| (snapshots.has_room)(split_layer(name).1))
    };
    candidate.layers.names().any(has_room)
}

/// Why what a candidate has above its filesystem would not be there.
fn nothing_above(plan: &Plan, candidate: &Candidate) -> Option<Reason> {
    let is_above = |name: &str| layer::find(name).is_some_and(|layer| layer.kind == LayerKind::Above);
    let names: Vec<&str> = candidate.layers.names().collect();
    let at = names.iter().position(|name| is_above(name))?;
    let name = names.get(at)?;
    if at + 1 < names.len() {
        let what = format!("`{name}` lies above the filesystem, and stands before a layer below it");
        return Some(Reason::new(what, "it is the last of `layers`"));
    }
    let is_cold = plan.phases.iter().any(|phase| phase.cold);
    (!is_cold).then(|| {
        let what = format!(
            "`{name}` is laid above what was written before the first phase that is cold, and none is"
        );
        Reason::new(what, "cold = true of the first phase that is to be seen through it")
    })
}

/// Why a candidate cannot do without one of its devices, where a phase wants that.
fn kept_once(plan: &Plan, candidate: &Candidate) -> Option<Reason> {
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

/// A folder that is not there is found out now, not in the first trial.
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

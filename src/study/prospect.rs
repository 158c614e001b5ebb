//! Predicts which devices and candidates a run would refuse or skip, with the run's own checks. No check writes to or
//! claims anything that is not fsverdict's own.

use fsverdict_judgement::plan::{ArrayState, Candidate, Dataset, Phase, PhaseWork, Plan};
use fsverdict_lab::lab::{Lab, not_installed};
use fsverdict_lab::trial::{can_be_scrubbed, outlives_a_device};
use fsverdict_stack::layer::{self, Layer, LayerKind};
use fsverdict_text::Reason;
use fsverdict_workload::workload::{Adapter, adapter_by_name};

use super::abilities::{find_missing_ability, lacks_required};
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

    /// Tries those options in the lab on scratch images, as a run does before its first trial. A candidate is skipped
    /// if its options are refused; these are returned, each with the reason.
    pub fn try_options(&mut self, plan: &Plan, lab: &dyn Lab) -> Vec<(String, Reason)> {
        let refused = find_refused_options(plan, lab, self.size, self.candidates_with_untried_options(plan));
        self.skipped.extend(refused.iter().cloned());
        refused
    }

    /// Checks this plan on a device of this many bytes that may be used.
    pub fn for_device(plan: &Plan, lab: &dyn Lab, size: Option<u64>) -> Self {
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
            .or_else(|| lacks_scrub(plan, candidate))
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
        return Some(Reason::new(
            statement,
            "set `cold = true` on the first phase that reads the sealed data",
        ));
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
            "phase `{}` writes, but `{name}` is sealed, and read-only, from the first phase with cold = true",
            phase.name
        ),
        "leave the phase out, or put it before the first phase with cold = true",
    ))
}

/// Why the copies of a candidate cannot be compared, where a phase requires that.
fn lacks_scrub(plan: &Plan, candidate: &Candidate) -> Option<Reason> {
    let phase = plan.phases.iter().find(|phase| phase.state == Some(ArrayState::Scrubbing))?;
    (!can_be_scrubbed(candidate, plan.device.count())).then(|| {
        Reason::new(
            format!("the phase `{}` wants its devices scrubbing, which {} cannot", phase.name, candidate.filesystem),
            "leave the phase out; arrays of md, btrfs and ZFS can, bcachefs from Linux 6.15 on, which fsverdict does not use yet",
        )
    })
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
            "layers = [\"md:raid1\"], for btrfs mkfs = \"-d raid1\", for zfs mkfs = \"mirror\", for bcachefs mkfs = \"--replicas=2\", with two devices at least",
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

//! `[faults]`: what is done to the device of each candidate beside the trials, to see what is lost.

use serde::{Deserialize, Serialize};

use super::{Needs, Operation, PhaseWork, Plan};
use fsverdict_text::value::{boolean, count};
use fsverdict_text::{Node, Reason, Section};

pub(super) const FAULTS: &[&str] = &["power_cuts", "keeps_all", "ignores_flushes", "accept_loss"];
/// A hundred thousand states take hours.
const MOST: u64 = 1_000_000;

/// What is done to a device, and how often.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Faults {
    /// States of the device to look at in which a cut of power may leave it.
    pub power_cuts: u32,
    /// Whether the device keeps whatever it was given: a control, in which nothing can be lost.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keeps_all: bool,
    /// Whether the device says of every flush that it is done, and does nothing: a control, in which losses must be found.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ignores_flushes: bool,
    /// Whether a candidate may be taken that loses what it promised to keep.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub accept_loss: bool,
}

/// Reads the section.
pub(super) fn read_faults(top: &Section<'_>) -> Option<Faults> {
    let section = top.inner("faults", "[faults]", FAULTS)?;
    let power_cuts = section.need("power_cuts", "power_cuts = 500", cuts)?;
    let says = |key| section.get(key, boolean).unwrap_or(false);
    let keeps_all = says("keeps_all");
    if keeps_all {
        section.forbid(&["ignores_flushes"], "a device that keeps all", "it has nothing to flush");
    }
    let (ignores_flushes, accept_loss) = (says("ignores_flushes"), says("accept_loss"));
    Some(Faults { power_cuts, keeps_all, ignores_flushes, accept_loss })
}

fn cuts(node: &Node) -> Result<u32, Reason> {
    let number = count(node)?;
    u32::try_from(number).ok().filter(|_| number <= MOST).ok_or_else(|| {
        Reason::new(format!("{number} states are more than can be looked at"), format!("{MOST} at most"))
    })
}

/// Whether a phase of it tells when what was saved: of others nobody knows what must be there after a cut of power.
pub fn tells_of_saves(work: &PhaseWork) -> bool {
    matches!(
        work,
        PhaseWork::Operation(
            Operation::DirectorySave | Operation::DirectoryReplace | Operation::Sequences
        )
    )
}

/// Whether the plan has what it takes.
pub(super) fn check(plan: &Plan) -> Result<(), Reason> {
    if plan.faults.is_none() {
        return Ok(());
    }
    if !plan.device.source.is_modelled() || plan.device.count() != 1 {
        return Err(Reason::new(
            "power is cut of one modelled device, of which every write is known",
            "name a model: --device model:NAME@SIZE; or take `[faults]` out",
        ));
    }
    if !plan.phases.iter().any(|phase| tells_of_saves(&phase.work)) {
        return Err(Reason::new(
            "no phase of the plan says what must be there after a cut of power",
            "add one with operation = \"directory.save\", or take `[faults]` out",
        ));
    }
    let bare = |phase: &&super::Phase| matches!(phase.work, PhaseWork::Operation(operation) if operation.needs() == Needs::BareDevice);
    if let Some(phase) = plan.phases.iter().find(bare) {
        return Err(Reason::new(
            format!(
                "the phase `{}` writes to the bare device, which `[faults]` does not go with",
                phase.name
            ),
            "take one of the two out",
        ));
    }
    let layered = plan.candidates.iter().find(|candidate| !candidate.layers.is_empty());
    layered.map_or(Ok(()), |candidate| {
        Err(Reason::new(
            format!("`{}` has layers, whose state after a cut of power is not looked at", candidate.name),
            "take its layers out, or `[faults]`",
        ))
    })
}

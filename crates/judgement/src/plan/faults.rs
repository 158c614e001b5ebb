//! `[faults]`: faults that are injected into each candidate's device in addition to the trials, to find data loss.

use super::keys::{key_names, read_keys};
use super::stored_table::stored_table;
use super::{Candidate, Needs, NuisancesChoice, OperationEffect, PhaseWork, Plan};
use fsverdict_text::value::{boolean, count};
use fsverdict_text::{Node, Reason, Section};

/// The maximum number of states: a hundred thousand already take hours.
pub(super) const MOST: u64 = 1_000_000;
/// The maximum number of trials: each is recorded with all its writes.
pub(super) const MOST_TRIALS: u64 = 1000;

stored_table! {
    /// The faults that are injected into a device, and their number.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub struct Faults, keys FAULTS {
        /// The number of crash states of the device to examine after simulated power cuts.
        power_cuts!: u32 => ("whole number", read_cuts, unless 0),
        key("rot", "whole number", rot, read_cuts, unless 0),
        /// The number of trials among which the states are divided, each on another device of the class.
        #[serde(default = "one", skip_serializing_if = "is_one")]
        trials: u32 => ("1 to 1000", read_trials, unless 1),
        /// The number of corrupted blocks to examine, one at a time.
        rot!: u32,
        /// Whether every block under test refuses writes, and no other kind of corruption is tested.
        refuses_writes!: bool => ("true or false", boolean),
        /// Whether the device keeps all data: a control in which no loss can occur.
        keeps_all!: bool => ("true or false", boolean),
        /// Whether the device ignores flushes and reports success: a control in which losses must be found.
        ignores_flushes!: bool => ("true or false", boolean),
        /// Whether a candidate may be recommended although it loses promised data.
        accept_loss!: bool => ("true or false", boolean),
    }
}

const fn one() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
const fn is_one(number: &u32) -> bool {
    *number == 1
}

/// Reads the section.
pub(super) fn read_faults(top: &Section<'_>) -> Option<Faults> {
    let section = top.inner_table("faults", "[faults]", &key_names(FAULTS))?;
    let faults = read_keys(FAULTS, &section, Faults { trials: 1, ..Faults::default() })?;
    if faults.power_cuts == 0 && faults.rot == 0 {
        if !section.has_key("power_cuts") {
            section.need("power_cuts", "power_cuts = 500, or rot = 200", read_cuts);
        }
        return None;
    }
    if faults.power_cuts == 0 {
        section.forbid_keys(&["trials"], "rot alone", "blocks rot on the device that one trial left");
    }
    if faults.rot == 0 {
        section.forbid_keys(
            &["refuses_writes"],
            "cuts of power alone",
            "it is rotten blocks that take no writes",
        );
    }
    if faults.keeps_all {
        section.forbid_keys(&["ignores_flushes"], "a device that keeps all", "it has nothing to flush");
    }
    Some(faults)
}

fn read_cuts(node: &Node) -> Result<u32, Reason> {
    let number = count(node)?;
    u32::try_from(number).ok().filter(|_| number <= MOST).ok_or_else(|| {
        Reason::new(format!("{number} states are more than can be looked at"), format!("{MOST} at most"))
    })
}

fn read_trials(node: &Node) -> Result<u32, Reason> {
    let number = count(node)?;
    u32::try_from(number).ok().filter(|_| (1..=MOST_TRIALS).contains(&number)).ok_or_else(|| {
        let what = format!("power cannot be cut of {number} trials of a candidate");
        Reason::new(what, format!("1 to {MOST_TRIALS} of them"))
    })
}

/// Whether a phase with this work has such an effect.
fn has_effect(phase: &super::Phase, effect: OperationEffect) -> bool {
    matches!(phase.work, PhaseWork::Operation(operation) if operation.effect() == effect)
}

/// Checks that the plan meets the conditions for testing faults.
pub(super) fn check(plan: &Plan) -> Result<(), Reason> {
    let Some(faults) = plan.faults else { return Ok(()) };
    if !plan.device.source.is_modelled() {
        return Err(Reason::new(
            "faults can be tested only on a modelled device, which records every write",
            "name a model: --device model:NAME@SIZE; or take `[faults]` out",
        ));
    }
    // Only then is it known which files must survive a fault.
    let saves = plan.phases.iter().any(|phase| has_effect(phase, OperationEffect::SavesFiles));
    let promises =
        |phase: &super::Phase| phase.recheck.is_some() || has_effect(phase, OperationEffect::Replays);
    if !saves && (faults.rot > 0 || !plan.phases.iter().any(promises)) {
        return Err(Reason::new(
            "no phase of the plan records which files must survive a fault",
            "add one with operation = \"directory.save\", or for cuts of power a command with `recheck` or a `trace.replay`; or take `[faults]` out",
        ));
    }
    if faults.trials > 1 && plan.protocol.circumstances == NuisancesChoice::Fixed {
        return Err(Reason::new(
            "with fixed circumstances each trial of a candidate is the same one",
            "take `trials` out of [faults], or `circumstances = \"fixed\"` out of [protocol]",
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
    // One lies above the filesystem, and volumes are known to the kernel that made them alone.
    let is_strange = |name: &str| name == "overlay" || name.starts_with("lvm");
    let strange = |candidate: &&Candidate| candidate.layers.names().any(is_strange);
    if let Some(candidate) = plan.candidates.iter().find(strange) {
        return Err(Reason::new(
            format!("`{}` has a layer (overlay, lvm) which `[faults]` does not go with", candidate.name),
            "take that layer out, or `[faults]`",
        ));
    }
    Ok(())
}

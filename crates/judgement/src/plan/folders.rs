//! Checks plans that have the user's folders as candidates: rejects settings that need a device or a fresh filesystem.

use fsverdict_text::Reason;

use super::lab::KernelOwner;
use super::{Candidate, DIRECTORY, DeviceSource, Needs, Phase, PhaseWork, Plan};

/// Refuses settings that need a device where there is none, and a comparison of folders with fresh filesystems.
pub(super) fn check(plan: &Plan) -> Result<(), Reason> {
    let in_folder = |candidate: &&Candidate| candidate.path.is_some();
    let Some(folder) = plan.candidates.iter().find(in_folder) else { return Ok(()) };
    if let Some(other) = plan.candidates.iter().find(|candidate| !in_folder(candidate)) {
        return Err(Reason::new(
            format!("`{}` is a folder, and `{}` would be made on a device", folder.name, other.name),
            "an existing folder cannot be compared with a filesystem that is made for each trial: compare folders with folders",
        ));
    }
    if plan.device.source != DeviceSource::Folders {
        return Err(Reason::new(
            format!("the candidates are folders, which have no place on a {}", plan.device.source),
            format!(
                "take [device] or --device out: each candidate with filesystem = \"{DIRECTORY}\" has a path of its own"
            ),
        ));
    }
    if plan.lab.lab_offer().kernel == KernelOwner::Guest {
        return Err(Reason::new(
            format!("folders are this machine's, and the lab {} has a kernel of its own", plan.lab),
            "take --lab native, or leave it out; folders need no root",
        ));
    }
    let on_device = |work: &PhaseWork| match work {
        PhaseWork::Operation(operation) => operation.needs() != Needs::Mounted,
        PhaseWork::Command(_) | PhaseWork::Adapter { .. } => false,
    };
    let fills =
        |phase: &&Phase| matches!(&phase.work, PhaseWork::Operation(operation) if operation.takes("to"));
    if let Some(phase) = plan.phases.iter().find(fills) {
        return Err(Reason::new(
            format!(
                "the phase `{}` fills a filesystem, and the candidates are folders on one that is in use",
                phase.name
            ),
            "take it out: others write there, too",
        ));
    }
    if let Some(phase) = plan.phases.iter().find(|phase| phase.remake.is_some()) {
        return Err(Reason::new(
            format!(
                "the phase `{}` begins on a fresh filesystem, and the candidates are folders",
                phase.name
            ),
            "take `remake` out: a folder is as it is",
        ));
    }
    match plan.phases.iter().find(|phase| on_device(&phase.work)) {
        Some(phase) => Err(Reason::new(
            format!("the phase `{}` works on a device, and the candidates are folders", phase.name),
            "take it out: what a folder lies on is neither read nor written nor checked",
        )),
        None => Ok(()),
    }
}

//! Compares the properties and abilities of candidates with those that a plan's goal and phases require.

use fsverdict_judgement::plan::{
    Candidate, Dataset, FilesystemAbility, Operation, Phase, PhaseWork, Plan, RequiredProperty,
};
use fsverdict_stack::filesystem;
use fsverdict_stack::layer::{self, LayerKind, has_property};
use fsverdict_text::Reason;

/// A property that the goal requires and the candidate lacks; no measurement can change that.
pub(super) fn lacks_required(plan: &Plan, candidate: &Candidate) -> Option<Reason> {
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
            let has = |known: &&&filesystem::Filesystem| {
                has_property(&Candidate::with_defaults(known.name), *lacked)
            };
            let names: Vec<&str> =
                filesystem::registry().iter().filter(has).map(|known| known.name).collect();
            format!("{} have it; or take it out of `require`", names.join(", "))
        }
    };
    Some(Reason::new(statement, hint))
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
                    FilesystemAbility::Clones | FilesystemAbility::HardLinks | FilesystemAbility::Streams => {
                        false
                    }
                    FilesystemAbility::Snapshots => {
                        candidate.layers.names().any(layer::has_room_for_snapshots)
                    }
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
            operation.ability().or_else(linked).filter(|ability| !able(*ability))
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
        FilesystemAbility::Streams => "sending a snapshot as a stream",
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

/// Whether the layer directly below the filesystem has snapshots and room for one.
fn has_snapshots_directly_below(candidate: &Candidate) -> bool {
    let below = |name: &&str| layer::find_layer(name).is_some_and(|layer| !layer.kind.is_above());
    candidate.layers.names().rfind(below).is_some_and(layer::has_room_for_snapshots)
}

fn lacks_own_snapshots(candidate: &Candidate) -> bool {
    filesystem::find_filesystem(&candidate.filesystem).is_some_and(|known| known.snapshots.is_none())
}

//! Whether trials worked on the same data: folders of the user's may change while a run goes on.

use fsverdict_judgement::journal::{Run, Trial};

/// Why a block does not count whose trials worked on different data.
pub(super) fn mixed(run: &Run, block: u32, attempt: u32) -> Option<String> {
    let mut trials = run.trials.iter().filter(|trial| (trial.id.block, trial.id.attempt) == (block, attempt));
    let first = trials.next()?;
    let difference = trials.find_map(|trial| difference(first, trial))?;
    Some(format!("its trials did not work on the same data: {difference}"))
}

/// What the reader of a run must know whose blocks worked on different data: what changed with this block.
pub(super) fn changed(run: &Run, block: u32, attempt: u32) -> Option<String> {
    let before = run.trials.iter().find(|trial| trial.counts() && trial.id.block + 1 == block)?;
    let now = run.trials.iter().find(|trial| (trial.id.block, trial.id.attempt) == (block, attempt))?;
    let difference = difference(before, now)?;
    Some(format!("from block {block} on, other data than before: {difference}"))
}

fn difference(one: &Trial, other: &Trial) -> Option<String> {
    one.datasets().find_map(|(name, was)| {
        let (_, is) = other.datasets().find(|(known, is)| *known == name && *is != was)?;
        Some(format!("the folder of dataset `{name}` held {was}, and then {is}"))
    })
}

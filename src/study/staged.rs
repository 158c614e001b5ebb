//! Checks whether trials worked on the same data: the user's folders may change during a run.

use fsverdict_judgement::journal::{Run, Trial};

/// Why a block does not count, if its trials worked on different data.
pub(super) fn find_mixed_data(run: &Run, block: u32, attempt: u32) -> Option<String> {
    let mut trials = run.trials.iter().filter(|trial| (trial.id.block, trial.id.attempt) == (block, attempt));
    let first = trials.next()?;
    let difference = trials.find_map(|trial| find_difference(first, trial))?;
    Some(format!("its trials did not work on the same data: {difference}"))
}

/// A caution that this block worked on different data than the previous one, with the difference.
pub(super) fn find_changed_data(run: &Run, block: u32, attempt: u32) -> Option<String> {
    let before = run.trials.iter().find(|trial| trial.is_counted() && trial.id.block + 1 == block)?;
    let now = run.trials.iter().find(|trial| (trial.id.block, trial.id.attempt) == (block, attempt))?;
    let difference = find_difference(before, now)?;
    Some(format!("from block {block} on, other data than before: {difference}"))
}

fn find_difference(one: &Trial, other: &Trial) -> Option<String> {
    one.datasets().find_map(|(name, was)| {
        let (_, is) = other.datasets().find(|(known, is)| *known == name && *is != was)?;
        Some(format!("the folder of dataset `{name}` held {was}, and then {is}"))
    })
}

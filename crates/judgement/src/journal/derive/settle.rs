//! Decides which trials of a run count, and the status of each candidate that follows.

use std::collections::{HashMap, HashSet};

use crate::journal::run::{CandidateState, CandidateStatus, Run};
use crate::journal::trial::{Trial, TrialStanding};
use crate::journal::{PowerCuts, RottenBlocks, TrialId};

impl Run {
    /// Decides which trials count. Of each block the last attempt counts, if it is valid and every earlier block has
    /// ended in the same way; of each candidate's trials in a block the last one started counts.
    pub(super) fn settle_standings(&mut self) {
        let mut last_attempt: HashMap<u32, u32> = HashMap::new();
        for block in &self.blocks {
            let last = last_attempt.entry(block.block).or_default();
            *last = block.attempt.max(*last);
        }
        let prefix: HashSet<(u32, u32)> =
            self.counted_blocks().map(|block| (block.block, block.attempt)).collect();
        let mut begun_later: HashSet<&TrialId> = HashSet::new();
        let invalid: HashMap<(u32, u32), bool> =
            self.blocks.iter().map(|state| ((state.block, state.attempt), state.invalid.is_some())).collect();
        let standing = |trial: &Trial, repeated: bool| {
            let place = (trial.id.block, trial.id.attempt);
            let repeated = repeated || last_attempt.get(&place.0).is_some_and(|last| *last > place.1);
            match invalid.get(&place) {
                Some(false) if !repeated && prefix.contains(&place) => TrialStanding::Counted,
                Some(false) if !repeated => TrialStanding::Open,
                _ => TrialStanding::Discarded,
            }
        };
        let mut standings: Vec<TrialStanding> =
            self.trials.iter().rev().map(|trial| standing(trial, !begun_later.insert(&trial.id))).collect();
        for trial in &mut self.trials {
            trial.standing = standings.pop().unwrap_or(TrialStanding::Open);
        }
    }

    /// Sets the status of each candidate by its trials that count, with the reason and a hint.
    pub(super) fn settle_candidates(&mut self) {
        let named = |name: &str| self.candidates.iter().any(|state| state.name == name);
        let mut strangers =
            self.trials.iter().map(|trial| trial.id.candidate.as_str()).filter(|name| !named(name));
        if strangers.next().is_some() {
            let names: Vec<String> = self.trials.iter().map(|trial| trial.id.candidate.clone()).collect();
            for name in names {
                self.candidate(&name);
            }
        }
        // A reopened block repeats trials that were ended from outside.
        let open_again = |trial: &Trial| {
            let block = self.blocks.iter().rfind(|block| block.is_attempt(trial.id.block, trial.id.attempt));
            block.is_some_and(|block| block.untried_candidates().any(|name| name == trial.id.candidate))
        };
        let own_end = |state: &&mut CandidateState| {
            state.status != CandidateStatus::Skipped || state.ended_from_outside
        };
        for state in self.candidates.iter_mut().filter(own_end) {
            (state.status, state.reason, state.hint) =
                (CandidateStatus::Untried, String::new(), String::new());
            state.ended_from_outside = false;
            let kept = |trial: &&Trial| {
                trial.id.candidate == state.name && trial.standing != TrialStanding::Discarded
            };
            let kept = |trial: &&Trial| kept(trial) && !(trial.is_from_outside() && open_again(trial));
            let trials: Vec<&Trial> = self.trials.iter().filter(kept).collect();
            let failed: Vec<&&Trial> = trials.iter().filter(|trial| trial.is_failure()).collect();
            let from_outside = trials.iter().find(|trial| trial.is_from_outside());
            if let Some(first) = failed.first() {
                state.status = CandidateStatus::Failed;
                state.hint = first.hint.clone();
                state.reason = match trials.len() {
                    1 => first.reason.clone(),
                    all => format!(
                        "{} of {all} trials failed, first in block {}: {}",
                        failed.len(),
                        first.id.block,
                        first.reason
                    ),
                };
            } else if let Some(trial) = from_outside {
                state.status = CandidateStatus::Skipped;
                state.ended_from_outside = true;
                state.hint = trial.hint.clone();
                state.reason = match trials.len() {
                    1 => trial.reason.clone(),
                    _ => format!("its trial in block {} was not completed: {}", trial.id.block, trial.reason),
                };
            } else if !trials.is_empty() {
                state.status = CandidateStatus::Ok;
                let cuts = self.power_cuts.iter().find(|cuts| cuts.candidate == state.name);
                let rotten = self.rotten.iter().find(|rotten| rotten.candidate == state.name);
                let why = cuts.and_then(PowerCuts::why_out).or(rotten.and_then(RottenBlocks::why_out));
                if let Some(reason) = why {
                    state.status = CandidateStatus::Failed;
                    state.reason = reason.to_string();
                    state.hint = "`accept_loss = true` in [faults] keeps it in the comparison".to_owned();
                }
            }
        }
    }
}

//! The cautions of a run and of its trials, each text once, with the trials and candidates that it concerns.

use std::collections::HashMap;

use super::run::Run;
use super::{Caution, CautionKind, TrialStanding};

/// A caution with the number of trials that raised it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CautionSummary {
    pub text: String,
    pub kind: CautionKind,
    /// The phases it concerns; empty for the whole trial, or the run.
    pub phases: Vec<String>,
    /// How many trials raised it; 0 when it is about the run.
    pub trials: usize,
    /// Candidates that the caution concerns, in the plan's order; empty when it is about the run.
    pub candidates: Vec<String>,
}

impl CautionSummary {
    /// The caution in full, without a full stop.
    pub fn write_sentence(&self) -> String {
        self.kind.write_sentence(&self.text)
    }

    /// The part of the work that the measured times leave out for some of these candidates but not for others. Such an
    /// omission biases a comparison, so reports say more about it than about other limits.
    pub fn uneven_free_work(&self, candidates: &[&str]) -> Option<&str> {
        let concerned =
            candidates.iter().filter(|name| self.candidates.iter().any(|own| own == *name)).count();
        let is_uneven = 0 < concerned && concerned < candidates.len();
        (is_uneven && self.kind == CautionKind::FreeWork).then_some(&self.text)
    }
}

impl Run {
    /// Cautions of the run and of every trial that is not discarded, each once, with the phases that raised it.
    pub fn summarize_cautions(&self) -> Vec<CautionSummary> {
        let (mut summaries, mut places) = (Vec::new(), HashMap::new());
        for caution in &self.cautions {
            add_caution(&mut summaries, &mut places, caution);
        }
        for trial in self.trials.iter().filter(|trial| trial.standing != TrialStanding::Discarded) {
            let mut own: Vec<usize> = trial
                .cautions
                .iter()
                .map(|caution| add_caution(&mut summaries, &mut places, caution))
                .collect();
            own.sort_unstable();
            own.dedup();
            for at in own {
                summaries[at].trials += 1;
                if !summaries[at].candidates.contains(&trial.id.candidate) {
                    summaries[at].candidates.push(trial.id.candidate.clone());
                }
            }
        }
        let place = |name: &String| self.candidates.iter().position(|state| state.name == *name);
        for caution in &mut summaries {
            caution.candidates.sort_by_key(place);
        }
        summaries
    }
}

/// Adds a caution to `summaries`, where `places` gives the index of each text; returns the caution's index.
fn add_caution<'a>(
    summaries: &mut Vec<CautionSummary>,
    places: &mut HashMap<(CautionKind, &'a str), usize>,
    caution: &'a Caution,
) -> usize {
    let at = *places.entry((caution.kind, caution.text.as_str())).or_insert_with(|| {
        let Caution { text, kind, .. } = caution.clone();
        summaries.push(CautionSummary { text, kind, ..CautionSummary::default() });
        summaries.len() - 1
    });
    let phases = &mut summaries[at].phases;
    if !caution.phase.is_empty() && !phases.contains(&caution.phase) {
        phases.push(caution.phase.clone());
    }
    at
}

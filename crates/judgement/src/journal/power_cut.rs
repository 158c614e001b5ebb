//! What was found of a candidate whose power was cut: how often it came to what, and the first states that lost something.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::LossAges;

/// A file that was saved anew: when that began and when the program was told that it was done, in nanoseconds of the device's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Save {
    /// Which of the dataset's files, from 0.
    pub file: u32,
    /// How often its content had been changed before, and this once more.
    pub generation: u32,
    pub began_ns: u64,
    pub saved_ns: u64,
    /// Whether with an fsync of the content before its name was changed, and one of the name.
    pub careful: bool,
}

/// A program said that it was promised something: how much so far, by its own count, and when that was read, in nanoseconds of the
/// device's clock. It was said before, so that what is asked for is never too much.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramPromise {
    pub number: u64,
    pub at_ns: u64,
}

/// Short sequences of calls that lay in the filesystem together, and when each of their calls returned, in nanoseconds of the device's clock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SequenceBatch {
    /// The number of the first.
    pub first: u32,
    /// When what they begin with was durable.
    pub ready_ns: u64,
    /// From when on it was removed again.
    pub until_ns: u64,
    /// Of each sequence.
    pub calls: Vec<SequenceCalls>,
}

/// One of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SequenceCalls {
    pub began_ns: u64,
    /// Of each call, in their order.
    pub done_ns: Vec<u64>,
    /// Whether the filesystem does not have the call after these, with which it ended.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub refused: bool,
}

/// What became of a filesystem whose power was cut, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CutOutcome {
    /// All that was promised is there, and nothing had to be done for it.
    Unharmed,
    /// … once it had been replayed from its journal or log, while it was mounted.
    Replayed,
    /// … once its checker had repaired it.
    Repaired,
    /// Something promised is gone, and somebody said so: an error, the checker, the kernel.
    LossReported,
    /// Something promised is gone, and nobody said a word.
    SilentLoss,
    /// It could not be mounted, not even after its checker.
    Unmountable,
    /// Its kernel computed or waited without an end.
    Hang,
    /// Its kernel gave up.
    Panic,
}

impl CutOutcome {
    /// Every one, the best first.
    pub const ALL: [CutOutcome; 8] = [
        CutOutcome::Unharmed,
        CutOutcome::Replayed,
        CutOutcome::Repaired,
        CutOutcome::LossReported,
        CutOutcome::SilentLoss,
        CutOutcome::Unmountable,
        CutOutcome::Hang,
        CutOutcome::Panic,
    ];

    /// For people, as the head of a column.
    pub const fn words(self) -> &'static str {
        match self {
            CutOutcome::Unharmed => "unharmed",
            CutOutcome::Replayed => "replayed",
            CutOutcome::Repaired => "repaired",
            CutOutcome::LossReported => "loss reported",
            CutOutcome::SilentLoss => "silent loss",
            CutOutcome::Unmountable => "unmountable",
            CutOutcome::Hang => "hang",
            CutOutcome::Panic => "panic",
        }
    }

    /// Whether a user has lost something, or all.
    pub const fn is_loss(self) -> bool {
        !matches!(self, CutOutcome::Unharmed | CutOutcome::Replayed | CutOutcome::Repaired)
    }
}

/// What was found in one state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StateFinding {
    /// The state: its number among those that were looked at together, and later its name.
    pub state: String,
    pub outcome: CutOutcome,
    /// The names of the promises that were not kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub broken: Vec<String>,
    /// What was seen, in words; empty where nothing is wrong.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub seen: String,
    /// Seconds of the device's clock from when it was to be mounted until it was, its checker's included.
    #[serde(default)]
    pub back_s: f64,
    /// Files that had been saved, by how long before the cut.
    #[serde(default, skip_serializing_if = "LossAges::is_empty")]
    pub ages: LossAges,
}

/// What the power cuts of one candidate came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PowerCuts {
    pub candidate: String,
    /// The states that were looked at.
    pub states: u32,
    pub outcomes: BTreeMap<CutOutcome, u32>,
    /// How many states broke which promise.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub broken: BTreeMap<String, u32>,
    /// The first states that lost something, or all; few.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub first: Vec<StateFinding>,
    /// Where an option of the candidate is documented to cost this: which, and where that stands.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub priced: Vec<String>,
    /// Of the promises broken those that nobody made to this candidate: the loss is the program's own doing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unpromised: Vec<String>,
    /// Seconds of the device's clock until it was mounted again: the median and the most.
    pub back_s: [f64; 2],
    /// Over how many trials they were shared out, each on another device of the class; 0: they are of one.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub trials: u32,
    /// Of how many of them some state lost something.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub trials_lost: u32,
    /// Files that had been saved, each in every state, by how long before the cut, and how many of them were lost.
    #[serde(default, skip_serializing_if = "LossAges::is_empty")]
    pub ages: LossAges,
    /// Whether the plan has it taken although it loses something.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub accepted: bool,
    /// Of the requests of the trial that was recorded: equal digests mean equal traces.
    pub trace: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
const fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// Of the promises those of what a program was told to be durable, by their names.
pub const ACKNOWLEDGED: [&str; 7] =
    ["fsync", "name", "directory", "entry", "attribute", "allocation", "recheck"];

impl PowerCuts {
    /// How many states came to this.
    pub fn count(&self, outcome: CutOutcome) -> u32 {
        self.outcomes.get(&outcome).copied().unwrap_or(0)
    }

    /// Why nobody is to take the candidate, if so: it lost what had been acknowledged, or lost anything and said nothing, or does not
    /// come back. That a checker tells of what an fsync had made durable does not bring it back; what was still under way may go.
    pub fn why_out(&self) -> Option<String> {
        let lost =
            |promise: &String| ACKNOWLEDGED.contains(&promise.as_str()) && !self.unpromised.contains(promise);
        let acknowledged = self.broken.keys().any(lost);
        let is_grave =
            |outcome: CutOutcome| outcome.is_loss() && (acknowledged || outcome != CutOutcome::LossReported);
        let each: Vec<String> = CutOutcome::ALL
            .into_iter()
            .filter(|outcome| is_grave(*outcome) && self.count(*outcome) > 0)
            .map(|outcome| format!("{} in {}", outcome.words(), self.count(outcome)))
            .collect();
        // What was lost without a word before what somebody told.
        let untold = self.first.iter().find(|finding| finding.outcome != CutOutcome::LossReported);
        let first = untold.or_else(|| self.first.iter().find(|finding| finding.broken.iter().any(lost)));
        let first = first.map_or(String::new(), |finding| {
            // What was seen first; the rest stands in the table.
            let seen = finding.seen.split("; ").next().unwrap_or_default();
            let seen = if seen.is_empty() { String::new() } else { format!(": {seen}") };
            format!(" (first in {}{seen})", finding.state)
        });
        (!each.is_empty() && !self.accepted)
            .then(|| format!("of {} states after a cut of power: {}{first}", self.states, each.join(", ")))
    }

    /// How many states lost something, or all.
    pub fn losses(&self) -> u32 {
        CutOutcome::ALL
            .into_iter()
            .filter(|outcome| outcome.is_loss())
            .map(|outcome| self.count(outcome))
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::{CutOutcome, PowerCuts, StateFinding};

    /// What states came to, and the promises that were broken in them.
    fn cuts(came: &[(CutOutcome, u32)], broken: &[&str], unpromised: &[&str]) -> PowerCuts {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let first = came.iter().filter(|(outcome, _)| outcome.is_loss()).map(|(outcome, _)| StateFinding {
            state: format!("17-{}", outcome.words().replace(' ', "-")),
            outcome: *outcome,
            broken: names(broken),
            seen: "tone holds neither content".to_owned(),
            back_s: 0.1,
            ages: super::LossAges::default(),
        });
        PowerCuts {
            candidate: "jfs".to_owned(),
            states: 50,
            outcomes: came.iter().copied().collect(),
            broken: names(broken).into_iter().map(|name| (name, 1)).collect(),
            first: first.collect(),
            priced: Vec::new(),
            unpromised: names(unpromised),
            back_s: [0.1, 0.2],
            trials: 0,
            trials_lost: 0,
            ages: super::LossAges::default(),
            accepted: false,
            trace: String::new(),
        }
    }

    #[test]
    fn who_loses_what_was_acknowledged_is_out_whoever_tells_of_it() {
        use CutOutcome::{LossReported, Repaired, SilentLoss, Unmountable};
        let told = "of 50 states after a cut of power: loss reported in 50 (first in 17-loss-reported: tone holds neither content)";
        let both = "of 50 states after a cut of power: loss reported in 2, silent loss in 1 (first in 17-silent-loss: tone holds neither content)";
        let cases = [
            (cuts(&[(Repaired, 50)], &[], &[]), None),
            (cuts(&[(LossReported, 50)], &["foreign", "fsync"], &[]), Some(told)),
            // Of a file that was being written, nobody had been told anything.
            (cuts(&[(Repaired, 49), (LossReported, 1)], &["foreign"], &[]), None),
            (cuts(&[(LossReported, 1)], &["entry"], &["entry"]), None),
            (cuts(&[(LossReported, 2), (SilentLoss, 1)], &["name"], &[]), Some(both)),
            (
                cuts(&[(LossReported, 2), (Unmountable, 1)], &["links"], &[]),
                Some(
                    "of 50 states after a cut of power: unmountable in 1 (first in 17-unmountable: tone holds neither content)",
                ),
            ),
        ];
        for (found, wanted) in cases {
            assert_eq!(found.why_out().as_deref(), wanted, "{:?} {:?}", found.outcomes, found.broken);
        }
        let accepted = PowerCuts { accepted: true, ..cuts(&[(LossReported, 50)], &["fsync"], &[]) };
        assert_eq!(accepted.why_out(), None);
    }
}

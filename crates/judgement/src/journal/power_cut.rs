//! Results of simulated power cuts for a candidate: how often each outcome occurred, and the first crash states that
//! lost data.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::LossAges;
use super::labelled::labelled;
use crate::plan::stored_table;

/// A file that was rewritten: when the save began and when the program learnt that it was complete, in nanoseconds of
/// the device's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Save {
    /// The index of the file in the dataset, from 0.
    pub file: u32,
    /// The number of changes to the file's content so far, including this one.
    pub generation: u32,
    pub began_ns: u64,
    pub saved_ns: u64,
    /// Whether the content was fsynced before the rename, and the name after it.
    pub careful: bool,
}

/// A program reported that data are durable: its own count so far, and when the report was read, in nanoseconds of the
/// device's clock. The program reported it before that time, so a check never demands too much.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramPromise {
    pub number: u64,
    pub at_ns: u64,
}

/// Short sequences of calls that were in the filesystem at the same time, and when each call returned, in nanoseconds
/// of the device's clock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SequenceBatch {
    /// The number of the first sequence.
    pub first: u32,
    /// When the initial state of the sequences was durable.
    pub ready_ns: u64,
    /// When the removal of the sequences began.
    pub until_ns: u64,
    /// The calls of each sequence.
    pub calls: Vec<SequenceCalls>,
}

/// The calls of one sequence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SequenceCalls {
    pub began_ns: u64,
    /// When each call returned, in order.
    pub done_ns: Vec<u64>,
    /// Whether the sequence ended because the filesystem does not support the next call.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub refused: bool,
}

labelled! {
    /// The outcome for a filesystem after a power cut, best first.
    pub enum CutOutcome {
        /// All promised data are there, without any recovery.
        Unharmed = "unharmed",
        /// All promised data are there after the mount replayed the journal or log.
        Replayed = "replayed",
        /// All promised data are there after the checker repaired the filesystem.
        Repaired = "repaired",
        /// Promised data are lost, and an error, the checker or the kernel reported it.
        LossReported = "loss reported",
        /// Promised data are lost, and nothing reported it.
        SilentLoss = "silent loss",
        /// The filesystem could not be mounted, even after its checker ran.
        Unmountable = "unmountable",
        /// The kernel computed or waited without end.
        Hang = "hang",
        /// The kernel panicked.
        Panic = "panic",
    }
}

impl CutOutcome {
    /// Whether the user lost some or all data.
    pub const fn is_loss(self) -> bool {
        !matches!(self, CutOutcome::Unharmed | CutOutcome::Replayed | CutOutcome::Repaired)
    }
}

/// The result for one crash state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StateFinding {
    /// The state: first its number among the states that were examined together, later its name.
    pub state: String,
    pub outcome: CutOutcome,
    /// The names of the promises that were broken.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub broken: Vec<String>,
    /// A description of the fault; empty if nothing is wrong.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub seen: String,
    /// Recovery time in seconds of the device's clock: from the first attempt to mount until the filesystem was
    /// mounted, including its checker.
    #[serde(default)]
    pub back_s: f64,
    /// Saved files, by the time between the save and the cut.
    #[serde(default, skip_serializing_if = "LossAges::is_empty")]
    pub ages: LossAges,
}

stored_table! {
    /// The results of power cuts for one candidate.
    #[derive(Debug, Clone, PartialEq)]
    pub struct PowerCuts {
        candidate: String,
        /// The number of crash states that were examined.
        states: u32,
        outcomes: BTreeMap<CutOutcome, u32>,
        /// For each promise, the number of states that broke it.
        broken!: BTreeMap<String, u32>,
        /// The first states that lost some or all data; a few.
        first!: Vec<StateFinding>,
        /// Options of the candidate that are documented to cause this loss, with the source.
        priced!: Vec<String>,
        /// Broken promises that the candidate never made: the loss is the program's own fault.
        unpromised!: Vec<String>,
        /// Recovery time in seconds of the device's clock: the median and the maximum.
        back_s: [f64; 2],
        /// The number of trials among which the states were divided, each on another device of the class; 0: all states are
        /// of one trial.
        trials!: u32,
        /// The number of trials in which some state lost data.
        trials_lost!: u32,
        /// Saved files, counted in every state, by the time between the save and the cut, and how many of them were lost.
        #[serde(default, skip_serializing_if = "LossAges::is_empty")]
        ages: LossAges,
        /// Whether the plan accepts the candidate although it loses data.
        accepted!: bool,
        /// The digest of the requests in the recorded trial: equal digests mean equal traces.
        trace: String,
    }
}

/// The names of the promises about data that were acknowledged to a program as durable.
pub const ACKNOWLEDGED: [&str; 7] =
    ["fsync", "name", "directory", "entry", "attribute", "allocation", "recheck"];

/// Why a candidate is excluded that lost data when faults were tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LossReason {
    pub summary: String,
    /// The kind of loss, for several candidates at once.
    pub brief: &'static str,
    /// The first case, with the observations of it.
    pub example: Option<String>,
}

impl fmt::Display for LossReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.example {
            Some(example) => write!(formatter, "{} ({example})", self.summary),
            None => formatter.write_str(&self.summary),
        }
    }
}

impl PowerCuts {
    /// How many states had this outcome.
    pub fn count(&self, outcome: CutOutcome) -> u32 {
        self.outcomes.get(&outcome).copied().unwrap_or(0)
    }

    /// Why the candidate is excluded from recommendation: it lost acknowledged data, lost any data silently, or did not
    /// recover. A report by the checker does not bring back data that an fsync made durable, so it does not excuse the
    /// loss; data that were still in flight may be lost. `None` if the candidate is not excluded.
    pub fn why_out(&self) -> Option<LossReason> {
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
        // The sentence prefers an example of a loss that was not reported.
        let untold = self.first.iter().find(|finding| finding.outcome != CutOutcome::LossReported);
        let first = untold.or_else(|| self.first.iter().find(|finding| finding.broken.iter().any(lost)));
        let example = first.map(|finding| {
            // The sentence quotes only the first observation; the table lists the rest.
            let seen = finding.seen.split("; ").next().unwrap_or_default();
            let seen = if seen.is_empty() { String::new() } else { format!(": {seen}") };
            format!("first in {}{seen}", finding.state)
        });
        (!each.is_empty() && !self.accepted).then(|| LossReason {
            summary: format!("of {} states after a cut of power: {}", self.states, each.join(", ")),
            brief: "they lost data in power cuts",
            example,
        })
    }

    /// How many states lost some or all data.
    pub fn count_losses(&self) -> u32 {
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
        let reason = "of 50 states after a cut of power: loss reported in 50 (first in 17-loss-reported: tone holds neither content)";
        let both = "of 50 states after a cut of power: loss reported in 2, silent loss in 1 (first in 17-silent-loss: tone holds neither content)";
        let cases = [
            (cuts(&[(Repaired, 50)], &[], &[]), None),
            (cuts(&[(LossReported, 50)], &["foreign", "fsync"], &[]), Some(reason)),
            // The file was still being written, so nothing had been acknowledged.
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
        for (cuts, wanted) in cases {
            assert_eq!(
                cuts.why_out().map(|reason| reason.to_string()).as_deref(),
                wanted,
                "{:?} {:?}",
                cuts.outcomes,
                cuts.broken
            );
        }
        let accepted = PowerCuts { accepted: true, ..cuts(&[(LossReported, 50)], &["fsync"], &[]) };
        assert_eq!(accepted.why_out(), None);
    }
}

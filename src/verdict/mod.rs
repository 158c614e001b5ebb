//! From estimates to a verdict about the plan's goal: the best, those tied with it, those ruled out, and the limits.

mod estimates;
mod goal;
mod legacy;
mod raw_share;
mod then_and_now;

pub use estimates::{Estimate, PhaseEstimate, estimate_all};
pub use goal::{Rank, better_of, rank, weights};
pub use legacy::{LegacyEstimate, legacy_estimates, legacy_name};
pub use raw_share::{RawShare, raw_shares};
pub use then_and_now::{Because, Now, ThenAndNow, same_quantity, then_and_now};

use serde::{Deserialize, Serialize};

use crate::plan::Plan;

/// What may be concluded about the goal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// One candidate is certainly better than all others.
    Decided,
    /// Several are the best, and certainly too close to matter.
    Tied,
    /// The evidence does not suffice for either.
    Undecided,
}

/// The verdict.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// What may be concluded.
    pub outcome: Outcome,
    /// The best candidates: one where decided, more where tied, none where undecided.
    pub best: Vec<String>,
    /// Those practically tied with the best.
    pub tied: Vec<String>,
    /// Those certainly worse than the best.
    pub ruled_out: Vec<String>,
    /// Those of which neither is certain.
    pub undecided: Vec<String>,
    /// Limits of the verdict, each a sentence.
    pub cautions: Vec<String>,
    /// Candidates by their score for the goal, best first: what the sample shows, certain or not.
    pub ranking: Vec<Rank>,
}

/// Judges the candidates that were measured. Those the stopping rule dropped are ruled out on its evidence; of the
/// others nothing is claimed yet.
pub fn judge(plan: &Plan, measured: &[&str], dropped: &[&str], estimates: &[PhaseEstimate]) -> Verdict {
    let (ruled_out, undecided): (Vec<&str>, Vec<&str>) =
        measured.iter().partition(|name| dropped.contains(name));
    let owned = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect();
    Verdict {
        outcome: Outcome::Undecided,
        best: Vec::new(),
        tied: Vec::new(),
        ruled_out: owned(ruled_out),
        undecided: owned(undecided),
        cautions: vec![
            "statistics pending: order and ties are those of the sample, no test has been made".to_owned(),
        ],
        ranking: rank(plan, measured, estimates),
    }
}

//! The price of data safety: each candidate's time beside its rate of data loss, including candidates that are ruled
//! out.

use serde::Serialize;

use crate::journal::{BlockUse, RotTally, Run, Status, Trial, TrialStanding};
use crate::plan::Plan;
use crate::statistics::wilson_interval;

use crate::verdict::ByBlock;
use crate::verdict::work::side_by_side;
use crate::verdict::{Estimate, Objective};

/// The share of the states examined in which something was lost.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LossShare {
    pub lost: u32,
    pub of: u32,
    /// The lower end of the 95 % interval of the share (Wilson); `high` is the upper end.
    pub low: f64,
    pub high: f64,
}

impl LossShare {
    fn from_counts(lost: u32, of: u32) -> Option<LossShare> {
        wilson_interval(lost, of).map(|[low, high]| LossShare { lost, of, low, high })
    }

    pub fn share(&self) -> f64 {
        f64::from(self.lost) / f64::from(self.of.max(1))
    }
}

/// A candidate's time for the goal, and its losses.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SafetyPoint {
    pub candidate: String,
    /// The ratio of its time to the fastest's, paired within blocks; 1 for the fastest itself.
    pub time: Estimate,
    /// Losses among the states after a power cut.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cuts: Option<LossShare>,
    /// Losses among corrupted blocks that were in use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rot: Option<LossShare>,
    /// Of the corrupted blocks, those returned with wrong content as if correct, and those that crashed the kernel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rot_unsaid: Option<LossShare>,
    /// A candidate that is no slower, loses no more in any way, and is better in something, by the point estimates
    /// alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beaten_by: Option<String>,
}

impl SafetyPoint {
    fn losses(&self) -> [Option<f64>; 3] {
        [self.cuts, self.rot, self.rot_unsaid].map(|found| found.map(|found| found.share()))
    }

    fn dominates(&self, other: &SafetyPoint) -> bool {
        let pairs = || {
            let losses = self.losses().into_iter().zip(other.losses());
            let losses = losses.filter_map(|(ours, theirs)| Some((ours?, theirs?)));
            std::iter::once((self.time.point, other.time.point)).chain(losses)
        };
        pairs().all(|(ours, theirs)| ours <= theirs) && pairs().any(|(ours, theirs)| ours < theirs)
    }
}

/// Every candidate that was measured and examined for losses, the fastest first; empty where none was examined. None is beaten by
/// one that is protected less.
pub fn price_of_safety(plan: &Plan, run: &Run, objective: &Objective) -> Vec<SafetyPoint> {
    let cuts = |name: &str| run.power_cuts.iter().find(|cuts| cuts.candidate == name);
    let rotten = |name: &str| run.rotten.iter().find(|rotten| rotten.candidate == name);
    let names: Vec<&str> = run.candidates.iter().map(|state| state.name.as_str()).collect();
    let names: Vec<&str> =
        names.into_iter().filter(|name| cuts(name).is_some() || rotten(name).is_some()).collect();
    // A candidate that lost data is not in the ranking but must be shown here.
    let counts = |trial: &&Trial| {
        trial.status == Status::Ok && matches!(trial.standing, TrialStanding::Counted | TrialStanding::Open)
    };
    let blocks = ByBlock::of_run(run, run.trials.iter().filter(counts));
    let score = |trial: &Trial| objective.log_score(trial).map(libm::exp);
    let times = |reference: Option<&str>| side_by_side(&blocks, reference, &names, score);
    let point = |found: &Option<Estimate>| found.map_or(f64::INFINITY, |found| found.point);
    let first = times(None);
    // A filesystem that never flushes may be many times as fast, and is excluded for its losses.
    let place = |at: &usize| (run.why_out(names[*at]).is_some(), point(&first[*at]));
    let fastest = (0..names.len()).min_by(|one, other| {
        let (one, other) = (place(one), place(other));
        one.0.cmp(&other.0).then(one.1.total_cmp(&other.1))
    });
    let Some(fastest) = fastest.and_then(|at| names.get(at)) else { return Vec::new() };
    // The other estimates are multiples of the fastest's own.
    let found = times(Some(fastest));
    let own = names.iter().zip(&found).find(|(name, _)| *name == fastest).and_then(|(_, own)| *own);
    let Some(scale) = own.map(|own| own.point) else { return Vec::new() };
    let mut points: Vec<SafetyPoint> = Vec::new();
    for (name, time) in names.iter().zip(found) {
        let Some(time) = time else { continue };
        let time = if name == fastest {
            Estimate::without_interval(1.0, time.n)
        } else {
            time.map(|value| value / scale)
        };
        let in_use = rotten(name).map(|rotten| {
            let used = rotten.held.iter().filter(|(held, _)| **held != BlockUse::Unused);
            used.fold([0; 3], |[looked, lost, grave], (_, tally)| {
                let RotTally { looked: more, .. } = tally;
                [looked + more, lost + tally.count_losses(), grave + tally.count_grave()]
            })
        });
        points.push(SafetyPoint {
            candidate: (*name).to_owned(),
            time,
            cuts: cuts(name).and_then(|cuts| LossShare::from_counts(cuts.count_losses(), cuts.states)),
            rot: in_use.and_then(|[looked, lost, _]| LossShare::from_counts(lost, looked)),
            rot_unsaid: in_use.and_then(|[looked, _, grave]| LossShare::from_counts(grave, looked)),
            beaten_by: None,
        });
    }
    points.sort_by(|one, other| one.time.point.total_cmp(&other.time.point));
    let safeguards = |point: &SafetyPoint| plan.goal.safeguards_of(&point.candidate);
    let beats = |other: &SafetyPoint, one: &SafetyPoint| {
        other.dominates(one) && !safeguards(one).exceeds(&safeguards(other))
    };
    let beaten: Vec<Option<String>> = points
        .iter()
        .map(|one| points.iter().find(|other| beats(other, one)).map(|other| other.candidate.clone()))
        .collect();
    for (one, by) in points.iter_mut().zip(beaten) {
        one.beaten_by = by;
    }
    points
}

#[cfg(test)]
mod tests {
    use super::{LossShare, SafetyPoint};
    use crate::statistics::Estimate;

    #[test]
    fn a_point_is_beaten_by_what_is_no_worse_in_anything_and_better_in_something() {
        let point = |candidate: &str, time: f64, lost: u32| SafetyPoint {
            candidate: candidate.to_owned(),
            time: Estimate::without_interval(time, 3),
            cuts: LossShare::from_counts(lost, 100),
            rot: None,
            rot_unsaid: None,
            beaten_by: None,
        };
        let (fast, safe) = (point("fast", 1.0, 50), point("safe", 1.5, 0));
        assert!(!fast.dominates(&safe) && !safe.dominates(&fast) && !fast.dominates(&fast));
        assert!(safe.dominates(&point("worse", 1.5, 1)) && fast.dominates(&point("slower", 1.1, 50)));
        assert_eq!(LossShare::from_counts(0, 0), None);
    }
}

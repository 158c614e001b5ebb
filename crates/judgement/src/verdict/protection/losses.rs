//! The choice by measured losses: where a plan tries faults, a candidate that is shown to lose more is not recommended
//! before one that loses less, however fast it is.

use std::cmp::Ordering;

use serde::Serialize;

use super::safety::{LossShare, SafetyPoint};
use crate::journal::{CandidateStatus, Run};
use crate::plan::Plan;
use crate::statistics::Estimate;
use crate::verdict::Verdict;

/// A kind of fault that a plan tries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TriedFault {
    PowerCuts,
    Rot,
}

/// The losses of a candidate.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CandidateLosses {
    pub candidate: String,
    pub lost: LossShare,
}

impl CandidateLosses {
    /// Orders by the share that was lost, the smallest first.
    fn compare_share(&self, other: &Self) -> Ordering {
        self.lost.share().total_cmp(&other.lost.share())
    }
}

/// The candidate to take among those that are not excluded, by their losses under a fault.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LossChoice {
    pub fault: TriedFault,
    pub taken: CandidateLosses,
    /// The others that were examined and are not excluded, the smallest loss first.
    pub others: Vec<CandidateLosses>,
    /// Candidates that are not excluded, and were not examined.
    pub unexamined: Vec<String>,
    /// Whether it is taken for its losses, and another one or none would be by the goal alone.
    pub decides: bool,
}

/// The losses of a candidate under a fault, of the points that were examined.
type ShareOfPoint = fn(&SafetyPoint) -> Option<LossShare>;

impl LossChoice {
    /// The choice by the fault that tells candidates apart, or that was tried; `None` where no fault was, or nothing is to be
    /// taken. `points` are the candidates that were examined, the fastest first.
    pub(crate) fn from_verdict(
        plan: &Plan,
        run: &Run,
        verdict: &Verdict,
        points: &[SafetyPoint],
        ratio: impl Fn(&str, &str) -> Option<Estimate>,
    ) -> Option<Self> {
        // Whether the goal shows a candidate to be worse than another one by more than a tie.
        let is_worse = |one: &str, other: &str| {
            let shown = ratio(one, other).and_then(|ratio| ratio.low);
            shown.is_some_and(|low| low > 1.0 + plan.protocol.tie)
        };
        let faults = plan.faults?;
        let shares: [(TriedFault, u32, ShareOfPoint); 2] = [
            (TriedFault::Rot, faults.rot, |point| point.rot),
            (TriedFault::PowerCuts, faults.power_cuts, |point| point.cuts),
        ];
        let tried = shares.into_iter().filter(|(_, tried, _)| *tried > 0);
        let choices = tried
            .filter_map(|(fault, _, share)| Self::by_fault(run, verdict, points, fault, share, is_worse));
        let choices: Vec<Self> = choices.collect();
        let deciding = choices.iter().find(|choice| choice.decides);
        deciding.or(choices.first()).cloned()
    }

    fn by_fault(
        run: &Run,
        verdict: &Verdict,
        points: &[SafetyPoint],
        fault: TriedFault,
        share: ShareOfPoint,
        is_worse: impl Fn(&str, &str) -> bool,
    ) -> Option<Self> {
        let left: Vec<&str> = run
            .candidates
            .iter()
            .filter(|state| state.status == CandidateStatus::Ok)
            .map(|state| state.name.as_str())
            .filter(|name| !verdict.ruled_out.iter().any(|out| out == name))
            .collect();
        let losses = |point: &SafetyPoint| {
            let candidate = point.candidate.clone();
            left.contains(&candidate.as_str())
                .then(|| share(point))?
                .map(|lost| CandidateLosses { candidate, lost })
        };
        let mut examined: Vec<CandidateLosses> = points.iter().filter_map(losses).collect();
        let least = examined.iter().min_by(|one, other| one.compare_share(other))?;
        let least = least.lost;
        let is_among_least = |losses: &CandidateLosses| losses.lost.low <= least.high;
        let tells_apart = !examined.iter().all(is_among_least);
        let is_recommended =
            |losses: &&CandidateLosses| verdict.recommended.as_deref() == Some(losses.candidate.as_str());
        let recommended = examined.iter().find(|losses| is_recommended(losses) && is_among_least(losses));
        let by_losses = || examined.iter().find(|losses| tells_apart && is_among_least(losses));
        // Among those that are not shown to lose more: the smaller loss, unless the goal speaks against it.
        let taken = recommended.or_else(by_losses)?;
        let smaller = examined.iter().filter(|losses| {
            losses.lost.share() < taken.lost.share() && !is_worse(&losses.candidate, &taken.candidate)
        });
        let smallest = smaller.min_by(|one, other| one.compare_share(other));
        let taken = smallest.unwrap_or(taken).clone();
        examined.retain(|losses| *losses != taken);
        examined.sort_by(CandidateLosses::compare_share);
        let is_examined = |name: &&&str| {
            taken.candidate == **name || examined.iter().any(|losses| losses.candidate == **name)
        };
        let unexamined = left.iter().filter(|name| !is_examined(name)).map(|name| (*name).to_owned());
        Some(LossChoice {
            fault,
            decides: verdict.recommended.as_ref() != Some(&taken.candidate),
            unexamined: unexamined.collect(),
            taken,
            others: examined,
        })
    }
}

impl Verdict {
    /// Recommends the candidate that the losses decide for, if the run allows a verdict.
    pub(crate) fn choose_by_losses(&mut self, choice: Option<LossChoice>) {
        let Some(choice) = choice.filter(|_| self.refused.is_none()) else { return };
        if choice.decides {
            self.outcome = super::Outcome::Recommended;
            self.recommended = Some(choice.taken.candidate.clone());
            self.trades.clear();
            (self.preference, self.sacrifice) = (None, None);
            self.unevaluated.clear();
        }
        self.by_losses = Some(choice);
    }
}

#[cfg(test)]
mod tests {
    use super::TriedFault;
    use crate::journal::{Event, made};
    use crate::verdict::{Judgement, Outcome};
    use serde_json::json;

    /// The judgement of four blocks in which candidates take so many seconds, and of so many of a hundred rotten blocks lose
    /// the data.
    fn taken(candidates: &[(&str, f64, Option<u32>)], rot: u32) -> Option<(String, bool, Vec<String>)> {
        let plan = made::plan(&json!({
            "candidates": candidates.iter().map(|(name, ..)| {
                json!({ "name": name, "filesystem": "btrfs", "encryption": "none", "mkfs": [*name] })
            }).collect::<Vec<_>>(),
            "faults": { "power_cuts": 0, "rot": rot },
            "goal": { "metric": "durable", "by": "total", "weights": { "save": 1.0 } },
        }));
        let names: Vec<&str> = candidates.iter().map(|(name, ..)| *name).collect();
        let mut events = vec![(None, made::started())];
        for block in 1..=6_u32 {
            events.push((None, made::block_started(block, 1, &names)));
            for (at, (name, seconds, _)) in candidates.iter().enumerate() {
                let id = Some(made::id(block, name));
                let strays = 1.0 + 0.002 * f64::from((block * (at as u32 + 3)) % 5);
                events.push((id.clone(), Event::TrialStarted {}));
                events.push((id.clone(), made::durable("save", seconds * strays)));
                events.push((id, made::ended(None, 1.0)));
            }
            events.push((None, Event::BlockFinished { block, attempt: 1, invalid: None }));
        }
        for (name, _, lost) in candidates {
            let Some(lost) = lost else { continue };
            let tally = json!({ "blocks": 100, "looked": 100, "outcomes": { "loss_reported": lost, "unharmed": 100 - lost } });
            let rotten = json!({ "candidate": name, "looked": 100, "held": { "data": tally }, "decays": {}, "trace": "" });
            events.push((None, Event::Rotten(serde_json::from_value(rotten).unwrap())));
        }
        let run = made::run(&plan, events);
        let judged = Judgement::from_run(&plan, &run);
        let choice = judged.verdict.by_losses?;
        assert_eq!(choice.fault, TriedFault::Rot);
        assert_eq!(judged.verdict.recommended.as_deref(), Some(choice.taken.candidate.as_str()));
        assert_ne!(judged.verdict.outcome, Outcome::Undecided);
        Some((choice.taken.candidate, choice.decides, choice.unexamined))
    }

    #[test]
    fn what_is_shown_to_lose_less_is_taken_however_fast_the_others_are() {
        let dup = |seconds| ("dup", seconds, Some(9));
        let both = |dup| [("single", 3.0, Some(76)), ("plain", 3.1, Some(24)), dup];
        assert_eq!(taken(&both(dup(3.1)), 100).unwrap(), ("dup".to_owned(), true, vec![]));
        assert_eq!(taken(&both(dup(9.0)), 100).unwrap(), ("dup".to_owned(), true, vec![]));
        // As in bit-rot: not shown to lose less, but nothing speaks against the smaller loss.
        let close = [("single", 3.0, Some(76)), ("plain", 3.0, Some(14)), dup(3.0)];
        assert_eq!(taken(&close, 100).unwrap().0, "dup");
        // Losses that are not shown to differ leave the choice to the goal.
        let alike = [("one", 3.0, Some(10)), ("other", 6.0, Some(9))];
        assert_eq!(taken(&alike, 100).unwrap(), ("one".to_owned(), false, vec![]));
        let (name, decides, unexamined) =
            taken(&[("one", 3.0, Some(60)), ("other", 6.0, Some(5)), ("third", 3.0, None)], 100).unwrap();
        assert_eq!((name.as_str(), decides, unexamined), ("other", true, vec!["third".to_owned()]));
        assert!(taken(&alike, 0).is_none());
    }
}

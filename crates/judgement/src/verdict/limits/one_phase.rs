//! Warns where the goal's difference comes from a phase that takes hardly any of the time: true for the mean of ratios,
//! but too short to be noticed while waiting.

use libm::{exp, log};

use super::Limit;
use crate::journal::{Trial, Unit, metric};
use crate::statistics;
use crate::verdict::{Rank, VerdictEvidence};

/// The share of a difference's logarithm from which one phase makes most of it.
const MOST: f64 = 2.0 / 3.0;
/// The share of the time of all phases up to which a phase takes hardly any time.
const HARDLY: f64 = 0.05;

/// One phase of the two candidates compared.
struct ComparedPhase<'a> {
    name: &'a str,
    /// Its contribution to the logarithm of the goal's ratio, weight included.
    adds: f64,
    /// Mean times of both candidates, in seconds.
    first: f64,
    other: f64,
}

/// For the nearest candidate that is behind the first by more than δ: the phase that causes most of the difference, if
/// one does, and the ratio of the total times.
pub(crate) fn mostly_one_phase(evidence: &VerdictEvidence<'_>, ranking: &[Rank]) -> Option<Limit> {
    let VerdictEvidence { plan, run, objective, trials, .. } = *evidence;
    // A total already adds up the times of its phases.
    if objective.is_total()
        || metric(&objective.metric).is_none_or(|known| known.unit != Unit::Seconds)
        || objective.weights.len() < 2
    {
        return None;
    }
    let (first, rest) = ranking.split_first()?;
    let matters = 1.0 + plan.protocol.tie;
    let next = rest.iter().find(|rank| rank.behind.is_some_and(|behind| behind.point > matters))?;
    let mean = |candidate: &str, phase: &str| {
        let values = run.counted_values(candidate, phase, &objective.metric);
        statistics::mean(&values.into_iter().map(|(_, value)| value).collect::<Vec<_>>())
    };
    let phases: Option<Vec<ComparedPhase<'_>>> = objective
        .weights
        .iter()
        .map(|(phase, weight)| {
            let cost = |trial: &Trial| objective.phase_cost(phase, trial);
            Some(ComparedPhase {
                name: phase,
                adds: weight * trials.compare(&next.candidate, &first.candidate, cost)?.difference,
                first: mean(&first.candidate, phase)?,
                other: mean(&next.candidate, phase)?,
            })
        })
        .collect();
    let (phase, share, added_up) = made_by_one(&phases?, log(next.behind?.point))?;
    Some(Limit::MostlyOnePhase {
        candidate: next.candidate.clone(),
        phase: phase.to_owned(),
        share,
        added_up,
    })
}

/// The phase, its share of the time, and the ratio of the total times; `None` where no single phase causes the
/// difference, or where the totals differ about as much as the mean of the ratios (`goal` is its logarithm).
fn made_by_one<'a>(phases: &[ComparedPhase<'a>], goal: f64) -> Option<(&'a str, f64, f64)> {
    let all: f64 = phases.iter().map(|phase| phase.adds).sum();
    let most = phases.iter().max_by(|one, other| one.adds.total_cmp(&other.adds))?;
    let (first, other): (f64, f64) =
        (phases.iter().map(|phase| phase.first).sum(), phases.iter().map(|phase| phase.other).sum());
    let share = (most.first + most.other) / (first + other);
    let added_up = other / first;
    let is_made = all > 0.0 && most.adds > MOST * all && share < HARDLY;
    (is_made && log(added_up) < goal / 2.0 && exp(goal) > 1.0).then_some((most.name, share, added_up))
}

#[cfg(test)]
mod tests {
    use super::{ComparedPhase, made_by_one};

    fn phases<'a>(of: &[(&'a str, f64, f64)]) -> Vec<ComparedPhase<'a>> {
        let phase = |(name, first, other): &(&'a str, f64, f64)| ComparedPhase {
            name,
            adds: libm::log(other / first),
            first: *first,
            other: *other,
        };
        of.iter().map(phase).collect()
    }

    #[test]
    fn a_phase_of_milliseconds_makes_no_minutes() {
        // As seen: copied and read alike, and removed in 11 ms or in 417.
        let stick = phases(&[("copy", 42.0, 43.7), ("read", 10.28, 10.02), ("remove", 0.0114, 0.417)]);
        let goal = stick.iter().map(|phase| phase.adds).sum::<f64>() / 3.0;
        let (phase, share, added_up) = made_by_one(&stick, goal).unwrap();
        assert!(phase == "remove" && share < 0.01 && (added_up - 1.035).abs() < 0.001, "{added_up}");
        // Half of the time: that is a difference to wait for.
        assert!(made_by_one(&phases(&[("copy", 10.0, 10.0), ("read", 10.0, 20.0)]), 0.35).is_none());
        // Several phases make it.
        assert!(made_by_one(&phases(&[("copy", 10.0, 15.0), ("remove", 0.01, 0.02)]), 0.5).is_none());
        assert!(made_by_one(&[], 0.5).is_none());
    }
}

//! How far a difference strays over the devices of a class.
//!
//! The interval of a ratio is that of the mean over devices like these. Whoever has one of them meets that one: where they differ much, what was
//! seen on each is said, too.

use serde::Serialize;

use super::{Rank, VerdictEvidence};

/// Fewer devices than this say nothing of a class.
const FEWEST_DEVICES: usize = 3;
/// Where the most is no more than so many times the least, the interval tells enough.
const MUCH: f64 = 1.5;

/// A candidate beside the first of the ranking, on each device that was drawn.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DeviceSpread {
    pub candidate: String,
    pub against: String,
    /// How many devices both were tried on.
    pub devices: usize,
    /// How many times as much as the other, on the device where it is least and where it is most.
    pub least: f64,
    pub most: f64,
    /// On how many of them it is better by more than does not matter (δ).
    pub better: usize,
}

/// Everybody whose difference from the first of the ranking strays much over the devices, the widest first.
pub(super) fn device_spreads(evidence: &VerdictEvidence<'_>, ranking: &[Rank]) -> Vec<DeviceSpread> {
    let Some((leader, rivals)) = ranking.split_first() else { return Vec::new() };
    let mut spreads: Vec<DeviceSpread> =
        rivals.iter().filter_map(|rival| spread(evidence, &rival.candidate, &leader.candidate)).collect();
    spreads.sort_by(|one, other| (other.most / other.least).total_cmp(&(one.most / one.least)));
    spreads
}

fn spread(evidence: &VerdictEvidence<'_>, candidate: &str, against: &str) -> Option<DeviceSpread> {
    let logs: Vec<f64> = evidence
        .trials
        .beside(candidate, against)
        .filter(|(ours, theirs)| !ours.learnt.drawn.is_empty() && ours.learnt.drawn == theirs.learnt.drawn)
        .filter_map(|(ours, theirs)| Some(evidence.score(ours)? - evidence.score(theirs)?))
        .filter(|log| log.is_finite())
        .collect();
    let of = |pick: fn(f64, f64) -> f64| logs.iter().copied().reduce(pick).map(libm::exp);
    let (least, most) = (of(f64::min)?, of(f64::max)?);
    let tie = libm::log1p(evidence.tie());
    (logs.len() >= FEWEST_DEVICES && most / least > MUCH).then(|| DeviceSpread {
        candidate: candidate.to_owned(),
        against: against.to_owned(),
        devices: logs.len(),
        least,
        most,
        better: logs.iter().filter(|log| **log < -tie).count(),
    })
}

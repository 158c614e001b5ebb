//! The spread of a difference between two candidates over the devices of a class.
//!
//! The interval of a ratio is that of the mean over similar devices. A user has a single device, so where the devices
//! differ much, the smallest and the largest ratio are reported, too.

use serde::Serialize;

use super::{Rank, VerdictEvidence};

/// The fewest devices that say something about a class.
const FEWEST_DEVICES: usize = 3;
/// Where the largest ratio is at most this multiple of the smallest, the interval is informative enough.
const MUCH: f64 = 1.5;

/// A candidate compared with the first of the ranking on each device that was drawn.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DeviceSpread {
    pub candidate: String,
    pub against: String,
    /// The number of devices on which both were tried.
    pub devices: usize,
    /// The smallest ratio to the other candidate on any device; `most` is the largest.
    pub least: f64,
    pub most: f64,
    /// The number of devices on which it is better by more than δ.
    pub better: usize,
}

/// Candidates with a ratio to the first of the ranking that varies much between devices, the widest spread first.
pub(super) fn device_spreads(evidence: &VerdictEvidence<'_>, ranking: &[Rank]) -> Vec<DeviceSpread> {
    let Some((leader, rivals)) = ranking.split_first() else { return Vec::new() };
    let mut spreads: Vec<DeviceSpread> = rivals
        .iter()
        .filter_map(|rival| device_spread(evidence, &rival.candidate, &leader.candidate))
        .collect();
    spreads.sort_by(|one, other| (other.most / other.least).total_cmp(&(one.most / one.least)));
    spreads
}

fn device_spread(evidence: &VerdictEvidence<'_>, candidate: &str, against: &str) -> Option<DeviceSpread> {
    let logs: Vec<f64> =
        evidence.behind_on_devices(candidate, against).into_iter().map(|(_, behind)| behind).collect();
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

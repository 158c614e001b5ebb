//! Judges the two kinds of device of a class apart, where a two-valued number of the model decides which candidate is
//! faster, such as whether a disk reads on through a gap.
//!
//! A mean over both kinds holds for neither. A stratum has the blocks with one of the two values; the candidates are
//! compared within these blocks alone.

use serde::Serialize;

use crate::statistics::{Estimate, Evidence, FEWEST, adjust_by_holm};
use crate::verdict::{Dependence, Rank, VerdictEvidence};
use fsverdict_text::DrawnNumber;

/// The level at which all rivals of a stratum together are judged.
const LEVEL: f64 = 0.05;

/// The devices of a class with one value of a number that has two.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DeviceStratum {
    /// The key of the model, such as `platter.through`.
    pub number: String,
    /// Other numbers that varied in the same way in these blocks, so that each of them may be the cause.
    pub or: Vec<String>,
    pub value: DrawnNumber,
    /// The number of devices with this value.
    pub devices: usize,
    /// The candidate that leads on these devices.
    pub leader: String,
    /// Whether no other candidate is better on these devices by more than δ, which is shown at 5 % over all rivals.
    pub recommended: bool,
    /// How many times as much as the leader each other candidate takes, the nearest first.
    pub rivals: Vec<StratumRival>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StratumRival {
    pub candidate: String,
    pub ratio: Estimate,
}

/// The strata of the two-valued number that moves the lead to another candidate; empty where none does.
pub(crate) fn device_strata(
    evidence: &VerdictEvidence<'_>,
    ranking: &[Rank],
    depends: &[Dependence],
) -> Vec<DeviceStratum> {
    let turning = depends.iter().filter(|dependence| dependence.changes_leader(evidence.tie()));
    let strata = turning.filter_map(|dependence| {
        let [low, high] = dependence.two_values()?;
        let [low, high] = [low, high].map(|value| estimate_stratum(evidence, ranking, dependence, value));
        let (low, high) = (low?, high?);
        (low.leader != high.leader).then(|| vec![low, high])
    });
    strata.into_iter().next().unwrap_or_default()
}

fn estimate_stratum(
    evidence: &VerdictEvidence<'_>,
    ranking: &[Rank],
    dependence: &Dependence,
    value: DrawnNumber,
) -> Option<DeviceStratum> {
    let names: Vec<&str> = ranking.iter().map(|rank| rank.candidate.as_str()).collect();
    let first = *names.first()?;
    // Candidates that rested lack blocks, so that each is compared with one that was in most of them.
    let behind = |name: &str, other: &str| -> Vec<f64> {
        let on_devices = evidence.behind_on_devices(name, other).into_iter();
        on_devices
            .filter(|(drawn, _)| drawn.get(&dependence.number) == Some(&value))
            .map(|(_, behind)| behind)
            .collect()
    };
    let to_first = |name: &str| {
        if name == first { Some(0.0) } else { Some(Evidence::from_sample(&behind(name, first))?.difference) }
    };
    let compared: Vec<(&str, f64)> = names.iter().filter_map(|name| Some((*name, to_first(name)?))).collect();
    let (leader, _) = *compared.iter().min_by(|one, other| one.1.total_cmp(&other.1))?;
    let mut rivals = Vec::new();
    let (mut recommended, mut devices, mut p_values) = (true, 0, Vec::new());
    for (name, _) in compared.iter().filter(|(name, _)| *name != leader) {
        let differences = behind(name, leader);
        let Some(found) = Evidence::from_sample(&differences) else { continue };
        devices = devices.max(differences.len());
        recommended &= found.count >= FEWEST as usize;
        p_values.push(found.p_above(-libm::log1p(evidence.tie())));
        rivals.push(StratumRival { candidate: (*name).to_owned(), ratio: found.ratio() });
    }
    recommended &= adjust_by_holm(&p_values).into_iter().all(|p| p <= LEVEL);
    rivals.sort_by(|one, other| one.ratio.point.total_cmp(&other.ratio.point));
    Some(DeviceStratum {
        number: dependence.number.clone(),
        or: dependence.or.clone(),
        value,
        devices,
        leader: leader.to_owned(),
        recommended: recommended && !rivals.is_empty(),
        rivals,
    })
}

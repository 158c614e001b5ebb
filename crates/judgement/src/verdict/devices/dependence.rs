//! Finds device properties that change which candidate is faster, such as the read-ahead of a disk, within a class of
//! modelled devices.
//!
//! A model's number may be a range or a choice; then each block runs on a different device of the class, the same one
//! for all its candidates. For every rival, its difference from the first of the ranking is tested for association with
//! those numbers ([`goes_with`]). A reported dependence must also change the difference by more than δ, and rests on at
//! least [`FEWEST`] blocks on each side: a single device may have been slow for another reason.

use serde::Serialize;

use crate::plan::once_each;
use crate::statistics::{Estimate, Evidence, FEWEST, GoesWith, goes_with, median};
use crate::verdict::{Rank, VerdictEvidence};
use fsverdict_text::{DrawnNumber, DrawnNumbers};

/// A difference between two candidates that depends on the device.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Dependence {
    pub candidate: String,
    pub against: String,
    /// The key of the model, such as `platter.read_ahead`.
    pub number: String,
    /// Other numbers that varied in the same way in these blocks, so that each of them may be the cause.
    pub or: Vec<String>,
    /// Two-sided p-value, corrected for all numbers and rivals that were tested.
    pub p: f64,
    /// The ratio of the candidate to the other where the number is small (or false), and where it is large.
    pub sides: [DeviceSide; 2],
    /// The number and the difference in each block, for a picture.
    #[serde(skip)]
    pub blocks: Vec<(DrawnNumber, f64)>,
}

/// The blocks with small numbers, or those with large ones.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct DeviceSide {
    /// The smallest and the largest number in these blocks.
    pub from: DrawnNumber,
    pub to: DrawnNumber,
    pub ratio: Estimate,
}

impl Dependence {
    /// Whether a different candidate leads on each side, by the point estimates and by more than the tie.
    pub fn changes_leader(&self, tie: f64) -> bool {
        let [one, other] = self.sides.map(|side| side.ratio.point);
        one.min(other) < 1.0 / (1.0 + tie) && one.max(other) > 1.0 + tie
    }

    /// The two values of a number that has no third in these blocks; `None` for any other number.
    pub(crate) fn two_values(&self) -> Option<[DrawnNumber; 2]> {
        let mut values = once_each(self.blocks.iter().map(|(value, _)| *value));
        values.sort_by(|one, other| one.to_scale().total_cmp(&other.to_scale()));
        <[DrawnNumber; 2]>::try_from(values).ok()
    }
}

/// The dependences of the differences from the first of the ranking. Those come first in which a different candidate
/// leads on each side, then those with the largest change.
pub(crate) fn find_dependences(evidence: &VerdictEvidence<'_>, ranking: &[Rank]) -> Vec<Dependence> {
    let Some((leader, rivals)) = ranking.split_first() else { return Vec::new() };
    let mut found: Vec<Dependence> = rivals
        .iter()
        .flat_map(|rival| of_pair(evidence, &rival.candidate, &leader.candidate, rivals.len()))
        .filter(|dependence| side_difference(dependence) > libm::log1p(evidence.tie()))
        .collect();
    let key =
        |dependence: &Dependence| (dependence.changes_leader(evidence.tie()), side_difference(dependence));
    found.sort_by(|one, other| {
        let (one, other) = (key(one), key(other));
        other.0.cmp(&one.0).then(other.1.total_cmp(&one.1))
    });
    found
}

/// The absolute difference between the two sides, as a logarithm.
fn side_difference(one: &Dependence) -> f64 {
    let [small, large] = one.sides.map(|side| libm::log(side.ratio.point));
    libm::fabs(large - small)
}

fn of_pair(evidence: &VerdictEvidence<'_>, candidate: &str, against: &str, rivals: usize) -> Vec<Dependence> {
    let blocks: Vec<(&DrawnNumbers, f64)> = evidence.behind_on_devices(candidate, against);
    let names = once_each(blocks.iter().flat_map(|(drawn, _)| drawn.keys()));
    let column = |name: &&String| -> Option<Vec<DrawnNumber>> {
        blocks.iter().map(|(drawn, _)| drawn.get(*name).copied()).collect()
    };
    let (names, columns): (Vec<&String>, Vec<Vec<DrawnNumber>>) =
        names.into_iter().filter_map(|name| Some((name, column(&name)?))).unzip();
    let scaled: Vec<Vec<f64>> =
        columns.iter().map(|column| column.iter().map(|number| number.to_scale()).collect()).collect();
    let behind: Vec<f64> = blocks.iter().map(|(_, behind)| *behind).collect();
    let dependence = |one: GoesWith| {
        let blocks: Vec<(DrawnNumber, f64)> =
            columns[one.column].iter().copied().zip(behind.iter().copied()).collect();
        Some(Dependence {
            candidate: candidate.to_owned(),
            against: against.to_owned(),
            number: names[one.column].clone(),
            or: one.together.iter().map(|other| names[*other].clone()).collect(),
            p: one.p,
            sides: split_at_median(&blocks)?,
            blocks,
        })
    };
    goes_with(&behind, &scaled, rivals).into_iter().filter_map(dependence).collect()
}

/// Splits the blocks at the median of the number: those with smaller values, and those with larger ones.
fn split_at_median(blocks: &[(DrawnNumber, f64)]) -> Option<[DeviceSide; 2]> {
    let numbers: Vec<f64> = blocks.iter().map(|(number, _)| number.to_scale()).collect();
    let (least, most) = (smallest(&numbers)?, -smallest(&numbers.iter().map(|x| -x).collect::<Vec<_>>())?);
    // The median of flags may be one of the two values; then the midpoint of smallest and largest splits the blocks.
    let middle = median(&numbers).filter(|middle| *middle > least && *middle < most);
    let middle = middle.unwrap_or(f64::midpoint(least, most));
    let side = |large: bool| {
        let mut here: Vec<&(DrawnNumber, f64)> =
            blocks.iter().filter(|(number, _)| (number.to_scale() > middle) == large).collect();
        here.sort_by(|one, other| one.0.to_scale().total_cmp(&other.0.to_scale()));
        if here.len() < FEWEST as usize {
            return None;
        }
        let ratio =
            Evidence::from_sample(&here.iter().map(|(_, behind)| *behind).collect::<Vec<_>>())?.ratio();
        Some(DeviceSide { from: here.first()?.0, to: here.last()?.0, ratio })
    };
    Some([side(false)?, side(true)?])
}

fn smallest(values: &[f64]) -> Option<f64> {
    values.iter().copied().min_by(f64::total_cmp)
}

#[cfg(test)]
mod tests {
    use super::split_at_median;
    use fsverdict_text::DrawnNumber;

    #[test]
    fn a_side_of_fewer_than_three_blocks_tells_nothing() {
        let blocks = |large: usize| -> Vec<(DrawnNumber, f64)> {
            (0..8).map(|at| (DrawnNumber::Flag(at < large), if at < large { 0.5 } else { 0.01 })).collect()
        };
        assert!(split_at_median(&blocks(1)).is_none() && split_at_median(&blocks(2)).is_none());
        let [small, large] = split_at_median(&blocks(3)).unwrap();
        assert_eq!((small.ratio.n, large.ratio.n), (5, 3));
    }
}

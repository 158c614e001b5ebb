//! What of a class of devices decides: where the difference between two candidates turns with a number that was drawn for each
//! block.
//!
//! A model's number may be a range or a choice; then each block is tried on another device of the class, the same one for all its
//! candidates. Every rival's difference from the first of the ranking is asked which of those numbers it goes with
//! ([`goes_with`]), and what is named must be larger than what does not matter (δ).

use serde::Serialize;

use super::{Rank, VerdictEvidence};
use crate::plan::once_each;
use crate::statistics::{Estimate, Evidence, GoesWith, goes_with, median};
use fsverdict_text::{DrawnNumber, DrawnNumbers};

/// A difference that depends on the device.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Dependence {
    pub candidate: String,
    pub against: String,
    /// The key of the model, such as `platter.read_ahead`.
    pub number: String,
    /// Other numbers that went the same way in these blocks: it may be any of them.
    pub or: Vec<String>,
    /// Two-sided, for all numbers and rivals that were asked.
    pub p: f64,
    /// How many times as long as the other the candidate takes, where the number is small (or false), and where it is large.
    pub sides: [DeviceSide; 2],
    /// The difference in each block beside the number there, for a picture.
    #[serde(skip)]
    pub blocks: Vec<(DrawnNumber, f64)>,
}

/// The blocks on one side.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct DeviceSide {
    /// The least and the largest that was drawn there.
    pub from: DrawnNumber,
    pub to: DrawnNumber,
    pub ratio: Estimate,
}

impl Dependence {
    /// Whether another is to be taken on the one side than on the other: by the estimates, and by more than does not matter.
    pub fn turns(&self, tie: f64) -> bool {
        let [one, other] = self.sides.map(|side| side.ratio.point);
        one.min(other) < 1.0 / (1.0 + tie) && one.max(other) > 1.0 + tie
    }
}

/// What the differences from the first of the ranking depend on: those first in which another leads on one of the sides, then
/// the widest apart.
pub(super) fn dependences(evidence: &VerdictEvidence<'_>, ranking: &[Rank]) -> Vec<Dependence> {
    let Some((leader, rivals)) = ranking.split_first() else { return Vec::new() };
    let mut found: Vec<Dependence> = rivals
        .iter()
        .flat_map(|rival| of_pair(evidence, &rival.candidate, &leader.candidate, rivals.len()))
        .filter(|one| apart(one) > libm::log1p(evidence.tie()))
        .collect();
    let key = |one: &Dependence| (one.turns(evidence.tie()), apart(one));
    found.sort_by(|one, other| {
        let (one, other) = (key(one), key(other));
        other.0.cmp(&one.0).then(other.1.total_cmp(&one.1))
    });
    found
}

/// How far the sides are apart, as a log.
fn apart(one: &Dependence) -> f64 {
    let [small, large] = one.sides.map(|side| libm::log(side.ratio.point));
    libm::fabs(large - small)
}

fn of_pair(evidence: &VerdictEvidence<'_>, candidate: &str, against: &str, rivals: usize) -> Vec<Dependence> {
    let behind = |drawn: &DrawnNumbers, ours, theirs| {
        let difference = evidence.score(ours)? - evidence.score(theirs)?;
        (difference.is_finite() && !drawn.is_empty()).then_some(difference)
    };
    let blocks: Vec<(&DrawnNumbers, f64)> = evidence
        .trials
        .beside(candidate, against)
        // Candidates of different models have no device in common.
        .filter(|(ours, theirs)| ours.learnt.drawn == theirs.learnt.drawn)
        .filter_map(|(ours, theirs)| Some((&ours.learnt.drawn, behind(&ours.learnt.drawn, ours, theirs)?)))
        .collect();
    let names = once_each(blocks.iter().flat_map(|(drawn, _)| drawn.keys()));
    let column = |name: &&String| -> Option<Vec<DrawnNumber>> {
        blocks.iter().map(|(drawn, _)| drawn.get(*name).copied()).collect()
    };
    let (names, columns): (Vec<&String>, Vec<Vec<DrawnNumber>>) =
        names.into_iter().filter_map(|name| Some((name, column(&name)?))).unzip();
    let scaled: Vec<Vec<f64>> =
        columns.iter().map(|column| column.iter().map(|number| number.scaled()).collect()).collect();
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
            sides: sides(&blocks)?,
            blocks,
        })
    };
    goes_with(&behind, &scaled, rivals).into_iter().filter_map(dependence).collect()
}

/// The blocks below the middle of what was drawn, and those above.
fn sides(blocks: &[(DrawnNumber, f64)]) -> Option<[DeviceSide; 2]> {
    let numbers: Vec<f64> = blocks.iter().map(|(number, _)| number.scaled()).collect();
    let (least, most) = (smallest(&numbers)?, -smallest(&numbers.iter().map(|x| -x).collect::<Vec<_>>())?);
    // Of flags the median may be one of the two values.
    let middle = median(&numbers).filter(|middle| *middle > least && *middle < most);
    let middle = middle.unwrap_or(f64::midpoint(least, most));
    let side = |large: bool| {
        let mut here: Vec<&(DrawnNumber, f64)> =
            blocks.iter().filter(|(number, _)| (number.scaled() > middle) == large).collect();
        here.sort_by(|one, other| one.0.scaled().total_cmp(&other.0.scaled()));
        let ratio = Evidence::of(&here.iter().map(|(_, behind)| *behind).collect::<Vec<_>>())?.ratio();
        Some(DeviceSide { from: here.first()?.0, to: here.last()?.0, ratio })
    };
    Some([side(false)?, side(true)?])
}

fn smallest(values: &[f64]) -> Option<f64> {
    values.iter().copied().min_by(f64::total_cmp)
}

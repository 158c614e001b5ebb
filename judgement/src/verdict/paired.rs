//! Trials that belong together: of one block, where the machine was in the same mood for all candidates.

use std::collections::{BTreeMap, HashMap};

use crate::journal::Trial;
use crate::statistics::{Estimate, Evidence, median};

/// Trials by block and candidate, to be compared within blocks.
#[derive(Debug, Clone, Default)]
pub struct ByBlock<'a>(BTreeMap<u32, HashMap<&'a str, &'a Trial>>);

impl<'a> FromIterator<&'a Trial> for ByBlock<'a> {
    fn from_iter<I: IntoIterator<Item = &'a Trial>>(trials: I) -> Self {
        let mut blocks = Self::default();
        for trial in trials {
            blocks.0.entry(trial.id.block).or_default().insert(&trial.id.candidate, trial);
        }
        blocks
    }
}

impl ByBlock<'_> {
    /// A candidate's number less another's, in the blocks in which both have one.
    pub fn differences(
        &self,
        candidate: &str,
        other: &str,
        number: impl Fn(&Trial) -> Option<f64>,
    ) -> Vec<f64> {
        self.differences_of((candidate, &number), (other, &number))
    }

    /// A candidate's number less another number of another candidate, or of the same one.
    pub(super) fn differences_of(
        &self,
        (candidate, number): (&str, impl Fn(&Trial) -> Option<f64>),
        (other, other_number): (&str, impl Fn(&Trial) -> Option<f64>),
    ) -> Vec<f64> {
        let difference = |block: &HashMap<&str, &Trial>| {
            Some(number(block.get(candidate)?)? - other_number(block.get(other)?)?)
        };
        self.0.values().filter_map(difference).filter(|difference| difference.is_finite()).collect()
    }

    /// A candidate's number and another's, in the blocks in which both have one.
    pub fn pairs(
        &self,
        candidate: &str,
        other: &str,
        number: impl Fn(&Trial) -> Option<f64>,
    ) -> Vec<(f64, f64)> {
        let pair = |block: &HashMap<&str, &Trial>| {
            Some((number(block.get(candidate)?)?, number(block.get(other)?)?))
        };
        self.0.values().filter_map(pair).collect()
    }

    /// A number of these candidates, block by block.
    pub(super) fn rows(
        &self,
        candidates: &[&str],
        number: impl Fn(&Trial) -> Option<f64>,
    ) -> Vec<Vec<Option<f64>>> {
        let row = |block: &HashMap<&str, &Trial>| {
            candidates.iter().map(|name| number(block.get(name)?).filter(|found| found.is_finite())).collect()
        };
        self.0.values().map(row).collect()
    }

    pub fn of(&self, candidate: &str) -> impl Iterator<Item = &Trial> {
        self.0.values().filter_map(move |block| block.get(candidate).copied())
    }

    pub fn trial(&self, block: u32, candidate: &str) -> Option<&Trial> {
        self.0.get(&block)?.get(candidate).copied()
    }
}

/// By rows as of [`Blocks::rows`]: a candidate's number less another's, in the blocks in which both have one.
pub(super) fn differences(rows: &[Vec<Option<f64>>], candidate: usize, other: usize) -> Vec<f64> {
    let difference = |row: &Vec<Option<f64>>| Some(row[candidate]? - row[other]?);
    rows.iter().filter_map(difference).filter(|difference| difference.is_finite()).collect()
}

/// One number of several candidates side by side: that of the `reference` is its geometric mean, and everybody else's a
/// multiple of that, by the differences within blocks. Who was not in all blocks is thus not favoured by those it was in.
/// The intervals are those of the multiples; that of the reference is of its mean.
///
/// In the order asked for; medians without intervals where a number is 0 or less; `None` where nothing was measured.
pub(super) fn side_by_side(
    blocks: &ByBlock<'_>,
    reference: Option<&str>,
    candidates: &[&str],
    number: impl Fn(&Trial) -> Option<f64>,
) -> Vec<Option<Estimate>> {
    let rows = blocks.rows(candidates, number);
    let values: Vec<Vec<f64>> =
        (0..candidates.len()).map(|at| rows.iter().filter_map(|row| row[at]).collect()).collect();
    if values.iter().flatten().any(|value| *value <= 0.0) {
        let plain = |values: &Vec<f64>| Some(Estimate::without_interval(median(values)?, values.len()));
        return values.iter().map(plain).collect();
    }
    let logs: Vec<Vec<Option<f64>>> =
        rows.iter().map(|row| row.iter().map(|value| value.map(libm::log)).collect()).collect();
    let alone = |values: &Vec<f64>| {
        let logs: Vec<f64> = values.iter().copied().map(libm::log).collect();
        Some(Estimate { n: values.len(), ..Evidence::of(&logs)?.ratio_at_the_stop() })
    };
    let mut shown: Vec<Option<Estimate>> = values.iter().map(alone).collect();
    // Who leads may lack this very number.
    let leads = |at: &usize| reference == Some(candidates[*at]) && shown[*at].is_some();
    let anchor = (0..candidates.len()).find(leads).or_else(|| shown.iter().position(Option::is_some));
    let Some((anchor, Some(mean))) = anchor.map(|at| (at, shown[at])) else { return shown };
    let others = (0..candidates.len()).filter(|at| *at != anchor);
    let pairs = others.map(|at| (at, differences(&logs, at, anchor)));
    let (places, differences): (Vec<usize>, Vec<Vec<f64>>) =
        pairs.filter(|(_, differences)| !differences.is_empty()).unzip();
    for (at, evidence) in places.into_iter().zip(Evidence::among(&differences)) {
        let multiple = evidence.ratio_at_the_stop().map(|ratio| ratio * mean.point);
        shown[at] = Some(Estimate { n: values[at].len(), ..multiple });
    }
    // What was the same in every trial is so to the last digit.
    let exact = |(estimate, values): (Option<Estimate>, &Vec<f64>)| {
        let first = values.first().copied()?;
        let near = |value: f64| if (value / first - 1.0).abs() < 1e-12 { first } else { value };
        Some(estimate?.map(near))
    };
    shown.into_iter().zip(&values).map(exact).collect()
}

//! Groups trials by block, so that candidates are compared within blocks, under the same state of the machine.

use std::collections::{BTreeMap, HashMap};

use crate::journal::{BlockState, Run, Trial};
use crate::plan::once_each;
use crate::statistics::{Estimate, Evidence, median};

/// Trials by block and candidate, to be compared within blocks.
#[derive(Debug, Clone, Default)]
pub struct ByBlock<'a> {
    blocks: BTreeMap<u32, HashMap<&'a str, &'a Trial>>,
    /// The site of each block, as a number; empty where the trials did not come from a run.
    sites: HashMap<u32, usize>,
}

impl<'a> FromIterator<&'a Trial> for ByBlock<'a> {
    fn from_iter<I: IntoIterator<Item = &'a Trial>>(trials: I) -> Self {
        let mut blocks = Self::default();
        for trial in trials {
            blocks.blocks.entry(trial.id.block).or_default().insert(&trial.id.candidate, trial);
        }
        blocks
    }
}

/// The site of each block as a number; blocks that record no place share one number.
pub(crate) fn site_numbers<'a>(blocks: impl Iterator<Item = &'a BlockState> + Clone) -> Vec<usize> {
    let site = |block: &'a BlockState| block.place.as_ref().map(|place| place.site.as_str());
    let sites = once_each(blocks.clone().map(site));
    blocks.map(|block| sites.iter().position(|known| *known == site(block)).unwrap_or_default()).collect()
}

impl<'a> ByBlock<'a> {
    /// Groups trials of this run, with the site of each block.
    pub fn of_run(run: &Run, trials: impl IntoIterator<Item = &'a Trial>) -> Self {
        let numbers = site_numbers(run.blocks.iter());
        let sites = run.blocks.iter().map(|block| block.block).zip(numbers).collect();
        ByBlock { sites, ..trials.into_iter().collect() }
    }
}

impl ByBlock<'_> {
    /// The differences of a number between two candidates, in the blocks in which both have one.
    pub fn differences(
        &self,
        candidate: &str,
        other: &str,
        number: impl Fn(&Trial) -> Option<f64>,
    ) -> Vec<f64> {
        self.differences_of(candidate, &number, other, &number)
    }

    /// The differences `number` of `candidate` − `other_number` of `other`, one for each block that has both. The two
    /// candidates may be the same.
    pub(crate) fn differences_of(
        &self,
        candidate: &str,
        number: impl Fn(&Trial) -> Option<f64>,
        other: &str,
        other_number: impl Fn(&Trial) -> Option<f64>,
    ) -> Vec<f64> {
        let difference = |block: &HashMap<&str, &Trial>| {
            Some(number(block.get(candidate)?)? - other_number(block.get(other)?)?)
        };
        self.blocks.values().filter_map(difference).filter(|difference| difference.is_finite()).collect()
    }

    /// How far a candidate is behind another, by the logarithm of a trial's cost within blocks; `None` where no block has
    /// both.
    pub(crate) fn compare(
        &self,
        candidate: &str,
        other: &str,
        log_cost: impl Fn(&Trial) -> Option<f64>,
    ) -> Option<Evidence> {
        Evidence::from_sample(&self.differences(candidate, other, log_cost))
    }

    /// The same as the ratio of the two, for a run that ends by the stopping rule.
    pub(crate) fn ratio(
        &self,
        candidate: &str,
        other: &str,
        log_cost: impl Fn(&Trial) -> Option<f64>,
    ) -> Option<Estimate> {
        Some(self.compare(candidate, other, log_cost)?.ratio_after_stopping_rule())
    }

    /// The values of a number for two candidates, in the blocks in which both have one.
    pub fn paired_values(
        &self,
        candidate: &str,
        other: &str,
        number: impl Fn(&Trial) -> Option<f64>,
    ) -> Vec<(f64, f64)> {
        self.trials_in_common(candidate, other)
            .filter_map(|(ours, theirs)| Some((number(ours)?, number(theirs)?)))
            .collect()
    }

    /// The trials of two candidates, in the blocks that have both.
    pub(crate) fn trials_in_common(
        &self,
        candidate: &str,
        other: &str,
    ) -> impl Iterator<Item = (&Trial, &Trial)> {
        self.blocks.values().filter_map(move |block| Some((*block.get(candidate)?, *block.get(other)?)))
    }

    /// Something of the trials of these candidates: one row per block, one column per candidate.
    pub(crate) fn rows_by_block<T>(
        &self,
        candidates: &[&str],
        value: impl Fn(&Trial) -> Option<T>,
    ) -> Vec<Vec<Option<T>>> {
        let row =
            |block: &HashMap<&str, &Trial>| candidates.iter().map(|name| value(block.get(name)?)).collect();
        self.blocks.values().map(row).collect()
    }

    /// The site of each block, in the order of [`rows_by_block`](Self::rows_by_block).
    pub(crate) fn sites(&self) -> Vec<usize> {
        self.blocks.keys().map(|block| self.sites.get(block).copied().unwrap_or_default()).collect()
    }

    pub fn trials_of(&self, candidate: &str) -> impl Iterator<Item = &Trial> {
        self.blocks.values().filter_map(move |block| block.get(candidate).copied())
    }

    pub fn find_trial(&self, block: u32, candidate: &str) -> Option<&Trial> {
        self.blocks.get(&block)?.get(candidate).copied()
    }
}

/// The differences of two candidates' columns in [`ByBlock::rows_by_block`], in the blocks in which both have a number.
pub(crate) fn differences(rows: &[Vec<Option<f64>>], candidate: usize, other: usize) -> Vec<f64> {
    let difference = |row: &Vec<Option<f64>>| Some(row[candidate]? - row[other]?);
    rows.iter().filter_map(difference).filter(|difference| difference.is_finite()).collect()
}

/// One number of several candidates side by side. The number of the `reference` is its geometric mean; every other
/// candidate's is that mean times its ratio within blocks, so that a candidate that is missing from some blocks is not
/// favoured by the blocks it has. The intervals are those of the ratios; the reference has the interval of its mean.
///
/// The result has the order of `candidates`. Where a number is 0 or less it has medians without intervals; `None` where
/// nothing was measured.
pub(crate) fn side_by_side(
    blocks: &ByBlock<'_>,
    reference: Option<&str>,
    candidates: &[&str],
    number: impl Fn(&Trial) -> Option<f64>,
) -> Vec<Option<Estimate>> {
    let rows = blocks.rows_by_block(candidates, |trial| number(trial).filter(|found| found.is_finite()));
    let estimates = side_by_side_of(&rows, &blocks.sites(), reference, candidates).into_iter();
    estimates.map(|one| one.map(|(estimate, _)| estimate)).collect()
}

/// Like [`side_by_side`], from [`rows_by_block`](ByBlock::rows_by_block) and the sites of the blocks; each with the number of trials set
/// aside.
pub(crate) fn side_by_side_of(
    rows: &[Vec<Option<f64>>],
    sites: &[usize],
    reference: Option<&str>,
    candidates: &[&str],
) -> Vec<Option<(Estimate, usize)>> {
    let values: Vec<Vec<f64>> =
        (0..candidates.len()).map(|at| rows.iter().filter_map(|row| row[at]).collect()).collect();
    if values.iter().flatten().any(|value| *value <= 0.0) {
        let plain = |values: &Vec<f64>| Some((Estimate::without_interval(median(values)?, values.len()), 0));
        return values.iter().map(plain).collect();
    }
    let logs: Vec<Vec<Option<f64>>> =
        rows.iter().map(|row| row.iter().map(|value| value.map(libm::log)).collect()).collect();
    // The values that exist, with the site of each block.
    let placed = |number: &dyn Fn(&Vec<Option<f64>>) -> Option<f64>| -> (Vec<f64>, Vec<usize>) {
        logs.iter().zip(sites).filter_map(|(row, site)| Some((number(row)?, *site))).unzip()
    };
    let alone = |at: usize| {
        let (logs, sites) = placed(&|row| row[at]);
        let n = logs.len();
        let evidence = if n > 0 { Evidence::at_sites(&[logs], &[sites]).pop() } else { None }?;
        Some((Estimate { n, ..evidence.ratio_after_stopping_rule() }, n - evidence.count))
    };
    let mut shown: Vec<Option<(Estimate, usize)>> = (0..candidates.len()).map(alone).collect();
    // The reference may have no value of this number; then the first candidate that has one replaces it.
    let leads = |at: &usize| reference == Some(candidates[*at]) && shown[*at].is_some();
    let anchor = (0..candidates.len()).find(leads).or_else(|| shown.iter().position(Option::is_some));
    let Some((anchor, Some((mean, _)))) = anchor.map(|at| (at, shown[at])) else { return shown };
    let others = (0..candidates.len()).filter(|at| *at != anchor);
    let pairs = others.map(|at| (at, placed(&|row| Some(row[at]? - row[anchor]?))));
    let (places, (differences, sites)): (Vec<usize>, (Vec<_>, Vec<_>)) =
        pairs.filter(|(_, (differences, _))| !differences.is_empty()).unzip();
    for ((at, all), evidence) in
        places.into_iter().zip(&differences).zip(Evidence::at_sites(&differences, &sites))
    {
        let multiple = evidence.ratio_after_stopping_rule().map(|ratio| ratio * mean.point);
        shown[at] = Some((Estimate { n: values[at].len(), ..multiple }, all.len() - evidence.count));
    }
    // Removes rounding errors, so that a value that is the same in every trial is shown exactly.
    let exact = |(estimate, values): (Option<(Estimate, usize)>, &Vec<f64>)| {
        let first = values.first().copied()?;
        let near = |value: f64| if (value / first - 1.0).abs() < 1e-12 { first } else { value };
        estimate.map(|(estimate, aside)| (estimate.map(near), aside))
    };
    shown.into_iter().zip(&values).map(exact).collect()
}

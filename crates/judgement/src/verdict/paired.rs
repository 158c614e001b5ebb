//! Trials that belong together: of one block, where the machine was in the same mood for all candidates.

use std::collections::{BTreeMap, HashMap};

use crate::journal::{BlockState, Run, Trial};
use crate::plan::once_each;
use crate::statistics::{Estimate, Evidence, median};

/// Trials by block and candidate, to be compared within blocks.
#[derive(Debug, Clone, Default)]
pub struct ByBlock<'a> {
    blocks: BTreeMap<u32, HashMap<&'a str, &'a Trial>>,
    /// Where each was done; nothing where all were done at one place.
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

/// Where blocks were done, as numbers: who did none of them at a place is no site.
pub(super) fn site_numbers<'a>(blocks: impl Iterator<Item = &'a BlockState> + Clone) -> Vec<usize> {
    let site = |block: &'a BlockState| block.place.as_ref().map(|place| place.site.as_str());
    let sites = once_each(blocks.clone().map(site));
    blocks.map(|block| sites.iter().position(|known| *known == site(block)).unwrap_or_default()).collect()
}

impl<'a> ByBlock<'a> {
    /// Trials of this run, which knows at which site each of its blocks was done.
    pub fn of_run(run: &Run, trials: impl IntoIterator<Item = &'a Trial>) -> Self {
        let numbers = site_numbers(run.blocks.iter());
        let sites = run.blocks.iter().map(|block| block.block).zip(numbers).collect();
        ByBlock { sites, ..trials.into_iter().collect() }
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
        self.differences_of(candidate, &number, other, &number)
    }

    /// A candidate's number less another number of another candidate, or of the same one.
    pub(super) fn differences_of(
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

    /// A candidate's number and another's, in the blocks in which both have one.
    pub fn pairs(
        &self,
        candidate: &str,
        other: &str,
        number: impl Fn(&Trial) -> Option<f64>,
    ) -> Vec<(f64, f64)> {
        self.beside(candidate, other)
            .filter_map(|(ours, theirs)| Some((number(ours)?, number(theirs)?)))
            .collect()
    }

    /// A candidate's trial and another's, in the blocks in which there are both.
    pub(super) fn beside(&self, candidate: &str, other: &str) -> impl Iterator<Item = (&Trial, &Trial)> {
        self.blocks.values().filter_map(move |block| Some((*block.get(candidate)?, *block.get(other)?)))
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
        self.blocks.values().map(row).collect()
    }

    /// Where the trials of these candidates stand, block by block.
    pub(super) fn places(
        &self,
        candidates: &[&str],
        place: impl Fn(&Trial) -> Option<usize>,
    ) -> Vec<Vec<Option<usize>>> {
        let row =
            |block: &HashMap<&str, &Trial>| candidates.iter().map(|name| place(block.get(name)?)).collect();
        self.blocks.values().map(row).collect()
    }

    /// Where each block was done, in the order of [`rows`](Self::rows).
    pub(super) fn sites(&self) -> Vec<usize> {
        self.blocks.keys().map(|block| self.sites.get(block).copied().unwrap_or_default()).collect()
    }

    pub fn of(&self, candidate: &str) -> impl Iterator<Item = &Trial> {
        self.blocks.values().filter_map(move |block| block.get(candidate).copied())
    }

    pub fn trial(&self, block: u32, candidate: &str) -> Option<&Trial> {
        self.blocks.get(&block)?.get(candidate).copied()
    }
}

/// By rows as of [`ByBlock::rows`]: a candidate's number less another's, in the blocks in which both have one.
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
    let found = side_by_side_of(&rows, &blocks.sites(), reference, candidates).into_iter();
    found.map(|one| one.map(|(estimate, _)| estimate)).collect()
}

/// The same of [`rows`](ByBlock::rows) and the sites of the blocks, each with how many of its trials were set aside.
pub(super) fn side_by_side_of(
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
    // What somebody has in each block, with where that was done.
    let placed = |number: &dyn Fn(&Vec<Option<f64>>) -> Option<f64>| -> (Vec<f64>, Vec<usize>) {
        logs.iter().zip(sites).filter_map(|(row, site)| Some((number(row)?, *site))).unzip()
    };
    let alone = |at: usize| {
        let (logs, sites) = placed(&|row| row[at]);
        let n = logs.len();
        let found = if n > 0 { Evidence::at_sites(&[logs], &[sites]).pop() } else { None }?;
        Some((Estimate { n, ..found.ratio_at_the_stop() }, n - found.count))
    };
    let mut shown: Vec<Option<(Estimate, usize)>> = (0..candidates.len()).map(alone).collect();
    // Who leads may lack this very number.
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
        let multiple = evidence.ratio_at_the_stop().map(|ratio| ratio * mean.point);
        shown[at] = Some((Estimate { n: values[at].len(), ..multiple }, all.len() - evidence.count));
    }
    // What was the same in every trial is so to the last digit.
    let exact = |(estimate, values): (Option<(Estimate, usize)>, &Vec<f64>)| {
        let first = values.first().copied()?;
        let near = |value: f64| if (value / first - 1.0).abs() < 1e-12 { first } else { value };
        estimate.map(|(estimate, aside)| (estimate.map(near), aside))
    };
    shown.into_iter().zip(&values).map(exact).collect()
}

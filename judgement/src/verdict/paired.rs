//! Trials that belong together: of one block, where the machine was in the same mood for all candidates.

use std::collections::{BTreeMap, HashMap};

use libm::exp;

use super::CONFIDENCE;
use crate::journal::Trial;
use crate::statistics::{Estimate, Evidence, FEWEST, evidence, mean, student_quantile};

/// Trials by block and candidate, to be compared within blocks.
#[derive(Debug, Clone, Default)]
pub struct Blocks<'a>(BTreeMap<u32, HashMap<&'a str, &'a Trial>>);

impl<'a> FromIterator<&'a Trial> for Blocks<'a> {
    fn from_iter<I: IntoIterator<Item = &'a Trial>>(trials: I) -> Self {
        let mut blocks = Self::default();
        for trial in trials {
            blocks.0.entry(trial.id.block).or_default().insert(&trial.id.candidate, trial);
        }
        blocks
    }
}

impl Blocks<'_> {
    /// A candidate's number less another's, in the blocks in which both have one.
    pub fn differences(
        &self,
        candidate: &str,
        other: &str,
        number: impl Fn(&Trial) -> Option<f64>,
    ) -> Vec<f64> {
        let difference =
            |block: &HashMap<&str, &Trial>| Some(number(block.get(candidate)?)? - number(block.get(other)?)?);
        self.0.values().filter_map(difference).filter(|difference| difference.is_finite()).collect()
    }

    /// A candidate's trials.
    pub fn of(&self, candidate: &str) -> impl Iterator<Item = &Trial> {
        self.0.values().filter_map(move |block| block.get(candidate).copied())
    }

    /// A candidate's trial in a block.
    pub fn trial(&self, block: u32, candidate: &str) -> Option<&Trial> {
        self.0.get(&block)?.get(candidate).copied()
    }
}

/// A ratio with the interval that its evidence gives it.
pub(super) fn ratio_of(evidence: &Evidence, n: usize) -> Estimate {
    let half = student_quantile(0.5 + CONFIDENCE / 2.0, evidence.degrees) * evidence.error;
    Estimate {
        point: exp(evidence.difference),
        low: Some(exp(evidence.difference - half)).filter(|low| low.is_finite()),
        high: Some(exp(evidence.difference + half)).filter(|high| high.is_finite()),
        n,
    }
}

/// The ratio behind paired differences of logs, as the stopping rule estimates it; below three no interval.
pub(super) fn paired_ratio(differences: &[f64]) -> Option<Estimate> {
    let n = differences.len();
    if n < FEWEST as usize {
        return Some(Estimate { point: exp(mean(differences)?), low: None, high: None, n });
    }
    Some(ratio_of(&evidence(differences, &[], None)?, n))
}

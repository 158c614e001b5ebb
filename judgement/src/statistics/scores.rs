//! The scores recorded so far, and what is taken from them at a look: who leads, how noisy a block is, and how each
//! contender differs from the leader.

use super::distribution::root;
use super::elimination::{Contender, median_variance};
use super::outliers::centre_and_spread;
use super::pooled::evidence;
use super::sample::{mean, median, sorted};
use super::scale::{CommonScale, common_scale, differences, differences_of_pairs, scale_of_steps};

/// With two candidates, the part of α for the test that uses the spread of their differences alone; the rest is
/// for the test that also uses how steady their sums are, which is stronger unless whole blocks are noisy.
const ALONE: f64 = 0.3;

/// Log scores, candidate by candidate; a candidate that is out has fewer.
#[derive(Debug, Clone)]
pub(super) struct Scores(Vec<Vec<f64>>);

impl Scores {
    pub(super) fn new(candidates: usize) -> Scores {
        Scores(vec![Vec::new(); candidates])
    }

    pub(super) fn push(&mut self, candidate: usize, score: f64) {
        self.0[candidate].push(score);
    }

    /// How many there were at the start.
    pub(super) fn candidates(&self) -> usize {
        self.0.len()
    }

    /// The surviving candidate with the smallest interquartile mean of its deviations from the block's median:
    /// neither drift nor outliers choose it.
    pub(super) fn leader(&self, surviving: &[usize]) -> Option<usize> {
        let blocks = self.0[*surviving.first()?].len();
        if blocks == 0 {
            return None;
        }
        let centres: Option<Vec<f64>> = (0..blocks)
            .map(|block| {
                median(&surviving.iter().map(|candidate| self.0[*candidate][block]).collect::<Vec<_>>())
            })
            .collect();
        let centres = centres?;
        let location = |candidate: usize| {
            let deviations: Vec<f64> =
                self.0[candidate].iter().zip(&centres).map(|(score, centre)| score - centre).collect();
            let ordered = sorted(&deviations);
            let cut = (blocks / 4).max(1).min((blocks - 1) / 2);
            mean(&ordered[cut..blocks - cut])
        };
        let mut best: Option<(usize, f64)> = None;
        for &candidate in surviving {
            let here = location(candidate)?;
            if best.is_none_or(|(_, lowest)| here < lowest) {
                best = Some((candidate, here));
            }
        }
        best.map(|(candidate, _)| candidate)
    }

    /// The scale that pairs have in common, candidates already out included; not for two candidates.
    pub(super) fn common(&self) -> Option<CommonScale> {
        let candidates = self.candidates();
        if candidates < 3 {
            return None;
        }
        let pairs: Vec<Vec<f64>> = differences_of_pairs(&self.0).filter(|pair| pair.len() >= 3).collect();
        common_scale(&pairs, candidates)
    }

    /// What is known of a candidate against the leader; `None` for the leader itself.
    pub(super) fn contender(
        &self,
        candidate: usize,
        leader: usize,
        common: Option<CommonScale>,
    ) -> Option<Contender> {
        if candidate == leader {
            return None;
        }
        let differences = self.differences(candidate, leader);
        let (evidence, p) = if self.candidates() == 2 {
            // Were there no effect of the block, sums would vary just as differences do; where there is one they
            // vary more, and using their spread is merely cautious.
            let sums: Vec<f64> =
                self.0[candidate].iter().zip(&self.0[leader]).map(|(one, other)| one + other).collect();
            let judged = evidence(&differences, &[], None)?;
            let helped = evidence(&differences, &[], scale_of_steps(&sums))?;
            let (alone, with) = (judged.p_different() / ALONE, helped.p_different() / (1.0 - ALONE));
            if alone < with { (judged, alone.min(1.0)) } else { (helped, with.min(1.0)) }
        } else {
            let sums = self.sums_beside_the_others(candidate, leader, &differences);
            let judged = evidence(&differences, &sums, common)?;
            (judged, judged.p_different())
        };
        Some(Contender { candidate, differences, evidence, p })
    }

    /// Block by block, the sum of a candidate and the leader, less twice the middle of all others (each moved to the
    /// leader's level). Were all alike it would vary as much as their difference and independently of it once it
    /// is scaled for the noise of the middle: as many more degrees of freedom for the noise of these two.
    fn sums_beside_the_others(&self, candidate: usize, leader: usize, differences: &[f64]) -> Vec<f64> {
        let others: Vec<Vec<f64>> = (0..self.candidates())
            .filter(|other| *other != candidate && *other != leader)
            .map(|other| self.differences(other, leader))
            .filter(|one| one.len() > 1)
            .filter_map(|one| {
                let (centre, _) = centre_and_spread(&one)?;
                Some(one.into_iter().map(|value| value - centre).collect())
            })
            .collect();
        differences
            .iter()
            .enumerate()
            .filter_map(|(block, difference)| {
                let near: Vec<f64> = others.iter().filter_map(|one| one.get(block).copied()).collect();
                let scale = root(1.0 + 2.0 * median_variance(near.len() as f64));
                median(&near).map(|middle| (difference - 2.0 * middle) / scale)
            })
            .collect()
    }

    fn differences(&self, candidate: usize, other: usize) -> Vec<f64> {
        differences(&self.0[candidate], &self.0[other])
    }
}

//! A rule that cannot be had: it is told how noisy each candidate is. What it needs shows what is left to gain.
//!
//! After each block from the third on, a candidate is ruled out when its mean exceeds the smallest mean by more than a
//! fixed number of standard errors, which are known. That number is found by simulation, so that the rule wrongly rules
//! out a best candidate in 5 % of runs where it errs most: as little caution as is allowed.

use fsverdict::statistics::{FEWEST, Outcome};

use crate::Truth;
use crate::rules::{Ending, MOST_BLOCKS};
use crate::tally::centres;
use crate::world::{Noise, World};

/// Runs from which the critical value is found: its error rate is then known to ±0.7 %.
const CALIBRATION_RUNS: u32 = 4000;

/// Halvings of the range of critical values: to 0.001.
const HALVINGS: u32 = 12;

/// How often the rule may rule out a best candidate.
const ERROR: f64 = 0.05;

/// The rule for so many candidates in one kind of noise.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Informed {
    critical: f64,
}

impl Informed {
    /// `None` where knowing the standard deviation is not to know the noise: then it is no limit.
    pub(crate) fn for_noise(noise: Noise, candidates: usize, deviation: f64) -> Option<Informed> {
        if !matches!(noise, Noise::Normal | Noise::PerCandidate | Noise::NoisyBest) {
            return None;
        }
        let (mut low, mut high) = (1.5, 5.5);
        for _ in 0..HALVINGS {
            let critical = 0.5 * (low + high);
            if (Informed { critical }).errs_too_often(noise, candidates, deviation) {
                low = critical;
            } else {
                high = critical;
            }
        }
        Some(Informed { critical: high })
    }

    fn errs_too_often(self, noise: Noise, candidates: usize, deviation: f64) -> bool {
        let two = Truth { candidates, best: candidates.min(2), gap: 0.10 };
        let equal = Truth { candidates, best: candidates, gap: 0.0 };
        [two, equal].into_iter().any(|truth| {
            let centres = centres(truth);
            let wrong = (0..CALIBRATION_RUNS)
                .filter(|run| {
                    let mut world = World::new(&centres, noise, deviation, u64::from(*run));
                    self.run(&mut world, candidates, truth.best).surviving[..truth.best].contains(&false)
                })
                .count();
            wrong as f64 > ERROR * f64::from(CALIBRATION_RUNS)
        })
    }

    /// Runs to the end on simulated trials.
    pub(crate) fn run(self, world: &mut World, candidates: usize, best: usize) -> Ending {
        let variances: Vec<f64> = world.deviations().iter().map(|one| one * one).collect();
        let mut ending = Ending::begin(candidates);
        let mut sums = vec![0.0; candidates];
        for block in 1..=MOST_BLOCKS {
            for (sum, time) in sums.iter_mut().zip(world.next_block()) {
                *sum += time;
            }
            ending.count_block(best);
            if block < FEWEST {
                continue;
            }
            let inside: Vec<usize> = (0..candidates).filter(|one| ending.surviving[*one]).collect();
            let Some(&leader) = inside.iter().min_by(|a, b| sums[**a].total_cmp(&sums[**b])) else { break };
            for candidate in inside.iter().copied().filter(|one| *one != leader) {
                // Sums of n values each: the standard error of their difference is that of one, times √n.
                let error = libm::sqrt(f64::from(block) * (variances[candidate] + variances[leader]));
                ending.surviving[candidate] = sums[candidate] - sums[leader] <= self.critical * error;
            }
            if ending.surviving.iter().filter(|still| **still).count() == 1 {
                ending.outcome = Outcome::Decided;
                return ending;
            }
        }
        ending.outcome = Outcome::Undecided;
        ending
    }
}

#[cfg(test)]
mod tests {
    use super::Informed;
    use crate::world::Noise;

    #[test]
    fn its_critical_value_lies_between_one_look_and_independent_looks() {
        // Two candidates: a single look needs 1.96; 28 independent ones would need 3.12 (Šidák 1967).
        let rule = Informed::for_noise(Noise::Normal, 2, 0.04).unwrap();
        assert!((2.3..3.0).contains(&rule.critical), "{}", rule.critical);
        assert!(Informed::for_noise(Noise::Outliers, 2, 0.04).is_none());
    }
}

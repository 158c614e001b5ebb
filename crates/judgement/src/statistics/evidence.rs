//! Estimates the mean of a sample of differences and its uncertainty: the only estimator for all comparisons.
//!
//! After a few blocks, a pair's own differences say almost nothing about their noise. If other pairs went through the
//! same blocks, a variance smaller than theirs is shrunk towards it (a moderated t after Smyth 2004, with a fixed
//! weight); a larger variance is used as it is, since candidates may differ in noise. Differences far outside are set
//! aside (Hampel 1985), so that a single outlier neither makes nor prevents a decision.

use libm::{exp, sqrt};

use super::distribution::{fair_coin_tail, student_quantile, student_tail};
use super::estimate::{CONFIDENCE, CONFIDENCE_AFTER_STOPPING_RULE, Estimate};
use super::outliers::{LAST_DIGIT, robust_deviation, without_outliers};
use super::sample::{mean, median};

/// The minimum number of blocks for any conclusion.
pub const FEWEST: u32 = 3;

/// The weight, in degrees of freedom, of the other samples' variance when it raises a smaller variance: a few values that
/// agree by chance may not do so again.
pub(super) const PRIOR_DEGREES_OF_FREEDOM: f64 = 4.0;

/// If outliers were set aside, a sign test of all values must agree at this one-sided p.
const SIGN_TEST_ALPHA: f64 = 0.05;

/// Values that agree to the last digit may change in steps. The probability of missing a step that occurs in the share
/// `STEPPING` of all trials must be at most `MISSED`, over all comparisons.
const STEPPING: f64 = 0.3;
const MISSED: f64 = 0.05;

/// The largest number of blocks that a forecast names, and that `resume --more` accepts.
const MOST_BLOCKS: usize = 1000;

/// The mean of a sample, usually of log ratios within blocks, and its uncertainty.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Evidence {
    /// The mean of the values that count.
    pub difference: f64,
    /// Its standard error; infinite for a single value.
    pub error: f64,
    /// Degrees of freedom of the error.
    pub degrees: f64,
    /// How many values count.
    pub count: usize,
}

impl Evidence {
    /// The evidence of a single sample; `None` if it is empty.
    pub fn from_sample(values: &[f64]) -> Option<Evidence> {
        if values.is_empty() { None } else { Self::from_paired_samples(&[values.to_vec()]).pop() }
    }

    /// The evidence of a single sample with every value counted, including outliers; `None` if it is empty.
    pub fn of_all(values: &[f64]) -> Option<Evidence> {
        let (difference, variance, count) = moments(values)?;
        Some(Self::new(difference, variance, count - 1.0, count))
    }

    /// The evidence of each sample, where all samples are pairs that went through the same blocks. No sample may be
    /// empty.
    pub fn from_paired_samples(samples: &[Vec<f64>]) -> Vec<Evidence> {
        Self::at_sites(samples, &[])
    }

    /// As [`from_paired_samples`](Self::from_paired_samples), for values from several sites; `sites` gives the site of each value of each sample. A
    /// value is no outlier if its site would otherwise have no values left.
    pub fn at_sites(samples: &[Vec<f64>], sites: &[Vec<usize>]) -> Vec<Evidence> {
        let spreads: Vec<f64> = samples.iter().filter_map(|values| robust_deviation(values)).collect();
        let typical = median(&spreads).unwrap_or(0.0);
        let sites_of = |at: usize| sites.get(at).map_or(&[][..], Vec::as_slice);
        let kept =
            samples.iter().enumerate().map(|(at, values)| without_outliers(values, sites_of(at), typical));
        Self::with_shrunk_variances(kept, mean)
    }

    /// The evidence of each sample, where the samples are of different quantities, such as the phases of a run. Each
    /// has outliers of its own, and the others' variance is their median: phases differ in noise so much that a mean
    /// would let the noisiest hide changes in all others.
    pub fn of_quantities(samples: &[Vec<f64>]) -> Vec<Evidence> {
        let kept = samples.iter().map(|values| without_outliers(values, &[], 0.0));
        Self::with_shrunk_variances(kept, median)
    }

    /// The evidence of each sample; variances below the `centre` of all are raised towards it.
    fn with_shrunk_variances(
        samples: impl Iterator<Item = Vec<f64>>,
        centre: impl Fn(&[f64]) -> Option<f64>,
    ) -> Vec<Evidence> {
        let moments: Vec<(f64, f64, f64)> = samples.filter_map(|values| moments(&values)).collect();
        let variances = moments.iter().filter(|(_, _, count)| *count > 1.0).map(|(_, variance, _)| *variance);
        let common = centre(&variances.collect::<Vec<_>>()).unwrap_or(0.0);
        let evidence = |&(difference, variance, count): &(f64, f64, f64)| {
            let own_degrees = count - 1.0;
            let (variance, degrees) = match own_degrees > 0.0 {
                true => shrink_variance(variance, own_degrees, common),
                false => (variance, own_degrees),
            };
            Self::new(difference, variance, degrees, count)
        };
        moments.iter().map(evidence).collect()
    }

    /// The difference of two unpaired samples, ours minus theirs (Welch 1947); `None` if one is empty.
    pub fn from_unpaired_samples(ours: &[f64], theirs: &[f64]) -> Option<Evidence> {
        let (ours, theirs) = (Self::from_sample(ours)?, Self::from_sample(theirs)?);
        let squares = |evidence: &Evidence| evidence.error * evidence.error;
        let (one, other) = (squares(&ours), squares(&theirs));
        let parts = one * one / ours.degrees + other * other / theirs.degrees;
        let degrees = (one + other) * (one + other) / parts;
        Some(Evidence {
            difference: ours.difference - theirs.difference,
            error: sqrt(one + other),
            // The degrees are not finite if neither sample has any spread, or if one has a single value and hence an
            // infinite error.
            degrees: if degrees.is_finite() { degrees } else { 1.0 },
            count: ours.count.min(theirs.count),
        })
    }

    fn new(difference: f64, variance: f64, degrees: f64, count: f64) -> Evidence {
        let variance = if variance < LAST_DIGIT * LAST_DIGIT { 0.0 } else { variance };
        let error = if count > 1.0 { sqrt(variance / count) } else { f64::INFINITY };
        // The count is a number of blocks, so the conversion loses nothing.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        Evidence { difference, error, degrees: degrees.max(1.0), count: count as usize }
    }

    /// The estimate, with an interval of [`CONFIDENCE`] if there are at least [`FEWEST`] values.
    pub fn estimate(&self) -> Estimate {
        self.estimate_at(CONFIDENCE, FEWEST as usize)
    }

    /// For a sample of logs: the estimate as a ratio.
    pub fn ratio(&self) -> Estimate {
        self.estimate().map(exp)
    }

    /// As [`estimate`](Self::estimate), for a run that ends when it has enough evidence: the [wider
    /// interval](CONFIDENCE_AFTER_STOPPING_RULE) compensates for the repeated looks and for stopping at a random high.
    /// There is no interval if the values agree to the last digit and are too few to have shown a step. Two values are
    /// enough for an interval if other pairs support their variance, because a candidate may be placed behind on that
    /// basis.
    pub fn estimate_after_stopping_rule(&self) -> Estimate {
        let min_count = match self.error {
            error if error <= 0.0 => min_identical_values(1),
            _ if self.degrees > PRIOR_DEGREES_OF_FREEDOM => 2,
            _ => FEWEST as usize,
        };
        self.estimate_at(CONFIDENCE_AFTER_STOPPING_RULE, min_count)
    }

    /// For a sample of logs: the estimate as a ratio.
    pub fn ratio_after_stopping_rule(&self) -> Estimate {
        self.estimate_after_stopping_rule().map(exp)
    }

    fn estimate_at(&self, confidence: f64, min_count: usize) -> Estimate {
        let reach = match self.error {
            error if error > 0.0 => error * student_quantile(0.5 + 0.5 * confidence, self.degrees),
            _ => 0.0,
        };
        let sure = self.count >= min_count && reach.is_finite();
        let end = |end: f64| sure.then_some(end);
        let (low, high) = (end(self.difference - reach), end(self.difference + reach));
        Estimate { point: self.difference, low, high, n: self.count }
    }

    /// One-sided p: the probability of a difference at least this large, if the true difference is `bound` or less.
    pub fn p_above(&self, bound: f64) -> f64 {
        let away = self.difference - bound;
        if self.error > 0.0 { student_tail(away / self.error, self.degrees) } else { f64::from(away <= 0.0) }
    }

    /// One-sided p: the probability of a difference at least this small, if the true difference is `bound` or more.
    pub fn p_below(&self, bound: f64) -> f64 {
        Evidence { difference: -self.difference, ..*self }.p_above(-bound)
    }

    /// Two-sided p for the hypothesis of no difference.
    pub fn p_different(&self) -> f64 {
        (2.0 * self.p_above(0.0).min(self.p_below(0.0))).min(1.0)
    }

    /// How many values the sample needs before it can show that the difference is above `bound`, if further values
    /// agree; 0 if nothing prevents the conclusion. If outliers were set aside, the signs of all values must agree,
    /// which needs no scale (the sign test, Dixon & Mood 1946): a third of a small sample may lie outside by chance,
    /// and the rest then looks more certain than it is. For a `bound` below 0, a weaker claim, it is enough that no
    /// value is at or below it. If most values agree to the last digit, the sample must be large enough to have shown a
    /// step, among this many pairs.
    pub fn min_sample_size(&self, sample: &[f64], bound: f64, pairs: usize) -> usize {
        let steps = robust_deviation(sample).is_some_and(|spread| spread < LAST_DIGIT);
        let agreeing = if steps && sample.len() > 1 { min_identical_values(pairs) } else { 0 };
        let against = sample.iter().filter(|value| **value <= bound).count();
        let backed = |tosses: &usize| fair_coin_tail(*tosses, against) <= SIGN_TEST_ALPHA;
        let unasked = self.count == sample.len() || (bound < 0.0 && against == 0);
        // A sample that is already large enough meets the condition at its own size; a smaller size is not searched.
        let signs = if unasked { 0 } else { (sample.len()..).find(backed).unwrap_or(usize::MAX) };
        signs.max(agreeing)
    }

    /// How many blocks in all are needed to bring [`p_above`](Self::p_above) to at most the `level` for that many
    /// blocks, if difference and noise stay as they are; `None` if more than the largest forecast are needed.
    pub fn blocks_to_exceed(&self, bound: f64, level: impl Fn(usize) -> f64) -> Option<usize> {
        let after = |blocks: usize| Evidence {
            error: self.error * sqrt(self.count as f64 / blocks as f64),
            degrees: self.degrees + (blocks - self.count) as f64,
            ..*self
        };
        let enough = |blocks: usize| after(blocks).p_above(bound) <= level(blocks);
        let (mut few, mut many) = (self.count, MOST_BLOCKS);
        if !enough(many) {
            return None;
        }
        // A bisection: with more blocks, p never grows and the level never shrinks.
        while few < many {
            let middle = (few + many) / 2;
            if enough(middle) { many = middle } else { few = middle + 1 }
        }
        Some(many)
    }
}

/// A variance and its degrees of freedom, raised towards the `centre` of other samples' variances if it is smaller.
pub(super) fn shrink_variance(variance: f64, degrees: f64, centre: f64) -> (f64, f64) {
    if variance >= centre {
        return (variance, degrees);
    }
    let all_degrees = degrees + PRIOR_DEGREES_OF_FREEDOM;
    ((degrees * variance + PRIOR_DEGREES_OF_FREEDOM * centre) / all_degrees, all_degrees)
}

/// How many values must agree to the last digit before steps can be excluded, in each of this many pairs: after 9
/// values, a step that occurs in 3 of 10 trials would have been seen with a probability of 96 %.
fn min_identical_values(pairs: usize) -> usize {
    let enough = |count: &usize| powi(1.0 - STEPPING, *count) <= MISSED / pairs.max(1) as f64;
    (1..MOST_BLOCKS).find(enough).unwrap_or(MOST_BLOCKS)
}

fn powi(base: f64, exponent: usize) -> f64 {
    std::iter::repeat_n(base, exponent).product()
}

/// Mean, variance (0 for one value) and count.
fn moments(values: &[f64]) -> Option<(f64, f64, f64)> {
    let (centre, count) = (mean(values)?, values.len() as f64);
    let squares: f64 = values.iter().map(|value| (value - centre) * (value - centre)).sum();
    Some((centre, squares / (count - 1.0).max(1.0), count))
}

#[cfg(test)]
mod tests {
    use super::Evidence;

    #[test]
    fn what_was_set_aside_has_a_say_by_its_sign() {
        // Seven ratios from one of 25 native runs that compared two equal candidates on a busy machine.
        let unlucky = [0.903f64, 0.943, 1.124, 1.138, 1.136, 1.145, 1.045].map(f64::ln);
        let found = Evidence::from_sample(&unlucky).unwrap();
        assert!(
            found.count == 5 && found.p_above(0.0) < 0.002 && found.min_sample_size(&unlucky, 0.0, 1) == 11
        );
        let spiked = [0.10, 0.11, 0.09, 0.10, 3.0];
        assert_eq!(Evidence::from_sample(&spiked).unwrap().min_sample_size(&spiked, 0.0, 1), 5);
        let calm = [0.10, -0.01, 0.09];
        assert_eq!(Evidence::from_sample(&calm).unwrap().min_sample_size(&calm, 0.0, 1), 0);
    }

    #[test]
    fn values_that_agree_to_the_last_digit_leave_no_doubt_once_a_step_would_have_been_seen() {
        let shown =
            |count: usize| Evidence::from_sample(&vec![0.0; count]).unwrap().ratio_after_stopping_rule().low;
        assert_eq!([3, 8, 9].map(shown), [None, None, Some(1.0)]);
        let same = Evidence::from_sample(&[0.0; 9]).unwrap();
        assert_eq!((same.p_above(-0.03), same.p_below(0.03), same.p_different()), (0.0, 0.0, 1.0));
        assert_eq!((same.ratio().low, same.ratio().high), (Some(1.0), Some(1.0)));
        assert!(
            same.blocks_to_exceed(-0.03, |_| 0.004) == Some(9)
                && same.blocks_to_exceed(0.0, |_| 0.004).is_none()
        );
        let apart = Evidence::from_sample(&[0.1; 9]).unwrap();
        assert!(apart.p_above(0.0) < 1e-9 && apart.p_different() < 1e-9);
    }

    #[test]
    fn what_comes_in_steps_is_asked_more_often_the_more_pairs_there_are() {
        let found = Evidence::from_sample(&[0.0; 3]).unwrap();
        assert_eq!([1, 4, 39].map(|pairs| found.min_sample_size(&[0.0; 3], -0.03, pairs)), [9, 13, 19]);
        // One step of four is one all the same; what varies at all is none.
        let steps = [0.0, 0.0, 0.3, 0.0];
        assert_eq!(Evidence::from_sample(&steps).unwrap().min_sample_size(&steps, -0.03, 1), 9);
        let varies = [0.0, 0.0, 0.001, -0.001];
        assert_eq!(Evidence::from_sample(&varies).unwrap().min_sample_size(&varies, -0.03, 1), 0);
    }

    #[test]
    fn a_single_value_shows_nothing() {
        let one = Evidence::from_sample(&[7.0]).unwrap();
        assert!(one.p_above(0.0) > 0.4 && one.p_different() > 0.8 && one.ratio().low.is_none());
        assert!(Evidence::from_sample(&[]).is_none());
        assert!(Evidence::from_unpaired_samples(&[1.0], &[2.0, 2.1]).unwrap().p_different() > 0.8);
    }

    #[test]
    fn other_pairs_calm_a_lucky_one_and_leave_a_noisy_one_alone() {
        let pairs = [vec![0.1, 0.1001, 0.0999], vec![0.1, 0.2, 0.0], vec![0.1, 0.15, 0.05]];
        let found = Evidence::from_paired_samples(&pairs);
        assert!(found[0].error > 0.01 && found[0].degrees > 2.0, "{:?}", found[0]);
        assert_eq!(Some(found[1]), Evidence::from_sample(&pairs[1]));
    }

    #[test]
    fn two_values_have_an_interval_by_the_noise_of_other_pairs_alone() {
        let pairs = [vec![0.5, 0.51], vec![0.1, 0.2, 0.0], vec![0.3, -0.3]];
        let found = Evidence::from_paired_samples(&pairs);
        let lows = found.iter().map(|one| one.ratio_after_stopping_rule().low.is_some()).collect::<Vec<_>>();
        // The last is noisier than the others, and nothing but its own two values says how noisy.
        assert_eq!(lows, [true, true, false]);
        assert!(Evidence::from_sample(&pairs[0]).unwrap().ratio_after_stopping_rule().low.is_none());
        assert!(found[0].ratio().low.is_none());
    }

    #[test]
    fn what_it_takes_is_just_what_it_takes() {
        let found = Evidence::from_sample(&[0.01, 0.05, -0.02, 0.04]).unwrap();
        let needed = found.blocks_to_exceed(-0.03, |_| 0.004).unwrap();
        let after = |blocks: usize| Evidence {
            error: found.error * (4.0 / blocks as f64).sqrt(),
            degrees: found.degrees + blocks as f64 - 4.0,
            ..found
        };
        assert!(
            after(needed).p_above(-0.03) <= 0.004 && after(needed - 1).p_above(-0.03) > 0.004,
            "{needed}"
        );
        assert_eq!(found.blocks_to_exceed(0.03, |_| 0.004), None);
    }
}

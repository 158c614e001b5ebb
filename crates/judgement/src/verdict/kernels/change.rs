//! The change of one number of a phase from one kernel to the next, and its test.

use serde::Serialize;

use crate::journal::Unit;
use crate::statistics::{Estimate, Evidence, FEWEST, adjust_by_holm, median, sign_test};
use crate::verdict::{ALPHA, Comparison, classify_ratio};

/// A number to compare: its title, its unit, and the metrics that it is the sum of.
pub(super) type Measure = (&'static str, Unit, &'static [&'static str]);

pub const TIME: &str = "time";
pub const MEASURES: [Measure; 4] = [
    (TIME, Unit::Seconds, &["durable"]),
    ("requests", Unit::Count, &["device_reads", "device_writes"]),
    ("bytes", Unit::Bytes, &["device_read", "device_written"]),
    ("flushes", Unit::Count, &["device_flushes"]),
];

/// A number under one kernel and under the kernel before it, block by block. The values shown are medians over all
/// blocks.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KernelChange {
    pub measure: &'static str,
    pub unit: Unit,
    pub before: f64,
    pub after: f64,
    /// The later value divided by the earlier one, within blocks; `None` where one of them is zero.
    pub ratio: Option<Estimate>,
    pub outcome: ChangeOutcome,
    /// The values after and before, block by block.
    #[serde(skip)]
    blocks: Vec<(f64, f64)>,
    /// Two-sided p-value of this number alone.
    #[serde(skip)]
    p: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ChangeOutcome {
    /// The number grew by more than a tie, significantly after correction for everything that is compared.
    Regression,
    /// The number fell by more than a tie, significantly after correction.
    Gain,
    /// The number is shown to be the same within a tie.
    Unchanged,
    /// The data shows none of these.
    Untold,
}

impl KernelChange {
    /// The change between the medians, not judged yet.
    pub(super) fn from_blocks(measure: Measure, blocks: Vec<(f64, f64)>) -> Option<Self> {
        let (measure, unit, _) = measure;
        let after = median(&blocks.iter().map(|(after, _)| *after).collect::<Vec<_>>())?;
        let before = median(&blocks.iter().map(|(_, before)| *before).collect::<Vec<_>>())?;
        Some(KernelChange {
            measure,
            unit,
            before,
            after,
            ratio: None,
            outcome: ChangeOutcome::Untold,
            blocks,
            p: 1.0,
        })
    }

    /// Logarithms of the ratios within blocks; `None` where a value is zero.
    fn differences(&self) -> Option<Vec<f64>> {
        let log = |value: f64| (value > 0.0).then(|| libm::log(value));
        self.blocks.iter().map(|(after, before)| Some(log(*after)? - log(*before)?)).collect()
    }

    /// The number of blocks in which the value rose, and of those in which it fell.
    fn signs(&self) -> (usize, usize) {
        let count = |is: fn(&(f64, f64)) -> bool| self.blocks.iter().filter(|pair| is(pair)).count();
        (count(|(after, before)| after > before), count(|(after, before)| after < before))
    }

    fn judge(&mut self, p: f64, tie: f64) {
        let (up, down) = self.signs();
        self.outcome = match self.ratio {
            _ if self.blocks.len() < FEWEST as usize => ChangeOutcome::Untold,
            Some(ratio) => match classify_ratio(&ratio, p, ALPHA, tie) {
                Comparison::Worse => ChangeOutcome::Regression,
                Comparison::Better => ChangeOutcome::Gain,
                Comparison::Same => ChangeOutcome::Unchanged,
                Comparison::Undecided => ChangeOutcome::Untold,
            },
            None if up + down == 0 => ChangeOutcome::Unchanged,
            None if p > ALPHA => ChangeOutcome::Untold,
            None if up > down => ChangeOutcome::Regression,
            None => ChangeOutcome::Gain,
        };
    }

    /// The size of the change in either direction, as a logarithm.
    pub fn size(&self) -> f64 {
        libm::fabs(libm::log(self.times()))
    }

    /// The later value divided by the earlier one.
    pub fn times(&self) -> f64 {
        self.ratio.map_or(self.after / self.before, |ratio| ratio.point)
    }
}

/// The weight, in degrees of freedom, with which the median variance of all phases counts against a smaller one.
const PRIOR_DEGREES_OF_FREEDOM: f64 = 4.0;

/// The evidence of each sample, with variances below the median of all phases raised towards it: three blocks do not
/// tell how noisy a phase is, and among many phases some agree by chance. A larger variance stays, since phases differ
/// in noise.
fn evidence_of_samples(samples: &[Vec<f64>]) -> Vec<Evidence> {
    let mut evidences: Vec<Evidence> =
        samples.iter().filter_map(|sample| Evidence::from_sample(sample)).collect();
    let variance = |one: &Evidence| one.error * one.error * one.count as f64;
    let known = evidences.iter().map(variance).filter(|variance| variance.is_finite());
    let Some(middle) = median(&known.collect::<Vec<_>>()) else { return evidences };
    for one in evidences.iter_mut().filter(|one| variance(one) < middle) {
        let lifted = (one.degrees * variance(one) + PRIOR_DEGREES_OF_FREEDOM * middle)
            / (one.degrees + PRIOR_DEGREES_OF_FREEDOM);
        (one.error, one.degrees) =
            (libm::sqrt(lifted / one.count as f64), one.degrees + PRIOR_DEGREES_OF_FREEDOM);
    }
    evidences
}

/// Tests one number over the phases that were measured in the same blocks; each variance takes the others into account.
pub(super) fn test_phases(changes: &mut [&mut KernelChange]) {
    let samples: Vec<Option<Vec<f64>>> = changes.iter().map(|change| change.differences()).collect();
    let known: Vec<Vec<f64>> = samples.iter().flatten().cloned().collect();
    let mut evidences = evidence_of_samples(&known).into_iter();
    for (change, sample) in changes.iter_mut().zip(samples) {
        let evidence = sample.as_ref().and_then(|sample| Some((evidences.next()?, sample)));
        change.ratio = evidence.map(|(evidence, _)| evidence.ratio());
        let (up, down) = change.signs();
        change.p = match evidence {
            _ if change.blocks.len() < FEWEST as usize => 1.0,
            None => sign_test(up, down),
            // Where blocks were set aside as outliers, the signs of all blocks must be significant, too.
            Some((evidence, sample)) if evidence.count < sample.len() => {
                evidence.p_different().max(sign_test(up, down))
            }
            Some((evidence, _)) => evidence.p_different(),
        };
    }
}

/// Judges all changes together with Holm's correction: the more there are, the clearer each must be.
pub(super) fn judge(changes: &mut [&mut KernelChange], tie: f64) {
    let p: Vec<f64> = changes.iter().map(|change| change.p).collect();
    for (change, p) in changes.iter_mut().zip(adjust_by_holm(&p)) {
        change.judge(p, tie);
    }
}

/// Judges one change by itself, from a measure's values after and before in each block.
pub fn judged_alone(measure: Measure, blocks: Vec<(f64, f64)>, tie: f64) -> Option<KernelChange> {
    let mut change = KernelChange::from_blocks(measure, blocks)?;
    test_phases(&mut [&mut change]);
    judge(&mut [&mut change], tie);
    Some(change)
}

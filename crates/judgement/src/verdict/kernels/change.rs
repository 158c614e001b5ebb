//! How much one number of a phase changed with the kernel, and what of that is certain.

use serde::Serialize;

use crate::journal::Unit;
use crate::statistics::{Estimate, Evidence, FEWEST, holm, median, sign_test};
use crate::verdict::{ALPHA, Comparison, settled};

/// What is compared: its title, its unit, and the metrics it is the sum of.
pub(super) type Measure = (&'static str, Unit, &'static [&'static str]);

pub const TIME: &str = "time";
pub const MEASURES: [Measure; 4] = [
    (TIME, Unit::Seconds, &["durable"]),
    ("requests", Unit::Count, &["device_reads", "device_writes"]),
    ("bytes", Unit::Bytes, &["device_read", "device_written"]),
    ("flushes", Unit::Count, &["device_flushes"]),
];

/// One number under a kernel and under the one before it, block by block. The medians over all blocks stand for it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KernelChange {
    pub measure: &'static str,
    pub unit: Unit,
    pub before: f64,
    pub after: f64,
    /// After over before within blocks; `None` where one of them is nothing.
    pub ratio: Option<Estimate>,
    pub outcome: ChangeOutcome,
    /// After and before, block by block.
    #[serde(skip)]
    blocks: Vec<(f64, f64)>,
    /// Two-sided, of this number alone.
    #[serde(skip)]
    p: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ChangeOutcome {
    /// More, beyond a tie, and no chance with everything that is compared taken together.
    Regression,
    /// Less, likewise.
    Gain,
    /// Shown to be within a tie.
    Unchanged,
    /// None of these.
    Untold,
}

impl KernelChange {
    /// Not judged yet.
    pub(super) fn of(measure: Measure, blocks: Vec<(f64, f64)>) -> Option<Self> {
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

    /// Logs of the ratios within blocks; `None` where something was nothing.
    fn differences(&self) -> Option<Vec<f64>> {
        let log = |value: f64| (value > 0.0).then(|| libm::log(value));
        self.blocks.iter().map(|(after, before)| Some(log(*after)? - log(*before)?)).collect()
    }

    /// In how many blocks it was more after, and in how many less.
    fn signs(&self) -> (usize, usize) {
        let count = |is: fn(&(f64, f64)) -> bool| self.blocks.iter().filter(|pair| is(pair)).count();
        (count(|(after, before)| after > before), count(|(after, before)| after < before))
    }

    fn judge(&mut self, p: f64, tie: f64) {
        let (up, down) = self.signs();
        self.outcome = match self.ratio {
            _ if self.blocks.len() < FEWEST as usize => ChangeOutcome::Untold,
            Some(ratio) => match settled(&ratio, p, ALPHA, tie) {
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

    /// How large the change is, whichever way.
    pub fn size(&self) -> f64 {
        libm::fabs(libm::log(self.times()))
    }

    /// How many times as much after as before.
    pub fn times(&self) -> f64 {
        self.ratio.map_or(self.after / self.before, |ratio| ratio.point)
    }
}

/// The weight, in degrees of freedom, with which the middle variance of all phases counts against a smaller one.
const LIFT: f64 = 4.0;

/// Each sample by itself, but for a variance below the middle one of all phases: of three blocks nobody knows how noisy a phase
/// is, and of many one agrees by chance. A larger one stands, since phases differ in how noisy they are.
fn among(samples: &[Vec<f64>]) -> Vec<Evidence> {
    let mut found: Vec<Evidence> = samples.iter().filter_map(|sample| Evidence::of(sample)).collect();
    let variance = |one: &Evidence| one.error * one.error * one.count as f64;
    let known = found.iter().map(variance).filter(|variance| variance.is_finite());
    let Some(middle) = median(&known.collect::<Vec<_>>()) else { return found };
    for one in found.iter_mut().filter(|one| variance(one) < middle) {
        let lifted = (one.degrees * variance(one) + LIFT * middle) / (one.degrees + LIFT);
        (one.error, one.degrees) = (libm::sqrt(lifted / one.count as f64), one.degrees + LIFT);
    }
    found
}

/// The same number of phases that went through the same blocks: each in the light of all.
pub(super) fn weigh(changes: &mut [&mut KernelChange]) {
    let samples: Vec<Option<Vec<f64>>> = changes.iter().map(|change| change.differences()).collect();
    let known: Vec<Vec<f64>> = samples.iter().flatten().cloned().collect();
    let mut found = among(&known).into_iter();
    for (change, sample) in changes.iter_mut().zip(samples) {
        let evidence = sample.as_ref().and_then(|sample| Some((found.next()?, sample)));
        change.ratio = evidence.map(|(evidence, _)| evidence.ratio());
        let (up, down) = change.signs();
        change.p = match evidence {
            _ if change.blocks.len() < FEWEST as usize => 1.0,
            None => sign_test(up, down),
            // Where blocks were set aside, the signs of all of them must say it, too.
            Some((evidence, sample)) if evidence.count < sample.len() => {
                evidence.p_different().max(sign_test(up, down))
            }
            Some((evidence, _)) => evidence.p_different(),
        };
    }
}

/// All of them together: the more is compared, the clearer a change must be.
pub(super) fn judge(changes: &mut [&mut KernelChange], tie: f64) {
    let p: Vec<f64> = changes.iter().map(|change| change.p).collect();
    for (change, p) in changes.iter_mut().zip(holm(&p)) {
        change.judge(p, tie);
    }
}

/// One by itself, judged: from a measure's value after and before in each block.
pub fn judged_alone(measure: Measure, blocks: Vec<(f64, f64)>, tie: f64) -> Option<KernelChange> {
    let mut change = KernelChange::of(measure, blocks)?;
    weigh(&mut [&mut change]);
    judge(&mut [&mut change], tie);
    Some(change)
}

//! Predicts a single new value of a sample: the range in which nine of ten further values lie.
//!
//! An interval of a mean says where the mean of many devices is; it gets narrower with every block, while devices keep
//! differing. A reader has one device, for which this range is meant. It counts every value, outliers too, because a
//! device that differs from the others is a device that somebody has.

use libm::sqrt;

use super::distribution::student_quantile;
use super::sample::mean;

/// The share of new values that the range is to contain.
const PREDICTED: f64 = 0.9;

/// The fewest values that a range is predicted from: with fewer, runs that end after lucky blocks show ranges that are
/// too narrow (the tests of this file measure it).
pub const FEWEST_PREDICTED: usize = 6;

/// The range of a new value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PredictedRange {
    pub low: f64,
    pub high: f64,
}

/// The range in which a new value lies with a probability of 90 %; `None` below [`FEWEST_PREDICTED`] values.
///
/// Of many values it is the one between two order statistics, for any distribution: a new value is below the k-th
/// smallest of n with probability k/(n + 1). Nineteen values are needed for that. With fewer it is the t interval of a
/// new value, extended to all values that were seen: devices of a class often come in two kinds, of which a normal
/// distribution knows nothing. The t interval has half as many degrees of freedom as there are values, because every
/// second device is the opposite of the one before it: where the difference depends on how far a number is from its
/// middle, the two say the same.
pub fn predicted_range(values: &[f64]) -> Option<PredictedRange> {
    predicted_range_of_kinds(&[values])
}

/// As [`predicted_range`], where the values are known to be of several kinds and a new value is of any of them: from the
/// lowest end of the kinds' t intervals to the highest, with a common variance about their means. So the distance
/// between two kinds is not taken for a spread that goes on beyond them.
pub fn predicted_range_of_kinds(kinds: &[&[f64]]) -> Option<PredictedRange> {
    let mut sorted = kinds.concat();
    sorted.sort_by(f64::total_cmp);
    let count = sorted.len();
    if count < FEWEST_PREDICTED {
        return None;
    }
    // The count is a number of blocks, so the conversion loses nothing.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let beyond = ((count + 1) as f64 * (0.5 - 0.5 * PREDICTED) + 1e-9) as usize;
    let at = beyond.saturating_sub(1);
    let seen = PredictedRange { low: *sorted.get(at)?, high: *sorted.get(count - 1 - at)? };
    if beyond > 0 {
        return Some(seen);
    }
    let known: Vec<(f64, &[f64])> =
        kinds.iter().filter_map(|values| Some((mean(values)?, *values))).collect();
    let squares: f64 = known
        .iter()
        .flat_map(|(mean, values)| values.iter().map(move |value| (value - mean) * (value - mean)))
        .sum();
    // Each mean takes a degree of freedom; each of the remaining ones counts half.
    let left = count.saturating_sub(known.len()).max(1) as f64;
    let deviation = sqrt(squares / left);
    let degrees = ((left + 1.0) / 2.0).max(1.0);
    let reach = |kind: usize| {
        student_quantile(0.5 + 0.5 * PREDICTED, degrees) * deviation * sqrt(1.0 + 1.0 / kind as f64)
    };
    Some(known.iter().fold(seen, |range, (mean, values)| PredictedRange {
        low: range.low.min(mean - reach(values.len())),
        high: range.high.max(mean + reach(values.len())),
    }))
}

#[cfg(test)]
mod tests {
    use super::super::race::{Race, Rule, Ruling};
    use super::super::test_noise::Noise;
    use super::{FEWEST_PREDICTED, predicted_range, predicted_range_of_kinds};

    /// The three numbers of a drawn device.
    fn draw_device(noise: &mut Noise) -> [f64; 3] {
        [noise.uniform(), noise.uniform(), noise.uniform()]
    }

    /// How the ratio of two candidates depends on the numbers of a device: a class of devices.
    type Class = (&'static str, fn([f64; 3]) -> f64);

    const CLASSES: [Class; 7] = [
        ("many numbers", |u| u.iter().sum::<f64>() - 1.5),
        ("one number", |u| u[0] - 0.5),
        ("two kinds", |u| if u[0] < 0.5 { -0.5 } else { 0.5 }),
        ("one of four is different", |u| if u[0] < 0.5 && u[1] < 0.5 { 0.75 } else { -0.25 }),
        ("a long tail", |u| libm::exp(2.0 * u[0]) / 5.0 - 0.64),
        ("a middle that is best", |u| 2.0 * libm::fabs(u[0] - 0.5) - 0.5),
        ("no number", |_| 0.0),
    ];

    /// Two candidates on a class: the logarithm of their mean ratio, how much devices differ, and the noise of a trial.
    #[derive(Clone, Copy)]
    struct Pair {
        class: Class,
        mean: f64,
        spread: f64,
        noise: f64,
    }

    impl Pair {
        fn ratio(&self, device: [f64; 3], chance: &mut Noise) -> f64 {
            self.mean + self.spread * (self.class.1)(device) + self.noise * chance.normal()
        }

        /// The ratios of a run of so many blocks, or of one that ends by the stopping rule.
        fn run(&self, chance: &mut Noise, blocks: Option<u32>) -> Vec<f64> {
            let rule = Rule { tie: 0.03, minimum: 3, maximum: 30, ranked: false, early: true };
            let mut race = Race::new(rule, 2);
            let (mut values, mut device) = (Vec::new(), [0.0; 3]);
            for block in 1..=blocks.unwrap_or(30) {
                // Every second device is the opposite of the one before it.
                device = if block % 2 == 1 { draw_device(chance) } else { device.map(|place| 1.0 - place) };
                let value = self.ratio(device, chance);
                values.push(value);
                if blocks.is_none() && race.add_block(&[Some(0.0), Some(value)]).outcome != Ruling::Continue {
                    break;
                }
            }
            values
        }

        /// The share of new devices that lie within the range, over so many runs that have one.
        fn covered(&self, blocks: Option<u32>, runs: u64) -> f64 {
            let (mut inside, mut tried) = (0, 0);
            for run in 0..runs {
                let mut chance = Noise(run * 7919 + 11);
                let Some(range) = predicted_range(&self.run(&mut chance, blocks)) else { continue };
                for _ in 0..20 {
                    let device = draw_device(&mut chance);
                    let new = self.ratio(device, &mut chance);
                    inside += u32::from((range.low..=range.high).contains(&new));
                    tried += 1;
                }
            }
            f64::from(inside) / f64::from(tried.max(1))
        }
    }

    /// The least and the largest coverage, as they are stated in docs/background/methodology.md.
    fn assert_between(what: &str, covered: f64, from: f64, to: f64) {
        assert!((from..=to).contains(&covered), "{what}: {:.1} %", covered * 100.0);
    }

    #[test]
    fn nine_of_ten_new_devices_lie_within_the_range_of_a_run_of_fixed_length() {
        for class in CLASSES {
            let pair = Pair { class, mean: 0.1, spread: 0.2, noise: 0.01 };
            // In such a class two opposite devices are alike, so that there are half as many.
            let least = if class.0 == "a middle that is best" { 0.80 } else { 0.88 };
            for blocks in [6, 8, 12, 18, 19, 24] {
                assert_between(
                    &format!("{}, {blocks} blocks", class.0),
                    pair.covered(Some(blocks), 2000),
                    least,
                    1.0,
                );
            }
        }
        // A normal distribution, for which the t interval of few values is made, is not covered by far more.
        let pair = Pair { class: CLASSES[0], mean: 0.1, spread: 0.2, noise: 0.01 };
        assert_between("not wider than needed", pair.covered(Some(12), 2000), 0.88, 0.96);
    }

    #[test]
    fn nine_of_ten_lie_within_it_when_a_run_ends_by_the_stopping_rule() {
        for class in CLASSES {
            let least = if class.0 == "a middle that is best" { 0.84 } else { 0.87 };
            for (mean, spread) in [(0.0, 0.1), (0.05, 0.3)] {
                let pair = Pair { class, mean, spread, noise: 0.02 };
                let what = format!("{}, mean {mean}, spread {spread}", class.0);
                assert_between(&what, pair.covered(None, 150), least, 1.0);
            }
        }
    }

    #[test]
    fn two_known_kinds_are_not_taken_for_a_spread_beyond_them() {
        let pair = Pair { class: CLASSES[2], mean: 0.3, spread: 0.5, noise: 0.02 };
        let (mut inside, mut width, mut plain) = (0, 0.0, 0.0);
        for run in 0..1000 {
            let mut chance = Noise(run * 7919 + 11);
            let values = pair.run(&mut chance, Some(8));
            let (small, large): (Vec<f64>, Vec<f64>) = values.iter().partition(|value| **value < 0.3);
            let range = predicted_range_of_kinds(&[&small, &large]).unwrap();
            let device = draw_device(&mut chance);
            inside += u32::from((range.low..=range.high).contains(&pair.ratio(device, &mut chance)));
            width += range.high - range.low;
            plain += predicted_range(&values).map_or(0.0, |range| range.high - range.low);
        }
        assert_between("two known kinds", f64::from(inside) / 1000.0, 0.88, 1.0);
        assert!(width < 0.5 * plain, "{width} against {plain}");
    }

    #[test]
    fn too_few_devices_predict_nothing_and_equal_ones_themselves() {
        assert_eq!(predicted_range(&[0.1; FEWEST_PREDICTED - 1]), None);
        let range = predicted_range(&[0.1; 8]).unwrap();
        assert!((range.low - 0.1).abs() < 1e-12 && (range.high - 0.1).abs() < 1e-12, "{range:?}");
    }

    #[test]
    fn an_outlier_is_a_device_that_somebody_has() {
        let mut values = vec![0.0, 0.01, -0.01, 0.005, 0.0, -0.005, 0.01];
        values.push(0.7);
        assert!(predicted_range(&values).unwrap().high >= 0.7);
        // Of thirty-nine values, one on each side is left out.
        let many: Vec<f64> = (0..39).map(f64::from).collect();
        assert_eq!(predicted_range(&many).map(|range| (range.low, range.high)), Some((1.0, 37.0)));
    }
}

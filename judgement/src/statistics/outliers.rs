//! Which values of a sample are outliers, and what is left without them (Hampel 1985).

use super::sample::median;

/// How far from the median, in typical deviations, a difference may lie and still count, however many there are.
const REACH: f64 = 4.0;

/// What is added to it, divided by how many deviations the typical one stands on: from few it is poorly known.
const REACH_OF_FEW: f64 = 24.0;

/// The standard deviation of a normal sample over its median absolute deviation.
pub(super) const DEVIATION_BY_MEDIAN: f64 = 1.482_602_218_505_602;

/// What is left of a sample when values far outside are set aside.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kept {
    pub(super) mean: f64,
    /// Sum of squares about their mean.
    pub(super) squares: f64,
    pub(super) count: f64,
}

impl Kept {
    pub(super) fn of(values: impl Iterator<Item = f64> + Clone) -> Option<Kept> {
        let count = values.clone().count() as f64;
        let mean = values.clone().sum::<f64>() / count;
        let squares = values.map(|value| (value - mean) * (value - mean)).sum();
        (count >= 2.0).then_some(Kept { mean, squares, count })
    }

    pub(super) fn degrees(&self) -> f64 {
        self.count - 1.0
    }
}

/// Which values of a sample count: those no further from the median than `reach` times the sample's own spread by
/// medians, or `typical` if that is larger. `None` as for [`within`].
pub(super) fn within_reach(values: &[f64], typical: f64, reach: f64) -> Option<Vec<bool>> {
    let (centre, spread) = centre_and_spread(values)?;
    within(values, centre, reach * spread.max(typical))
}

/// Which values lie no further than `far` from `centre`; all, where `far` is 0: values that mostly agree to the last
/// digit. `None` if a third or more lie further out: then nobody can tell which are the outliers.
pub(super) fn within(values: &[f64], centre: f64, far: f64) -> Option<Vec<bool>> {
    let near: Vec<bool> = values.iter().map(|value| far <= 0.0 || (value - centre).abs() <= far).collect();
    let outside = near.iter().filter(|near| !**near).count();
    (outside <= most_outside(values.len())).then_some(near)
}

pub(super) fn chosen(values: &[f64], counts: &[bool]) -> impl Iterator<Item = f64> + Clone {
    values.iter().zip(counts).filter(|(_, counts)| **counts).map(|(value, _)| *value)
}

/// The most values of `n` that may be set aside: none of three (where two outliers would vote out the good one), one
/// of four to six.
fn most_outside(n: usize) -> usize {
    if n < 4 { 0 } else { (n - 1) / 3 }
}

/// How far out a value may lie, in typical deviations that stand on so many.
pub(super) fn reach(seen: f64) -> f64 {
    REACH + REACH_OF_FEW / seen
}

/// The median, and the standard deviation as the median absolute deviation tells it (corrected for small samples
/// after Croux & Rousseeuw 1992).
pub(super) fn centre_and_spread(values: &[f64]) -> Option<(f64, f64)> {
    let centre = median(values)?;
    let away: Vec<f64> = values.iter().map(|value| (value - centre).abs()).collect();
    let n = values.len();
    let correction = match n {
        ..=2 => 1.196,
        3 => 1.495,
        4 => 1.363,
        5 => 1.206,
        6 => 1.200,
        7 => 1.140,
        8 => 1.129,
        9 => 1.107,
        _ => n as f64 / (n as f64 - 0.8),
    };
    Some((centre, correction * DEVIATION_BY_MEDIAN * median(&away)?))
}

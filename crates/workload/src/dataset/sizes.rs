//! How big the files of a generated tree are: a stratified sample of the profile's distribution, scaled to a total.
//!
//! Stratified sampling (one draw from each n-th of the distribution): two seeds give trees of the same shape, and a
//! single lucky draw from a heavy tail does not dominate a benchmark.

use super::random::RandomStream;

/// A lognormal distribution, with a Pareto tail where a profile has one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SizeModel {
    /// Mean of the natural logarithm of the size in bytes.
    pub(crate) mu: f64,
    pub(crate) sigma: f64,
    pub(crate) tail: Option<ParetoTail>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct ParetoTail {
    pub(crate) weight: f64,
    /// Where it begins, in bytes.
    pub(crate) from: f64,
    pub(crate) alpha: f64,
}

/// No single file holds more than this share of all bytes (unless there are only a few files).
pub(crate) const LARGEST_SHARE: f64 = 0.1;

impl SizeModel {
    /// One draw from each of `count` equally likely parts of the distribution, smallest first, in bytes.
    pub(crate) fn draw_sizes(&self, count: usize, stream: &mut RandomStream) -> Vec<f64> {
        let normal = NormalQuantiles::new();
        let body = 1.0 - self.tail.map_or(0.0, |tail| tail.weight);
        (0..count)
            .map(|stratum| {
                let at = (stratum as f64 + stream.unit()) / count as f64;
                match self.tail {
                    Some(tail) if at >= body => {
                        let within = ((at - body) / tail.weight).clamp(0.0, 1.0 - 1e-12);
                        tail.from * libm::pow(1.0 - within, -1.0 / tail.alpha)
                    }
                    _ => libm::exp(self.mu + self.sigma * normal.quantile(at / body)),
                }
            })
            .collect()
    }
}

/// One draw from each of `count` equally likely parts of a distribution that is known at equally spaced places, in bytes; between
/// two of them sizes are as likely by their logarithms.
pub(crate) fn sample_of(places: &[u64], count: usize, stream: &mut RandomStream) -> Vec<f64> {
    let last = places.len().saturating_sub(1);
    let size = |place: usize| places.get(place.min(last)).map_or(0.0, |size| *size as f64);
    let draw = |stratum: usize, stream: &mut RandomStream| {
        let at = (stratum as f64 + stream.unit()) / count as f64 * last as f64;
        let below = libm::floor(at);
        let (low, high) = (libm::log1p(size(below as usize)), libm::log1p(size(below as usize + 1)));
        libm::expm1(low + (high - low) * (at - below))
    };
    (0..count).map(|stratum| draw(stratum, stream)).collect()
}

/// Quantiles of the standard normal distribution, by interpolation in a table made with [`libm::erfc`].
pub(crate) struct NormalQuantiles {
    cumulative: Vec<f64>,
}

impl NormalQuantiles {
    const REACH: f64 = 7.0;
    const STEPS: usize = 14 * 1024;

    pub(crate) fn new() -> Self {
        let cumulative = (0..=Self::STEPS)
            .map(|step| 0.5 * libm::erfc(-Self::knot_position(step as f64) / core::f64::consts::SQRT_2))
            .collect();
        Self { cumulative }
    }

    fn knot_position(step: f64) -> f64 {
        2.0 * Self::REACH * step / Self::STEPS as f64 - Self::REACH
    }

    /// The value below which a standard normal number lies with this probability, within ±7.
    pub(crate) fn quantile(&self, probability: f64) -> f64 {
        let above = self.cumulative.partition_point(|value| *value < probability).clamp(1, Self::STEPS);
        let (low, high) = (self.cumulative[above - 1], self.cumulative[above]);
        let within = if high > low { ((probability - low) / (high - low)).clamp(0.0, 1.0) } else { 0.5 };
        Self::knot_position((above - 1) as f64 + within)
    }
}

/// Draws sizes in bytes. Their sum, each taken `copies` times, is as near to `total` as whole bytes allow. Also returns
/// how many were capped. No file has more than the share `largest`, unless there are only a few files.
pub(crate) fn scale_to(raw: &[f64], copies: &[u32], total: u64, largest: f64) -> (Vec<u64>, usize) {
    let weighted = |limit: f64, factor: f64| -> f64 {
        raw.iter().zip(copies).map(|(size, copies)| (size * factor).min(limit) * f64::from(*copies)).sum()
    };
    let names: f64 = copies.iter().map(|copies| f64::from(*copies)).sum();
    let total_bytes = total as f64;
    let limit = total_bytes * largest.max((4.0 / names).min(1.0));
    let (mut low, mut high) = (0.0, 1.0);
    // Two to the 200th is beyond any size; the loop ends there even when nothing can reach the total.
    for _ in 0..200 {
        if weighted(limit, high) >= total_bytes {
            break;
        }
        low = high;
        high *= 2.0;
    }
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if weighted(limit, middle) < total_bytes { low = middle } else { high = middle }
    }
    let mut capped = 0;
    let mut owed = 0.0; // what rounding down has left over so far
    let mut given = 0;
    let mut sizes: Vec<u64> = raw
        .iter()
        .zip(copies)
        .map(|(size, copies)| {
            if size * high > limit * (1.0 + 1e-9) {
                capped += 1;
            }
            let copies_here = f64::from((*copies).max(1));
            let want = (size * high).min(limit) + owed / copies_here;
            let whole = libm::floor(want.max(0.0));
            owed = (want - whole) * copies_here;
            given += whole as u64 * u64::from(*copies);
            whole as u64
        })
        .collect();
    // A last few bytes go to, or come from, the largest file that has no copies.
    let single = (0..sizes.len()).filter(|at| copies[*at] == 1).max_by_key(|at| sizes[*at]);
    if let Some(last) = single {
        sizes[last] = (sizes[last] + total.saturating_sub(given)).saturating_sub(given.saturating_sub(total));
    }
    (sizes, capped)
}

#[cfg(test)]
mod tests {
    use super::{LARGEST_SHARE, NormalQuantiles, scale_to};

    #[test]
    fn normal_quantiles_agree_with_published_values() {
        let normal = NormalQuantiles::new();
        // Tables of the standard normal distribution.
        for (probability, value) in
            [(0.5, 0.0), (0.975, 1.959_964), (0.001, -3.090_232), (0.999_99, 4.264_891), (1e-9, -5.997_807)]
        {
            assert!(
                (normal.quantile(probability) - value).abs() < 1e-5,
                "{probability}: {}",
                normal.quantile(probability)
            );
        }
    }

    #[test]
    fn scaled_sizes_add_up_exactly_and_respect_the_cap() {
        let raw: Vec<f64> = (1..=1000).map(|size| f64::from(size) * f64::from(size)).chain([1e15]).collect();
        let copies: Vec<u32> = (0..1001).map(|at| if at % 10 == 3 { 3 } else { 1 }).collect();
        for total in [0, 1, 999, 123_456_789, 1 << 40] {
            let (sizes, capped) = scale_to(&raw, &copies, total, LARGEST_SHARE);
            let sum: u64 = sizes.iter().zip(&copies).map(|(size, copies)| size * u64::from(*copies)).sum();
            assert_eq!(sum, total);
            if total > 1000 {
                assert_eq!(capped, 1);
                assert!(*sizes.iter().max().unwrap() <= total / 10 + 1000);
            }
        }
    }
}

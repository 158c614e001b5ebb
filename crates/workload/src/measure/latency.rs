//! Percentiles of a latency histogram as the journal keeps it.

use fsverdict_judgement::journal::Histogram;

/// Percentiles in nanoseconds; each the upper edge of its bucket, so exact to the histogram's two digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Percentiles {
    pub(super) p50: u64,
    pub(super) p95: u64,
    pub(super) p99: u64,
    pub(super) p999: u64,
    pub(super) max: u64,
}

/// The percentiles (nearest rank) of a histogram; `None` when it is empty.
pub(super) fn percentiles(histogram: &Histogram) -> Option<Percentiles> {
    let mut buckets = histogram.buckets.clone();
    buckets.retain(|(_, count)| *count > 0);
    buckets.sort_unstable();
    let total: u64 = buckets.iter().map(|(_, count)| count).sum();
    let (max, _) = *buckets.last()?;
    let at = |permille: u64| {
        // The smallest value that at least this share of all values does not exceed.
        let rank =
            u64::try_from((u128::from(total) * u128::from(permille)).div_ceil(1000)).unwrap_or(u64::MAX);
        let mut counted = 0;
        let reached = |(_, count): &&(u64, u64)| {
            counted += count;
            counted >= rank
        };
        buckets.iter().find(reached).map_or(max, |(value, _)| *value)
    };
    Some(Percentiles { p50: at(500), p95: at(950), p99: at(990), p999: at(999), max })
}

#[cfg(test)]
mod tests {
    use super::{Percentiles, percentiles};
    use fsverdict_judgement::journal::Histogram;

    fn histogram(buckets: &[(u64, u64)]) -> Histogram {
        Histogram { call: "create".to_owned(), buckets: buckets.to_vec() }
    }

    #[test]
    fn nearest_rank() {
        let hundred: Vec<_> = (1..=100).map(|value| (value * 10, 1)).collect();
        let expected = Percentiles { p50: 500, p95: 950, p99: 990, p999: 1000, max: 1000 };
        assert_eq!(percentiles(&histogram(&hundred)), Some(expected));
        let shuffled: Vec<_> = hundred.iter().rev().copied().collect();
        assert_eq!(percentiles(&histogram(&shuffled)), Some(expected));
    }

    #[test]
    fn few_values_and_none() {
        let one = Percentiles { p50: 7, p95: 7, p99: 7, p999: 7, max: 7 };
        assert_eq!(percentiles(&histogram(&[(7, 1), (9, 0)])), Some(one));
        let skewed = Percentiles { p50: 1, p95: 1, p99: 1000, p999: 1000, max: 1000 };
        assert_eq!(percentiles(&histogram(&[(1, 95), (1000, 5)])), Some(skewed));
        assert_eq!(percentiles(&histogram(&[])), None);
        assert_eq!(percentiles(&histogram(&[(5, 0)])), None);
    }
}

//! Classifies a ratio as better, worse, the same or undecided, by its significance and its size.

use serde::Serialize;

use crate::statistics::Estimate;

/// How two things compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Comparison {
    /// The difference is significant and larger than δ; likewise `Worse`.
    Better,
    Worse,
    /// The ratio is shown to be within ±δ.
    Same,
    Undecided,
}

/// Classifies a ratio (ours over theirs, smaller is better) with its 1 − α interval and its p-value, which is adjusted
/// for the other comparisons. A difference needs both: p ≤ α, and a ratio above 1 + tie or below its reciprocal. "Same"
/// needs the whole interval to lie between those.
pub fn classify_ratio(ratio: &Estimate, adjusted_p: f64, alpha: f64, tie: f64) -> Comparison {
    let (least, most) = (1.0 / (1.0 + tie), 1.0 + tie);
    if adjusted_p <= alpha && ratio.point > most {
        Comparison::Worse
    } else if adjusted_p <= alpha && ratio.point < least {
        Comparison::Better
    } else if ratio.within(least, most) {
        Comparison::Same
    } else {
        Comparison::Undecided
    }
}

#[cfg(test)]
mod tests {
    use super::{Comparison, classify_ratio};
    use crate::statistics::Estimate;

    #[test]
    fn different_needs_both_and_not_known_is_not_the_same() {
        let judged = |point, low, high, p| {
            classify_ratio(&Estimate { point, low: Some(low), high: Some(high), n: 6 }, p, 0.05, 0.03)
        };
        assert_eq!(judged(1.1, 1.05, 1.15, 0.001), Comparison::Worse);
        assert_eq!(judged(0.9, 0.85, 0.95, 0.001), Comparison::Better);
        assert_eq!(judged(1.01, 1.005, 1.02, 0.001), Comparison::Same);
        assert_eq!(judged(1.1, 0.9, 1.3, 0.2), Comparison::Undecided);
        assert_eq!(
            classify_ratio(&Estimate::without_interval(1.0, 2), 1.0, 0.05, 0.03),
            Comparison::Undecided
        );
    }
}

//! How far a model's answers are from what was measured, request by request and as distributions.

/// Predicted times against measured ones. Shares are of the measured mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Demerit {
    pub n: usize,
    /// Means, in the unit of the times.
    pub measured: f64,
    pub predicted: f64,
    /// The demerit figure of Ruemmler and Wilkes (IEEE Computer 27(3), 1994): the root mean square of the horizontal distance
    /// between the two distributions.
    pub share: f64,
    /// By how much the predicted mean is larger.
    pub bias: f64,
    /// The mean absolute error, request by request.
    pub error: f64,
    /// That of the best constant, the measured median: what a model that knows nothing of a request has.
    pub constant: f64,
}

impl Demerit {
    /// Of pairs of a measured and a predicted time; `None` where there are none, or nothing took any time.
    pub fn of(pairs: &[(f64, f64)]) -> Option<Demerit> {
        let [mut measured, mut predicted]: [Vec<f64>; 2] =
            [pairs.iter().map(|pair| pair.0).collect(), pairs.iter().map(|pair| pair.1).collect()];
        let n = pairs.len() as f64;
        let [mean_of, predicted_mean] = [&measured, &predicted].map(|times| times.iter().sum::<f64>() / n);
        if !mean_of.is_finite() || mean_of <= 0.0 {
            return None;
        }
        let error = pairs.iter().map(|(one, other)| (one - other).abs()).sum::<f64>() / n;
        measured.sort_by(f64::total_cmp);
        predicted.sort_by(f64::total_cmp);
        let [below, above] = [(pairs.len() - 1) / 2, pairs.len() / 2].map(|at| measured[at]);
        let middle = below + 0.5 * (above - below);
        let constant = measured.iter().map(|time| (time - middle).abs()).sum::<f64>() / n;
        let squares: f64 = measured.iter().zip(&predicted).map(|(one, other)| (one - other).powi(2)).sum();
        Some(Demerit {
            n: pairs.len(),
            measured: mean_of,
            predicted: predicted_mean,
            share: (squares / n).sqrt() / mean_of,
            bias: predicted_mean / mean_of - 1.0,
            error: error / mean_of,
            constant: constant / mean_of,
        })
    }

    /// The root mean square of the shares of several kinds of requests, each counted as often as it came: what the figure of
    /// all of them hides where errors of different kinds cancel.
    pub fn within<'a>(kinds: impl IntoIterator<Item = &'a Demerit>) -> f64 {
        let (squares, n) = kinds.into_iter().fold((0.0, 0.0), |(squares, n), kind| {
            (squares + kind.share.powi(2) * kind.n as f64, n + kind.n as f64)
        });
        if n > 0.0 { (squares / n).sqrt() } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::Demerit;

    #[test]
    fn distributions_hide_what_requests_show() {
        // The same times, at the wrong requests.
        let found = Demerit::of(&[(1.0, 3.0), (3.0, 1.0), (2.0, 2.0)]).unwrap();
        assert_eq!((found.share, found.bias), (0.0, 0.0));
        assert!((found.error - 4.0 / 3.0 / 2.0).abs() < 1e-12 && (found.constant - 1.0 / 3.0).abs() < 1e-12);
        // All 10 % too long: the distance of each quantile is a tenth of it.
        let times = [1.0, 2.0, 5.0].map(|time| (time, time * 1.1));
        let found = Demerit::of(&times).unwrap();
        let expected = 0.1 * (30.0_f64 / 3.0).sqrt() / (8.0 / 3.0);
        assert!((found.share - expected).abs() < 1e-12 && (found.bias - 0.1).abs() < 1e-12);
        assert_eq!(Demerit::of(&[]), None);
        assert_eq!(Demerit::of(&[(0.0, 1.0)]), None);
    }

    #[test]
    fn kinds_count_as_often_as_they_come() {
        let of = |share: f64, n: usize| {
            let pairs = vec![(1.0, 1.0 + share); n];
            Demerit::of(&pairs).unwrap()
        };
        assert!((Demerit::within(&[of(0.1, 3), of(0.3, 1)]) - (0.12_f64 / 4.0).sqrt()).abs() < 1e-9);
        assert_eq!(Demerit::within(&[]), 0.0);
    }
}

//! The demerit figure and other errors of a model's times against measured ones, request by request and as
//! distributions.

/// Errors of predicted times against measured ones. Shares are of the measured mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Demerit {
    /// Number of requests.
    pub n: usize,
    /// Mean of the measured times, in their unit.
    pub measured: f64,
    /// Mean of the predicted times, in their unit.
    pub predicted: f64,
    /// The demerit figure of Ruemmler and Wilkes (IEEE Computer 27(3), 1994): the root mean square of the horizontal
    /// distance between the two distributions.
    pub share: f64,
    /// Share by which the predicted mean is larger.
    pub bias: f64,
    /// The mean absolute error, request by request, as a share.
    pub error: f64,
    /// The mean absolute error of the best constant prediction, the measured median: the error of a model without
    /// information.
    pub constant: f64,
}

impl Demerit {
    /// Computes the errors from pairs of a measured and a predicted time; `None` where there are none, or all
    /// measured times are 0.
    pub fn from_pairs(pairs: &[(f64, f64)]) -> Option<Demerit> {
        let [mut measured, mut predicted]: [Vec<f64>; 2] =
            [pairs.iter().map(|pair| pair.0).collect(), pairs.iter().map(|pair| pair.1).collect()];
        let n = pairs.len() as f64;
        let [measured_mean, predicted_mean] =
            [&measured, &predicted].map(|times| times.iter().sum::<f64>() / n);
        if !measured_mean.is_finite() || measured_mean <= 0.0 {
            return None;
        }
        let error = pairs.iter().map(|(measured_time, other)| (measured_time - other).abs()).sum::<f64>() / n;
        measured.sort_by(f64::total_cmp);
        predicted.sort_by(f64::total_cmp);
        let [below, above] = [(pairs.len() - 1) / 2, pairs.len() / 2].map(|index| measured[index]);
        let median = below + 0.5 * (above - below);
        let constant = measured.iter().map(|time| (time - median).abs()).sum::<f64>() / n;
        let squares: f64 = measured
            .iter()
            .zip(&predicted)
            .map(|(measured_time, other)| (measured_time - other).powi(2))
            .sum();
        Some(Demerit {
            n: pairs.len(),
            measured: measured_mean,
            predicted: predicted_mean,
            share: (squares / n).sqrt() / measured_mean,
            bias: predicted_mean / measured_mean - 1.0,
            error: error / measured_mean,
            constant: constant / measured_mean,
        })
    }

    /// Root mean square of the shares of several kinds of requests, weighted by the number of requests. It shows
    /// errors that cancel between kinds in the figure of all requests.
    pub fn weighted_mean<'a>(kinds: impl IntoIterator<Item = &'a Demerit>) -> f64 {
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
        // The times are the same, but at the wrong requests.
        let found = Demerit::from_pairs(&[(1.0, 3.0), (3.0, 1.0), (2.0, 2.0)]).unwrap();
        assert_eq!((found.share, found.bias), (0.0, 0.0));
        assert!((found.error - 4.0 / 3.0 / 2.0).abs() < 1e-12 && (found.constant - 1.0 / 3.0).abs() < 1e-12);
        // All times are 10 % too long: the distance of each quantile is a tenth of it.
        let times = [1.0, 2.0, 5.0].map(|time| (time, time * 1.1));
        let found = Demerit::from_pairs(&times).unwrap();
        let expected = 0.1 * (30.0_f64 / 3.0).sqrt() / (8.0 / 3.0);
        assert!((found.share - expected).abs() < 1e-12 && (found.bias - 0.1).abs() < 1e-12);
        assert_eq!(Demerit::from_pairs(&[]), None);
        assert_eq!(Demerit::from_pairs(&[(0.0, 1.0)]), None);
    }

    #[test]
    fn kinds_count_as_often_as_they_come() {
        let of = |share: f64, n: usize| {
            let pairs = vec![(1.0, 1.0 + share); n];
            Demerit::from_pairs(&pairs).unwrap()
        };
        assert!((Demerit::weighted_mean(&[of(0.1, 3), of(0.3, 1)]) - (0.12_f64 / 4.0).sqrt()).abs() < 1e-9);
        assert_eq!(Demerit::weighted_mean(&[]), 0.0);
    }
}

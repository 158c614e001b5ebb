//! Outlier rejection (Hampel 1985): sets aside values far outside a sample, so that a single value decides nothing. A
//! third of a sample or all values of a site are never outliers.

use super::sample::median;

/// How far from the median a difference may lie and still count, in robust standard deviations.
const REACH: f64 = 5.0;

/// The smallest sample from which values may be set aside: of three values, two outliers would outvote the good one.
const FEWEST_TO_SET_ASIDE: usize = 4;

/// Equal differences may deviate by less than this because of the rounding of logs.
pub(super) const LAST_DIGIT: f64 = 1e-12;

/// The ratio of a normal distribution's standard deviation to its median absolute deviation.
const DEVIATION_BY_MEDIAN: f64 = 1.482_602_218_505_602;

/// The standard deviation, estimated from the median absolute deviation.
pub(super) fn robust_deviation(values: &[f64]) -> Option<f64> {
    let centre = median(values)?;
    let away: Vec<f64> = values.iter().map(|value| (value - centre).abs()).collect();
    Some(DEVIATION_BY_MEDIAN * median(&away)?)
}

/// The values within [`REACH`] robust standard deviations of the median, with the sample's own deviation or the typical
/// one of all samples, whichever is larger. Returns all values if there are few, if most agree to the last digit, or if
/// a third or a whole site would be set aside, because it is then unclear which values are the outliers.
pub(super) fn without_outliers(values: &[f64], sites: &[usize], typical: f64) -> Vec<f64> {
    let all = values.to_vec();
    let (Some(centre), Some(own)) = (median(values), robust_deviation(values)) else { return all };
    let far = REACH * own.max(typical);
    let is_near = |value: &f64| (value - centre).abs() <= far;
    let near: Vec<f64> = values.iter().copied().filter(is_near).collect();
    let of_site = |site: usize| sites.iter().zip(values).filter(move |(own, _)| **own == site);
    let has_some = |site: &usize| of_site(*site).any(|(_, value)| is_near(value));
    let unclear = all.len() < FEWEST_TO_SET_ASIDE
        || far < LAST_DIGIT
        || 3 * near.len() <= 2 * all.len()
        || (near.len() < all.len() && !sites.iter().all(has_some));
    if unclear { all } else { near }
}

#[cfg(test)]
mod tests {
    use crate::statistics::Evidence;

    #[test]
    fn an_outlier_is_set_aside_where_there_are_enough_to_tell() {
        let calm = [0.10, 0.11, 0.09, 0.10, 0.12];
        let wild = [0.10, 0.11, 0.09, 0.10, 3.0];
        assert_eq!(Evidence::from_sample(&calm).unwrap().count, 5);
        let found = Evidence::from_sample(&wild).unwrap();
        assert_eq!(found.count, 4);
        assert!((found.difference - 0.10).abs() < 1e-12);
        assert_eq!(Evidence::from_sample(&[0.1, 0.1, 3.0]).unwrap().count, 3);
        // Two modes are no outliers.
        assert_eq!(Evidence::from_sample(&[0.0, 0.001, 0.002, 5.0, 5.001]).unwrap().count, 5);
    }

    #[test]
    fn a_whole_site_is_no_outlier() {
        let samples = [vec![0.10, 0.11, 0.09, 0.10, 0.12, 0.11, -0.5, -0.51]];
        let count = |sites: [usize; 8]| Evidence::at_sites(&samples, &[sites.to_vec()])[0].count;
        assert_eq!(
            (count([0; 8]), count([0, 0, 0, 1, 1, 1, 0, 1]), count([0, 0, 0, 1, 1, 1, 2, 2])),
            (6, 6, 8)
        );
    }
}

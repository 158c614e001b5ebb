//! What of a sample lies so far outside that it is set aside (Hampel 1985): neither is a single wild value to decide anything, nor
//! is what a third of a sample or a whole site shows an outlier.

use super::sample::median;

/// How far from the median a difference may lie and still count, in typical deviations.
const REACH: f64 = 5.0;

/// From so many on, differences may be set aside: of three, two outliers would vote out the good one.
const FEWEST_TO_SET_ASIDE: usize = 4;

/// Rounding of logs makes equal differences differ by less.
pub(super) const LAST_DIGIT: f64 = 1e-12;

/// The standard deviation of a normal sample over its median absolute deviation.
const DEVIATION_BY_MEDIAN: f64 = 1.482_602_218_505_602;

/// The standard deviation as the median absolute deviation has it.
pub(super) fn spread(values: &[f64]) -> Option<f64> {
    let centre = median(values)?;
    let away: Vec<f64> = values.iter().map(|value| (value - centre).abs()).collect();
    Some(DEVIATION_BY_MEDIAN * median(&away)?)
}

/// Those no further than [`REACH`] typical deviations from the median, the sample's own or all samples', whichever is larger.
/// All where few are there, where they mostly agree to the last digit, or where a third or a whole site would go: then nobody
/// can tell which are the outliers.
pub(super) fn kept(values: &[f64], sites: &[usize], typical: f64) -> Vec<f64> {
    let all = values.to_vec();
    let (Some(centre), Some(own)) = (median(values), spread(values)) else { return all };
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
        assert_eq!(Evidence::of(&calm).unwrap().count, 5);
        let found = Evidence::of(&wild).unwrap();
        assert_eq!(found.count, 4);
        assert!((found.difference - 0.10).abs() < 1e-12);
        assert_eq!(Evidence::of(&[0.1, 0.1, 3.0]).unwrap().count, 3);
        // Two modes are no outliers.
        assert_eq!(Evidence::of(&[0.0, 0.001, 0.002, 5.0, 5.001]).unwrap().count, 5);
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

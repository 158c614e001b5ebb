//! The confidence interval of a proportion.

/// The 95 % interval of a proportion with `hits` in `cases` (E. B. Wilson, "Probable inference, the law of succession,
/// and statistical inference", JASA 22, 1927), which is valid for few cases and for proportions of zero, too. `None`
/// without a case.
pub fn wilson_interval(hits: u32, cases: u32) -> Option<[f64; 2]> {
    /// The 97.5 % point of the normal distribution.
    const Z: f64 = 1.959_963_984_540_054;
    if cases == 0 {
        return None;
    }
    let (cases, hits) = (f64::from(cases), f64::from(hits.min(cases)));
    let share = hits / cases;
    let middle = share + Z * Z / (2.0 * cases);
    let half = Z * libm::sqrt(share * (1.0 - share) / cases + Z * Z / (4.0 * cases * cases));
    let scale = 1.0 + Z * Z / cases;
    // At the ends the exact value is known; the formula would leave a rounding error.
    let low = if hits == 0.0 { 0.0 } else { (middle - half) / scale };
    let high = if hits == cases { 1.0 } else { (middle + half) / scale };
    Some([low, high])
}

#[cfg(test)]
mod tests {
    use super::wilson_interval;

    #[test]
    fn intervals_are_those_of_the_tables() {
        // Newcombe, Statistics in Medicine 17, 1998, table I, method 3: 81 of 263, 15 of 148, 0 of 20, 1 of 29.
        for (hits, cases, low, high) in [
            (81, 263, 0.2553, 0.3662),
            (15, 148, 0.0624, 0.1605),
            (0, 20, 0.0, 0.1611),
            (1, 29, 0.0061, 0.1718),
        ] {
            let [found_low, found_high] = wilson_interval(hits, cases).unwrap();
            assert!(
                (found_low - low).abs() < 6e-5 && (found_high - high).abs() < 6e-5,
                "{found_low} {found_high}"
            );
        }
        assert_eq!(wilson_interval(0, 0), None);
        assert_eq!((wilson_interval(7, 7).unwrap()[1], wilson_interval(0, 7).unwrap()[0]), (1.0, 0.0));
    }
}

//! Tests of numbers as people read them.

use super::{
    NumberScale, alike_within, decimals, fine_percent, fixed, is_alike, percent, plain_number, times,
    times_within,
};
use fsverdict_judgement::journal::Unit;
use fsverdict_judgement::verdict::Estimate;

fn shown(value: f64, spread: Option<f64>) -> String {
    fixed(value, decimals(value, spread))
}

#[test]
fn digits_end_where_the_spread_begins() {
    assert_eq!(shown(12.3456, Some(0.03)), "12.3");
    assert_eq!(shown(12.3456, Some(0.003)), "12.35");
    assert_eq!(shown(893.4, Some(0.05)), "890");
    assert_eq!(shown(893.4, Some(0.01)), "893");
    assert_eq!(shown(0.066_66, Some(0.01)), "0.0667");
    // Never fewer than two digits, never more than four.
    assert_eq!(shown(893.4, Some(0.9)), "890");
    assert_eq!(shown(1.234_567, Some(1e-9)), "1.235");
    assert_eq!(shown(66.0, Some(0.0)), "66.0");
}

#[test]
fn an_interval_tells_how_many_digits_a_ratio_carries() {
    let within = |point: f64, low: f64, high: f64| {
        times_within(&Estimate { point, low: Some(low), high: Some(high), n: 8 })
    };
    assert_eq!(within(1.4213, 1.3127, 1.5501), "1.4 (1.3 to 1.6)");
    assert_eq!(within(1.4213, 1.3927, 1.4501), "1.42 (1.39 to 1.45)");
    assert_eq!(within(1.0042, 0.9987, 1.0098), "1.004 (0.999 to 1.010)");
    assert_eq!(within(12.3, 8.4, 17.9), "12 (8 to 18)");
    // Not "1 (1 to 3)", nor a factor of "1.0".
    assert_eq!(within(1.24, 0.62, 2.61), "1.2 (0.6 to 2.6)");
    assert_eq!(within(1.04, 0.92, 1.18), "1.04 (0.92 to 1.18)");
    assert_eq!(within(0.67, 0.67, 0.67), "0.67");
    assert_eq!(times_within(&Estimate { point: 1.234, low: None, high: None, n: 3 }), "1.23");
}

#[test]
fn candidates_are_alike_where_no_end_of_the_interval_matters() {
    let is = |low, high| is_alike(&Estimate { point: 1.0, low: Some(low), high: Some(high), n: 5 }, 0.03);
    assert!(is(0.994, 1.003) && is(0.98, 1.03) && is(1.0, 1.0));
    assert!(!is(0.96, 1.01) && !is(0.99, 1.04) && !is(1.001, 1.02));
    assert!(!is_alike(&Estimate { point: 1.0, low: None, high: None, n: 1 }, 0.03));
}

/// "takes 1.00 (0.94 to 1.05) times as long" says of two that they differ, and by nothing.
#[test]
fn what_reads_one_and_may_be_it_is_alike_within_the_farther_end() {
    let alike = |point: f64, low: f64, high: f64| {
        alike_within(&Estimate { point, low: Some(low), high: Some(high), n: 8 })
    };
    assert_eq!(alike(1.003, 0.941, 1.052).as_deref(), Some("6%"));
    assert_eq!(alike(0.998, 0.91, 1.13).as_deref(), Some("13%"));
    assert_eq!(alike(1.0002, 0.9971, 1.0031).as_deref(), Some("0.31%"));
    assert_eq!(alike(1.0, 1.0, 1.0).as_deref(), Some("0.01%"));
    // It reads 1.004, and 1.05; and here the interval does not hold 1.
    assert_eq!(alike(1.0042, 0.9987, 1.0098), None);
    assert_eq!(alike(1.05, 0.99, 1.11), None);
    assert_eq!(alike(1.0004, 1.0003, 1.0006), None);
    assert_eq!(alike_within(&Estimate { point: 1.0, low: None, high: None, n: 1 }), None);
}

#[test]
fn shares_and_weights_have_two_digits() {
    assert_eq!(
        [0.0, 0.000_01, 0.0034, 0.0213, 0.124, 1.7].map(fine_percent),
        ["0%", "<0.01%", "0.34%", "2.1%", "12%", "170%"]
    );
    assert_eq!([0.3456, 3.21, 12.4, 134.0].map(plain_number), ["0.35", "3.2", "12", "130"]);
}

#[test]
fn a_single_value_carries_two_digits_or_three_after_a_leading_one() {
    assert_eq!(shown(7.3456, None), "7.3");
    assert_eq!(shown(1.3456, None), "1.35");
    assert_eq!(shown(0.073_456, None), "0.073");
    assert_eq!(shown(553.0, None), "550");
    assert_eq!(shown(0.0, None), "0");
}

#[test]
fn a_column_has_one_unit() {
    let label = |unit, values: &[f64]| NumberScale::suited(unit, values.iter().copied()).label;
    assert_eq!(label(Unit::Seconds, &[0.1, 0.3]), "ms");
    assert_eq!(label(Unit::Seconds, &[0.9, 3.0]), "s");
    assert_eq!(label(Unit::Seconds, &[553.0, 893.0]), "s");
    assert_eq!(label(Unit::Seconds, &[3000.0, 12000.0]), "min");
    assert_eq!(label(Unit::Bytes, &[60.0 * 1024.0 * 1024.0]), "MiB");
    assert_eq!(label(Unit::Seconds, &[]), "s");
    assert_eq!(label(Unit::Seconds, &[0.0]), "s");
}

#[test]
fn shares_and_ratios_stay_short() {
    assert_eq!(percent(0.004), "<1%");
    assert_eq!(percent(0.0), "0%");
    assert_eq!(percent(0.126), "13%");
    assert_eq!(times(1.0), "1.00");
    assert_eq!(times(12.34), "12.3");
    assert_eq!(times(345.6), "346");
}

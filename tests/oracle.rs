//! Every test and interval of the statistics room against scipy: `oracle/golden.json` holds random inputs, ties
//! and tiny samples among them, with scipy's answers; `oracle/generate.py` wrote it and can verify it.
#![allow(clippy::unwrap_used)] // a test may fail by panicking

use std::sync::LazyLock;

use fsverdict::statistics::{
    best_of, coin_cumulative, evidence, holm, independent_ratio, levels, mean, median, median_estimate,
    minimum_detectable_difference, normal_quantile, normal_tail, quantile, shift_estimate, student_quantile,
    student_tail, table_scale, trimmed_mean,
};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

static GOLDEN: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(include_str!("oracle/golden.json")).unwrap());

fn cases<T: DeserializeOwned>(name: &str) -> Vec<T> {
    let cases: Vec<T> = serde_json::from_value(GOLDEN[name].clone()).unwrap();
    assert!(cases.len() >= 5, "{name}: only {} cases", cases.len());
    cases
}

#[track_caller]
fn close(ours: f64, theirs: f64, tolerance: f64, what: &str) {
    let scale = theirs.abs().max(1e-12);
    assert!((ours - theirs).abs() <= tolerance * scale + 1e-13, "{what}: ours {ours}, scipy {theirs}");
}

#[track_caller]
fn close_or_none(ours: Option<f64>, theirs: Option<f64>, what: &str) {
    match (ours, theirs) {
        (Some(ours), Some(theirs)) => close(ours, theirs, 1e-9, what),
        (ours, theirs) => assert_eq!(ours, theirs, "{what}"),
    }
}

#[derive(Deserialize)]
struct Distribution {
    degrees: f64,
    x: f64,
    share: f64,
    trials: usize,
    successes: usize,
    normal_tail: f64,
    normal_quantile: f64,
    student_tail: f64,
    student_quantile: f64,
    coin_cumulative: f64,
}

#[test]
fn distributions() {
    for case in cases::<Distribution>("distribution") {
        let what = format!("x {} degrees {} share {}", case.x, case.degrees, case.share);
        close(normal_tail(case.x), case.normal_tail, 1e-10, &what);
        close(normal_quantile(case.share), case.normal_quantile, 1e-9, &what);
        close(student_tail(case.x, case.degrees), case.student_tail, 1e-9, &what);
        close(student_quantile(case.share, case.degrees), case.student_quantile, 1e-8, &what);
        close(coin_cumulative(case.successes, case.trials), case.coin_cumulative, 1e-9, &what);
    }
}

#[derive(Deserialize)]
struct Shift {
    values: Vec<f64>,
    confidence: f64,
    point: f64,
    low: Option<f64>,
    high: Option<f64>,
}

#[test]
fn hodges_lehmann_interval_is_what_the_test_does_not_reject() {
    for case in cases::<Shift>("hodges_lehmann") {
        let found = shift_estimate(&case.values, case.confidence).unwrap();
        let what = format!("{:?} at {}", case.values, case.confidence);
        close(found.point, case.point, 1e-9, &what);
        close_or_none(found.low, case.low, &what);
        close_or_none(found.high, case.high, &what);
    }
}

#[derive(Deserialize)]
struct Summary {
    values: Vec<f64>,
    confidence: f64,
    median: f64,
    low: Option<f64>,
    high: Option<f64>,
    mean: f64,
    trimmed: Option<f64>,
    best: f64,
    quartiles: [f64; 2],
}

#[test]
fn medians_and_legacy_estimators() {
    for case in cases::<Summary>("median") {
        let what = format!("{:?} at {}", case.values, case.confidence);
        let found = median_estimate(&case.values, case.confidence).unwrap();
        close(found.point, case.median, 1e-12, &what);
        close_or_none(found.low, case.low, &what);
        close_or_none(found.high, case.high, &what);
        close(median(&case.values).unwrap(), case.median, 1e-12, &what);
        close_or_none(mean(&case.values), Some(case.mean), &what);
        close_or_none(trimmed_mean(&case.values), case.trimmed, &what);
        close_or_none(best_of(&case.values), Some(case.best), &what);
        close_or_none(quantile(&case.values, 0.25), Some(case.quartiles[0]), &what);
        close_or_none(quantile(&case.values, 0.75), Some(case.quartiles[1]), &what);
    }
}

#[derive(Deserialize)]
struct Several {
    p_values: Vec<f64>,
    adjusted: Vec<f64>,
}

#[test]
fn holm_is_closed_bonferroni() {
    for case in cases::<Several>("holm") {
        for (ours, theirs) in holm(&case.p_values).into_iter().zip(&case.adjusted) {
            close(ours, *theirs, 1e-10, &format!("{:?}", case.p_values));
        }
    }
}

#[derive(Deserialize)]
struct OutlierT {
    values: Vec<f64>,
    difference: f64,
    error: f64,
    p: f64,
}

#[test]
fn t_tests_without_outliers() {
    for case in cases::<OutlierT>("outlier_t") {
        let found = evidence(&case.values, &[], None).unwrap();
        let what = format!("{:?}", case.values);
        close(found.difference, case.difference, 1e-9, &what);
        close(found.error, case.error, 1e-9, &what);
        close(found.p_different(), case.p, 1e-8, &what);
    }
}

#[derive(Deserialize)]
struct Independent {
    ours: Vec<f64>,
    theirs: Vec<f64>,
    mean: f64,
    p: f64,
    low: f64,
    high: f64,
}

#[test]
fn independent_samples() {
    for case in cases::<Independent>("independent") {
        let (ratio, p) = independent_ratio(&case.ours, &case.theirs, 0.95).unwrap();
        let what = format!("{:?} against {:?}", case.ours, case.theirs);
        close(ratio.point, case.mean.exp(), 1e-9, &what);
        close(ratio.low.unwrap(), case.low.exp(), 1e-7, &what);
        close(ratio.high.unwrap(), case.high.exp(), 1e-7, &what);
        close(p.unwrap(), case.p, 1e-7, &what);
    }
}

#[derive(Deserialize)]
struct Detectable {
    deviation: f64,
    blocks: usize,
    alpha: f64,
    power: f64,
    difference: f64,
}

#[test]
fn detectable_differences() {
    for case in cases::<Detectable>("detectable") {
        let found =
            minimum_detectable_difference(case.deviation, case.blocks, case.alpha, case.power).unwrap();
        close(found, case.difference, 1e-7, &format!("{} blocks", case.blocks));
    }
}

#[derive(Deserialize)]
struct Residual {
    table: Vec<Vec<f64>>,
    variance: f64,
    degrees: f64,
}

#[test]
fn residuals_of_least_squares() {
    let (mut drawn_in, mut all) = (0, 0);
    for case in cases::<Residual>("residual") {
        let scale = table_scale(&case.table).unwrap();
        assert_eq!(scale.seen, case.degrees);
        // Ours is of differences of two values. Where a pair looks wild beside the others, it counts less.
        let ours = 0.5 * scale.variance;
        all += 1;
        if ours < 0.999 * case.variance {
            drawn_in += 1;
        } else {
            close(ours, case.variance, 1e-8, &format!("{:?}", case.table));
        }
    }
    assert!(5 * drawn_in <= all, "{drawn_in} of {all}");
}

#[derive(Deserialize)]
struct Crossing {
    blocks: [u32; 2],
    shares: [f64; 2],
    levels: [f64; 2],
}

#[test]
fn levels_of_repeated_looks() {
    for case in cases::<Crossing>("crossing") {
        let looks = [(case.blocks[0], case.shares[0]), (case.blocks[1], case.shares[1])];
        for (ours, theirs) in levels(&looks).into_iter().zip(case.levels) {
            close(ours, theirs, 1e-4, &format!("{looks:?}"));
        }
    }
}

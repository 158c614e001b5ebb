//! Every test and interval of the statistics room against scipy: `oracle/golden.json` holds random inputs, ties
//! and tiny samples among them, with scipy's answers; `oracle/generate.py` wrote it and can verify it.
use std::sync::LazyLock;

use fsverdict_judgement::statistics::{
    Evidence, FEWEST, adjust_by_holm, best_of, mean, median, quantile, student_quantile, student_tail,
    trimmed_mean,
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
    student_tail: f64,
    student_quantile: f64,
}

#[test]
fn distributions() {
    for case in cases::<Distribution>("distribution") {
        let what = format!("x {} degrees {} share {}", case.x, case.degrees, case.share);
        close(student_tail(case.x, case.degrees), case.student_tail, 1e-9, &what);
        close(student_quantile(case.share, case.degrees), case.student_quantile, 1e-8, &what);
    }
}

#[derive(Deserialize)]
struct Sample {
    values: Vec<f64>,
    median: f64,
    mean: f64,
    trimmed: Option<f64>,
    best: f64,
    quartiles: [f64; 2],
}

#[test]
fn samples_and_legacy_estimators() {
    for case in cases::<Sample>("sample") {
        let what = format!("{:?}", case.values);
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
        for (ours, theirs) in adjust_by_holm(&case.p_values).into_iter().zip(&case.adjusted) {
            close(ours, *theirs, 1e-10, &format!("{:?}", case.p_values));
        }
    }
}

#[derive(Deserialize)]
struct OneSample {
    values: Vec<f64>,
    difference: f64,
    error: f64,
    p: f64,
    p_above: f64,
    low: f64,
    high: f64,
}

#[test]
fn t_tests_without_outliers() {
    for case in cases::<OneSample>("evidence") {
        let found = Evidence::from_sample(&case.values).unwrap();
        let what = format!("{:?}", case.values);
        close(found.difference, case.difference, 1e-9, &what);
        close(found.error, case.error, 1e-9, &what);
        close(found.p_different(), case.p, 1e-8, &what);
        close(found.p_above(-0.1), case.p_above, 1e-8, &what);
        if found.count >= FEWEST as usize {
            close_or_none(found.estimate().low, Some(case.low), &what);
            close_or_none(found.estimate().high, Some(case.high), &what);
        }
    }
}

#[derive(Deserialize)]
struct Moderated {
    samples: Vec<Vec<f64>>,
    p_above: Vec<f64>,
}

#[test]
fn pairs_in_the_light_of_others() {
    for case in cases::<Moderated>("moderated") {
        for (ours, theirs) in Evidence::from_paired_samples(&case.samples).into_iter().zip(case.p_above) {
            close(ours.p_above(0.0), theirs, 1e-8, &format!("{:?}", case.samples));
        }
    }
}

#[derive(Deserialize)]
struct Welch {
    ours: Vec<f64>,
    theirs: Vec<f64>,
    mean: f64,
    p: f64,
    low: f64,
    high: f64,
}

#[test]
fn independent_samples() {
    for case in cases::<Welch>("welch") {
        let found = Evidence::from_unpaired_samples(&case.ours, &case.theirs).unwrap();
        let what = format!("{:?} against {:?}", case.ours, case.theirs);
        close(found.difference, case.mean, 1e-9, &what);
        close(found.estimate().low.unwrap(), case.low, 1e-7, &what);
        close(found.estimate().high.unwrap(), case.high, 1e-7, &what);
        close(found.p_different(), case.p, 1e-7, &what);
    }
}

//! The statistics of two independent samples against scipy: see tests/oracle/independent.py.

#![expect(clippy::unwrap_used, reason = "a test may panic in its helpers too")]

use std::collections::BTreeMap;

use fsverdict::statistics::{independent_shift, rank_sum};

#[derive(serde::Deserialize)]
struct Golden {
    cases: Vec<Case>,
}

#[derive(serde::Deserialize)]
struct Case {
    ours: Vec<f64>,
    theirs: Vec<f64>,
    method: String,
    u: f64,
    p: f64,
    intervals: BTreeMap<String, Option<(f64, f64)>>,
}

fn cases() -> Vec<Case> {
    let golden: Golden = serde_json::from_str(include_str!("oracle/independent.json")).unwrap();
    assert!(golden.cases.len() > 200);
    golden.cases
}

#[test]
fn u_and_p_are_those_of_scipy() {
    for case in cases() {
        let found = rank_sum(&case.ours, &case.theirs);
        let sizes = (case.ours.len(), case.theirs.len(), &case.method);
        assert_eq!(found.statistic, case.u, "{sizes:?}");
        assert!(
            (found.p - case.p).abs() <= 1e-9 * case.p.max(1e-3),
            "{sizes:?}: {} is not {}",
            found.p,
            case.p
        );
    }
}

#[test]
fn intervals_hold_the_shifts_that_scipy_does_not_reject() {
    let mut compared = 0;
    for case in cases() {
        for (level, expected) in &case.intervals {
            let found = independent_shift(&case.ours, &case.theirs, level.parse().unwrap()).unwrap();
            let sizes = (case.ours.len(), case.theirs.len(), level);
            assert_eq!(found.low.is_some(), expected.is_some(), "{sizes:?}");
            if let (Some((low, high)), Some(found_low), Some(found_high)) = (expected, found.low, found.high)
            {
                assert!((found_low - low).abs() < 1e-9 && (found_high - high).abs() < 1e-9, "{sizes:?}");
                compared += 1;
            }
        }
    }
    assert!(compared > 100, "{compared}");
}

//! Findings that hold, that no longer hold, and that cannot be told.

use std::collections::BTreeMap;

use super::{FindingContext, FindingReason, FindingStatus, then_and_now};
use crate::journal::{Beginning, Unit};
use crate::plan::{Aggregation, Assertion, Denominator, DeviceSource, Plan, Published};
use crate::verdict::{ByBlock, Estimate, FreeComputation, Objective, PhaseEstimate, ThenAndNow};
use fsverdict_text::Bytes;

fn estimate(candidate: &str, n: usize, range: [f64; 3]) -> PhaseEstimate {
    let [min, point, max] = range;
    PhaseEstimate {
        candidate: candidate.to_owned(),
        phase: "write".to_owned(),
        metric: "durable".to_owned(),
        unit: Unit::Seconds,
        better: None,
        estimate: Estimate { point, low: None, high: None, n },
        set_aside: 0,
        min,
        max,
    }
}

fn published(claim: Assertion) -> Published {
    Published {
        finding: "a finding".to_owned(),
        source: "somewhere".to_owned(),
        phase: "write".to_owned(),
        metric: "durable".to_owned(),
        about_cpu: false,
        figures: BTreeMap::new(),
        unit: String::new(),
        claim,
    }
}

/// Judges the findings of a plan that was carried out in simulated time if its device is modelled.
fn judge_findings(plan: &Plan, estimates: &[PhaseEstimate]) -> Vec<ThenAndNow> {
    let free = FreeComputation::new(plan, plan.device.source.is_modelled());
    then_and_now(plan, &Beginning::default(), estimates, &ByBlock::default(), &free)
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn better(one: &[&str], than: &[&str], by: f64) -> Assertion {
    Assertion::Better {
        better: names(one),
        than: names(than),
        by,
        than_phase: None,
        of: Denominator::default(),
    }
}

/// On a real device.
fn judge_one(published: &Published, estimates: &[PhaseEstimate]) -> ThenAndNow {
    let objective = Objective {
        planned_bytes: std::collections::BTreeMap::new(),
        metric: "durable".to_owned(),
        by: Aggregation::default(),
        weights: BTreeMap::new(),
        left_out: Vec::new(),
    };
    let bench = FindingContext {
        blocks: &ByBlock::default(),
        objective: &objective,
        tie: 0.03,
        modelled: false,
        errors: None,
    };
    super::judge_one(published, estimates, bench)
}

fn now(claim: Assertion, estimates: &[PhaseEstimate]) -> FindingStatus {
    judge_one(&published(claim), estimates).now
}

#[test]
fn better_needs_ranges_apart_and_the_factor() {
    let estimates = [
        estimate("fast", 3, [0.9, 1.0, 1.1]),
        estimate("slow", 3, [2.9, 3.0, 3.1]),
        estimate("near", 3, [1.0, 1.05, 1.3]),
        estimate("once", 1, [9.0, 9.0, 9.0]),
    ];
    assert_eq!(now(better(&["fast"], &["slow"], 1.0), &estimates), FindingStatus::Holds);
    assert_eq!(now(better(&["fast"], &["slow"], 2.0), &estimates), FindingStatus::Holds);
    assert_eq!(now(better(&["fast"], &["slow"], 3.0), &estimates), FindingStatus::CannotTell);
    // Worse by no more than this: what is better is so, too.
    assert_eq!(now(better(&["fast"], &["slow"], 0.9), &estimates), FindingStatus::Holds);
    assert_eq!(now(better(&["near"], &["fast"], 0.5), &estimates), FindingStatus::Holds);
    assert_eq!(now(better(&["near"], &["fast"], 0.9), &estimates), FindingStatus::CannotTell);
    assert_eq!(now(better(&["slow"], &["fast"], 0.9), &estimates), FindingStatus::NoLongerHolds);
    assert_eq!(now(better(&["fast"], &["slow"], 4.0), &estimates), FindingStatus::NoLongerHolds);
    assert_eq!(now(better(&["slow"], &["fast"], 1.0), &estimates), FindingStatus::NoLongerHolds);
    assert_eq!(now(better(&["fast"], &["near"], 1.0), &estimates), FindingStatus::CannotTell);
    assert_eq!(now(better(&["fast"], &["once"], 1.0), &estimates), FindingStatus::CannotTell);
    // One pair that is certainly otherwise ends what was said of all.
    assert_eq!(now(better(&["fast", "slow"], &["near"], 1.0), &estimates), FindingStatus::NoLongerHolds);
}

#[test]
fn numbers_may_be_multiples_of_others() {
    let estimates = [
        estimate("a", 3, [1.0, 1.0, 1.0]),
        estimate("a+luks2", 3, [1.1, 1.1, 1.1]),
        estimate("b", 3, [0.5, 0.5, 0.5]),
        estimate("b+luks2", 3, [1.0, 1.0, 1.0]),
        estimate("c+luks2", 3, [0.1, 0.1, 0.1]),
    ];
    let plain = ["a", "b", "c"].map(|name| (format!("{name}+luks2"), name.to_owned()));
    let of = Denominator { of: plain.into(), ..Denominator::default() };
    let better = |one: &str, than: &[&str]| Assertion::Better {
        better: names(&[one]),
        than: names(than),
        by: 1.5,
        than_phase: None,
        of: of.clone(),
    };
    // Whose other number was not measured does not count.
    assert_eq!(now(better("a+luks2", &["b+luks2", "c+luks2"]), &estimates), FindingStatus::Holds);
    assert_eq!(now(better("b+luks2", &["a+luks2"]), &estimates), FindingStatus::NoLongerHolds);
    let alike = |within| Assertion::Alike { alike: names(&["a+luks2", "b+luks2"]), within, of: of.clone() };
    assert_eq!(now(alike(1.0), &estimates), FindingStatus::Holds);
    assert_eq!(now(alike(0.5), &estimates), FindingStatus::NoLongerHolds);
}

#[test]
fn a_difference_too_small_to_matter_is_none() {
    let estimates = [estimate("a", 3, [1.0, 1.001, 1.002]), estimate("b", 3, [1.005, 1.006, 1.007])];
    assert_eq!(now(better(&["a"], &["b"], 1.0), &estimates), FindingStatus::NoLongerHolds);
    let alike = Assertion::Alike { alike: names(&["a", "b"]), within: 0.1, of: Denominator::default() };
    assert_eq!(now(alike, &estimates), FindingStatus::Holds);
}

#[test]
fn spread_is_of_the_best_and_the_worst() {
    let estimates = [
        estimate("a", 3, [1.0, 1.0, 1.0]),
        estimate("b", 3, [1.2, 1.2, 1.2]),
        estimate("c", 3, [2.0, 2.0, 2.1]),
    ];
    let spread = |factor| Assertion::Spread { among: Vec::new(), spread: factor, at_most: None };
    assert_eq!(now(spread(1.8), &estimates), FindingStatus::Holds);
    assert_eq!(now(spread(2.5), &estimates), FindingStatus::NoLongerHolds);
    let alike = Assertion::Alike { alike: names(&["a", "b", "c"]), within: 0.1, of: Denominator::default() };
    assert_eq!(now(alike, &estimates), FindingStatus::NoLongerHolds);
}

#[test]
fn what_was_not_measured_is_named() {
    let estimates = [estimate("a", 3, [1.0, 1.0, 1.0])];
    let published = published(better(&["a"], &["gone"], 1.0));
    let judged = judge_one(&published, &estimates);
    assert_eq!((judged.now, judged.missing.clone()), (FindingStatus::CannotTell, names(&["gone"])));
    assert_eq!(judged.because, FindingReason::NotMeasured);
}

#[test]
fn rates_are_better_when_higher() {
    let rate = |name: &str, value: f64| PhaseEstimate {
        metric: "throughput".to_owned(),
        unit: Unit::BytesPerSecond,
        ..estimate(name, 3, [value, value, value])
    };
    let published = Published { metric: "throughput".to_owned(), ..published(better(&["a"], &["b"], 1.5)) };
    let estimates = [rate("a", 200.0), rate("b", 100.0)];
    let judged = judge_one(&published, &estimates);
    assert_eq!(judged.now, FindingStatus::Holds);
    assert!(matches!(judged.because, FindingReason::Pair { ratio, .. } if (ratio - 2.0).abs() < 1e-9));
}

#[test]
fn what_is_reached_is_a_share_of_another_number() {
    let of = |metric: &str, phase: &str, value: f64| PhaseEstimate {
        metric: metric.to_owned(),
        phase: phase.to_owned(),
        ..estimate("a", 3, [value * 0.98, value, value * 1.02])
    };
    let estimates = [of("rate", "write", 70.0), of("throughput", "raw", 75.0)];
    let judge = |share: f64, of_phase: &str| {
        let claim = Assertion::Reach {
            reach: names(&["a", "gone"]),
            share,
            of_metric: Some("throughput".to_owned()),
            of_phase: Some(of_phase.to_owned()),
        };
        let published = Published { metric: "rate".to_owned(), ..published(claim) };
        let judged = judge_one(&published, &estimates);
        assert_eq!(judged.missing, names(&["gone"]));
        (judged.now, judged.because)
    };
    assert_eq!(judge(0.85, "raw").0, FindingStatus::Holds);
    assert_eq!(judge(0.93, "raw").0, FindingStatus::CannotTell);
    let (now, because) = judge(0.99, "raw");
    assert_eq!(now, FindingStatus::NoLongerHolds);
    assert!(matches!(because, FindingReason::Share { share, .. } if (share - 70.0 / 75.0).abs() < 1e-9));
    assert_eq!(judge(0.9, "nowhere").0, FindingStatus::CannotTell);
}

#[test]
fn nothing_is_said_of_cpu_where_it_is_free() {
    let mut plan: Plan =
        serde_json::from_str(include_str!("../../../../../tests/runs/demo/plan.json")).unwrap();
    let metric = "bonnie_block_write_cpu".to_owned();
    plan.published =
        vec![Published { metric: metric.clone(), ..published(better(&["fast"], &["slow"], 1.0)) }];
    let of_cpu =
        |name, value| PhaseEstimate { metric: metric.clone(), ..estimate(name, 3, [value, value, value]) };
    let estimates = [of_cpu("fast", 0.15), of_cpu("slow", 0.4)];
    assert_eq!(judge_findings(&plan, &estimates)[0].now, FindingStatus::Holds);
    plan.device.source = DeviceSource::Model { name: "hdd-7200".to_owned(), size: Bytes(80 << 30) };
    let free = &judge_findings(&plan, &estimates)[0];
    assert_eq!((free.now, &free.because), (FindingStatus::CannotTell, &FindingReason::CpuIsFree));
    // Reading byte by byte is work of the processor, by whatever metric: a free processor once decided it.
    let times = [estimate("fast", 3, [1.0, 1.0, 1.0]), estimate("slow", 3, [9.0, 9.0, 9.0])];
    for (about_cpu, told) in [(false, FindingStatus::Holds), (true, FindingStatus::CannotTell)] {
        plan.published = vec![Published { about_cpu, ..published(better(&["fast"], &["slow"], 1.5)) }];
        assert_eq!(judge_findings(&plan, &times)[0].now, told);
    }
}

/// The demo's plan on a modelled disk, with these findings.
fn modelled(findings: Vec<Published>) -> Plan {
    let mut plan: Plan =
        serde_json::from_str(include_str!("../../../../../tests/runs/demo/plan.json")).unwrap();
    plan.device.source = DeviceSource::Model { name: "hdd-7200".to_owned(), size: Bytes(80 << 30) };
    plan.published = findings;
    let encrypted = crate::plan::Candidate {
        name: "ext4+luks2".to_owned(),
        layers: crate::plan::Layers::from_names(["luks2"]).unwrap(),
        ..crate::plan::Candidate::with_defaults("ext4")
    };
    let compressed = crate::plan::Candidate {
        name: "btrfs+zstd".to_owned(),
        mount: vec!["compress=zstd".to_owned()],
        ..crate::plan::Candidate::with_defaults("btrfs")
    };
    plan.candidates.extend([encrypted, compressed]);
    plan
}

fn told(claim: Assertion, estimates: &[PhaseEstimate]) -> (FindingStatus, FindingReason) {
    let found = judge_findings(&modelled(vec![published(claim)]), estimates);
    (found[0].now, found[0].because.clone())
}

#[test]
fn nothing_is_told_of_encryption_or_compression_where_cpu_is_free() {
    let of = |name: &str, value: f64| estimate(name, 3, [value, value, value]);
    let estimates = [of("ext4", 1.0), of("ext4+luks2", 9.0), of("btrfs+zstd", 9.0), of("xfs", 2.5)];
    for other in ["ext4+luks2", "btrfs+zstd"] {
        let free = (FindingStatus::CannotTell, FindingReason::CpuIsFree);
        assert_eq!(told(better(&["ext4"], &[other], 1.0), &estimates), free);
        let claim =
            Assertion::Alike { alike: names(&["ext4", other]), within: 0.1, of: Denominator::default() };
        assert_eq!(told(claim, &estimates), free);
    }
    assert_eq!(told(better(&["ext4"], &["xfs"], 1.0), &estimates).0, FindingStatus::Holds);
    // Where computation has a price, it is judged like anything else; of candidates without one still nothing is said.
    let mut priced = modelled(vec![published(better(&["ext4"], &["ext4+luks2"], 1.0))]);
    priced.cpu = Some("core2".to_owned());
    assert_eq!(judge_findings(&priced, &estimates)[0].now, FindingStatus::Holds);
    priced.candidates.iter_mut().for_each(|candidate| candidate.under.cpu = Some("free".to_owned()));
    assert_eq!(judge_findings(&priced, &estimates)[0].because, FindingReason::CpuIsFree);
    // Of a spread the others are left.
    let among = names(&["ext4", "ext4+luks2", "btrfs+zstd", "xfs"]);
    let spread = |spread| Assertion::Spread { among: among.clone(), spread, at_most: None };
    assert_eq!(told(spread(5.0), &estimates).0, FindingStatus::NoLongerHolds);
    assert_eq!(told(spread(1.5), &estimates).0, FindingStatus::Holds);
}

#[test]
fn nothing_is_told_within_what_a_model_may_be_off_by() {
    let of = |name: &str, value: f64| estimate(name, 3, [value, value, value]);
    let estimates = [of("a", 1.0), of("b", 1.4), of("c", 1.6)];
    let claim = |other: &str, by: f64| better(&["a"], &[other], by);
    assert_eq!(told(claim("b", 1.0), &estimates).0, FindingStatus::CannotTell);
    assert_eq!(told(claim("c", 1.0), &estimates).0, FindingStatus::Holds);
    assert_eq!(told(claim("b", 2.0), &estimates).0, FindingStatus::CannotTell);
    assert_eq!(told(claim("b", 3.0), &estimates).0, FindingStatus::NoLongerHolds);
    assert!(matches!(told(claim("b", 1.0), &estimates).1, FindingReason::Pair { error: 1.5, .. }));
    // What was asked of the device is counted.
    let bytes: Vec<PhaseEstimate> = estimates
        .iter()
        .map(|one| PhaseEstimate { metric: "device_written".to_owned(), unit: Unit::Bytes, ..one.clone() })
        .collect();
    let written = Published { metric: "device_written".to_owned(), ..published(claim("b", 1.0)) };
    let found = judge_findings(&modelled(vec![written]), &bytes);
    assert_eq!(found[0].now, FindingStatus::Holds);
}

#[test]
fn nearly_twice_does_not_hold_where_it_is_nearly_four_times() {
    let of = |name: &str, value: f64| estimate(name, 3, [value, value, value]);
    let judged = |worst: f64| {
        let estimates = [of("a", 1.0), of("b", 1.2), of("c", worst)];
        now(Assertion::Spread { among: Vec::new(), spread: 1.8, at_most: Some(2.0) }, &estimates)
    };
    assert_eq!(
        [1.5, 1.9, 3.6].map(judged),
        [FindingStatus::NoLongerHolds, FindingStatus::Holds, FindingStatus::NoLongerHolds]
    );
}

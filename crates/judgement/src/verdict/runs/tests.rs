//! Hand-made journals compared: what is found, what is refused, what is left out.

use serde_json::{Value, json};

use super::{History, LeftOut, MetricChange, RunComparison, compare_runs};
use crate::journal::made;
use crate::journal::made::ToldEvent;
use crate::journal::{Event, Observation, Run, Unit};
use crate::plan::Plan;
use crate::verdict::{ContrastOutcome, Slice};
use fsverdict_text::DrawnNumber;

/// A run in the making: candidates with what their phases `write` and `read` took, relative to 1 s and 2 s.
struct Made {
    plan: Value,
    lab: &'static str,
    environment: Vec<(&'static str, &'static str)>,
    blocks: u32,
    candidates: Vec<(&'static str, [f64; 2])>,
    failing: &'static str,
    /// By which power of two the devices of two blocks in a row differ: blocks of a class of devices in simulated time.
    devices: Option<f64>,
}

impl Made {
    fn new(blocks: u32, candidates: &[(&'static str, [f64; 2])]) -> Self {
        let of = |(name, _): &(&str, [f64; 2])| json!({ "name": name, "filesystem": "ext4", "encryption": "none" });
        let mut plan = made::plan_value(&json!({
            "datasets": { "tree": { "kind": "tree", "profile": "mixed", "files": 9, "directories": 2, "size": 99 } },
            "candidates": candidates.iter().map(of).collect::<Vec<_>>(),
            "phases": [
                { "name": "write", "work": { "operation": "tree.write" }, "dataset": "tree" },
                { "name": "read", "work": { "operation": "tree.read" }, "dataset": "tree" }
            ]
        }));
        plan["protocol"]["blocks"]["max"] = json!(30);
        Self {
            plan,
            lab: "native",
            environment: vec![("kernel.release", "6.1"), ("device.name", "loop0")],
            blocks,
            candidates: candidates.to_vec(),
            failing: "",
            devices: None,
        }
    }

    fn build(&self) -> (Plan, Run) {
        let plan: Plan = serde_json::from_value(self.plan.clone()).unwrap();
        let facts = self.environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let mut start = made::started();
        if let Event::RunStarted { lab, environment, .. } = &mut start {
            (*lab, *environment) = (self.lab.to_owned(), facts.collect());
        }
        let mut events: Vec<ToldEvent> = vec![(None, start)];
        for block in 1..=self.blocks {
            let order: Vec<&str> = self.candidates.iter().map(|(name, _)| *name).collect();
            events.push((None, made::block_started(block, 1, &order)));
            for (at, (name, takes)) in self.candidates.iter().enumerate() {
                let id = Some(made::id(block, name));
                events.push((id.clone(), Event::TrialStarted {}));
                // A wobble of about a per cent, never twice the same.
                let wobble = 1.0 + 0.002 * f64::from((block * 5 + at as u32) % 7) + 1e-5 * f64::from(block);
                let wobble = wobble * self.devices.map_or(1.0, |power| power.exp2().powi(block as i32 % 3));
                for (phase, seconds) in [("write", takes[0] * wobble), ("read", 2.0 * takes[1] * wobble)] {
                    events.push((id.clone(), Event::Observation(observation(phase, seconds))));
                }
                events.push((id.clone(), Event::Observation(observation("umount", 0.1))));
                let failed = (*name == self.failing).then_some("2 files differ");
                events.push((id, made::ended(failed, 1.0)));
            }
            events.push((None, Event::BlockFinished { block, attempt: 1, invalid: None }));
        }
        events.push((None, Event::RunFinished { reason: "done".to_owned(), ending: None }));
        let mut run = Run::derive(&plan, &made::journal(events)).unwrap();
        run.trials.iter_mut().for_each(|trial| trial.learnt.device_seconds = self.devices.map(|_| 1.0));
        (plan, run)
    }
}

fn observation(phase: &str, seconds: f64) -> Observation {
    let numbers = [
        ("durable", Unit::Seconds, seconds),
        ("file_rate", Unit::PerSecond, 9.0 / seconds),
        ("cpu", Unit::Seconds, 0.0),
        ("device_written", Unit::Bytes, 4096.0),
        ("device_reads", Unit::Count, 3.0),
    ];
    made::measured(phase, &numbers)
}

fn slice(plan: &Plan, run: &Run) -> Slice {
    Slice { key: String::new(), plan: plan.clone(), run: run.clone() }
}

fn compared(before: &Made, after: &Made) -> Result<RunComparison, Vec<String>> {
    let ((one_plan, one), (other_plan, other)) = (before.build(), after.build());
    let sides = [slice(&one_plan, &one), slice(&other_plan, &other)];
    compare_runs(&sides, Some(0.0)).map(|found| found.whole).map_err(|error| error.reasons)
}

fn refusal(change: impl Fn(&mut Made)) -> Vec<String> {
    let before = Made::new(8, &[("a", [1.0, 1.0])]);
    let mut after = Made::new(8, &[("a", [1.0, 1.0])]);
    change(&mut after);
    compared(&before, &after).unwrap_err()
}

fn outcomes(found: &RunComparison) -> Vec<(String, ContrastOutcome)> {
    let named = |change: &MetricChange| {
        (format!("{} {}", change.candidate, change.subject()), change.outcome().unwrap())
    };
    found.judged.iter().map(named).collect()
}

#[test]
fn each_phase_and_the_goal_are_judged() {
    let before = Made::new(8, &[("a", [1.0, 1.0]), ("b", [1.0, 1.0])]);
    let after = Made::new(8, &[("a", [1.2, 0.7]), ("b", [1.0, 1.001])]);
    let found = compared(&before, &after).unwrap();
    let (better, worse, same) = (ContrastOutcome::Better, ContrastOutcome::Behind, ContrastOutcome::Tied);
    let expected = [
        ("a goal", better),
        ("a write", worse),
        ("a read", better),
        ("b goal", same),
        ("b write", same),
        ("b read", same),
    ];
    assert_eq!(outcomes(&found), expected.map(|(name, outcome)| (name.to_owned(), outcome)));
    assert!(found.has_regression());
    let write = found.regressions().next().unwrap();
    assert!((write.ratio.point - 1.2).abs() < 0.01 && write.ratio.low.unwrap() > 1.18, "{write:?}");
    // Holm: never smaller than alone, at most six times as large.
    let judged = write.judged.unwrap();
    assert!(judged.p_adjusted > judged.p && judged.p_adjusted <= 6.0 * judged.p);
    // The geometric mean of both phases: √(1.2 · 0.7).
    assert!((found.judged[0].ratio.point - (1.2_f64 * 0.7).sqrt()).abs() < 0.01);
}

#[test]
fn blocks_that_drew_the_same_device_are_compared_one_by_one() {
    let on_devices =
        |blocks, takes: [f64; 2]| Made { devices: Some(1.0), ..Made::new(blocks, &[("a", takes)]) };
    let before = on_devices(3, [1.0, 1.0]);
    let found = compared(&before, &on_devices(3, [1.0, 1.0])).unwrap();
    assert!(found.paired && found.judged_as(ContrastOutcome::Tied).count() == 3, "{:?}", outcomes(&found));
    let found = compared(&before, &on_devices(3, [1.1, 1.0])).unwrap();
    assert_eq!(outcomes(&found)[1], ("a write".to_owned(), ContrastOutcome::Behind));
    // More blocks after: those that both have are compared, and the numbers shown are theirs.
    let found = compared(&before, &on_devices(5, [1.1, 1.0])).unwrap();
    let write = &found.judged[1];
    let quotient = write.after.point / write.before.point;
    assert!((quotient - write.ratio.point).abs() < 1e-9 && (quotient - 1.1).abs() < 1e-9, "{write:?}");
}

#[test]
fn blocks_that_drew_other_devices_are_not_paired() {
    let before = Made { devices: Some(1.0), ..Made::new(3, &[("a", [1.0, 1.0])]) };
    let mut after = Made { devices: Some(1.0), ..Made::new(3, &[("a", [1.0, 1.0])]) };
    let ((one_plan, one), (other_plan, mut other)) = (before.build(), after.build());
    other.trials[0].learnt.drawn.insert("cache.delay_ms".to_owned(), DrawnNumber::Number(3.0));
    let sides = [slice(&one_plan, &one), slice(&other_plan, &other)];
    let found = compare_runs(&sides, None).unwrap().whole;
    assert!(!found.paired && found.judged_as(ContrastOutcome::Tied).count() == 0);
    after.plan["protocol"]["circumstances"] = json!("fixed");
    assert!(!compared(&before, &after).unwrap().paired);
}

#[test]
fn costs_inform_and_are_not_judged() {
    let run = Made::new(8, &[("a", [1.0, 1.0])]);
    let found = compared(&run, &run).unwrap();
    let shown: Vec<(&str, &str)> =
        found.costs.iter().map(|change| (change.subject(), change.metric.as_str())).collect();
    // There is no ratio of a CPU time of zero.
    assert_eq!(shown, [("write", "device_written"), ("read", "device_written"), ("umount", "durable")]);
    assert!(found.costs.iter().all(|change| change.judged.is_none()));
}

#[test]
fn a_rate_is_worse_when_it_falls() {
    let mut before = Made::new(8, &[("a", [1.0, 1.0])]);
    before.plan["goal"] = json!({ "metric": "file_rate", "weights": { "write": 2.0, "read": 1.0 } });
    let mut after = Made::new(8, &[("a", [1.2, 1.2])]);
    after.plan["goal"] = before.plan["goal"].clone();
    let found = compared(&before, &after).unwrap();
    assert!(
        found
            .judged
            .iter()
            .all(|change| change.outcome() == Some(ContrastOutcome::Behind) && change.ratio.point < 0.9)
    );
    assert_eq!(found.judged.len(), 3);
}

#[test]
fn a_goal_of_one_phase_is_judged_once() {
    let mut run = Made::new(8, &[("a", [1.0, 1.0])]);
    run.plan["goal"]["weights"] = json!({ "write": 1.0 });
    let found = compared(&run, &run).unwrap();
    let names: Vec<String> = outcomes(&found).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["a write", "a read"]);
}

#[test]
fn too_few_blocks_decide_nothing_and_say_how_many_would() {
    let slower = |blocks| Made::new(blocks, &[("a", [2.0, 2.0])]);
    assert!(compared(&Made::new(3, &[("a", [1.0, 1.0])]), &slower(3)).unwrap().has_regression());
    let found = compared(&Made::new(2, &[("a", [1.0, 1.0])]), &slower(8)).unwrap();
    assert!(found.judged.iter().all(|change| change.outcome() == Some(ContrastOutcome::Undecided)));
    let caution = "too few blocks: with 2 before and 8 after nothing can be tested; 3 in each run are needed";
    assert_eq!(found.cautions[0], caution);
}

#[test]
fn when_everybody_moves_the_machine_is_suspected() {
    let before = Made::new(8, &[("a", [1.0, 1.0]), ("b", [1.0, 1.0])]);
    let all = Made::new(8, &[("a", [1.2, 1.2]), ("b", [1.2, 1.2])]);
    let one = Made::new(8, &[("a", [1.2, 1.2]), ("b", [1.0, 1.0])]);
    let suspects = |after: &Made| {
        compared(&before, after)
            .unwrap()
            .cautions
            .iter()
            .any(|text| text.starts_with("every candidate got worse"))
    };
    assert!(suspects(&all) && !suspects(&one));
}

#[test]
fn runs_on_other_ground_or_of_other_work_are_refused() {
    assert_eq!(refusal(|after| after.lab = "uml"), ["another lab: native before, uml after"]);
    let size = refusal(|after| after.plan["device"]["source"]["image"] = json!(2048));
    assert_eq!(size, ["another size of device: 1 KiB before, 2 KiB after"]);
    let kind = refusal(|after| after.plan["device"]["source"] = json!({ "path": "/dev/sdx" }));
    assert_eq!(kind, ["another kind of device: a scratch image before, a block device after"]);
    let data = refusal(|after| after.plan["datasets"]["tree"]["files"] = json!(10));
    assert!(
        data.len() == 1 && data[0].starts_with("another dataset `tree`: mixed tree of 9 files"),
        "{data:?}"
    );
    let seed = refusal(|after| after.plan["protocol"]["seed"] = json!(2));
    assert!(seed.len() == 1 && seed[0].contains("--set protocol.seed=1"), "{seed:?}");
    let work = refusal(|after| after.plan["phases"][1]["cold"] = json!(true));
    assert_eq!(work, ["another workload: phase `read` does something else"]);
    assert_eq!(refusal(|after| after.blocks = 0), ["no block of the run after is complete and valid"]);
    let both = refusal(|after| {
        after.lab = "uml";
        after.plan["protocol"]["seed"] = json!(2);
    });
    assert_eq!(both.len(), 2, "every reason is reported");
}

#[test]
fn a_device_is_known_by_its_identity_not_by_its_path() {
    let on = |path: &str, identity: &'static str| {
        let mut made = Made::new(8, &[("a", [1.0, 1.0])]);
        made.plan["device"]["source"] = json!({ "path": path });
        made.environment.push(("device.size", "1048576"));
        made.environment.push(("device.identity", identity));
        made
    };
    assert!(compared(&on("/dev/sdb", "usb-1"), &on("/dev/sdc", "usb-1")).is_ok());
    let other = compared(&on("/dev/sdb", "usb-1"), &on("/dev/sdb", "usb-2")).unwrap_err();
    assert_eq!(other, ["another device: usb-1 before, usb-2 after"]);
}

#[test]
fn candidates_are_matched_by_name_and_the_others_left_out() {
    let before = Made::new(8, &[("a", [1.0, 1.0]), ("gone", [1.0, 1.0])]);
    let after = Made::new(8, &[("a", [1.0, 1.0]), ("new", [1.0, 1.0])]);
    let found = compared(&before, &after).unwrap();
    assert!(found.judged.iter().all(|change| change.candidate == "a"));
    let left = [("gone", "not in the run after"), ("new", "not in the run before")];
    assert_eq!(found.left_out, left.map(|(name, why)| LeftOut::new(name, why)));
    let none = compared(&Made::new(8, &[("b", [1.0, 1.0])]), &after).unwrap_err();
    assert!(none[0].starts_with("no candidate was measured in both") && none.len() == 4, "{none:?}");
}

#[test]
fn what_fails_only_after_is_a_regression() {
    let run = Made::new(8, &[("a", [1.0, 1.0]), ("b", [1.0, 1.0])]);
    let mut broken = Made::new(8, &[("a", [1.0, 1.0]), ("b", [1.0, 1.0])]);
    broken.failing = "b";
    let found = compared(&run, &broken).unwrap();
    assert!(found.has_regression() && found.regressions().next().is_none());
    assert_eq!(found.broken, [LeftOut::new("b", "8 of 8 trials failed, first in block 1: 2 files differ")]);
    let mended = compared(&broken, &run).unwrap();
    assert!(!mended.has_regression());
    assert_eq!(
        mended.left_out,
        [LeftOut::new("b", "failed before: 8 of 8 trials failed, first in block 1: 2 files differ")]
    );
}

#[test]
fn kernel_and_options_may_differ_and_are_listed() {
    let before = Made::new(8, &[("a", [1.0, 1.0])]);
    let mut after = Made::new(8, &[("a", [1.0, 1.0])]);
    after.plan["candidates"][0]["mkfs"] = json!(["-O", "^has_journal"]);
    after.environment = vec![("kernel.release", "6.12"), ("device.name", "loop3")];
    let found = compared(&before, &after).unwrap();
    let listed: Vec<String> = found
        .differences
        .iter()
        .map(|found| format!("{} {:?} {:?}", found.what, found.before, found.after))
        .collect();
    assert_eq!(
        listed,
        [r#"a: mkfs None Some("-O ^has_journal")"#, r#"kernel.release Some("6.1") Some("6.12")"#]
    );
    // Another kernel may ask the device for other things.
    let reads =
        |found: &RunComparison| found.costs.iter().filter(|cost| cost.metric == "device_reads").count();
    assert_eq!((reads(&found), reads(&compared(&before, &before).unwrap())), (2, 0));
}

#[test]
fn a_change_of_layers_goes_by_the_key_that_says_both() {
    let of = |fields: &[(&str, Value)]| {
        let mut made = Made::new(8, &[("a", [1.0, 1.0])]);
        let one = made.plan["candidates"][0].as_object_mut().unwrap();
        one.remove("encryption");
        one.extend(fields.iter().map(|(key, value)| ((*key).to_owned(), value.clone())));
        made
    };
    let plain = || of(&[("encryption", json!("none"))]);
    let luks = || of(&[("encryption", json!("luks2"))]);
    let both = || of(&[("layers", json!(["md:raid1", "luks2"]))]);
    for (before, after, listed) in [
        (plain(), luks(), r#"a: encryption None Some("luks2")"#),
        (luks(), both(), r#"a: layers Some("luks2") Some("md:raid1+luks2")"#),
        (both(), luks(), r#"a: layers Some("md:raid1+luks2") Some("luks2")"#),
    ] {
        let found = compared(&before, &after).unwrap();
        let told = |one: &super::Difference| format!("{} {:?} {:?}", one.what, one.before, one.after);
        assert_eq!(found.differences.iter().map(told).collect::<Vec<_>>(), [listed]);
    }
}

#[test]
fn what_differs_of_protocol_and_goal_is_named_and_only_what_changes_numbers_explains_one() {
    let made = |by: f64| {
        let mut made = Made::new(8, &[("a", [by, by])]);
        made.plan["datasets"]["tree"] = json!({ "kind": "folder", "path": "/etc" });
        made
    };
    let found = |change: &dyn Fn(&mut Value)| {
        let mut after = made(1.2);
        change(&mut after.plan);
        let found = compared(&made(1.0), &after).unwrap();
        let told = |one: &super::Difference| {
            let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "none".to_owned());
            format!("{}: {} → {}", one.what, value(&one.before), value(&one.after))
        };
        let suspected = found.cautions.iter().any(|text| text.contains("suspect the machine"));
        (found.differences.iter().map(told).collect::<Vec<_>>().join("; "), suspected)
    };
    let differs = |key: &str, value: Value| found(&|plan| plan["protocol"][key] = value.clone());
    let told = |text: &str, suspected: bool| (text.to_owned(), suspected);
    assert_eq!(found(&|_| ()), told("", true));
    assert_eq!(differs("seed", json!(2)), told("protocol.seed: 1 → 2", false));
    assert_eq!(differs("order", json!(7)), told("protocol.order: none → 7", false));
    assert_eq!(
        differs("circumstances", json!("fixed")),
        told("protocol.circumstances: drawn → fixed", false)
    );
    assert_eq!(differs("tie", json!(0.1)), told("protocol.tie: 0.03 → 0.1", true));
    let goal = found(&|plan| plan["goal"]["weights"] = json!({ "write": 1.0 }));
    assert_eq!(goal, told(r#"goal.weights: {"read":1.0,"write":1.0} → {"write":1.0}"#, true));
}

#[test]
fn a_change_without_a_cause_is_suspicious() {
    let both = [("a", [1.0, 1.0]), ("b", [1.0, 1.0])];
    let before = Made::new(8, &both);
    let mut after = Made::new(8, &[("a", [1.2, 1.2]), ("b", [1.2, 1.2])]);
    after.plan["candidates"][0]["mkfs"] = json!(["-O", "^has_journal"]);
    let suspects = |after: &Made| -> Vec<String> {
        let found = compared(&before, after).unwrap();
        found.cautions.into_iter().filter(|text| text.contains("suspect the machine")).collect()
    };
    assert!(matches!(suspects(&after).as_slice(), [only] if only.starts_with("b changed")));
    after.environment.push(("kernel.version", "another"));
    assert!(suspects(&after).is_empty(), "another kernel is a cause for all");
}

fn history(runs: &[Made]) -> Result<History, Vec<String>> {
    let built: Vec<(Plan, Run)> = runs.iter().map(Made::build).collect();
    let sides: Vec<Slice> = built.iter().map(|(plan, run)| slice(plan, run)).collect();
    compare_runs(&sides, Some(0.0)).map_err(|error| error.reasons)
}

#[test]
fn the_last_of_several_runs_is_held_against_the_first_and_the_one_before() {
    let made = |write| Made::new(8, &[("a", [write, 1.0])]);
    let (worse, same, better) = (ContrastOutcome::Behind, ContrastOutcome::Tied, ContrastOutcome::Better);
    // How long each run writes; the outcome of the whole and of each step; whether the last run regressed.
    let cases = [
        (vec![1.0, 1.2, 1.2], worse, vec![worse, same], true),
        (vec![1.0, 1.2, 1.0], same, vec![worse, better], false),
        (vec![1.0, 0.8, 1.0], same, vec![better, worse], true),
        (vec![1.0, 1.02, 1.04, 1.06], worse, vec![same, same, same], true),
        (vec![1.0, 1.2, 1.0, 1.0], same, vec![worse, better, same], false),
    ];
    for (times, whole, steps, regressed) in cases {
        let runs: Vec<Made> = times.iter().map(|time| made(*time)).collect();
        let found = history(&runs).unwrap();
        let write = |one: &RunComparison| one.judged[1].outcome().unwrap();
        assert_eq!(
            (write(&found.whole), found.steps.iter().map(write).collect()),
            (whole, steps),
            "{times:?}"
        );
        assert_eq!(found.has_regression(), regressed, "{times:?}");
        assert_eq!(found.count_comparisons(), 3 * times.len());
    }
}

#[test]
fn the_more_runs_are_looked_at_the_stronger_a_change_must_be() {
    let run = |write| Made::new(4, &[("a", [write, 1.0])]);
    let adjusted = |found: &History| found.whole.judged[1].judged.unwrap().p_adjusted;
    let two = history(&[run(1.0), run(1.1)]).unwrap();
    let many = history(&[run(1.0), run(1.0), run(1.0), run(1.0), run(1.1)]).unwrap();
    assert!(adjusted(&many) > 2.0 * adjusted(&two), "{} {}", adjusted(&two), adjusted(&many));
}

#[test]
fn which_of_several_runs_does_not_belong_is_named() {
    let run = || Made::new(8, &[("a", [1.0, 1.0])]);
    let mut other = run();
    other.lab = "uml";
    let wrong = history(&[run(), other, run()]).unwrap_err();
    assert_eq!(wrong.len(), 2, "{wrong:?}");
    assert!(wrong.iter().all(|reason| reason.starts_with("x, then x: another lab: ")), "{wrong:?}");
    let runs = [run(), run(), run()].map(|made| made.build());
    let side = |at: usize| slice(&runs[at].0, &runs[at].1);
    let mut late = runs[0].1.clone();
    late.header.started = jiff::Timestamp::new(1_900_000_000, 0).unwrap();
    let found = compare_runs(&[side(0), Slice { run: late, ..side(1) }, side(2)], Some(0.0)).unwrap();
    assert!(found.whole.cautions.iter().any(|text| text.contains("not that of their dates")));
}

/// Two runs of one phase, by what each block wrote before and after.
fn written(before: &[f64], after: &[f64]) -> RunComparison {
    let build = |values: &[f64]| {
        let mut made = Made::new(0, &[("a", [1.0, 1.0]), ("b", [1.0, 1.0])]);
        made.plan["goal"] = json!({ "metric": "device_written", "weights": {} });
        let plan: Plan = serde_json::from_value(made.plan.clone()).unwrap();
        let mut events: Vec<ToldEvent> = vec![(None, made::started())];
        for (block, value) in (1..).zip(values) {
            events.push((None, made::block_started(block, 1, &["a", "b"])));
            for (name, write) in [("a", *value), ("b", 4096.0)] {
                let id = Some(made::id(block, name));
                events.push((id.clone(), Event::TrialStarted {}));
                for (phase, bytes) in [("write", write), ("read", 4096.0)] {
                    let numbers = [("device_written", Unit::Bytes, bytes)];
                    events.push((id.clone(), Event::Observation(made::measured(phase, &numbers))));
                }
                events.push((id, made::ended(None, 1.0)));
            }
            events.push((None, Event::BlockFinished { block, attempt: 1, invalid: None }));
        }
        events.push((None, Event::RunFinished { reason: "done".to_owned(), ending: None }));
        let run = Run::derive(&plan, &made::journal(events)).unwrap();
        (plan, run)
    };
    let ((one_plan, one), (other_plan, other)) = (build(before), build(after));
    let sides = [slice(&one_plan, &one), slice(&other_plan, &other)];
    compare_runs(&sides, None).unwrap().whole
}

#[test]
fn what_was_nothing_and_is_something_in_every_block_is_a_regression() {
    let some = [5e6, 5.1e6, 5e6, 5.2e6, 5e6, 5.1e6];
    let of = |found: &RunComparison| {
        let change = found.judged.iter().find(|change| change.candidate == "a").unwrap();
        (change.subject().to_owned(), change.outcome().unwrap(), change.ratio.point)
    };
    let appeared = written(&[0.0; 6], &some);
    assert_eq!(of(&appeared), ("write".to_owned(), ContrastOutcome::Behind, f64::INFINITY));
    assert!(appeared.has_regression());
    assert_eq!(appeared.left_out.len(), 1, "the goal as a whole has no ratio");
    let gone = written(&some, &[0.0; 6]);
    assert_eq!(of(&gone), ("write".to_owned(), ContrastOutcome::Better, 0.0));
    // Nothing in both is the same, and three blocks against three are too few for signs.
    assert_eq!(of(&written(&[0.0; 6], &[0.0; 6])).1, ContrastOutcome::Tied);
    assert_eq!(of(&written(&[0.0; 3], &some[..3])).1, ContrastOutcome::Undecided);
    // Something in one block of six is nothing certain.
    assert_eq!(of(&written(&[0.0; 6], &[0.0, 0.0, 5e6, 0.0, 0.0, 0.0])).1, ContrastOutcome::Undecided);
}

#[test]
fn an_offset_of_a_run_is_hardly_ever_a_regression_and_a_large_one_still_is() {
    let mut state = 5_u64;
    let mut uniform = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    };
    let mut normal =
        move || libm::sqrt(-2.0 * libm::log(uniform())) * libm::cos(std::f64::consts::TAU * uniform());
    let names = ["a", "b", "c"];
    let mut found = [0, 0, 0];
    for _ in 0..60 {
        let [one, other] = [0, 1].map(|_| libm::exp(0.03 * normal()));
        let run = |by: f64| Made::new(8, &names.map(|name| (name, [by, by]))).build();
        let (before, after, slow) = (run(one), run(other), run(1.3 * other));
        let regressed = |after: &(Plan, Run), between_runs| {
            let side = |(plan, run): &(Plan, Run)| (plan.clone(), run.clone());
            let ((one_plan, one), (other_plan, other)) = (side(&before), side(after));
            let sides = [slice(&one_plan, &one), slice(&other_plan, &other)];
            u32::from(compare_runs(&sides, between_runs).unwrap().has_regression())
        };
        found[0] += regressed(&after, Some(0.0));
        found[1] += regressed(&after, None);
        found[2] += regressed(&slow, None);
    }
    let [unsaid, allowed, slower] = found;
    assert!(unsaid > 6 && allowed <= 3 && slower >= 57, "{found:?}");
}

#[test]
fn bytes_have_no_offset_and_what_lies_within_one_is_marked() {
    let found = written(&[1000.0; 6], &[1050.0; 6]);
    let write = found.judged.iter().find(|change| change.subject() == "write").unwrap();
    assert_eq!(write.outcome(), Some(ContrastOutcome::Behind));
    let runs = [1.0, 1.06].map(|by| Made::new(8, &[("a", [by, by])]).build());
    let sides = runs.each_ref().map(|(plan, run)| slice(plan, run));
    let found = compare_runs(&sides, None).unwrap().whole;
    let marked = |change: &MetricChange| change.judged.is_some_and(|judged| judged.apart);
    assert!(found.judged.iter().all(marked) && !found.has_regression(), "{:?}", found.judged);
}

#[test]
fn a_digest_that_a_pack_hides_is_no_other_content() {
    let holding = |held: &str| {
        let (plan, mut run) = Made::new(8, &[("a", [1.0, 1.0])]).build();
        for trial in &mut run.trials {
            trial.learnt.held.insert("home".to_owned(), held.to_owned());
        }
        (plan, run)
    };
    let refused = |before: &str, after: &str| {
        let ((one_plan, one), (other_plan, other)) = (holding(before), holding(after));
        let sides = [slice(&one_plan, &one), slice(&other_plan, &other)];
        compare_runs(&sides, Some(0.0)).err().map(|error| error.reasons.join("; "))
    };
    let (own, bundle) =
        ("3 files, 1 MiB (digest feedfacefeedface)", "3 files, 1 MiB (digest hidden-be754887)");
    let more = "4 files, 1 MiB (digest hidden-be754887)";
    assert_eq!((refused(own, own), refused(bundle, bundle)), (None, None));
    assert!(refused(bundle, own).unwrap().contains("compare bundles of both"));
    assert!(refused(own, more).unwrap().contains("held 3 files, 1 MiB (digest feedfacefeedface) before"));
}

#[test]
fn data_grow_until_order_and_ratios_stay() {
    use crate::verdict::SizeTable;
    let size = |times: f64, takes: [f64; 3]| {
        let made = Made::new(12, &[("a", [takes[0]; 2]), ("b", [takes[1]; 2]), ("c", [takes[2]; 2])]);
        let (mut plan, run) = made.build();
        if let Some(crate::plan::Dataset::Tree(shape)) = plan.datasets.get_mut("tree") {
            shape.size.0 = (times * f64::from(1 << 30)) as u64;
        }
        Slice { key: times, plan, run }
    };
    // A fixed cost of 3 s and 3 s for each GiB, of all three phases' seconds together; b has half of the fixed cost, and 1.5 times the other.
    let (first, second) = (size(1.0, [2.0, 2.0, 4.0]), size(4.0, [5.0, 6.5, 10.0]));
    let (third, fourth) = (size(16.0, [17.0, 24.5, 34.0]), size(64.0, [65.0, 93.7, 130.0]));
    let two = SizeTable::from_runs(&[first, second]).unwrap();
    assert!(two.settled_from().is_none(), "{:?}", two.steps);
    assert_eq!(two.steps[0].moved.len(), 1, "{:?}", two.steps);
    assert_eq!(two.steps[0].moved[0].candidate, "b");
    let a = two.costs.iter().find(|cost| cost.candidate == "a").unwrap();
    assert!((a.per_gib - 3.0).abs() < 0.1 && (a.fixed - 3.0).abs() < 0.1, "{a:?}");
    let more = SizeTable::from_runs(&[size(4.0, [5.0, 6.5, 10.0]), third, fourth]).unwrap();
    assert!(!more.steps[0].is_settled() && more.steps[1].is_settled(), "{:?}", more.steps);
    assert!((more.settled_from().unwrap().times - 16.0).abs() < 1e-9);
    // Another leader is no agreement, however near the ratios are.
    let turned = SizeTable::from_runs(&[size(1.0, [2.0, 3.0, 4.0]), size(4.0, [9.0, 6.0, 12.0])]).unwrap();
    assert!(!turned.steps[0].same_leader && turned.settled_from().is_none());
    assert!(SizeTable::from_runs(&[size(1.0, [2.0, 3.0, 4.0])]).unwrap().settled_from().is_none());
}

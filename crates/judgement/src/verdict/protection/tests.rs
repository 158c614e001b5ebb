//! Tests of the verdicts of protection levels.

use crate::journal::{Event, Run, made};
use crate::plan::{Plan, ProtectionFeature};
use crate::verdict::{ContrastOutcome, Judgement, Limit, Outcome};
use serde_json::{Value, json};

const SECONDS: [(&str, f64); 5] =
    [("ext4", 10.0), ("xfs", 11.0), ("ext4+luks2", 12.0), ("xfs+luks2", 11.5), ("ext2", 8.0)];

fn plan(goal: &Value) -> Plan {
    let candidate = |(name, _): (&str, f64)| {
        let (filesystem, encryption) = name.split_once('+').unwrap_or((name, "none"));
        json!({ "name": name, "filesystem": filesystem, "encryption": encryption })
    };
    made::plan(&json!({ "candidates": SECONDS.map(candidate), "goal": goal }))
}

/// A run of six blocks, in which some candidates take part in the first two alone.
fn run(plan: &Plan, brief: &[&str]) -> Run {
    let mut events = vec![(None, made::started())];
    for block in 1..=6_u32 {
        let tried: Vec<(&str, f64)> =
            SECONDS.into_iter().filter(|(name, _)| !brief.contains(name) || block <= 2).collect();
        let names: Vec<&str> = tried.iter().map(|(name, _)| *name).collect();
        events.push((None, made::block_started(block, 1, &names)));
        for (at, (name, seconds)) in tried.into_iter().enumerate() {
            let id = Some(made::id(block, name));
            events.push((id.clone(), Event::TrialStarted {}));
            let strays = 1.0 + 0.004 * f64::from((block * (at as u32 + 3)) % 5);
            events.push((id.clone(), made::durable("write", seconds * strays)));
            events.push((id, made::ended(None, 1.0)));
        }
        events.push((None, Event::BlockFinished { block, attempt: 1, invalid: None }));
    }
    made::run(plan, events)
}

fn goal(more: &Value) -> Value {
    let mut goal = json!({ "metric": "durable", "by": "total", "weights": { "write": 1.0 } });
    goal.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    goal
}

#[test]
fn each_level_has_a_verdict_and_the_fastest_of_all_is_none() {
    let levels = json!({ "protection": {
        "ext4+luks2": ["encrypted"], "xfs+luks2": ["encrypted"], "ext2": ["not_crash_safe"],
    } });
    let plan = plan(&goal(&levels));
    let run = run(&plan, &["ext2"]);
    let verdict = Judgement::from_run(&plan, &run).verdict;
    let taken: Vec<(&str, Option<&str>)> = verdict
        .groups
        .iter()
        .map(|group| (group.title.as_str(), group.verdict.recommended.as_deref()))
        .collect();
    let expected = [
        ("unencrypted, crash-safe", Some("ext4")),
        ("encrypted, crash-safe", Some("xfs+luks2")),
        ("unencrypted, not crash-safe", None),
    ];
    assert_eq!(taken, expected);
    assert_eq!(verdict.groups[2].sole_candidate().unwrap().candidate, "ext2");
    // There is nothing to conclude about a candidate alone.
    assert!(!verdict.limits.iter().any(|limit| matches!(limit, Limit::FewBlocks(_))));
    assert_eq!((verdict.recommended.as_deref(), verdict.recommended_names()), (Some("ext4"), vec!["ext4"]));
    // What is not crash-safe is no choice, however fast; encryption is one that has a price.
    let trades = verdict.trades.iter().map(|trade| (trade.protected.as_str(), trade.other.as_str()));
    assert_eq!(trades.collect::<Vec<_>>(), [("xfs+luks2", "ext4"), ("ext4", "ext2")]);
    assert!(verdict.trades.iter().all(|trade| trade.taken == "ext4"));
    assert_ne!(verdict.outcome, Outcome::Undecided);
    assert_eq!(
        ["ext4", "xfs+luks2", "xfs"].map(|name| verdict.place_in_ranking(name)),
        [Some(0), Some(0), Some(1)]
    );
    assert_eq!(
        ["xfs", "ext4+luks2", "ext4", "ext2"].map(|name| verdict.is_behind(name)),
        [true, true, false, false]
    );
    let order: Vec<&str> = verdict.ranking.iter().map(|rank| rank.candidate.as_str()).collect();
    assert_eq!(order, ["ext4", "xfs", "xfs+luks2", "ext4+luks2", "ext2"]);
    assert!(verdict.standings.iter().all(|one| one.against == "ext4" || one.against == "xfs+luks2"));
    let costs: Vec<(ProtectionFeature, &str, ContrastOutcome)> = verdict
        .protection_costs
        .iter()
        .map(|cost| (cost.feature, cost.other.as_str(), cost.outcome(0.03)))
        .collect();
    let encryption = ProtectionFeature::Encrypted;
    let wanted =
        [(encryption, "ext4", ContrastOutcome::Behind), (encryption, "xfs", ContrastOutcome::Behind)];
    assert_eq!(costs, wanted);
    assert!((verdict.protection_costs[0].ratio.point - 1.2).abs() < 0.02);
}

#[test]
fn limits_of_results_stand_before_those_of_the_setup() {
    let plan =
        plan(&goal(&json!({ "protection": { "ext4+luks2": ["encrypted"], "xfs+luks2": ["encrypted"] } })));
    let verdict = Judgement::from_run(&plan, &run(&plan, &["ext4+luks2", "xfs+luks2"])).verdict;
    let place = |is: fn(&Limit) -> bool| verdict.limits.iter().position(is).unwrap();
    let few = place(|limit| matches!(limit, Limit::FewBlocks(2)));
    assert!(few < place(|limit| matches!(limit, Limit::FreshlyMade)), "{:?}", verdict.limits);
}

#[test]
fn a_plan_without_levels_is_judged_as_before() {
    let plan = plan(&goal(&json!({})));
    let run = run(&plan, &["ext2"]);
    let verdict = Judgement::from_run(&plan, &run).verdict;
    assert!(verdict.groups.is_empty() && verdict.protection_costs.is_empty());
    assert!(verdict.standings.iter().all(|one| one.against == verdict.ranking[0].candidate));
}

//! The recommendation among equals, as properties over made intervals and safeguards, and over whole runs.

use std::collections::BTreeMap;

use serde_json::json;

use super::{EqualsDecision, choose_among_equals, count_options, is_shown_worse};
use crate::journal::{Event, Run, made};
use crate::plan::{Plan, ProtectionFeature, Safeguards};
use crate::statistics::Estimate;
use crate::statistics::test_noise::Noise;
use crate::verdict::{Contrast, ContrastOutcome, Judgement, Outcome};

const TIE: f64 = 0.03;
const WORLDS: u64 = 4000;
const KINDS: [ProtectionFeature; 4] = [
    ProtectionFeature::DataChecksums,
    ProtectionFeature::MetadataChecksums,
    ProtectionFeature::MetadataCopies,
    ProtectionFeature::NoFlushes,
];

/// A number below `end`.
fn draw(noise: &mut Noise, end: usize) -> usize {
    (noise.uniform() * end as f64) as usize % end
}

/// Up to six candidates of two filesystems, each of which has safeguards of its own, with options that change some.
fn draw_plan(noise: &mut Noise) -> Plan {
    let natural: Vec<Vec<bool>> =
        (0..2).map(|_| KINDS.iter().map(|_| noise.uniform() < 0.6).collect()).collect();
    let mut safeguards = BTreeMap::new();
    let mut candidates = Vec::new();
    for at in 0..2 + draw(noise, 5) {
        let (name, filesystem) = (format!("c{at}"), draw(noise, 2));
        let changed: Vec<bool> = KINDS.iter().map(|_| noise.uniform() < 0.3).collect();
        let has = natural[filesystem].iter().zip(&changed).map(|(natural, changed)| natural != changed);
        let list = |flags: Vec<bool>| -> crate::plan::Protection {
            KINDS.into_iter().zip(flags).filter_map(|(kind, flag)| flag.then_some(kind)).collect()
        };
        safeguards.insert(name.clone(), Safeguards { has: list(has.collect()), changed: list(changed) });
        let written = ["btrfs", "xfs"][filesystem];
        let mount: Vec<String> = (0..draw(noise, 3)).map(|word| format!("o{word}")).collect();
        candidates.push(json!({
            "name": name, "filesystem": written, "encryption": "none", "mount": mount,
        }));
    }
    let mut plan = made::plan(&json!({ "candidates": candidates }));
    plan.protocol.tie = TIE;
    plan.goal.safeguards = safeguards;
    plan
}

/// Any result of comparing two candidates: a ratio with an interval, and what a test may say of it.
fn draw_contrast(noise: &mut Noise, of: usize, against: usize) -> Contrast {
    let point = libm::exp(0.04 * noise.normal());
    let width = libm::exp(0.05 * noise.uniform());
    let outcome = match draw(noise, 4) {
        0 => ContrastOutcome::Undecided,
        1 => ContrastOutcome::NotBetter,
        2 if point > 1.0 => ContrastOutcome::Behind,
        _ if point * width < 1.0 + TIE && point / width > 1.0 / (1.0 + TIE) => ContrastOutcome::Tied,
        _ => ContrastOutcome::NotBetter,
    };
    Contrast {
        subject: "goal".to_owned(),
        of: format!("c{of}"),
        against: format!("c{against}"),
        ratio: Estimate { point, low: Some(point / width), high: Some(point * width), n: 5 },
        outcome,
    }
}

/// Chooses in a made world; the first candidate leads.
fn choose(plan: &Plan, seed: u64) -> EqualsDecision {
    let number = plan.candidates.len();
    let compare = |name: &str| -> Vec<Contrast> {
        let against: usize = name[1..].parse().unwrap();
        // The same pair has the same result whenever it is asked for.
        let mut noise = Noise(seed.wrapping_mul(31).wrapping_add(against as u64));
        (0..number).filter(|of| *of != against).map(|of| draw_contrast(&mut noise, of, against)).collect()
    };
    choose_among_equals(plan, "c0", compare("c0"), compare, |_| true)
}

/// The candidates that equal the recommended one, or are not shown to be worse, and are protected better.
fn better_protected(plan: &Plan, choice: &EqualsDecision) -> usize {
    let own = plan.goal.safeguards_of(&choice.taken);
    let equal = choice.standings.iter().filter(|standing| !is_shown_worse(standing, TIE));
    equal.filter(|standing| plan.goal.safeguards_of(&standing.of).exceeds(&own)).count()
}

#[test]
fn no_candidate_that_equals_the_recommended_one_is_protected_better() {
    let (mut moved, mut planted) = (0, 0);
    for seed in 0..WORLDS {
        let plan = draw_plan(&mut Noise(seed * 7919));
        let choice = choose(&plan, seed);
        assert_eq!(better_protected(&plan, &choice), 0, "world {seed}: {choice:?}");
        // Where the leader is taken, an equal that differs by an option alone may be named.
        match &choice.preference {
            Some(preference) if choice.taken == "c0" => assert!(preference.option.is_some(), "world {seed}"),
            preference => assert_eq!(preference.is_some(), choice.taken != "c0"),
        }
        // A safeguard that is given up beside a candidate that is shown to be worse is named.
        let own = plan.goal.safeguards_of(&choice.taken);
        let gives_up =
            choice.standings.iter().any(|standing| plan.goal.safeguards_of(&standing.of).exceeds(&own));
        assert_eq!(choice.sacrifice.is_some(), gives_up, "world {seed}: {choice:?}");
        moved += u32::from(choice.taken != "c0");
        // The rule of earlier versions: whoever leads is taken.
        let first = EqualsDecision { taken: "c0".to_owned(), ..choose_first(&plan, seed) };
        planted += u32::from(better_protected(&plan, &first) > 0);
    }
    assert!(moved > WORLDS as u32 / 10 && planted > WORLDS as u32 / 10, "{moved} moved, {planted} planted");
}

/// The leader as earlier versions took it, with its standings.
fn choose_first(plan: &Plan, seed: u64) -> EqualsDecision {
    let mut indifferent = plan.clone();
    indifferent.goal.safeguards.clear();
    indifferent.candidates.iter_mut().for_each(|candidate| candidate.mount.clear());
    choose(&indifferent, seed)
}

#[test]
fn of_equals_with_the_same_protection_none_has_fewer_options() {
    let mut moved = 0;
    for seed in 0..WORLDS {
        let mut plan = draw_plan(&mut Noise(seed * 104_729));
        plan.goal.safeguards.clear();
        let choice = choose(&plan, seed);
        let first = choose_first(&plan, seed);
        let tied = first.standings.iter().filter(|standing| standing.has_outcome(ContrastOutcome::Tied, TIE));
        let fewest = tied.map(|standing| standing.of.as_str()).chain(["c0"]);
        let fewest = fewest.map(|name| count_options(&plan, name)).min();
        assert_eq!(Some(count_options(&plan, &choice.taken)), fewest, "world {seed}: {choice:?}");
        moved += u32::from(choice.taken != "c0");
    }
    assert!(moved > WORLDS as u32 / 20, "{moved}");
}

/// A run of two candidates, of which `b` has an option and takes so many times as long as `a`, with noise.
fn judge_pair(plan: &Plan, times: f64, noise: &mut Noise) -> Run {
    let mut events = vec![(None, made::started())];
    for block in 1..=8 {
        events.push((None, made::block_started(block, 1, &["a", "b"])));
        for (name, seconds) in [("a", 10.0), ("b", 10.0 * times)] {
            let id = Some(made::id(block, name));
            events.push((id.clone(), Event::TrialStarted {}));
            events.push((id.clone(), made::durable("work", seconds * libm::exp(0.004 * noise.normal()))));
            events.push((id, made::ended(None, 1.0)));
        }
        events.push((None, Event::BlockFinished { block, attempt: 1, invalid: None }));
    }
    made::run(plan, events)
}

#[test]
fn a_run_recommends_the_default_unless_the_option_gains_more_than_a_tie() {
    let mut plan = made::plan(&json!({
        "protocol": {
            "blocks": { "min": 3, "max": 8 }, "seed": 1, "tie": TIE, "timeout": { "secs": 600, "nanos": 0 }
        },
        "candidates": [
            { "name": "a", "filesystem": "xfs", "encryption": "none" },
            { "name": "b", "filesystem": "xfs", "encryption": "none", "mkfs": ["-m", "crc=0"] },
        ],
        "goal": { "metric": "durable", "by": "total", "weights": { "work": 1.0 } },
    }));
    let checksums = || [ProtectionFeature::MetadataChecksums].into_iter().collect();
    let stored = [
        ("a".to_owned(), Safeguards { has: checksums(), ..Safeguards::default() }),
        ("b".to_owned(), Safeguards { changed: checksums(), ..Safeguards::default() }),
    ];
    plan.goal.safeguards = stored.into();
    let mut noise = Noise(20);
    let mut led = 0;
    for times in [0.99, 0.995, 1.0, 1.0, 1.0, 1.005].repeat(5) {
        let run = judge_pair(&plan, times, &mut noise);
        let verdict = Judgement::from_run(&plan, &run).verdict;
        assert_eq!(verdict.recommended.as_deref(), Some("a"), "{times}: {verdict:?}");
        assert_eq!(verdict.ranking[0].candidate, "a");
        assert_eq!(verdict.outcome, Outcome::Ranked);
        let Some(preference) = verdict.preference else { continue };
        led += 1;
        assert_eq!(preference.option.as_deref(), Some("mkfs -m crc=0"));
        assert_eq!((preference.over.as_str(), preference.keeps.as_slice()), ("b", &[KINDS[1]][..]));
        assert_eq!(verdict.tied, ["b"]);
    }
    assert!(led > 10, "b led {led} times");
    let run = judge_pair(&plan, 0.9, &mut noise);
    let verdict = Judgement::from_run(&plan, &run).verdict;
    assert_eq!(verdict.recommended.as_deref(), Some("b"));
    let sacrifice = verdict.sacrifice.unwrap();
    assert_eq!((sacrifice.against.as_str(), sacrifice.features.as_slice()), ("a", &[KINDS[1]][..]));
    assert_eq!(verdict.preference, None);
}

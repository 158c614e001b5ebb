//! Tests of the effects of options.

use super::{Estimate, FactorEffect, Interaction, describe_effect};
use crate::examples::{one, run_of};
use fsverdict_judgement::verdict::AddedSeconds;

#[test]
fn an_option_that_costs_computing_says_so() {
    let effect = |durable: f64, cpu: f64| FactorEffect {
        factor: "layers",
        level: "luks2".to_owned(),
        against: Some(String::new()),
        ratio: Estimate { point: 1.4, low: Some(1.3), high: Some(1.5), n: 5 },
        pairs: 3,
        certain: true,
        slight: false,
        interactions: Vec::new(),
        added: Some(AddedSeconds { durable, cpu }),
    };
    assert_eq!(
        describe_effect(&effect(0.52, 0.44), 0.03),
        "layers luks2 costs 40% (±10.0%) overall (most of it is computing: 0.44 s of processors for 0.52 s more)"
    );
    assert_eq!(describe_effect(&effect(0.52, 0.2), 0.03), "layers luks2 costs 40% (±10.0%) overall");
}

#[test]
fn what_is_certain_and_smaller_than_matters_is_not_called_uncertain() {
    let ratio = |point: f64, low: f64, high: f64| Estimate { point, low: Some(low), high: Some(high), n: 5 };
    let on_xfs = Interaction {
        factor: "filesystem",
        level: "xfs".to_owned(),
        here: ratio(1.2, 1.15, 1.25),
        ratio: ratio(1.2, 1.15, 1.25),
        certain: true,
    };
    let said = |ratio: Estimate, slight: bool| {
        let effect = FactorEffect {
            factor: "mount",
            level: "noatime".to_owned(),
            against: Some(String::new()),
            ratio,
            pairs: 3,
            certain: false,
            slight,
            interactions: vec![on_xfs.clone()],
            added: None,
        };
        describe_effect(&effect, 0.03)
    };
    let small = said(ratio(0.9865, 0.981, 0.992), true);
    let wanted =
        "mount noatime saves 1.3% (±0.55%), which is less than matters, overall, but otherwise on xfs";
    assert!(small.starts_with(wanted), "{small}");
    let near = said(ratio(0.975, 0.96, 0.99), true);
    assert!(near.contains("which may or may not matter"), "{near}");
    let none = said(ratio(1.001, 0.99, 1.01), false);
    assert!(none.contains("noatime makes no difference that matters overall"), "{none}");
    let unknown = said(ratio(1.02, 0.9, 1.15), false);
    assert!(unknown.contains("makes no certain difference overall"), "{unknown}");
}

/// Four candidates in pairs: an option is the question, and the ranking of filesystems comes behind its answer.
#[test]
fn a_plan_of_pairs_is_answered_by_what_the_option_does() {
    let names = ["ext4:nodiscard", "ext4:discard", "xfs:nodiscard", "xfs:discard"];
    let [plain, slow, other, other_slow] = names;
    for (times, wanted) in [
        (1.5, "Mount discard against nodiscard costs 45%"),
        (1.001, "Mount discard against nodiscard makes no difference that matters overall"),
    ] {
        let mut story = run_of(
            &[
                one(plain, 8.0, 1.0, 0.01),
                one(slow, 8.0 * times, 1.0, 0.01),
                one(other, 9.0, 1.0, 0.01),
                one(other_slow, 9.0 * times, 1.0, 0.01),
            ],
            6,
        );
        for (candidate, name) in story.plan.candidates.iter_mut().zip(names) {
            let (filesystem, option) = name.split_once(':').unwrap();
            candidate.filesystem = filesystem.to_owned();
            candidate.mount = vec![option.to_owned()];
        }
        story.finish_for("recommended after 6 blocks");
        let run = story.run();
        let sentence = crate::Report::new(&story.plan, &run, None).sentence;
        assert!(sentence.starts_with(wanted) && sentence.contains(" Take ext4:"), "{sentence}");
    }
}

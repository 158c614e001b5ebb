//! How often a run by the time of the whole job recommends a wrong candidate: simulated runs through the journal, the objective and the
//! stopping rule that real runs use.

use crate::journal::{Event, Fold, TrialId, made};
use crate::plan::Plan;
use crate::statistics::Ruling;
use crate::statistics::test_noise::Noise;
use crate::verdict::Deliberation;
use serde_json::json;

const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];
/// Seconds of each phase, how much a trial of it strays (standard deviation of the logarithm), and how often it happens: a copy of
/// minutes, a read that counts little, and a removal of milliseconds that strays most.
const PHASES: [(&str, f64, f64, f64); 3] =
    [("copy", 40.0, 0.02, 1.0), ("read", 10.0, 0.05, 0.1), ("remove", 0.02, 0.8, 1.0)];
const TIE: f64 = 0.03;
const MOST_BLOCKS: u32 = 15;
const RUNS: u64 = 150;

fn plan() -> Plan {
    let candidate = |name: &&str| json!({ "name": name, "filesystem": "ext4", "encryption": "none" });
    let frequency: serde_json::Map<_, _> =
        PHASES.iter().map(|(name, .., times)| ((*name).to_owned(), json!(times))).collect();
    made::plan(&json!({
        "protocol": {
            "blocks": { "min": 3, "max": MOST_BLOCKS }, "seed": 1, "tie": TIE,
            "timeout": { "secs": 600, "nanos": 0 }
        },
        "candidates": NAMES.iter().map(candidate).collect::<Vec<_>>(),
        "goal": { "metric": "durable", "by": "total", "weights": frequency },
    }))
}

/// The candidate that a run recommends where each takes so many times the first's time to copy, and the first removes ten times as
/// slowly as the others.
fn recommended(plan: &Plan, copies: [f64; 5], noise: &mut Noise) -> Option<String> {
    let mut fold = Fold::new(plan);
    let mut deliberation = None::<Deliberation>;
    let told = |fold: &mut Fold, trial: Option<TrialId>, event: Event| {
        made::journal([(trial, event)]).records.into_iter().for_each(|record| fold.add_record(record));
    };
    told(&mut fold, None, made::started());
    let mut racing: Vec<&str> = NAMES.to_vec();
    for block in 1..=MOST_BLOCKS {
        told(&mut fold, None, made::block_started(block, 1, &racing));
        let mood = 0.1 * noise.normal();
        for name in &racing {
            let at = NAMES.iter().position(|known| known == name).unwrap();
            let id = Some(made::id(block, name));
            told(&mut fold, id.clone(), Event::TrialStarted {});
            for (phase, seconds, strays, _) in PHASES {
                let own = match phase {
                    "copy" => copies[at],
                    "remove" if at == 0 => 10.0,
                    _ => 1.0,
                };
                let seconds = seconds * own * libm::exp(mood + strays * noise.normal());
                told(&mut fold, id.clone(), made::durable(phase, seconds));
            }
            told(&mut fold, id, made::ended(None, 1.0));
        }
        told(&mut fold, None, Event::BlockFinished { block, attempt: 1, invalid: None });
        let run = fold.run().unwrap();
        let known = deliberation.get_or_insert_with(|| Deliberation::from_run(plan, run));
        known.go_on(plan, run);
        match known.outcome() {
            Ruling::Continue => {}
            Ruling::Recommended => {
                return known.last_look().map(|look| known.leader(&look).to_owned());
            }
            Ruling::Undecided => return None,
        }
        racing = NAMES.into_iter().filter(|name| known.racing().any(|one| one == *name)).collect();
    }
    None
}

#[test]
fn at_most_one_recommendation_in_twenty_is_wrong_by_the_time_of_the_job() {
    let plan = plan();
    // The first is the best by 5 %, or the same as the second; the others are behind by more than the tie.
    for copies in [[1.0, 1.05, 1.05, 1.08, 1.2], [1.0, 1.0, 1.05, 1.06, 1.3]] {
        let (mut right, mut wrong) = (0, 0);
        for seed in 0..RUNS {
            let Some(name) = recommended(&plan, copies, &mut Noise(seed * 7919)) else { continue };
            let at = NAMES.iter().position(|known| *known == name).unwrap();
            if copies[at] > 1.0 + TIE { wrong += 1 } else { right += 1 }
        }
        // 150 runs: more than 12 wrong ones would be seen once in a hundred times at a true rate of 5 %.
        assert!(wrong <= 12, "{wrong} of {} wrong", right + wrong);
        assert!(right >= 100, "{right} right, {wrong} wrong: the milliseconds of the removal decide nothing");
    }
}

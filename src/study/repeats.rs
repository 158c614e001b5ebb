//! Decides how often a short phase is repeated within a trial, by a rule that is fixed beforehand.
//!
//! Repeating a short phase within a trial is cheaper than repeating trials. The most efficient number of repetitions
//! is √(time of a trial ∕ time of the phase), if trials vary among each other as much as repetitions do (Kalibera and
//! Jones, Rigorous Benchmarking in Reasonable Time, 2013). The number is computed from the first block that counts,
//! is the same for all candidates and all later blocks, and is limited to a tenth of a trial's time.

use std::collections::BTreeMap;

use fsverdict_judgement::journal::{Run, Status, Trial};
use fsverdict_judgement::plan::{Operation, Phase, PhaseWork, Plan};
use fsverdict_judgement::statistics::median;
use fsverdict_lab::trial::Repeats;

/// The maximum number of repetitions: beyond it, only the variation between trials remains.
const MOST: f64 = 10.0;
/// The largest share of a trial's time that the repetitions of a phase may take.
const SHARE: f64 = 0.1;
/// The check that ends every trial.
const LAST_CHECK: &str = "fsck";

/// Whether a service runs during the phase: it would have to be stopped for each repetition.
fn in_service(plan: &Plan, phase: &Phase) -> bool {
    let place = |name: &str| plan.phases.iter().position(|one| one.name == name);
    let at = place(&phase.name);
    plan.services.iter().any(|service| place(&service.from) <= at && at <= place(&service.to))
}

/// The repetitions for trials of the next block. In simulated time, only those that the plan asks for: there the
/// layout on the device varies, and a repetition does not change it.
pub(super) fn decide_repeats(plan: &Plan, run: &Run, simulated: bool) -> BTreeMap<String, Repeats> {
    let counts = |trial: &&Trial| trial.is_counted() && trial.status == Status::Ok && !simulated;
    let first = run.trials.iter().filter(counts).map(|trial| trial.id.block).min();
    let pilot: Vec<&Trial> =
        run.trials.iter().filter(counts).filter(|trial| Some(trial.id.block) == first).collect();
    let repeatable = plan.phases.iter().filter_map(|phase| match phase.work {
        PhaseWork::Operation(operation) if operation.takes("repeat") => {
            // A warm read finds its data in memory the second time, so it does not repeat; and a rebuild takes longer
            // than the phase.
            let alone =
                phase.state.is_none() && phase.lines_around().next().is_none() && !in_service(plan, phase);
            let is_same = operation.leaves_all_as_it_was() && alone;
            let same_again = (phase.cold || operation == Operation::Fsck) && is_same;
            Some((phase.name.as_str(), phase.repeat, same_again))
        }
        _ => None,
    });
    repeatable
        .chain([(LAST_CHECK, None, true)])
        .filter_map(|(name, asked_for, same_again)| {
            let by_rule = || same_again.then(|| repetitions_by_rule(&pilot, name));
            let times = asked_for.or_else(by_rule)?;
            (times > 1).then(|| (name.to_owned(), Repeats { times, asked_for: asked_for.is_some() }))
        })
        .collect()
}

/// Applies the rule to the median share of their trials' time that the phase took.
fn repetitions_by_rule(pilot: &[&Trial], phase: &str) -> u32 {
    let share = |trial: &&Trial| {
        let total: f64 =
            trial.observations.iter().filter_map(|found| trial.value(&found.phase, "durable")).sum();
        trial.value(phase, "durable").filter(|_| total > 0.0).map(|seconds| seconds / total)
    };
    let shares: Vec<f64> = pilot.iter().filter_map(share).collect();
    let Some(median) = median(&shares).filter(|share| *share > 0.0) else { return 1 };
    let times = median.recip().sqrt().min(SHARE / median).min(MOST);
    // The value is at most 10, and a negative one becomes 0.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to 10")]
    let times = times as u32;
    times.max(1)
}

#[cfg(test)]
mod tests {
    use super::decide_repeats;
    use fsverdict_judgement::journal::{Event, Run};
    use fsverdict_judgement::plan::{Plan, Vocabulary};
    use fsverdict_testutil::journals as made;

    const PLAN: &str = r#"
        title = "t"
        device = { image = "1GiB" }
        dataset.tree = { profile = "mixed", files = 10, directories = 2, size = "1MiB" }
        matrix.filesystem = ["ext4", "xfs"]
        phase = [
            { name = "write", operation = "tree.write", dataset = "tree" },
            { name = "warm", operation = "tree.read", dataset = "tree" },
            { name = "read", operation = "tree.read", dataset = "tree", cold = true },
            { name = "check", operation = "fsck" },
        ]
    "#;

    fn plan(text: &str) -> Plan {
        let vocabulary = Vocabulary {
            filesystems: &["ext4", "xfs"],
            layers: &[],
            layer: |_, _| Ok(1),
            adapters: &[],
            adapter_options: |_, _| Ok(()),
            profiles: &["mixed"],
            metrics: &["durable"],
            unit_of: |_| None,
            adds_up: |name| name == "durable",
            least_device: |_| 0,
            model: |_, size| Ok(size),
            cpu: |_| Ok(()),
            protection: |_| fsverdict_judgement::plan::Protection::default(),
            safeguards: |_| fsverdict_judgement::plan::Safeguards::default(),
        };
        fsverdict_judgement::plan::read_with(
            text,
            "plan.toml",
            &fsverdict_judgement::plan::Overrides::default(),
            &vocabulary,
        )
        .unwrap()
    }

    /// A run of one block; each candidate has these seconds for write, warm read, cold read and check.
    fn run(plan: &Plan, seconds: [[f64; 4]; 2]) -> Run {
        let names = ["ext4", "xfs"];
        let mut events = vec![(None, made::started()), (None, made::block_started(1, 1, &names))];
        for (candidate, seconds) in names.iter().zip(seconds) {
            let id = Some(made::id(1, candidate));
            events.push((id.clone(), Event::TrialStarted {}));
            for (phase, value) in ["write", "warm", "read", "check"].into_iter().zip(seconds) {
                events.push((id.clone(), made::durable(phase, value)));
            }
            events.push((id, made::ended(None, 9.0)));
        }
        events.push((None, Event::BlockFinished { block: 1, attempt: 1, invalid: None }));
        Run::derive(plan, &made::journal(events)).unwrap()
    }

    #[test]
    fn what_is_short_is_repeated_within_a_tenth_of_a_trial() {
        let plan = plan(PLAN);
        let of = |read: f64, check: f64| {
            let seconds = [10.0 - read - check - 0.001, 0.001, read, check];
            let found = decide_repeats(&plan, &run(&plan, [seconds; 2]), false);
            ["write", "warm", "read", "check"].map(|phase| found.get(phase).map(|found| found.times))
        };
        assert_eq!(of(5.0, 0.6), [None; 4]);
        assert_eq!(of(0.6, 0.4), [None, None, None, Some(2)]);
        assert_eq!(of(0.2, 0.05), [None, None, Some(5), Some(10)]);
        assert_eq!(of(0.0, 0.0001), [None, None, None, Some(10)]);
    }

    #[test]
    fn a_rebuild_is_not_repeated_by_the_rule() {
        for (state, wanted) in [("", Some(5)), (", state = \"rebuilding\"", None)] {
            let plan = plan(&PLAN.replace("cold = true", &format!("cold = true{state}")));
            let found = decide_repeats(&plan, &run(&plan, [[9.749, 0.001, 0.2, 0.05]; 2]), false);
            assert_eq!(found.get("read").map(|found| found.times), wanted, "{state}");
        }
    }

    #[test]
    fn a_plan_may_ask_for_repetitions_of_what_changes_nothing() {
        let asked = plan(&PLAN.replace("name = \"warm\"", "name = \"warm\", repeat = 4"));
        let found = decide_repeats(&asked, &run(&asked, [[5.0, 1.0, 5.0, 5.0]; 2]), false);
        let found: Vec<_> =
            found.iter().map(|(name, found)| (name.as_str(), found.times, found.asked_for)).collect();
        assert_eq!(found, [("warm", 4, true)]);
    }

    #[test]
    fn before_the_first_block_and_in_simulated_time_nothing_is_repeated_by_the_rule() {
        let native = plan(PLAN);
        let mut none = run(&native, [[9.0, 0.1, 0.1, 0.1]; 2]);
        none.trials.clear();
        assert!(decide_repeats(&native, &none, false).is_empty());
        // A modelled device in real time is timed by this machine's clock.
        let modelled = plan(&PLAN.replace("image = \"1GiB\"", "model = \"usb-stick\", size = \"1GB\""));
        let short = run(&modelled, [[9.0, 0.1, 0.1, 0.1]; 2]);
        assert!(decide_repeats(&modelled, &short, true).is_empty());
        assert!(!decide_repeats(&modelled, &short, false).is_empty());
    }
}

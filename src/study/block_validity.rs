//! Decides whether a block counts: applies the plan's limits to the observations of the machine during the block, and
//! checks that its trials worked on the same data, since the user's folders may change. Measured results play no part.

use fsverdict_judgement::journal::{Run, Sentinel, Surroundings, Trial};
use fsverdict_judgement::plan::Disturbance;
use fsverdict_judgement::statistics::median;
use fsverdict_text::Bytes;

/// Foreign bytes below this number (16 MiB) are never a disturbance: fsverdict's own journal and reports are among
/// them.
const FEW_BYTES: u64 = 16 << 20;
/// A run is given up when at least this many blocks do not count and they outnumber those that do.
const MANY: usize = 3;

/// The rule that a block broke, as a sentence; `None` if the block counts.
pub(super) fn broken_rule(limits: &Disturbance, run: &Run, block: u32, attempt: u32) -> Option<String> {
    let of_block = |trial: &&Trial| (trial.id.block, trial.id.attempt) == (block, attempt);
    let (mine, others): (Vec<&Trial>, Vec<&Trial>) = run.trials.iter().partition(of_block);
    let surroundings_of = |trials: &[&Trial]| -> Vec<Surroundings> {
        trials.iter().filter_map(|trial| trial.surroundings).collect()
    };
    find_broken_rule(limits, &surroundings_of(&mine), &surroundings_of(&others))
}

/// Like [`broken_rule`], from the observations during the block's trials and during all other trials.
fn find_broken_rule(limits: &Disturbance, seen: &[Surroundings], before: &[Surroundings]) -> Option<String> {
    if seen.iter().any(|trial| trial.stopped) {
        return Some("a trial was stopped and went on later: its times hold the pause".to_owned());
    }
    if let Some(slept) = seen.iter().filter_map(|trial| trial.slept).next() {
        return Some(format!("the machine slept for {slept:.1} s during a trial"));
    }
    if let Some(step) = seen.iter().filter_map(|trial| trial.clock_step).next() {
        let way = if step > 0.0 { "forward" } else { "back" };
        return Some(format!(
            "the clock of this machine was set {way} by {:.1} s during a trial",
            step.abs()
        ));
    }
    let cpu_time = sum_if_complete(seen, |trial| trial.cpu_time);
    let share = |used: Option<f64>| Some(used? / cpu_time.filter(|time| *time > 0.0)?);
    let beyond = |share: Option<f64>, limit: f64| share.filter(|share| *share > limit);
    let foreign =
        beyond(share(sum_if_complete(seen, |trial| trial.foreign_cpu)), limits.foreign_cpu).map(|share| {
            format!(
                "other programs used {} of the CPU ({} is borne)",
                format_percent(share),
                format_percent(limits.foreign_cpu)
            )
        });
    let steal = || {
        let share = beyond(share(sum_if_complete(seen, |trial| trial.steal)), limits.steal)?;
        Some(format!(
            "the hypervisor took {} of the CPU ({} is borne)",
            format_percent(share),
            format_percent(limits.steal)
        ))
    };
    foreign
        .or_else(steal)
        .or_else(|| check_foreign_bytes(limits, seen))
        .or_else(|| check_drift(limits, seen, before))
}

/// The sum over trials; `None` unless every trial has the value.
fn sum_if_complete(seen: &[Surroundings], of: fn(&Surroundings) -> Option<f64>) -> Option<f64> {
    seen.iter().map(of).sum::<Option<f64>>().filter(|_| !seen.is_empty())
}

fn format_percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

fn check_foreign_bytes(limits: &Disturbance, seen: &[Surroundings]) -> Option<String> {
    // A guest can report any number of bytes.
    let sum_of = |of: fn(&Surroundings) -> Option<u64>| {
        seen.iter().map(of).try_fold(0, |sum: u64, bytes| Some(sum.saturating_add(bytes?)))
    };
    let (foreign, own) = sum_of(|trial| trial.foreign_bytes).zip(sum_of(|trial| trial.own_bytes))?;
    let share = foreign as f64 / own.max(1) as f64;
    (foreign > FEW_BYTES && share > limits.foreign_bytes).then(|| {
        // Rounds to two digits.
        let step = 10_u64.pow(foreign.ilog10().saturating_sub(1));
        let trials = match own {
            0 => "where the trials moved nothing".to_owned(),
            _ => format!("{} of what the trials did", format_percent(share)),
        };
        let borne = format_percent(limits.foreign_bytes);
        format!(
            "others moved about {} on this disk, {trials} ({borne} is borne)",
            Bytes(foreign / step * step)
        )
    })
}

/// Compares the median of the block's sentinel times with the median of the whole run so far. The median ignores a
/// single short interruption, which is no drift.
fn check_drift(limits: &Disturbance, seen: &[Surroundings], before: &[Surroundings]) -> Option<String> {
    let usual = |of: fn(&Sentinel) -> f64| {
        let times_of = |seen: &[Surroundings]| -> Vec<f64> {
            seen.iter().filter_map(|trial| trial.sentinel.as_ref()).map(of).collect()
        };
        let (now, earlier) = (times_of(seen), times_of(before));
        Some(median(&now)? / median(&[earlier, now].concat())?)
    };
    let describe = |what: &str, factor: Option<f64>| {
        let factor = factor.filter(|factor| factor.is_finite() && *factor > 0.0)?;
        let (times, how) = if factor > 1.0 { (factor, "slow") } else { (1.0 / factor, "fast") };
        (times > limits.drift).then(|| {
            format!(
                "the {what} was {times:.1} times as {how} as usual in this run ({} is borne)",
                limits.drift
            )
        })
    };
    describe("processor", usual(|sentinel| sentinel.cpu))
        .or_else(|| describe("memory", usual(|sentinel| sentinel.memory)))
}

/// Why nothing may be ranked: too many blocks did not count.
pub(super) fn hopelessly_disturbed(run: &Run) -> Option<String> {
    let (invalid, valid) = (run.invalid_blocks().count(), run.complete_blocks());
    let last = run.invalid_blocks().last().map(|(_, rule)| rule.to_owned())?;
    (invalid >= MANY && invalid > valid).then(|| {
        format!(
            "{invalid} blocks were invalid and only {valid} valid: this machine is too busy (last: {last})"
        )
    })
}

/// Why a block does not count, if its trials worked on different data.
pub(super) fn find_mixed_data(run: &Run, block: u32, attempt: u32) -> Option<String> {
    let mut trials = run.trials.iter().filter(|trial| (trial.id.block, trial.id.attempt) == (block, attempt));
    let first = trials.next()?;
    let difference = trials.find_map(|trial| find_difference(first, trial))?;
    Some(format!("its trials did not work on the same data: {difference}"))
}

/// A caution that this block worked on different data than the previous one, with the difference.
pub(super) fn find_changed_data(run: &Run, block: u32, attempt: u32) -> Option<String> {
    let before = run.trials.iter().find(|trial| trial.is_counted() && trial.id.block + 1 == block)?;
    let now = run.trials.iter().find(|trial| (trial.id.block, trial.id.attempt) == (block, attempt))?;
    let difference = find_difference(before, now)?;
    Some(format!("from block {block} on, other data than before: {difference}"))
}

fn find_difference(before: &Trial, now: &Trial) -> Option<String> {
    before.datasets().find_map(|(name, was)| {
        let (_, is) = now.datasets().find(|(known, is)| *known == name && *is != was)?;
        Some(format!("the folder of dataset `{name}` held {was}, and then {is}"))
    })
}

#[cfg(test)]
mod tests {
    use super::find_broken_rule;
    use fsverdict_judgement::journal::{Sentinel, Surroundings};
    use fsverdict_judgement::plan::Disturbance;

    fn quiet() -> Surroundings {
        Surroundings {
            cpu_time: Some(20.0),
            foreign_cpu: Some(0.8),
            steal: Some(0.0),
            foreign_bytes: Some(9 << 20),
            own_bytes: Some(100 << 20),
            sentinel: Some(Sentinel { cpu: 0.002, memory: 0.004 }),
            ..Surroundings::default()
        }
    }

    /// The rule broken by a block whose first of two trials is disturbed, after a quiet block.
    fn told(first: Surroundings) -> Option<String> {
        find_broken_rule(&Disturbance::default(), &[first, quiet()], &[quiet(), quiet()])
    }

    #[test]
    fn a_quiet_machine_disturbs_nothing() {
        assert_eq!(told(quiet()), None);
        assert_eq!(find_broken_rule(&Disturbance::default(), &[], &[]), None);
        assert_eq!(told(Surroundings::default()), None);
    }

    #[test]
    fn each_rule_is_told() {
        let cpu = told(Surroundings { foreign_cpu: Some(11.6), ..quiet() });
        assert_eq!(cpu.as_deref(), Some("other programs used 31 % of the CPU (25 % is borne)"));
        let steal = told(Surroundings { steal: Some(20.0), ..quiet() });
        assert_eq!(steal.as_deref(), Some("the hypervisor took 50 % of the CPU (10 % is borne)"));
        let bytes = told(Surroundings { foreign_bytes: Some(123_456_789), ..quiet() });
        assert_eq!(
            bytes.as_deref(),
            Some("others moved about 130 MB on this disk, 63 % of what the trials did (25 % is borne)")
        );
        let nothing = Surroundings { own_bytes: Some(0), foreign_bytes: Some(412_000_000), ..quiet() };
        assert_eq!(
            find_broken_rule(&Disturbance::default(), &[nothing, nothing], &[]).as_deref(),
            Some("others moved about 820 MB on this disk, where the trials moved nothing (25 % is borne)")
        );
        let stopped = told(Surroundings { stopped: true, ..quiet() });
        assert_eq!(
            stopped.as_deref(),
            Some("a trial was stopped and went on later: its times hold the pause")
        );
        let slept = told(Surroundings { slept: Some(3600.04), ..quiet() });
        assert_eq!(slept.as_deref(), Some("the machine slept for 3600.0 s during a trial"));
        let set_back = told(Surroundings { clock_step: Some(-3600.04), ..quiet() });
        assert_eq!(
            set_back.as_deref(),
            Some("the clock of this machine was set back by 3600.0 s during a trial")
        );
        let hostile = Surroundings { own_bytes: Some(u64::MAX), foreign_bytes: Some(u64::MAX), ..quiet() };
        assert!(find_broken_rule(&Disturbance::default(), &[hostile, hostile], &[]).is_some());
        // Many times what the trials moved, but next to nothing in bytes.
        let few = Surroundings { own_bytes: Some(1), foreign_bytes: Some(3 << 20), ..quiet() };
        assert_eq!(find_broken_rule(&Disturbance::default(), &[few, few], &[]), None);
    }

    #[test]
    fn drift_either_way_is_told() {
        let with = |cpu: f64, memory: f64| {
            let one = Surroundings { sentinel: Some(Sentinel { cpu, memory }), ..quiet() };
            find_broken_rule(&Disturbance::default(), &[one, one], &[quiet(), quiet(), quiet()])
        };
        assert_eq!(with(0.0029, 0.0041), None);
        let slow = with(0.0036, 0.004).unwrap();
        assert_eq!(slow, "the processor was 1.8 times as slow as usual in this run (1.5 is borne)");
        assert!(with(0.002, 0.002).unwrap().starts_with("the memory was 2.0 times as fast"));
    }
}

//! The time budget of a run: when its trials and its faults have to end, and whether another block fits into the remaining
//! time.
//!
//! The time that was used is read from the journal, so that an interrupted run has as much time left as an uninterrupted
//! one.

use std::time::{Duration, Instant};

use fsverdict_faults::ExaminationTime;
use fsverdict_judgement::journal::{BlockState, Run};
use fsverdict_judgement::plan::Plan;
use fsverdict_text::{duration_text, rough_duration_text};

/// The share of a run's time that its trials may take where faults are examined after them.
const SHARE_OF_TRIALS: f64 = 0.4;

/// The time that a run may take, and the part of it that was used.
#[derive(Debug, Clone, Copy)]
pub struct TimeBudget {
    whole: Duration,
    /// The part for trials; the rest is for faults.
    trials: Duration,
    /// Seconds for which the run has worked.
    worked: f64,
}

impl TimeBudget {
    /// The budget of a run; `None` if the plan has none, or if the run was extended after its time was up.
    pub fn from_run(plan: &Plan, run: &Run) -> Option<Self> {
        let whole = plan.protocol.budget.filter(|_| run.extended_to.is_none())?;
        let trials = if plan.faults.is_some() { whole.mul_f64(SHARE_OF_TRIALS) } else { whole };
        Some(TimeBudget { whole, trials, worked: run.worked })
    }

    /// The seconds that are left for trials.
    pub(super) fn seconds_for_trials(self) -> f64 {
        (self.trials.as_secs_f64() - self.worked).max(0.0)
    }

    /// When no further trial of a session that began at `began` may be under way.
    pub fn trial_deadline(self, began: Instant) -> Option<Instant> {
        began.checked_add(self.trials.saturating_sub(self.worked_time()))
    }

    /// The time for which the run has worked. A stranger's journal may say that it worked for longer than any duration.
    fn worked_time(self) -> Duration {
        Duration::try_from_secs_f64(self.worked.max(0.0)).unwrap_or(Duration::MAX)
    }

    /// Why the run ended in this block: its time was up, and trials of the block have not ended.
    pub(in super::super) fn describe_time_up(self, open: &BlockState) -> Option<String> {
        let remaining = open.untried_candidates().count();
        (remaining > 0).then(|| {
            let share = if self.trials < self.whole { " for trials" } else { "" };
            format!(
                "the time of {}{share} is up: {remaining} of the {} trials of block {} were not done",
                duration_text(self.trials),
                open.order.len(),
                open.block
            )
        })
    }

    /// Why no further block of so many candidates fits into the time for trials; `None` if one fits, or if no trial has
    /// shown yet how long a block takes.
    pub(in super::super) fn describe_exhaustion(self, run: &Run, candidates: usize) -> Option<String> {
        // Candidates drop out, so that later blocks are shorter: the mean is taken per trial. It includes the time
        // between trials.
        let trials = run.trials.len();
        if trials == 0 {
            return None;
        }
        let next = self.worked / trials as f64 * candidates as f64;
        let remaining = self.trials.as_secs_f64() - self.worked;
        (next > remaining).then(|| {
            let up = format!("the time of {} is up", duration_text(self.trials));
            // Blocks that do not count do not end a run, but the message mentions them.
            match run.invalid_blocks().last() {
                Some((_, rule)) if run.complete_blocks() == 0 => {
                    format!("{up}, and no block counts: this machine is too busy (last: {rule})")
                }
                _ if remaining <= 0.0 => up,
                _ => format!(
                    "{up}: another block would take longer than the {} left",
                    rough_duration_text(remaining)
                ),
            }
        })
    }
}

/// The time for examining faults, shared among the candidates that are still to be examined; without a limit where the
/// user asks for the faults by themselves.
#[derive(Debug, Clone, Copy, Default)]
pub struct FaultTime {
    /// When the examination has to end.
    deadline: Option<Instant>,
}

impl FaultTime {
    /// The remaining time of a run, from now on.
    pub fn from_run(plan: &Plan, run: &Run) -> Self {
        let left = TimeBudget::from_run(plan, run);
        let left = left.map(|budget| budget.whole.saturating_sub(budget.worked_time()));
        FaultTime { deadline: left.and_then(|left| Instant::now().checked_add(left)) }
    }

    /// A share of the time that is left: one of so many equal ones.
    #[must_use]
    pub fn share(self, of: usize) -> Self {
        FaultTime { deadline: self.end_of_share(of) }
    }

    /// The time for the first of so many candidates.
    pub fn for_one_of(self, candidates: usize) -> ExaminationTime {
        ExaminationTime { share_ends: self.end_of_share(candidates), deadline: self.deadline }
    }

    /// When the first of so many equal shares of the time ends.
    fn end_of_share(self, of: usize) -> Option<Instant> {
        let now = Instant::now();
        let time_left = self.deadline?.saturating_duration_since(now);
        now.checked_add(time_left / u32::try_from(of.max(1)).unwrap_or(u32::MAX))
    }

    /// Whether no time is left.
    pub fn is_up(self) -> bool {
        self.deadline.is_some_and(|deadline| deadline <= Instant::now())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::super::conclusion::Conclusion;
    use super::{FaultTime, TimeBudget};
    use fsverdict_judgement::journal::{Caution, Ending, Event, Journal, Record, Run, TrialId};
    use fsverdict_judgement::plan::{Blocks, Plan};
    use fsverdict_testutil::journals as made;
    use fsverdict_text::rough_duration_text;

    /// A run of two candidates whose blocks took so many seconds each; at a minus sign it was interrupted for a day.
    fn run(blocks: &[i64]) -> Run {
        let plan: Plan = serde_json::from_str(include_str!("../../../tests/runs/demo/plan.json")).unwrap();
        let mut clock = 1_795_000_000;
        let mut records = Vec::new();
        let mut tell = |clock: i64, trial: Option<TrialId>, event: Event| {
            records.push(Record { at: jiff::Timestamp::new(clock, 0).unwrap(), trial, event });
        };
        tell(clock, None, made::started());
        for (block, seconds) in (1..).zip(blocks) {
            if *seconds < 0 {
                clock += 86_400;
                let text = "carried on with another lab.kernel".to_owned();
                tell(clock, None, Event::Caution(Caution::new(text)));
                tell(clock, None, Event::RunResumed { more: None });
            }
            let order = ["ext4", "xfs"];
            tell(clock, None, made::block_started(block, 1, &order));
            for candidate in order {
                let id = made::id(block, candidate);
                tell(clock, Some(id.clone()), Event::TrialStarted {});
                clock += seconds.abs() / 2;
                for (phase, took) in ["write", "read", "remove"].into_iter().zip([1.0, 1.1, 1.3]) {
                    let strays = if block % 2 == 0 { 1.2 } else { 1.0 };
                    tell(
                        clock,
                        Some(id.clone()),
                        made::durable(phase, if candidate == "xfs" { took * strays } else { took }),
                    );
                }
                tell(clock, Some(id), made::ended(None, 1.0));
            }
            tell(clock, None, Event::BlockFinished { block, attempt: 1, invalid: None });
        }
        Run::derive(&plan, &Journal { path: "j".into(), records, torn: false }).unwrap()
    }

    fn describe_exhaustion(limit: Duration, run: &Run, candidates: usize) -> Option<String> {
        TimeBudget { whole: limit, trials: limit, worked: run.worked }.describe_exhaustion(run, candidates)
    }

    #[test]
    fn a_block_starts_only_if_it_can_end() {
        let minutes = |minutes: u64| Duration::from_secs(60 * minutes);
        let three = run(&[240, 240, 240]);
        assert_eq!(describe_exhaustion(minutes(16), &three, 2), None);
        let why = describe_exhaustion(minutes(15), &three, 2).unwrap();
        assert_eq!(why, "the time of 15m is up: another block would take longer than the 3m left");
        // One candidate alone needs half as long.
        assert_eq!(describe_exhaustion(minutes(15), &three, 1), None);
        assert!(describe_exhaustion(minutes(10), &three, 1).unwrap().ends_with("is up"));
    }

    #[test]
    fn blocks_that_were_asked_for_after_the_time_was_up_are_done() {
        let mut plan: Plan =
            serde_json::from_str(include_str!("../../../tests/runs/demo/plan.json")).unwrap();
        plan.protocol.budget = Some(Duration::from_secs(60));
        plan.protocol.blocks = Blocks { min: 3, max: 10 };
        plan.candidates.truncate(2);
        for (candidate, name) in plan.candidates.iter_mut().zip(["ext4", "xfs"]) {
            candidate.name = name.to_owned();
        }
        let mut run = run(&[240, 240, 240]);
        let end = |run: &Run| Conclusion::from_run(&plan, run).end.map(|(_, ending)| ending);
        assert_eq!(end(&run), Some(Ending::Budget));
        run.extended_to = Some(6);
        assert_eq!(end(&run), None);
    }

    #[test]
    fn the_first_block_always_runs() {
        assert_eq!(describe_exhaustion(Duration::from_millis(1), &run(&[]), 16), None);
    }

    #[test]
    fn an_interruption_takes_no_time_away() {
        let interrupted = run(&[240, -240, -240]);
        assert_eq!(interrupted.resumed, 2);
        assert!((interrupted.worked - 720.0).abs() < 1e-9);
        assert_eq!(describe_exhaustion(Duration::from_secs(16 * 60), &interrupted, 2), None);
    }

    #[test]
    fn a_clock_that_is_set_and_a_sleep_take_no_time_away() {
        let plan: Plan = serde_json::from_str(include_str!("../../../tests/runs/demo/plan.json")).unwrap();
        let at = |seconds: i64| jiff::Timestamp::new(seconds, 0).unwrap();
        let record = |seconds, event| Record { at: at(seconds), trial: None, event };
        let started = || Event::BlockFinished { block: 1, attempt: 1, invalid: None };
        let worked = |records: Vec<Record>| {
            Run::derive(&plan, &Journal { path: "j".into(), records, torn: false }).unwrap()
        };
        // A machine without a battery begins in 1970, works for ten seconds, and is given the time; then it sleeps for
        // eight hours, and its clock is set back by one.
        let run = worked(vec![
            record(5, made::started()),
            record(15, started()),
            record(1_795_000_025, Event::ClockJumped { milliseconds: 1_795_000_000_000 }),
            record(1_795_000_035, started()),
            record(1_795_028_845, Event::ClockJumped { milliseconds: 28_800_000 }),
            record(1_795_025_255, Event::ClockJumped { milliseconds: -3_600_000 }),
        ]);
        assert!((run.worked - 50.0).abs() < 1e-6, "{}", run.worked);
        // A stranger's journal that jumps without end makes no time that cannot be.
        let hostile = (0..3000).map(|_| record(5, Event::ClockJumped { milliseconds: i64::MIN }));
        let run = worked([record(5, made::started())].into_iter().chain(hostile).collect());
        let mut plan = plan.clone();
        plan.protocol.budget = Some(Duration::from_secs(60));
        assert!(run.worked > 1e19 && FaultTime::from_run(&plan, &run).deadline.is_some());
        let budget = TimeBudget::from_run(&plan, &run).unwrap();
        assert!(budget.trial_deadline(std::time::Instant::now()).is_some());
    }

    #[test]
    fn times_have_few_digits() {
        assert_eq!([0.44, 42.4, 187.0, 7260.0].map(rough_duration_text), ["400ms", "42s", "3m10s", "2h1m"]);
    }
}

//! The remaining work of a run, the time that it will take, and the leader so far.
//!
//! Calculated from plan and journal alone, so that the bar of a run and `fsverdict status` in another terminal say the
//! same. Nothing is decided by it.

use std::collections::BTreeMap;

use serde::Serialize;

use fsverdict_judgement::journal::{BlockState, Run};
use fsverdict_judgement::plan::{Plan, Until, ranked_candidates};
use fsverdict_judgement::statistics::{BlockOutcome, Rival};
use fsverdict_judgement::verdict::{Deliberation, Harness};

use super::super::conclusion::{Conclusion, is_contest, racing_candidates, split_contests};
use super::budget::TimeBudget;

/// The state of a run between two trials, for displays.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outlook {
    /// The trials to come of each candidate that gets any.
    pub to_come: BTreeMap<String, TrialsToCome>,
    /// The leader of each contest that has one: of the run, or of each environment and protection level.
    pub leaders: Vec<Leader>,
    /// Seconds that the run has been in progress.
    pub worked: f64,
    /// In simulated time: seconds that the trials took on their devices.
    pub simulated: Option<f64>,
    times: TrialTimes,
    /// Seconds that are left for trials, if the plan limits them.
    time_left: Option<f64>,
}

/// A number of trials, or of seconds, that are to come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct ToCome<T> {
    /// The work that is certain unless a candidate fails: the rest of the block, and the plan's minimum of blocks.
    pub least: T,
    /// The work that will decide the run if differences and noise stay as they are; `None` before two blocks have
    /// ended.
    pub likely: Option<T>,
    /// The most work that the plan allows.
    pub most: T,
}

pub type TrialsToCome = ToCome<u32>;

/// The candidate that leads a contest so far.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Leader {
    /// The difference of the contest from the others of the run; empty if there is only one.
    pub contest: String,
    pub candidate: String,
    /// How many of its rivals have no certain place yet, as far as the run is to find out.
    pub open_rivals: usize,
}

/// How long trials took so far.
#[derive(Debug, Clone, Default, PartialEq)]
struct TrialTimes {
    /// The number of trials of each candidate, and their wall time in seconds.
    of_candidates: BTreeMap<String, (u32, f64)>,
}

impl TrialTimes {
    fn add(&mut self, candidate: &str, wall: f64) {
        let (trials, seconds) = self.of_candidates.entry(candidate.to_owned()).or_default();
        (*trials, *seconds) = (*trials + 1, *seconds + wall);
    }

    fn total(&self) -> (u32, f64) {
        self.of_candidates.values().fold((0, 0.0), |(trials, sum), one| (trials + one.0, sum + one.1))
    }

    /// The mean time of a candidate's trials, or of all trials before its first; `None` before any trial has ended.
    fn mean(&self, candidate: &str) -> Option<f64> {
        let (trials, seconds) = self.of_candidates.get(candidate).copied().unwrap_or_else(|| self.total());
        (trials > 0).then(|| seconds / f64::from(trials))
    }
}

impl Outlook {
    /// The outlook of a run as far as its journal goes.
    pub fn of(plan: &Plan, run: &Run) -> Self {
        let mut times = TrialTimes::default();
        run.trials.iter().for_each(|trial| times.add(&trial.id.candidate, trial.wall));
        let mut outlook = Outlook {
            worked: run.worked,
            simulated: Harness::from_run(run).and_then(|harness| harness.simulated),
            time_left: TimeBudget::from_run(plan, run).map(TimeBudget::seconds_for_trials),
            times,
            ..Outlook::default()
        };
        let contests = split_contests(plan, run);
        if contests.is_empty() {
            outlook.add_contest("", plan, run);
        }
        for contest in &contests {
            outlook.add_contest(&contest.key, &contest.plan, &contest.run);
        }
        outlook
    }

    /// The outlook of a block that is conducted by itself.
    pub fn of_block(order: &[String]) -> Self {
        let once = TrialsToCome { least: 1, likely: Some(1), most: 1 };
        Outlook { to_come: order.iter().map(|name| (name.clone(), once)).collect(), ..Outlook::default() }
    }

    fn add_contest(&mut self, title: &str, plan: &Plan, run: &Run) {
        let deliberation = is_contest(plan, run).then(|| Deliberation::from_run(plan, run));
        let look = deliberation.as_ref().and_then(Deliberation::last_look);
        let open = open_rivals(plan, run, look.as_ref());
        if let (Some(deliberation), Some(look)) = (&deliberation, &look)
            && look.leader.is_some()
        {
            let candidate = deliberation.leader(look).to_owned();
            self.leaders.push(Leader { contest: title.to_owned(), candidate, open_rivals: open.len() });
        }
        if run.finished.is_some() {
            return;
        }
        let in_block = run.resume_point();
        for name in in_block.into_iter().flat_map(BlockState::untried_candidates) {
            let one = self.to_come.entry(name.to_owned()).or_default();
            *one = TrialsToCome { least: 1, likely: Some(1), most: 1 };
        }
        if Conclusion::from_contest(plan, run).end.is_some() {
            return;
        }
        let blocks = plan.protocol.blocks;
        let complete = run.complete_blocks() as u32;
        let begun = in_block.map_or(complete, |block| block.block.max(complete));
        let least = blocks.min.saturating_sub(begun);
        let racing = racing_candidates(plan, run, deliberation.as_ref());
        let rivals =
            racing.iter().filter(|name| ranked_candidates(plan).any(|one| one.name == **name)).count();
        // The plan limits the trials of a range of blocks; fixed and extended numbers are of blocks.
        let in_range = deliberation.as_ref().filter(|_| blocks.min < blocks.max && run.extended_to.is_none());
        let trials_left = in_range.map(|deliberation| {
            let begun_trials = in_block.map_or(0, |block| block.order.len());
            deliberation.trials_left().saturating_sub(begun_trials) as u32
        });
        let most = match trials_left {
            Some(trials) => trials / (rivals as u32).max(1),
            None => run.extended_to.unwrap_or(blocks.max).saturating_sub(begun),
        };
        let most = most.max(least);
        let needed = |deliberation: &Deliberation| {
            let further = open.iter().map(|rival| match deliberation.settled_after(rival) {
                Some(blocks) => blocks.saturating_sub(rival.evidence.count) as u32,
                None => u32::MAX,
            });
            further.max().unwrap_or(0).saturating_sub(begun - complete).clamp(least, most)
        };
        // A candidate without rivals is tried as often as the plan asks for at least.
        let most = if deliberation.is_some() { most } else { least };
        let likely = match (&deliberation, &look) {
            _ if least == most => Some(least),
            (Some(deliberation), Some(_)) => Some(needed(deliberation)),
            _ => None,
        };
        // What no block of all of these could use, a block of fewer can.
        let odd_trials = trials_left.map_or(0, |trials| trials.saturating_sub(most * rivals as u32));
        for (at, name) in racing.into_iter().enumerate() {
            let one = self
                .to_come
                .entry(name.to_owned())
                .or_insert(TrialsToCome { likely: Some(0), ..TrialsToCome::default() });
            one.least += least;
            one.likely = one.likely.zip(likely).map(|(here, further)| here.saturating_add(further));
            one.most = one.most.saturating_add(most + u32::from((at as u32) < odd_trials));
        }
    }

    /// A trial of this candidate has ended, after so many seconds of wall time.
    pub fn trial_ended(&mut self, candidate: &str, wall: f64) {
        self.times.add(candidate, wall);
        if let Some(one) = self.to_come.get_mut(candidate) {
            one.least = one.least.saturating_sub(1);
            one.likely = one.likely.map(|likely| likely.saturating_sub(1));
            one.most = one.most.saturating_sub(1);
        }
    }

    /// All trials to come.
    pub fn trials(&self) -> TrialsToCome {
        self.sum(|_, trials| f64::from(trials)).map(|trials| trials as u32)
    }

    /// The seconds until the trials have ended, if trials take as long as they took so far; `None` before the first has
    /// ended. Of those under way, `underway` has the seconds that they have been in progress.
    pub fn seconds<'a>(&self, underway: impl Iterator<Item = (&'a str, f64)>) -> Option<ToCome<f64>> {
        let (trials, total) = self.times.total();
        if trials == 0 {
            return None;
        }
        // Several trials may run at once, and something is done between two.
        let pace = if total > 0.0 { self.worked / total } else { 1.0 };
        let mean = |name: &str| self.times.mean(name).unwrap_or_default();
        let gone: f64 = underway.map(|(name, seconds)| seconds.clamp(0.0, mean(name))).sum();
        let all = self.sum(|name, trials| mean(name) * f64::from(trials));
        let seconds_left = self.time_left.unwrap_or(f64::INFINITY);
        Some(all.map(|seconds| ((seconds - gone).max(0.0) * pace).min(seconds_left)))
    }

    fn sum(&self, weight: impl Fn(&str, u32) -> f64) -> ToCome<f64> {
        let nothing = ToCome { least: 0.0, likely: Some(0.0), most: 0.0 };
        self.to_come.iter().fold(nothing, |sum, (name, one)| ToCome {
            least: sum.least + weight(name, one.least),
            likely: sum.likely.zip(one.likely).map(|(all, own)| all + weight(name, own)),
            most: sum.most + weight(name, one.most),
        })
    }
}

impl<T> ToCome<T> {
    fn map<U>(self, change: impl Fn(T) -> U) -> ToCome<U> {
        ToCome { least: change(self.least), likely: self.likely.map(&change), most: change(self.most) }
    }
}

/// The rivals of a look with a place that the run has still to determine: whether each is better than the leader, or
/// with `until = "ranked"` and in extended runs its rank.
fn open_rivals(plan: &Plan, run: &Run, look: Option<&BlockOutcome>) -> Vec<Rival> {
    let ranked = plan.protocol.until == Until::Ranked || run.extended_to.is_some();
    let rivals = look.map(|look| look.rivals.clone()).unwrap_or_default();
    rivals.into_iter().filter(|rival| if ranked { !rival.is_placed() } else { !rival.not_better }).collect()
}

#[cfg(test)]
mod tests {
    use super::super::super::conclusion::next_to_try;
    use super::{Conclusion, Outlook, TrialsToCome};
    use fsverdict_judgement::journal::{Event, Fold, Record, Run, read_open};
    use fsverdict_judgement::plan::{Blocks, Plan};
    use fsverdict_testutil::journals as made;
    use serde_json::json;

    fn recorded() -> (Plan, Vec<Record>) {
        let plan = serde_json::from_str(include_str!("../../../tests/runs/nights/1/plan.json")).unwrap();
        let journal = include_bytes!("../../../tests/runs/nights/1/journal.jsonl");
        (plan, read_open("journal".as_ref(), journal.as_slice()).unwrap().records)
    }

    fn run_of(plan: &Plan, records: &[Record]) -> Run {
        let mut fold = Fold::new(plan);
        records.iter().for_each(|record| fold.add_record(record.clone()));
        fold.into_run().unwrap()
    }

    #[test]
    fn the_trials_that_are_certain_come_and_no_more_than_are_allowed() {
        let (plan, records) = recorded();
        let ended = |records: &[Record]| {
            records.iter().filter(|one| matches!(one.event, Event::TrialFinished { .. })).count() as u32
        };
        let all = ended(&records);
        let mut looked = 0;
        for (at, record) in records.iter().enumerate() {
            let (begins, ends) = (
                matches!(record.event, Event::BlockStarted { .. }),
                matches!(record.event, Event::TrialFinished { .. }),
            );
            if !(begins || ends) {
                continue;
            }
            looked += 1;
            let outlook = Outlook::of(&plan, &run_of(&plan, &records[..=at]));
            let (done, trials) = (ended(&records[..=at]), outlook.trials());
            assert!(done + trials.least <= all && all <= done + trials.most, "{done} {trials:?} of {all}");
            let likely = trials.likely.unwrap_or(trials.least);
            assert!((trials.least..=trials.most).contains(&likely), "{trials:?}");
            let seconds = outlook.seconds(std::iter::empty());
            assert_eq!(seconds.is_some(), done > 0);
            assert!(seconds.is_none_or(|all| all.least <= all.most && all.least >= 0.0));
        }
        assert_eq!(looked, 9, "three blocks of two trials");
        let end = Outlook::of(&plan, &run_of(&plan, &records));
        assert_eq!(end.trials(), TrialsToCome { least: 0, likely: Some(0), most: 0 });
        assert!(!end.leaders.is_empty() && end.worked > 0.0);
    }

    #[test]
    fn trials_that_resting_candidates_save_are_still_to_come_after_the_last_block_of_all() {
        const SECONDS: [(&str, f64); 5] =
            [("ext4", 10.0), ("xfs", 10.4), ("btrfs", 90.0), ("f2fs", 91.0), ("ext2", 92.0)];
        let candidates =
            SECONDS.map(|(name, _)| json!({ "name": name, "filesystem": name, "encryption": "none" }));
        let mut plan = made::plan(&json!({
            "candidates": candidates, "goal": { "metric": "durable", "weights": { "write": 1.0 } },
        }));
        plan.protocol.blocks = Blocks { min: 3, max: 5 };
        let mut fold = Fold::new(&plan);
        let tell = |fold: &mut Fold, trial, event| {
            made::journal([(trial, event)]).records.into_iter().for_each(|record| fold.add_record(record));
        };
        tell(&mut fold, None, made::started());
        let (mut ended, mut bounds, mut block) = (0, Vec::new(), 0);
        while Conclusion::from_run(&plan, fold.run().unwrap()).end.is_none() || block == 0 {
            block += 1;
            let names = next_to_try(&plan, fold.run().unwrap());
            let order: Vec<&str> = names.iter().map(String::as_str).collect();
            tell(&mut fold, None, made::block_started(block, 1, &order));
            for name in order {
                let (_, seconds) = SECONDS.into_iter().find(|(known, _)| *known == name).unwrap();
                let strays = if name == "ext4" { f64::from(block % 2) } else { 0.0 };
                let id = Some(made::id(block, name));
                tell(&mut fold, id.clone(), Event::TrialStarted {});
                bounds.push(ended + Outlook::of(&plan, fold.run().unwrap()).trials().most);
                tell(&mut fold, id.clone(), made::durable("write", seconds * (1.0 + 0.08 * strays)));
                tell(&mut fold, id, made::ended(None, 1.0));
                ended += 1;
            }
            tell(&mut fold, None, Event::BlockFinished { block, attempt: 1, invalid: None });
            bounds.push(ended + Outlook::of(&plan, fold.run().unwrap()).trials().most);
        }
        let (end, _) = Conclusion::from_run(&plan, fold.run().unwrap()).end.unwrap();
        assert_eq!(end, "undecided after 9 blocks: the trials of the 5 that were planned are used up");
        assert_eq!((ended, bounds.pop()), (24, Some(24)));
        assert!(bounds.iter().all(|bound| *bound == 25), "{bounds:?}");
    }

    #[test]
    fn each_trial_that_ends_is_one_less_to_come() {
        let order = ["ext4".to_owned(), "xfs".to_owned()];
        let mut outlook = Outlook::of_block(&order);
        outlook.worked = 4.0;
        assert_eq!((outlook.trials().least, outlook.seconds(std::iter::empty())), (2, None));
        outlook.trial_ended("ext4", 4.0);
        assert_eq!(outlook.trials().most, 1);
        let least = |gone: f64| outlook.seconds([("xfs", gone)].into_iter()).unwrap().least;
        assert!((least(0.0) - 4.0).abs() < 1e-9 && (least(1.0) - 3.0).abs() < 1e-9 && least(99.0) < 1e-9);
    }
}

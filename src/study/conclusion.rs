//! Decides after each block which candidates are dropped and whether the study has ended.
//!
//! The decision is a pure function of plan and journal, so an interrupted study continues as it would have without
//! the interruption.

use fsverdict_judgement::journal::{CandidateStatus, Ending, Run};
use fsverdict_judgement::plan::{CONTROL_SUFFIX, Plan, Until, ranked_candidates};
use fsverdict_judgement::statistics::Ruling;

use super::block_validity::hopelessly_disturbed;
use super::time::budget::TimeBudget;
use fsverdict_judgement::verdict::{
    Deliberation, Slice, has_open_requirement, slice_by_environment, slice_by_protection,
};

/// The decision between two blocks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Conclusion {
    /// The candidates to drop, each with the reason.
    pub drop: Vec<(String, String)>,
    /// Why the study has ended; `None` if another block follows.
    pub end: Option<(String, Ending)>,
}

impl Conclusion {
    /// Concludes from a run after its last block has ended. Each environment and each protection level is concluded for
    /// itself, and the study ends when all have, or when the time of the whole run is up.
    pub fn from_run(plan: &Plan, run: &Run) -> Self {
        let contests = split_contests(plan, run);
        if contests.is_empty() {
            return Self::from_contest(plan, run);
        }
        let each: Vec<(&str, Self)> =
            contests.iter().map(|one| (one.key.as_str(), Self::from_contest(&one.plan, &one.run))).collect();
        let over = |end: &Option<(String, Ending)>| matches!(end, Some((_, Ending::Disturbed)));
        let ends =
            each.iter().all(|(_, one)| one.end.is_some()) || each.iter().any(|(_, one)| over(&one.end));
        let reasons =
            each.iter().filter_map(|(title, one)| Some(format!("{title}: {}", one.end.as_ref()?.0)));
        let reason = reasons.collect::<Vec<_>>().join("; ");
        let gravest =
            each.iter().filter_map(|(_, one)| Some(one.end.as_ref()?.1)).max_by_key(|ending| match ending {
                Ending::Rule => 0,
                Ending::Nobody => 1,
                Ending::Blocks => 2,
                Ending::Budget => 3,
                Ending::Disturbed => 4,
            });
        let end = match gravest.filter(|_| ends) {
            Some(ending) => Some((reason, ending)),
            None => time_is_up(plan, run, next_to_try(plan, run).len()),
        };
        Conclusion { drop: each.into_iter().flat_map(|(_, one)| one.drop).collect(), end }
    }

    pub(super) fn from_contest(plan: &Plan, run: &Run) -> Self {
        let deliberation = is_contest(plan, run).then(|| Deliberation::from_run(plan, run));
        Self::from_deliberation(plan, run, deliberation.as_ref())
    }

    fn from_deliberation(plan: &Plan, run: &Run, deliberation: Option<&Deliberation>) -> Self {
        let drop = candidates_to_drop(plan, run);
        let racing = racing_candidates(plan, run, deliberation);
        let remaining =
            racing.into_iter().filter(|name| !drop.iter().any(|(dropped, _)| dropped == name)).count();
        let mut end = find_end(plan, run, deliberation, remaining);
        // Candidates that fail are dropped. If others remain and the run ends, they miss a requirement.
        let stays = |name: &str| drop.iter().all(|(dropped, _)| dropped != name);
        if let Some((reason, Ending::Nobody)) = &mut end
            && still_in(plan, run).any(stays)
        {
            *reason = "no remaining candidate meets the requirements".to_owned();
        }
        Conclusion { drop, end }
    }
}

/// The conclusions after each round of a run that grows by whole rounds; earlier deliberations are reused.
#[derive(Debug)]
pub struct Conclusions<'a> {
    plan: &'a Plan,
    deliberation: Option<Deliberation>,
}

impl<'a> Conclusions<'a> {
    /// Starts with a run that has no block yet.
    pub fn new(plan: &'a Plan) -> Self {
        Conclusions { plan, deliberation: None }
    }

    /// Returns the same result as [`Conclusion::from_run`]. The run must be the previous one or a continuation of it.
    pub fn next(&mut self, run: &Run) -> Conclusion {
        if !split_contests(self.plan, run).is_empty() || !is_contest(self.plan, run) {
            return Conclusion::from_run(self.plan, run);
        }
        match &mut self.deliberation {
            Some(known) => known.go_on(self.plan, run),
            begun => *begun = Some(Deliberation::from_run(self.plan, run)),
        }
        Conclusion::from_deliberation(self.plan, run, self.deliberation.as_ref())
    }
}

/// The parts of a run in which candidates are ranked among themselves, by their titles: the environments, and in each
/// the protection levels; empty where all candidates are ranked among themselves.
pub(super) fn split_contests(plan: &Plan, run: &Run) -> Vec<Slice> {
    let environments = slice_by_environment(plan, run);
    let mut contests: Vec<Slice> = if environments.is_empty() {
        levels_to_rank(plan, run)
    } else {
        let split = environments.into_iter().flat_map(|environment| {
            let (title, levels) =
                (environment.key.title(), levels_to_rank(&environment.plan, &environment.run));
            match levels.is_empty() {
                true => vec![environment.map_key(|_| title)],
                false => levels
                    .into_iter()
                    .map(|level| level.map_key(|level| format!("{title}, {level}")))
                    .collect(),
            }
        });
        split.collect()
    };
    // The budget is the whole run's.
    contests.iter_mut().for_each(|contest| contest.plan.protocol.budget = None);
    contests
}

/// The protection levels by their titles, if any of them has several candidates. Otherwise the run measures the cost of
/// protection, and all candidates are tried until that is known.
fn levels_to_rank(plan: &Plan, run: &Run) -> Vec<Slice> {
    let levels = slice_by_protection(plan, run);
    match levels.iter().any(Slice::has_choice) {
        true => levels.into_iter().map(|level| level.map_key(|group| group.title)).collect(),
        false => Vec::new(),
    }
}

/// The candidates that the next block tries. Each of several contests has those of its own, until everything is found
/// out for it.
pub fn next_to_try(plan: &Plan, run: &Run) -> Vec<String> {
    let one = |plan: &Plan, run: &Run| -> Vec<String> {
        let deliberation = is_contest(plan, run).then(|| Deliberation::from_run(plan, run));
        racing_candidates(plan, run, deliberation.as_ref()).into_iter().map(str::to_owned).collect()
    };
    match split_contests(plan, run) {
        none if none.is_empty() => one(plan, run),
        several => several
            .iter()
            .filter(|contest| Conclusion::from_contest(&contest.plan, &contest.run).end.is_none())
            .flat_map(|contest| one(&contest.plan, &contest.run))
            .collect(),
    }
}

/// The remaining candidates that the stopping rule does not rest. A twin is compared with its original, so it rests
/// when the original does.
pub(super) fn racing_candidates<'a>(
    plan: &'a Plan,
    run: &'a Run,
    deliberation: Option<&Deliberation>,
) -> Vec<&'a str> {
    let rests = |name: &&str| {
        let original = |name| ranked_candidates(plan).any(|candidate| candidate.name == name);
        let name = name.strip_suffix(CONTROL_SUFFIX).filter(|_| !original(*name)).unwrap_or(name);
        deliberation.is_some_and(|deliberation| deliberation.racing().all(|racing| racing != name))
    };
    still_in(plan, run).filter(|name| !rests(name)).collect()
}

/// The candidates that were neither dropped nor skipped so far.
pub fn still_in<'a>(plan: &'a Plan, run: &'a Run) -> impl Iterator<Item = &'a str> {
    let out = |name: &str| {
        run.candidates.iter().any(|state| {
            state.name == name && (state.dropped.is_some() || state.status == CandidateStatus::Skipped)
        })
    };
    plan.candidates.iter().map(|candidate| candidate.name.as_str()).filter(move |name| !out(name))
}

/// Whether there is anything to decide: at least two candidates can be tried here.
pub(super) fn is_contest(plan: &Plan, run: &Run) -> bool {
    let skipped = |name: &str| {
        run.candidates.iter().any(|state| state.name == name && state.status == CandidateStatus::Skipped)
    };
    ranked_candidates(plan).filter(|candidate| !skipped(&candidate.name)).count() > 1
}

/// The candidates to drop, with the reason: those that failed, and twins of originals that are dropped.
fn candidates_to_drop(plan: &Plan, run: &Run) -> Vec<(String, String)> {
    let mut leaving: Vec<(String, String)> = Vec::new();
    let mut staying: Vec<&str> = still_in(plan, run).collect();
    let failed = run.candidates.iter().filter(|state| state.status == CandidateStatus::Failed);
    for state in failed {
        if staying.contains(&state.name.as_str()) {
            staying.retain(|other| *other != state.name);
            leaving.push((state.name.clone(), "its trial failed".to_owned()));
        }
    }
    // A twin exists to be compared with its original, so it leaves with the original.
    for name in &staying {
        if name.strip_suffix(CONTROL_SUFFIX).is_some_and(|original| !staying.contains(&original)) {
            let reason = "the candidate it is the twin of is no longer tried".to_owned();
            leaving.push(((*name).to_owned(), reason));
        }
    }
    leaving
}

fn find_end(
    plan: &Plan,
    run: &Run,
    deliberation: Option<&Deliberation>,
    left: usize,
) -> Option<(String, Ending)> {
    let outcome = deliberation.map(Deliberation::outcome);
    let lacks_requirement = deliberation
        .and_then(|deliberation| Some(deliberation.leader(&deliberation.last_look()?).to_owned()))
        .is_some_and(|leader| has_open_requirement(plan, run, &leader));
    let (done, blocks) = (run.complete_blocks() as u32, plan.protocol.blocks);
    let after = if done == 1 { "1 block".to_owned() } else { format!("{done} blocks") };
    if left == 0 {
        return Some(("no candidate is left".to_owned(), Ending::Nobody));
    }
    let ranked = plan.protocol.until == Until::Ranked || run.extended_to.is_some();
    let word = if ranked { "ranked" } else { "recommended" };
    let alone = left < 2 && outcome == Some(Ruling::Undecided);
    let ended = match outcome {
        _ if done < blocks.min => None,
        // The leader is known, but not yet whether it meets the requirements.
        Some(Ruling::Recommended)
            if lacks_requirement && blocks.min < blocks.max && run.extended_to.is_none() =>
        {
            let spent = format!("undecided after {after}, the most that were planned");
            (done >= blocks.max).then_some((spent, Ending::Blocks))
        }
        Some(Ruling::Recommended) => Some((format!("{word} after {after}"), Ending::Rule)),
        _ if alone => Some((format!("only one candidate is left after {after}"), Ending::Rule)),
        _ if run.extended_to.is_some_and(|last| done >= last) => {
            Some((format!("{after}, the last of them as asked for"), Ending::Blocks))
        }
        Some(_) if run.extended_to.is_some() => None,
        // A fixed number of blocks ends the run at that number, even if trials remain; without rivals there is
        // nothing to decide.
        _ if outcome.is_none() || blocks.min == blocks.max => {
            Some((format!("{after}, as planned"), Ending::Blocks))
        }
        None | Some(Ruling::Continue) => None,
        // Candidates that rest leave their trials to the others, which then get more blocks.
        Some(Ruling::Undecided) if done > blocks.max => {
            let spent = format!("the trials of the {} that were planned are used up", blocks.max);
            Some((format!("undecided after {after}: {spent}"), Ending::Blocks))
        }
        Some(Ruling::Undecided) => {
            Some((format!("undecided after {after}, the most that were planned"), Ending::Blocks))
        }
    };
    if ended.is_some() {
        return ended;
    }
    hopelessly_disturbed(run)
        .map(|reason| (reason, Ending::Disturbed))
        .or_else(|| time_is_up(plan, run, left))
}

/// Whether a block of so many candidates does not fit into the time that is left.
fn time_is_up(plan: &Plan, run: &Run, candidates: usize) -> Option<(String, Ending)> {
    // An extended run gets its additional blocks even though the time is up.
    Some((TimeBudget::from_run(plan, run)?.describe_exhaustion(run, candidates)?, Ending::Budget))
}

#[cfg(test)]
mod tests {
    use super::{Conclusion, next_to_try};
    use fsverdict_judgement::journal::{Ending, Event, Fold, Run};
    use fsverdict_judgement::plan::{Blocks, Plan};
    use fsverdict_testutil::journals as made;
    use serde_json::json;

    const SECONDS: [(&str, f64); 5] =
        [("ext4", 10.0), ("xfs", 11.0), ("ext4+luks2", 12.0), ("xfs+luks2", 12.1), ("ext2", 8.0)];

    fn plan(protection: &serde_json::Value) -> Plan {
        let candidate = |(name, _): (&str, f64)| {
            let (filesystem, encryption) = name.split_once('+').unwrap_or((name, "none"));
            json!({ "name": name, "filesystem": filesystem, "encryption": encryption })
        };
        made::plan(&json!({
            "candidates": SECONDS.map(candidate),
            "goal": { "metric": "durable", "weights": { "write": 1.0 }, "protection": protection },
        }))
    }

    /// A run of so many blocks of what is to be tried next; those with LUKS vary by a tenth, the others hardly.
    fn run(plan: &Plan, blocks: u32) -> Run {
        let mut fold = Fold::new(plan);
        let tell = |fold: &mut Fold, trial, event| {
            made::journal([(trial, event)]).records.into_iter().for_each(|record| fold.add_record(record));
        };
        tell(&mut fold, None, made::started());
        for block in 1..=blocks {
            let names = match fold.run() {
                Some(run) if block > 1 => next_to_try(plan, run),
                _ => SECONDS.map(|(name, _)| name.to_owned()).into(),
            };
            let order: Vec<&str> = names.iter().map(String::as_str).collect();
            tell(&mut fold, None, made::block_started(block, 1, &order));
            for (at, name) in order.into_iter().enumerate() {
                let id = Some(made::id(block, name));
                let (_, seconds) = SECONDS.into_iter().find(|(known, _)| *known == name).unwrap();
                let strays = f64::from((block * (at as u32 + 3)) % 5) / 5.0;
                let strays = if name.ends_with("luks2") { 0.2 * strays } else { 0.001 * strays };
                tell(&mut fold, id.clone(), Event::TrialStarted {});
                tell(&mut fold, id.clone(), made::durable("write", seconds * (1.0 + strays)));
                tell(&mut fold, id, made::ended(None, 1.0));
            }
            tell(&mut fold, None, Event::BlockFinished { block, attempt: 1, invalid: None });
        }
        fold.into_run().unwrap()
    }

    #[test]
    fn a_level_rests_when_it_is_settled_and_the_run_ends_with_the_last() {
        let levels = json!({
            "ext4+luks2": ["encrypted"], "xfs+luks2": ["encrypted"], "ext2": ["not_crash_safe"],
        });
        let mut plan = plan(&levels);
        plan.protocol.blocks = Blocks { min: 3, max: 12 };
        let early = run(&plan, 4);
        // ext2 has no rival, and ext4 against xfs is decided at once.
        assert_eq!(next_to_try(&plan, &early), ["ext4+luks2", "xfs+luks2"]);
        assert_eq!(Conclusion::from_run(&plan, &early).end, None);
        let late = run(&plan, plan.protocol.blocks.max);
        let (reason, ending) = Conclusion::from_run(&plan, &late).end.unwrap();
        assert_eq!(ending, Ending::Blocks);
        assert!(reason.contains("unencrypted, crash-safe: recommended after"), "{reason}");
        assert!(reason.contains("; encrypted, crash-safe: recommended after 12 blocks"), "{reason}");
        assert!(next_to_try(&plan, &late).is_empty());
    }

    #[test]
    fn levels_with_one_candidate_each_are_tried_until_they_can_be_compared() {
        let mut plan = plan(&json!({ "ext4+luks2": ["encrypted"] }));
        plan.candidates.retain(|candidate| candidate.filesystem == "ext4");
        let mut fold = Fold::new(&plan);
        let events = made::journal([(None, made::started())]);
        events.records.into_iter().for_each(|record| fold.add_record(record));
        assert_eq!(next_to_try(&plan, fold.run().unwrap()), ["ext4", "ext4+luks2"]);
    }
}

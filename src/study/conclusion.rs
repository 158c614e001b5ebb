//! What follows from everything measured so far: who takes no further part, and whether the study has ended.
//!
//! A pure function of plan and journal, so that a study that was interrupted goes on as it would have.

use crate::journal::{CandidateStatus, Ending, Run};
use crate::plan::{Plan, TWIN, Until, contestants};
use crate::statistics::Ruling;

use super::budget::exhausted;
use super::disturbance::hopelessly_disturbed;
use crate::verdict::{Deliberation, strata};

/// What to do between two blocks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Conclusion {
    /// Candidates that take no further part, each with the reason.
    pub drop: Vec<(String, String)>,
    /// Why the study has ended; `None` when another block is to follow.
    pub end: Option<(String, Ending)>,
}

impl Conclusion {
    /// Concludes from a run whose last block has ended. Under several circumstances each is concluded for itself, and the
    /// study ends when all have.
    pub fn of(plan: &Plan, run: &Run) -> Self {
        let strata = strata(plan, run);
        let Some(each) = (!strata.is_empty()).then(|| {
            strata
                .iter()
                .map(|one| (one.under.title(), Self::of_one(&one.plan, &one.run)))
                .collect::<Vec<_>>()
        }) else {
            return Self::of_one(plan, run);
        };
        let over =
            |end: &Option<(String, Ending)>| matches!(end, Some((_, Ending::Budget | Ending::Disturbed)));
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
        Conclusion {
            drop: each.into_iter().flat_map(|(_, one)| one.drop).collect(),
            end: gravest.filter(|_| ends).map(|ending| (reason, ending)),
        }
    }

    fn of_one(plan: &Plan, run: &Run) -> Self {
        let deliberation = contest(plan, run).then(|| Deliberation::of(plan, run));
        let mut conclusion = Conclusion { drop: leaving(plan, run, deliberation.as_ref()), end: None };
        let left: Vec<&str> = still_in(plan, run).filter(|name| !conclusion.has_dropped(name)).collect();
        let outcome = deliberation.map(|deliberation| deliberation.outcome());
        conclusion.end = end(plan, run, outcome, left.len());
        conclusion
    }

    fn has_dropped(&self, name: &str) -> bool {
        self.drop.iter().any(|(dropped, _)| dropped == name)
    }
}

/// The candidates that no event has taken out so far.
pub(super) fn still_in<'a>(plan: &'a Plan, run: &'a Run) -> impl Iterator<Item = &'a str> {
    let out = |name: &str| {
        run.candidates.iter().any(|state| {
            state.name == name && (state.dropped.is_some() || state.status == CandidateStatus::Skipped)
        })
    };
    plan.candidates.iter().map(|candidate| candidate.name.as_str()).filter(move |name| !out(name))
}

/// The candidates of the next block: not those under circumstances for which everything is found out.
pub(super) fn in_next_block<'a>(plan: &'a Plan, run: &'a Run) -> Vec<&'a str> {
    let mut settled = strata(plan, run);
    settled.retain(|one| Conclusion::of_one(&one.plan, &one.run).end.is_some());
    let is_settled = |name: &str| {
        settled.iter().any(|one| one.plan.candidates.iter().any(|candidate| candidate.name == name))
    };
    still_in(plan, run).filter(|name| !is_settled(name)).collect()
}

/// Whether there is anything to decide: more than one candidate can be tried here.
fn contest(plan: &Plan, run: &Run) -> bool {
    let skipped = |name: &str| {
        run.candidates.iter().any(|state| state.name == name && state.status == CandidateStatus::Skipped)
    };
    contestants(plan).filter(|candidate| !skipped(&candidate.name)).count() > 1
}

/// Who leaves: candidates that failed, those that are certainly behind, and twins without their originals.
fn leaving(plan: &Plan, run: &Run, deliberation: Option<&Deliberation>) -> Vec<(String, String)> {
    let mut leaving: Vec<(String, String)> = Vec::new();
    let mut staying: Vec<&str> = still_in(plan, run).collect();
    let failed = run.candidates.iter().filter(|state| state.status == CandidateStatus::Failed);
    let failed = failed.map(|state| (state.name.as_str(), "its trial failed".to_owned()));
    let behind = deliberation.iter().flat_map(|deliberation| {
        deliberation.left().map(move |(name, look)| {
            let leader = deliberation.leader(look);
            (name, format!("certainly behind {leader} after {} blocks", look.block))
        })
    });
    for (name, reason) in failed.chain(behind) {
        if staying.contains(&name) {
            staying.retain(|other| *other != name);
            leaving.push((name.to_owned(), reason));
        }
    }
    // A twin is there to be compared with its original, and goes with it.
    for name in &staying {
        if name.strip_suffix(TWIN).is_some_and(|original| !staying.contains(&original)) {
            let reason = "the candidate it is the twin of is no longer tried".to_owned();
            leaving.push(((*name).to_owned(), reason));
        }
    }
    leaving
}

fn end(plan: &Plan, run: &Run, outcome: Option<Ruling>, left: usize) -> Option<(String, Ending)> {
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
        Some(Ruling::Recommended) => Some((format!("{word} after {after}"), Ending::Rule)),
        _ if alone => Some((format!("only one candidate is left after {after}"), Ending::Rule)),
        _ if run.extended_to.is_some_and(|last| done >= last) => {
            Some((format!("{after}, the last of them as asked for"), Ending::Blocks))
        }
        Some(_) if run.extended_to.is_some() => None,
        // A number of blocks is that number, whatever trials are left over; and without rivals there is nothing to decide.
        _ if outcome.is_none() || blocks.min == blocks.max => {
            Some((format!("{after}, as planned"), Ending::Blocks))
        }
        None | Some(Ruling::Continue) => None,
        Some(Ruling::Undecided) => {
            Some((format!("undecided after {after}, the most that were planned"), Ending::Blocks))
        }
    };
    if ended.is_some() {
        return ended;
    }
    hopelessly_disturbed(run)
        .map(|reason| (reason, Ending::Disturbed))
        .or_else(|| Some((exhausted(plan.protocol.budget?, run, left)?, Ending::Budget)))
}

//! Words for a verdict that is withheld because properties besides speed, which the plan asks about, are unknown for
//! the first candidates.

use crate::wording::{count, listing};
use fsverdict_judgement::journal::CandidateStatus;
use fsverdict_judgement::plan::once_each;
use fsverdict_judgement::verdict::{Judgement, MissingEvaluation};

/// The most candidates and requirements that are named.
const MOST_NAMES: usize = 4;

/// Why no candidate is recommended although one leads; `None` where that is not the reason.
pub(crate) fn write_sentence(judged: &Judgement<'_>) -> Option<String> {
    let unevaluated = &judged.verdict.unevaluated;
    let names: Vec<&str> = unevaluated.iter().map(|missing| missing.candidate.as_str()).collect();
    let lacks = once_each(unevaluated.iter().flat_map(|missing| &missing.lacks).map(ToString::to_string));
    let leader = judged.verdict.ranking.first()?;
    if names.is_empty() {
        return None;
    }
    let examined: Vec<String> = list_examined(judged)
        .into_iter()
        .map(|name| format!("{name}{}", describe_losses(judged, name)))
        .collect();
    let examined = match examined.as_slice() {
        [] => String::new(),
        some => format!(" (examined: {})", some.join("; ")),
    };
    Some(format!(
        "No recommendation: {} leads by the goal, and of {} it is not known {}{examined}. {}",
        leader.candidate,
        listing(&names, MOST_NAMES),
        listing(&lacks, MOST_NAMES),
        next_step(judged)
    ))
}

/// How many candidates were examined for the faults that the plan asks about, for a verdict that is open for another
/// reason; empty where all were.
pub(crate) fn describe_coverage(judged: &Judgement<'_>) -> String {
    let tried = judged.with_status(CandidateStatus::Ok).count();
    let examined = list_examined(judged);
    if judged.plan.faults.is_none() || tried == 0 || examined.len() >= tried {
        return String::new();
    }
    let names = match examined.as_slice() {
        [] => "none".to_owned(),
        some => listing(some, MOST_NAMES),
    };
    format!(" Examined for faults, of {}: {names}.", count(tried, "candidate"))
}

/// The candidates that were examined under faults.
fn list_examined<'a>(judged: &Judgement<'a>) -> Vec<&'a str> {
    let cuts = judged.run.power_cuts.iter().map(|cuts| cuts.candidate.as_str());
    let rotten = judged.run.rotten.iter().map(|rotten| rotten.candidate.as_str());
    once_each(cuts.chain(rotten))
}

/// What a candidate lost under the faults that it was examined for: `, which lost data to 7 of 116 rotten blocks, …`.
fn describe_losses(judged: &Judgement<'_>, candidate: &str) -> String {
    let silent = |number: u32| {
        if number == 0 { "none of it silently".to_owned() } else { format!("silently to {number}") }
    };
    let cuts = judged
        .run
        .power_cuts
        .iter()
        .filter(|cuts| cuts.candidate == candidate)
        .map(|cuts| format!("in {} of {} states after a power cut", cuts.count_losses(), cuts.states));
    let rot = judged.run.rotten.iter().filter(|rotten| rotten.candidate == candidate).map(|rotten| {
        match rotten.count_losses() {
            0 => format!("to none of {} rotten blocks", rotten.looked),
            lost => format!("to {lost} of {} rotten blocks, {}", rotten.looked, silent(rotten.count_grave())),
        }
    });
    let each: Vec<String> = cuts.chain(rot).collect();
    if each.is_empty() { String::new() } else { format!(" lost data {}", each.join(" and ")) }
}

fn next_step(judged: &Judgement<'_>) -> &'static str {
    let lacks = |is: fn(&MissingEvaluation) -> bool| {
        judged.verdict.unevaluated.iter().flat_map(|missing| &missing.lacks).any(is)
    };
    match lacks(|missing| !matches!(missing, MissingEvaluation::Requirement(_))) {
        true => "`fsverdict crash RUN` examines them; a longer --for does it within a run.",
        false => "`fsverdict resume RUN --more 3` measures on.",
    }
}

//! The outcome in one sentence, as one would tell it in a mail.

use super::number::{percent, times, times_within};
use super::text::{count, listing};
use super::{CandidateEntry, Report, TrialBasis, noise};
use crate::journal::{CandidateStatus, Ending};
use crate::verdict::{Outcome, Rank, Relation};

/// The outcome in a sentence. Names in it are as the plan has them: not yet safe for a terminal.
pub(super) fn outcome(report: &Report<'_>) -> String {
    let names = |names: &[String]| listing(&names.iter().map(String::as_str).collect::<Vec<_>>(), 4);
    let verdict = &report.verdict;
    if let Some(reason) = &verdict.refused {
        return format!("No verdict: {reason}.");
    }
    if let Some(sentence) = noise::against_itself(report) {
        return sentence;
    }
    match verdict.outcome {
        Outcome::Decided => {
            let behind = nearest(report, Relation::RuledOut).unwrap_or_default();
            format!("{} is the best for this goal{behind}.", names(&verdict.best))
        }
        Outcome::Tied => {
            let mut leaders = verdict.best.clone();
            leaders.extend(verdict.tied.iter().filter(|name| !verdict.best.contains(name)).cloned());
            let within = percent(report.plan.protocol.tie);
            let behind = nearest(report, Relation::RuledOut).unwrap_or_default();
            format!("{} are practically tied (within {within}) for this goal{behind}.", names(&leaders))
        }
        Outcome::Undecided => undecided(report),
    }
}

/// How far the nearest candidate of this relation is behind, with its interval, as the end of a sentence.
fn nearest(report: &Report<'_>, relation: Relation) -> Option<String> {
    let standing = report.verdict.standings.iter().find(|standing| standing.relation == relation)?;
    let (name, ratio) = (&standing.candidate, times_within(&standing.ratio));
    Some(format!("; the next, {name}, takes {ratio} times as long"))
}

fn names_are(names: &[String]) -> String {
    let verb = if names.len() == 1 { "is" } else { "are" };
    format!("{} {verb}", listing(&names.iter().map(String::as_str).collect::<Vec<_>>(), 4))
}

/// From how much, and how many candidates were measured, skipped, failed.
pub(super) fn tally(report: &Report<'_>) -> String {
    let number = |status| report.with_status(status).count();
    let ok = number(CandidateStatus::Ok);
    let without = match report.run.invalid_blocks().count() {
        0 => String::new(),
        some => format!(" ({some} more did not count)"),
    };
    let from = match report.basis {
        TrialBasis::Blocks(blocks) => format!("{}{without}: ", count(blocks, "block")),
        TrialBasis::OpenBlock(block) => format!("block {block}, not complete: "),
        TrialBasis::Nothing => String::new(),
    };
    let mut text = match report.candidates.len() {
        all if all == ok => format!("{from}{} measured", count(all, "candidate")),
        all => format!("{from}{ok} of {} measured", count(all, "candidate")),
    };
    let entries = report.with_status(CandidateStatus::Untried);
    let untried = entries.map(CandidateEntry::untried).last().unwrap_or_default();
    for (status, word) in [
        (CandidateStatus::Skipped, "skipped"),
        (CandidateStatus::Failed, "failed"),
        (CandidateStatus::Untried, untried),
    ] {
        match number(status) {
            0 => {}
            some => text.push_str(&format!(", {some} {word}")),
        }
    }
    text
}

fn undecided(report: &Report<'_>) -> String {
    let skipped = report.with_status(CandidateStatus::Skipped).count();
    if skipped > 0 && skipped == report.candidates.len() {
        return "No result: none of the candidates can be tried here.".to_owned();
    }
    if report.basis == TrialBasis::Nothing {
        return match report.run.trials.len() {
            0 => "No result yet: no trial has ended.".to_owned(),
            ended => format!("No result: {} ended, and none can be used.", count(ended, "trial")),
        };
    }
    let up = if report.run.ending == Some(Ending::Budget) { " when the time was up," } else { "" };
    let after = match report.verdict.blocks {
        0 => String::new(),
        blocks => format!("{up} after {}", count(blocks, "block")),
    };
    match report.verdict.ranking.as_slice() {
        [] => format!("Undecided{after}: no candidate was measured in every phase of the goal."),
        [only] => format!("{} alone was measured: there is nothing to compare it with.", only.candidate),
        [leader, rest @ ..] => {
            let ratio = |rank: &Rank| rank.behind.map_or(rank.score / leader.score, |behind| behind.point);
            let shown =
                |rank: &Rank| rank.behind.map_or_else(|| times(ratio(rank)), |behind| times_within(&behind));
            // Nothing is ranked that is noise.
            let near = report.verdict.floor.map_or(0.0, |floor| floor.floor).max(report.plan.protocol.tie);
            let close: Vec<&str> = rest
                .iter()
                .filter(|rank| ratio(rank) <= 1.0 + near)
                .map(|rank| rank.candidate.as_str())
                .collect();
            let mut text = match close.as_slice() {
                [] => format!("Undecided{after}: {} leads so far", leader.candidate),
                close => {
                    let names: Vec<&str> =
                        std::iter::once(leader.candidate.as_str()).chain(close.iter().copied()).collect();
                    let within = percent(near);
                    format!("Undecided{after}: {} lead so far, within {within}", listing(&names, 4))
                }
            };
            match &rest[close.len()..] {
                [] => {}
                [next] => {
                    text.push_str(&format!(", ahead of {} by a factor of {}", next.candidate, shown(next)));
                }
                [next, .., last] => text.push_str(&format!(
                    ", ahead of {} by a factor of {} and of {}, the last, by {}",
                    next.candidate,
                    shown(next),
                    last.candidate,
                    shown(last)
                )),
            }
            match report.verdict.ruled_out.as_slice() {
                [] => text + ".",
                out => format!("{text}; {} ruled out.", names_are(out)),
            }
        }
    }
}

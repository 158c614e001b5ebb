//! States why a run has no verdict, or none yet: nothing was measured, one candidate is left, or the leaders are too close.

use fsverdict_judgement::journal::{CandidateStatus, Ending};
use fsverdict_judgement::verdict::{Judgement, Rank, TrialBasis};

use crate::conclusion::clauses::common_reason;
use crate::topics::required;
use crate::wording::{count, difference, listing, percent};
use fsverdict_text::rough_duration_text;

pub(crate) fn names_are<Name: AsRef<str>>(names: &[Name]) -> String {
    let verb = if names.len() == 1 { "is" } else { "are" };
    format!("{} {verb}", listing(names, 4))
}

pub(crate) fn explain_no_verdict(judged: &Judgement<'_>) -> String {
    let skipped = judged.with_status(CandidateStatus::Skipped).count();
    if skipped > 0 && skipped == judged.candidates.len() {
        return "No result: none of the candidates can be tried here.".to_owned();
    }
    if judged.basis == TrialBasis::Nothing {
        return match judged.run.trials.len() {
            0 => "No result yet: no trial has ended.".to_owned(),
            ended => format!("No result: {} ended, and none can be used.", count(ended, "trial")),
        };
    }
    let up = if judged.run.ending == Some(Ending::Budget) { " when the time was up," } else { "" };
    let after = match judged.verdict.blocks {
        0 => up.trim_end_matches(',').to_owned(),
        blocks => format!("{up} after {}", count(blocks, "block")),
    };
    let untold = judged.untold_rivals();
    let told = judged.verdict.ranking.iter().filter(|rank| !untold.contains(&rank.candidate.as_str()));
    match told.collect::<Vec<_>>().as_slice() {
        [] => match describe_excluded(judged) {
            Some(excluded) => format!("No candidate is left{after}: {excluded}."),
            None => format!("Undecided{after}: no candidate was measured in every phase of the goal."),
        },
        [only] if judged.verdict.ruled_out.is_empty() => {
            let excluded = describe_excluded(judged).map_or(String::new(), |which| format!("; {which}"));
            let total = difference::with_leading_total(judged, ": ", &only.candidate);
            match judged.is_tried() {
                true => format!("{} is the only one that has a result{total}{excluded}.", only.candidate),
                false => format!("Undecided{after}: only {} was tried{total}{excluded}.", only.candidate),
            }
        }
        [only] => {
            let left = format!("Undecided{after}: {} alone is left", only.candidate);
            match required::open_of(judged, &only.candidate).as_slice() {
                [] => format!("{left}."),
                open => format!("{left}, and {}.", open.join(", and ")),
            }
        }
        [leader, rest @ ..] => {
            let ratio = |rank: &Rank| rank.behind.map_or(f64::INFINITY, |behind| behind.point);
            let shown = |rank: &Rank| {
                rank.behind.map_or("has no result beside it".to_owned(), |behind| {
                    difference::compare_with_leader(judged, &rank.candidate, &behind)
                })
            };
            let is_behind = |rank: &Rank| judged.verdict.behind.contains(&rank.candidate);
            let placed = |rank: &Rank| {
                let behind = if is_behind(rank) { ", which is behind" } else { "" };
                format!("{} {}{behind}", rank.candidate, shown(rank))
            };
            let near = judged.plan.protocol.tie;
            let close: Vec<&Rank> = rest.iter().copied().filter(|rank| ratio(rank) <= 1.0 + near).collect();
            // The point estimates are close, which may be chance; candidates are within a tie only where the whole
            // interval is.
            let all_within = close
                .iter()
                .all(|rank| rank.behind.is_some_and(|behind| behind.within(1.0 / (1.0 + near), 1.0 + near)));
            let names: Vec<&str> = std::iter::once(leader.candidate.as_str())
                .chain(close.iter().map(|rank| rank.candidate.as_str()))
                .collect();
            let mut text = match close.len() {
                all if all == rest.len() && all_within => format!(
                    "Undecided{after}: no difference can be told yet; {} within {} of {}",
                    names_are(&names[1..]),
                    percent(near),
                    leader.candidate
                ),
                all if all == rest.len() => {
                    format!("Undecided{after}: no difference can be told yet between {}", listing(&names, 4))
                }
                0 => format!(
                    "Undecided{after}: {} leads so far{}",
                    leader.candidate,
                    difference::with_leading_total(judged, " with ", &leader.candidate)
                ),
                _ => {
                    let within = || format!("within {}", percent(near));
                    let how = if all_within { within() } else { "too close to tell".to_owned() };
                    format!("Undecided{after}: {} lead so far, {how}", listing(&names, 4))
                }
            };
            let named = match &rest[close.len()..] {
                [] => Vec::new(),
                [next] => {
                    text.push_str(&format!("; {}", placed(next)));
                    vec![&next.candidate]
                }
                [next, .., last] => {
                    text.push_str(&format!("; {}, and {}", placed(next), placed(last)));
                    vec![&next.candidate, &last.candidate]
                }
            };
            let behind = judged.verdict.behind.iter().filter(|name| !named.contains(name));
            let behind: Vec<&String> = behind.collect();
            if !behind.is_empty() {
                text.push_str(&format!("; {} behind", names_are(&behind)));
            }
            match describe_settling_trials(judged) {
                Some(what) => format!("{text}; {what}."),
                None => text + ".",
            }
        }
    }
}

/// The candidates that failed, and are excluded for that; `None` if there are none.
pub(crate) fn describe_excluded(judged: &Judgement<'_>) -> Option<String> {
    describe_excluded_of(judged, |_| true)
}

/// Those that failed of the candidates that `is_meant` says.
pub(crate) fn describe_excluded_of(
    judged: &Judgement<'_>,
    is_meant: impl Fn(&str) -> bool,
) -> Option<String> {
    let failed = judged.with_status(CandidateStatus::Failed).map(|entry| entry.name);
    let names: Vec<&str> = failed.filter(|name| is_meant(name)).collect();
    match names.as_slice() {
        [] => None,
        [only] => Some(format!("{only} is excluded (the reason is below)")),
        _ => {
            let why = common_reason(judged, &names);
            Some(format!("{} are excluded ({why})", listing(&names, names.len())))
        }
    }
}

/// The trials that would settle the most important open question, without a full stop; `None` if nothing is open.
pub(crate) fn describe_settling_trials(judged: &Judgement<'_>) -> Option<String> {
    let pair = judged.verdict.first_to_settle()?;
    if let Some(alike) = judged.verdict.inseparable_candidates(judged.plan.protocol.tie) {
        return Some(format!(
            "differences between {} are too small to see here: take any of these",
            listing(&alike, 4)
        ));
    }
    let (candidate, other) = (&pair.candidate, &pair.against);
    let Some(more) = pair.more_blocks else {
        return Some(format!("no number of blocks worth promising would settle {candidate} against {other}"));
    };
    let blocks = count(more as usize, "more block");
    let time = pair.seconds.map_or(String::new(), |seconds| format!(" ({})", rough_duration_text(seconds)));
    Some(match pair.not_better {
        true => {
            format!("about {blocks}{time} would tell whether {candidate} is behind {other} or tied with it")
        }
        false => format!("about {blocks}{time} would settle {candidate} against {other}"),
    })
}

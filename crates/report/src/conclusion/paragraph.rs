//! The verdict in plain words: a paragraph to paste into a mail, with an interval for every number.

use crate::conclusion::no_verdict::describe_settling_trials;
use crate::conclusion::{clauses, equals};
use crate::model::{Clause, ClauseKind};
use crate::topics::across::write_headline;
use crate::topics::free_computation;
use crate::wording::difference::{self, is_of_time, name_cost};
use crate::wording::{alike_within, capitalize, count, listing, plain_number, times_within};
use fsverdict_judgement::journal::{Ending, metric};
use fsverdict_judgement::plan::DeviceSource;
use fsverdict_judgement::verdict::{
    Across, COSTS, Contrast, ContrastOutcome, CostLead, Judgement, Outcome, TrialBasis,
};

/// The most candidates that are listed by name.
const MOST_NAMES: usize = 4;

/// The paragraph about the verdict, without the outcome and the noise, which are shown separately; `None` where there
/// is nothing to compare, or not yet.
pub(crate) fn write_paragraph(
    judged: &Judgement<'_>,
    across: Option<&Across>,
    outcome: &str,
    noise: Option<&str>,
) -> Option<String> {
    let verdict = &judged.verdict;
    let TrialBasis::Blocks(_) = judged.basis else { return None };
    if verdict.refused.is_none() && verdict.ranking.len() < 2 {
        return None;
    }
    let mut sentences = vec![describe_comparison(judged)];
    if let Some(across) = across {
        sentences.push(write_headline(across));
        sentences.push("Candidates on different ones are not compared with each other.".to_owned());
    } else if verdict.refused.is_some() || judged.against_itself().is_some() {
        sentences.push(outcome.to_owned());
    } else if !verdict.groups.is_empty() {
        sentences.push("Candidates of different protection are not ranked against each other.".to_owned());
        sentences.push(outcome.to_owned());
        sentences.extend(noise.map(|noise| capitalize(noise) + "."));
    } else {
        match describe_standings(judged) {
            Some(standings) => {
                sentences.extend(standings);
                sentences.extend(free_computation::write_sentence(judged));
            }
            None => sentences.push(outcome.to_owned()),
        }
        sentences.extend(noise.map(|noise| capitalize(noise) + "."));
        sentences.extend(describe_cost_leads(judged));
        sentences.extend(describe_weight_range(judged));
    }
    if judged.run.ending == Some(Ending::Budget)
        && let Some(reason) = &judged.run.finished
    {
        sentences.push(format!("The run ended early: {reason}."));
    }
    let caveats = clauses::list_caveats(judged);
    if !caveats.is_empty() {
        sentences.push(format!("Limits: {}.", caveats.join("; ")));
    }
    Some(sentences.join(" "))
}

/// The comparison: the candidates, the metric and the amount of data.
fn describe_comparison(judged: &Judgement<'_>) -> String {
    let compared = clauses::list_measured(judged);
    let goal = &judged.plan.goal.metric;
    let measure = match goal.as_str() {
        "durable" => "the time until the data were durable".to_owned(),
        name => metric(name).map_or_else(|| name.to_owned(), |known| format!("{name} ({})", known.meaning)),
    };
    let weighed = judged.weighed_phases();
    let even = weighed.iter().all(|(_, weight)| *weight == 1.0);
    let phases = weighed.into_iter();
    let phases = phases.map(|(phase, weight)| match even {
        true => phase.to_owned(),
        false => format!("{phase} (×{weight})"),
    });
    let phases: Vec<String> = phases.collect();
    let put_together = match (judged.objective.is_total(), phases.len()) {
        (_, 0 | 1) => "",
        (true, _) => ", added up over the whole job",
        (false, _) => ", as a score: the mean of the phases' ratios",
    };
    let blocks = count(judged.verdict.blocks, "block");
    let invalid = match judged.run.invalid_blocks().count() {
        0 => String::new(),
        some => format!(", and {some} more that did not count"),
    };
    let fresh =
        if judged.plan.device.source == DeviceSource::Folders { "new folders" } else { "fresh filesystems" };
    format!(
        "{} {} compared by {measure} in {}{put_together}, in {blocks} of {fresh} in random order{invalid}.",
        listing(&compared, 2 * MOST_NAMES),
        if compared.len() == 1 { "was" } else { "were" },
        listing(&phases, 2 * MOST_NAMES),
    )
}

/// The leader and every other candidate beside it; `None` where the sentence on the outcome says more.
fn describe_standings(judged: &Judgement<'_>) -> Option<Vec<String>> {
    let verdict = &judged.verdict;
    let of = |relation: ContrastOutcome| -> Vec<&Contrast> {
        verdict.standings.iter().filter(|standing| standing.outcome == relation).collect()
    };
    let leader = leader_name(judged);
    if verdict.standings.is_empty()
        || verdict.outcome == Outcome::Undecided && of(ContrastOutcome::Undecided).is_empty()
    {
        return None;
    }
    let clauses = clauses::list_clauses(judged);
    let ruled_out = clauses.iter().filter(|clause| clause.kind == ClauseKind::RuledOut);
    let mut sentences: Vec<String> = ruled_out.map(|clause| clause.text.clone()).collect();
    if verdict.outcome == Outcome::Undecided {
        let open = of(ContrastOutcome::Undecided);
        sentences.push(format!("Which to take is not decided: {}.", describe_ratios(judged, &open, leader)));
    } else {
        sentences.push(equals::recommend(judged, leader) + ".");
    }
    for (relation, words) in [
        (ContrastOutcome::NotBetter, "Not better by more than that, but not placed for certain yet"),
        (ContrastOutcome::Tied, "Tied with it, closer than matters"),
        (ContrastOutcome::Behind, "Certainly behind"),
    ] {
        let those = of(relation);
        if !those.is_empty() {
            sentences.push(format!("{words}: {}.", describe_ratios(judged, &those, "")));
        }
    }
    let explains = |clause: &&Clause| matches!(clause.kind, ClauseKind::Detail | ClauseKind::Prediction);
    sentences.extend(clauses.iter().filter(explains).map(|clause| match clause.begins_with_name {
        true => format!("{}.", clause.text),
        false => format!("{}.", capitalize(&clause.text)),
    }));
    sentences.extend(describe_settling_trials(judged).map(|what| capitalize(&what) + "."));
    Some(sentences)
}

/// The best candidate; where nothing is decided, the first in the sample.
fn leader_name<'a>(judged: &'a Judgement<'_>) -> &'a str {
    judged.verdict.ranking.first().map_or("", |rank| rank.candidate.as_str())
}

/// `against btrfs, ext4 takes 17.1 s (+5%, +2% to +8%), xfs 19.4 s (+20%, +15% to +24%)`.
fn describe_ratios(judged: &Judgement<'_>, standings: &[&Contrast], leader: &str) -> String {
    // Only the first number names its metric.
    let mut is_first = true;
    let ratios: Vec<String> = standings
        .iter()
        .take(MOST_NAMES)
        .map(|standing| {
            let (name, ratio) = (&standing.of, &standing.ratio);
            if let Some(within) = alike_within(ratio) {
                return match leader {
                    "" => format!("{name} is the same within {within}"),
                    leader => format!("{name} is the same as {leader} within {within}"),
                };
            }
            match std::mem::take(&mut is_first) {
                true if leader.is_empty() => {
                    format!("{name} {}", difference::compare_with_leader(judged, name, ratio))
                }
                true => format!(
                    "against {leader}, {name} {}",
                    difference::compare_with_leader(judged, name, ratio)
                ),
                false => format!("{name} {}", difference::compares_too(judged, name, ratio)),
            }
        })
        .collect();
    let more = standings.len().saturating_sub(MOST_NAMES);
    let mut text = ratios.join(", ");
    if more > 0 {
        text.push_str(&format!(", and {more} more"));
    }
    text
}

/// Which candidates cost less than the leader, and in which costs no candidate does.
fn describe_cost_leads(judged: &Judgement<'_>) -> Vec<String> {
    let verdict = &judged.verdict;
    let leader = leader_name(judged);
    let (mut less, mut least) = (Vec::new(), Vec::new());
    for (cost, lead) in verdict.cost_leads(leader, judged.plan.protocol.tie) {
        match lead {
            CostLead::Less(candidate, ratio) => {
                less.push(format!("{candidate} {} times its {}", times_within(&ratio), name_cost(cost)));
            }
            CostLead::Least => least.push(name_cost(cost)),
        }
    }
    let mut sentences = Vec::new();
    if !less.is_empty() {
        sentences.push(format!("Others take less than {leader}: {}.", less.join("; ")));
    }
    if !least.is_empty() {
        sentences.push(format!(
            "No candidate takes noticeably less {} than {leader}.",
            listing(&least, least.len())
        ));
    }
    let beaten: Vec<&str> = verdict
        .tradeoffs
        .iter()
        .filter(|tradeoff| tradeoff.beaten_by.is_some() && verdict.behind.contains(&tradeoff.candidate))
        .map(|tradeoff| tradeoff.candidate.as_str())
        .collect();
    if !beaten.is_empty() {
        let known = COSTS.into_iter().filter(|cost| {
            verdict
                .tradeoffs
                .iter()
                .any(|tradeoff| tradeoff.cost(*cost).is_some_and(|found| found.point > 0.0))
        });
        let compared: Vec<&str> = std::iter::once(if is_of_time(judged) { "time" } else { "the goal" })
            .chain(known.map(name_cost))
            .collect();
        sentences.push(format!(
            "As the phases are counted here nothing speaks for {}: another is as good or better in {}.",
            listing(&beaten, MOST_NAMES),
            listing(&compared, compared.len())
        ));
    }
    sentences
}

/// How far the weights can move before another candidate leads.
fn describe_weight_range(judged: &Judgement<'_>) -> Option<String> {
    let verdict = &judged.verdict;
    if verdict.outcome == Outcome::Undecided || verdict.sensitivity.len() < 2 {
        return None;
    }
    Some(match verdict.nearest_turn() {
        Some((range, turn)) => {
            let more = if range.low.as_ref() == Some(turn) { "less" } else { "more" };
            let (weight, now) = (plain_number(turn.weight), range.weight);
            let change = match judged.objective.is_total() {
                true => format!("happened {more} often than {weight} times for each job (now {now})"),
                false => format!("weighed {more} than {weight} (now {now})"),
            };
            format!("{} would lead if {} {change}, going by the estimates.", turn.winner, range.phase)
        }
        None => {
            "No other candidate would lead if a phase counted for up to 20 times more or less, going by the estimates."
                .to_owned()
        }
    })
}

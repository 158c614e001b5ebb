//! Small tables of text below the headline: time beside its costs, how far the goal's weights may move, and the tables
//! of a plan that repeats a study. The renderers lay them out.

use super::factors;
use super::number::{NumberScale, decimals, fixed, percent, plain_number, times};
use super::text::count;
use super::text_table::TextTable;
use fsverdict_judgement::journal::Unit;
use fsverdict_judgement::plan::once_each;
use fsverdict_judgement::verdict::{COSTS, Cost, Judgement, Tradeoff, WeightTurn, legacy_name};

pub(super) fn build_secondary_tables(judged: &Judgement<'_>) -> Vec<TextTable> {
    [factors::build_table(judged), build_cost_table(judged), build_weight_table(judged)]
        .into_iter()
        .flatten()
        .collect()
}

/// The tables of a plan that repeats a study.
pub(super) fn of_study(judged: &Judgement<'_>) -> Vec<TextTable> {
    [build_legacy_table(judged), build_raw_share_table(judged)].into_iter().flatten().collect()
}

/// Time, CPU, space and device writes, with the Pareto set.
fn build_cost_table(judged: &Judgement<'_>) -> Option<TextTable> {
    let tradeoffs = &judged.verdict.tradeoffs;
    if tradeoffs.len() < 2 {
        return None;
    }
    let behind = |one: &Tradeoff| {
        let entry = judged.candidates.iter().find(|entry| entry.name == one.candidate);
        entry.and_then(|entry| entry.behind).map_or("–".to_owned(), |behind| times(behind.point))
    };
    let measured: Vec<(Cost, NumberScale, &str)> = COSTS
        .into_iter()
        .filter(|cost| tradeoffs.iter().any(|one| one.cost(*cost).is_some_and(|found| found.point > 0.0)))
        .map(|cost| {
            let (unit, title) = match cost {
                Cost::Cpu => (Unit::Seconds, "CPU"),
                Cost::Space => (Unit::Bytes, "space"),
                Cost::Lost => (Unit::Bytes, "lost"),
                Cost::Written => (Unit::Bytes, "written"),
            };
            (
                cost,
                NumberScale::suited(unit, tradeoffs.iter().filter_map(|one| Some(one.cost(cost)?.point))),
                title,
            )
        })
        .collect();
    if measured.is_empty() {
        return None;
    }
    let mut header = vec!["candidate".to_owned(), "goal ×".to_owned()];
    header.extend(measured.iter().map(|(_, scale, title)| format!("{title}, {}", scale.label)));
    header.push("Pareto set".to_owned());
    let row = |one: &Tradeoff| {
        let costs = measured.iter().map(|(cost, scale, _)| {
            let value = one.cost(*cost).map(|found| found.point / scale.divisor);
            value.map_or("–".to_owned(), |value| fixed(value, decimals(value, None)))
        });
        let set = match &one.beaten_by {
            Some(other) => format!("beaten by {other}"),
            None if one.unbeaten => "in it".to_owned(),
            None => "open".to_owned(),
        };
        [one.candidate.clone(), behind(one)].into_iter().chain(costs).chain([set]).collect()
    };
    let title = "Time and what it costs, all phases of the goal together. Beaten: another is shown to be as good in \
                 everything and better in something. Open: not enough data.";
    Some(TextTable { title: title.to_owned(), header, rows: tradeoffs.iter().map(row).collect() })
}

/// Between which weights the leader leads.
fn build_weight_table(judged: &Judgement<'_>) -> Option<TextTable> {
    let ranges = &judged.verdict.sensitivity;
    let leader = &judged.verdict.ranking.first()?.candidate;
    if ranges.len() < 2 {
        return None;
    }
    let shown = |turn: Option<&WeightTurn>, none: &str| {
        turn.map_or(none.to_owned(), |turn| format!("{} ({})", plain_number(turn.weight), turn.winner))
    };
    let rows = ranges.iter().map(|range| {
        let (low, high) = (shown(range.low.as_ref(), "0"), shown(range.high.as_ref(), "any"));
        vec![range.phase.clone(), range.weight.to_string(), low, high]
    });
    let rows = rows.collect();
    let weight = if judged.objective.is_total() { "frequency" } else { "weight" };
    let title = format!(
        "{leader} leads while a {weight} lies between these; beyond them, the candidate in brackets does, going by the estimates."
    );
    Some(TextTable::new(title, &["phase", weight, "from", "to"], rows))
}

fn build_legacy_table(judged: &Judgement<'_>) -> Option<TextTable> {
    let combined = judged.combined.as_ref()?;
    let estimates = &combined.estimates;
    let mut phases: Vec<&str> = judged.phases.iter().map(|phase| phase.name.as_str()).collect();
    phases.retain(|name| estimates.iter().any(|found| found.phase == *name));
    let most = estimates.iter().filter(|found| found.point.is_some()).map(|found| found.n).max()?;
    let title = format!(
        "As the study combined its runs: {} (of {} each), seconds until durable. The verdict does not rest on it.",
        legacy_name(combined.estimator),
        count(most, "run")
    );
    let scored = judged.candidates.iter().filter(|entry| entry.behind.is_some());
    let rows = scored.map(|entry| {
        let cells = phases.iter().map(|phase| {
            let estimate =
                estimates.iter().find(|found| found.candidate == entry.name && found.phase == *phase);
            estimate
                .and_then(|found| found.point)
                .map_or("–".to_owned(), |value| fixed(value, decimals(value, None)))
        });
        [entry.name.to_owned()].into_iter().chain(cells).collect()
    });
    Some(TextTable { title, header: build_header(&phases), rows: rows.collect() })
}

fn build_header(columns: &[&str]) -> Vec<String> {
    ["candidate"].iter().chain(columns).map(|text| (*text).to_owned()).collect()
}

/// Rates as shares of the bare device's.
fn build_raw_share_table(judged: &Judgement<'_>) -> Option<TextTable> {
    let shares = &judged.raw_shares;
    let columns = once_each(shares.iter().map(|found| (found.phase.as_str(), found.metric.as_str())));
    if columns.is_empty() {
        return None;
    }
    let names: Vec<String> = columns.iter().map(|(phase, metric)| format!("{phase} {metric}")).collect();
    let measured =
        judged.candidates.iter().filter(|entry| shares.iter().any(|found| found.candidate == entry.name));
    let rows = measured.map(|entry| {
        let cells = columns.iter().map(|(phase, metric)| {
            let raw_share = shares.iter().find(|found| {
                found.candidate == entry.name && found.phase == *phase && found.metric == *metric
            });
            raw_share.map_or("–".to_owned(), |found| percent(found.share))
        });
        [entry.name.to_owned()].into_iter().chain(cells).collect()
    });
    let rows = rows.collect();
    let title = "Rates as shares of the bare device's, measured before mkfs in the same trials".to_owned();
    Some(TextTable {
        title,
        header: build_header(&names.iter().map(String::as_str).collect::<Vec<_>>()),
        rows,
    })
}

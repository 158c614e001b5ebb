//! Topic: time beside the other costs with the Pareto set, and how far the goal's weights may move.

use crate::page::Media;
use crate::topics::factors;
use crate::topics::topic::{ReportTopic, address_tables};
use crate::wording::{NumberScale, TextTable, decimals, fixed, plain_number, times};
use fsverdict_judgement::journal::Unit;
use fsverdict_judgement::verdict::{COSTS, Cost, Judgement, Tradeoff, WeightTurn};

pub(super) static TOPIC: ReportTopic = ReportTopic {
    build_tables: |report| address_tables(Media::FULL_TEXT, build_tables(&report.judged)).collect(),
    ..ReportTopic::EMPTY
};

/// The effects of options, costs beside time, and the range of weights, as far as there are any.
pub(crate) fn build_tables(judged: &Judgement<'_>) -> Vec<TextTable> {
    let tables = [factors::build_table(judged), build_cost_table(judged), build_weight_table(judged)];
    tables.into_iter().flatten().collect()
}

/// Time, CPU, space and device writes, with the Pareto set.
fn build_cost_table(judged: &Judgement<'_>) -> Option<TextTable> {
    let tradeoffs = &judged.verdict.tradeoffs;
    if tradeoffs.len() < 2 {
        return None;
    }
    let behind = |tradeoff: &Tradeoff| {
        let entry = judged.candidates.iter().find(|entry| entry.name == tradeoff.candidate);
        entry.and_then(|entry| entry.behind).map_or("–".to_owned(), |behind| times(behind.point))
    };
    let measured: Vec<(Cost, NumberScale, &str)> = COSTS
        .into_iter()
        .filter(|cost| {
            tradeoffs.iter().any(|tradeoff| tradeoff.cost(*cost).is_some_and(|found| found.point > 0.0))
        })
        .map(|cost| {
            let (unit, title) = match cost {
                Cost::Cpu => (Unit::Seconds, "CPU"),
                Cost::Space => (Unit::Bytes, "space"),
                Cost::Lost => (Unit::Bytes, "lost"),
                Cost::Written => (Unit::Bytes, "written"),
            };
            (
                cost,
                NumberScale::suited(
                    unit,
                    tradeoffs.iter().filter_map(|tradeoff| Some(tradeoff.cost(cost)?.point)),
                ),
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
    let row = |tradeoff: &Tradeoff| {
        let costs = measured.iter().map(|(cost, scale, _)| {
            let value = tradeoff.cost(*cost).map(|found| found.point / scale.divisor);
            value.map_or("–".to_owned(), |value| fixed(value, decimals(value, None)))
        });
        let set = match &tradeoff.beaten_by {
            Some(other) => format!("beaten by {other}"),
            None if tradeoff.unbeaten => "in it".to_owned(),
            None => "open".to_owned(),
        };
        [tradeoff.candidate.clone(), behind(tradeoff)].into_iter().chain(costs).chain([set]).collect()
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

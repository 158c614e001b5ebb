//! What lies beside the ranking: what each candidate costs apart from time, who is beaten in everything, and how far the
//! goal's weights may move. Gathered as tables of text; the renderers lay them out.

use super::Report;
use super::extra::Extra;
use super::number::{Scale, decimals, fixed, plain_number, times};
use crate::journal::Unit;
use crate::verdict::{COSTS, Cost, Tradeoff, Turn};

/// The tables of this report, if it has any.
pub(super) fn tables(report: &Report<'_>) -> Vec<Extra> {
    [costs(report), weights(report)].into_iter().flatten().collect()
}

/// Time, CPU, space and device writes, with the Pareto set.
fn costs(report: &Report<'_>) -> Option<Extra> {
    let tradeoffs = &report.verdict.tradeoffs;
    let first = tradeoffs.first().filter(|_| tradeoffs.len() > 1)?;
    let measured: Vec<(Cost, Scale, &str)> = COSTS
        .into_iter()
        .filter(|cost| tradeoffs.iter().any(|one| one.cost(*cost).is_some_and(|value| value > 0.0)))
        .map(|cost| {
            let (unit, title) = match cost {
                Cost::Cpu => (Unit::Seconds, "CPU"),
                Cost::Space => (Unit::Bytes, "space"),
                Cost::Written => (Unit::Bytes, "written"),
            };
            (cost, Scale::suited(unit, tradeoffs.iter().filter_map(|one| one.cost(cost))), title)
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
            let value = one.cost(*cost).map(|value| value / scale.divisor);
            value.map_or("–".to_owned(), |value| fixed(value, decimals(value, None)))
        });
        let set = one.beaten_by.as_ref().map_or("in it".to_owned(), |other| format!("beaten by {other}"));
        [one.candidate.clone(), times(one.score / first.score)]
            .into_iter()
            .chain(costs)
            .chain([set])
            .collect()
    };
    let title = "Time and what it costs, all phases of the goal together. Beaten: another is as good in everything and \
                 better in something.";
    Some(Extra { title: title.to_owned(), header, rows: tradeoffs.iter().map(row).collect() })
}

/// Between which weights the leader leads.
fn weights(report: &Report<'_>) -> Option<Extra> {
    let ranges = &report.verdict.sensitivity;
    let leader = &report.verdict.ranking.first()?.candidate;
    if ranges.len() < 2 {
        return None;
    }
    let told = |turn: Option<&Turn>, none: &str| {
        turn.map_or(none.to_owned(), |turn| format!("{} ({})", plain_number(turn.weight), turn.winner))
    };
    let rows = ranges.iter().map(|range| {
        let (low, high) = (told(range.low.as_ref(), "0"), told(range.high.as_ref(), "any"));
        vec![range.phase.clone(), range.weight.to_string(), low, high]
    });
    let rows = rows.collect();
    Some(Extra {
        title: format!(
            "{leader} leads while a weight lies between these (beyond, who is named), by medians."
        ),
        header: ["phase", "weight", "from", "to"].map(str::to_owned).to_vec(),
        rows,
    })
}

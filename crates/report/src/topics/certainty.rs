//! How certain the order is: every candidate against the leader.

use crate::Report;
use crate::page::{PageBlock, PageTable, Text};
use crate::wording::{TextTable, one_line, percent, times};
use fsverdict_judgement::verdict::{Contrast, ContrastOutcome};

/// The whole comparison, folded; nothing where nothing was compared.
pub(crate) fn build_folded_block(report: &Report<'_>) -> Option<PageBlock<'static>> {
    let mut standings: Vec<&Contrast> = report.judged.verdict.standings.iter().collect();
    if standings.is_empty() {
        return None;
    }
    standings.sort_by(|standing, other| standing.ratio.point.total_cmp(&other.ratio.point));
    let tie = percent(report.judged.plan.protocol.tie);
    let row = |standing: &&Contrast| {
        let ratio = standing.ratio;
        let ends = ratio.ends();
        vec![
            standing.of.clone(),
            standing.against.clone(),
            times(ratio.point),
            ends.map_or("–".to_owned(), |(low, high)| format!("{}–{}", times(low), times(high))),
            ratio.n.to_string(),
            describe_relation(standing.outcome, &tie),
        ]
    };
    let header = ["candidate", "against", "times", "95% interval", "blocks", "conclusion"];
    let table = TextTable::new("", &header, standings.iter().map(row).collect());
    let noise = report.noise.as_ref().map_or(String::new(), |noise| format!(" Noise: {}.", one_line(noise)));
    let note = "Each candidate against the leader at that time, paired within blocks, for the whole goal. The interval is of this pair \
                alone; the conclusion allows for all comparisons and all looks at the data.";
    let blocks = vec![
        PageBlock::Note(Text::ours(note).plain(noise)),
        PageBlock::Table(PageTable { by_candidate: true, ..PageTable::plain(table) }),
    ];
    Some(PageBlock::fold(Some("certainty"), "How certain is the order", blocks))
}

/// Describes a candidate's place beside the leader; `tie` is the difference that does not matter.
fn describe_relation(outcome: ContrastOutcome, tie: &str) -> String {
    match outcome {
        ContrastOutcome::Behind => "✕ behind".to_owned(),
        ContrastOutcome::Tied => "≈ tied".to_owned(),
        ContrastOutcome::NotBetter => format!("≤ not more than {tie} better; how much worse is not certain"),
        ContrastOutcome::Better | ContrastOutcome::Undecided => "? open".to_owned(),
    }
}

//! How long single calls took: the histograms of a phase's trials added up, as the latency at chosen percentiles.

use maud::{Markup, html};
use std::collections::BTreeMap;

use super::topic::ReportTopic;
use crate::Report;
use crate::model::Index;
use crate::page::PageBlock;
use crate::page::figures::{alone, chart, numbers};
use crate::wording::{TextTable, one_line};
use fsverdict_judgement::journal::Unit;
use fsverdict_judgement::verdict::{LatencyCounts, latencies, latency_at};

const SHOWN: [(f64, &str); 4] = [(0.5, "median"), (0.95, "95%"), (0.99, "99%"), (0.999, "99.9%")];

/// The section; nothing where no operation recorded latencies.
pub(super) static TOPIC: ReportTopic = ReportTopic { build_section, ..ReportTopic::EMPTY };

fn build_section<'a>(report: &'a Report<'_>) -> Option<PageBlock<'a>> {
    let sums = latencies(&report.judged);
    if sums.is_empty() || !report.has_results() {
        return None;
    }
    let lead = "Left the typical call, right the rare slow ones: at 99.9% one call in a thousand took longer. Both axes are \
                logarithmic; the lowest line is best. All trials of a candidate are added up.";
    let blocks = vec![PageBlock::Lead(lead.into()), PageBlock::picture(move || draw_curves(report, &sums))];
    Some(PageBlock::section("latency", "How long single calls took", blocks))
}

/// By phase, call and candidate.
type Sums<'a> = BTreeMap<(usize, &'a str, usize), LatencyCounts>;

fn draw_curves(report: &Report<'_>, sums: &Sums<'_>) -> Markup {
    let index = Index::of(report);
    let mut groups: Vec<(usize, &str)> = sums.keys().map(|(phase, call, _)| (*phase, *call)).collect();
    groups.dedup();
    html! {
        div.phases { @for (phase, call) in groups {
            @let name = &report.judged.phases[phase].name;
            article.phase {
                div.head { h3 { (one_line(name)) ": " code { (one_line(call)) } } }
                (chart("latency", Some(phase), call, &format!("Latency of {} in {} by percentile; the table below has the numbers", one_line(call), one_line(name))))
                details {
                    summary { "Numbers of " (one_line(name)) ": " (one_line(call)) }
                    (numbers(&build_table(report, sums, phase, call), Some(&index)))
                }
            }
        } }
    }
}

fn build_table(report: &Report<'_>, sums: &Sums<'_>, phase: usize, call: &str) -> TextTable {
    let rows = report.judged.candidates.iter().enumerate().filter_map(|(at_candidate, entry)| {
        let counts = sums.get(&(phase, call, at_candidate))?;
        let shares = SHOWN.map(|shown| shown.0).into_iter().chain([1.0]);
        let shown = |share| {
            latency_at(counts, share)
                .map_or("–".to_owned(), |value| alone(value, Unit::Seconds, Some(0.02)))
        };
        let calls = counts.values().sum::<u64>().to_string();
        Some(std::iter::once(entry.name.to_owned()).chain(shares.map(shown)).chain([calls]).collect())
    });
    let mut header = vec!["candidate"];
    header.extend(SHOWN.map(|shown| shown.1));
    header.extend(["longest", "calls"]);
    TextTable::new("", &header, rows.collect())
}

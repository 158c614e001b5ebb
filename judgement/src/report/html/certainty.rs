//! How certain the order is: every candidate against the leader.

use maud::{Markup, html};

use super::index::Index;
use crate::report::Report;
use crate::report::number::times;
use crate::report::text::one_line;
use crate::verdict::{Relation, Standing};

/// The whole comparison, folded; nothing where nothing was compared.
pub(super) fn folded(report: &Report<'_>, index: &Index<'_>) -> Markup {
    let verdict = &report.verdict;
    let mut standings: Vec<&Standing> = verdict.standings.iter().collect();
    standings.sort_by(|one, other| one.ratio.point.total_cmp(&other.ratio.point));
    html! {
        @if !standings.is_empty() {
            details #certainty {
                summary { "How certain is the order" }
                p.note {
                    "Each candidate against whoever led at the time, paired within blocks, for the whole goal. The interval is of this pair "
                    "alone; the conclusion allows for all comparisons and all looks at the data."
                    @if let Some(noise) = &report.noise { " Noise: " (one_line(noise)) "." }
                }
                div.scroll { table.numbers {
                    thead { tr {
                        th scope="col" { "candidate" }
                        th scope="col" { "against" }
                        th scope="col" { "times" }
                        th scope="col" { "95% interval" }
                        th scope="col" { "blocks" }
                        th scope="col" { "conclusion" }
                    } }
                    tbody { @for standing in standings {
                        tr data-candidate=[index.number(&standing.candidate)] {
                            th scope="row" { (one_line(&standing.candidate)) }
                            td { (one_line(&standing.against)) }
                            td { (times(standing.ratio.point)) }
                            td { (standing.ratio.low.zip(standing.ratio.high).map_or("–".to_owned(), |(low, high)| format!("{}–{}", times(low), times(high)))) }
                            td { (standing.ratio.n) }
                            td { (conclusion(standing.relation)) }
                        }
                    } }
                } }
            }
        }
    }
}

fn conclusion(relation: Relation) -> &'static str {
    match relation {
        Relation::Behind => "✕ behind",
        Relation::Tied => "≈ tied",
        Relation::NotBetter => "≤ not better by more than matters",
        Relation::Open => "? open",
    }
}

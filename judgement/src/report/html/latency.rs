//! How long single calls took: the histograms of a phase's trials added up, as the latency at chosen percentiles.

use std::collections::BTreeMap;

use maud::{Markup, html};

use super::figures::alone;
use super::index::Index;
use super::phases::chart;
use super::then::laid_out;
use crate::journal::{CandidateStatus, Unit};
use crate::report::Report;
use crate::report::text::one_line;
use crate::report::text_table::TextTable;

const SHOWN: [(f64, &str); 4] = [(0.5, "median"), (0.95, "95%"), (0.99, "99%"), (0.999, "99.9%")];

/// The counts of a call by latency, of one candidate in one phase.
pub(super) type Counts = BTreeMap<u64, u64>;

/// Every histogram of the trials in use, added up by phase, call and candidate.
pub(super) fn collect<'a>(report: &'a Report<'_>) -> BTreeMap<(usize, &'a str, usize), Counts> {
    let mut sums: BTreeMap<(usize, &str, usize), Counts> = BTreeMap::new();
    let candidate_at = |name: &str| {
        report.candidates.iter().position(|entry| entry.name == name && entry.status == CandidateStatus::Ok)
    };
    let phase_at = |name: &str| report.phases.iter().position(|phase| phase.name == name);
    for known in &report.run.latencies {
        if let Some((candidate, phase)) = candidate_at(&known.candidate).zip(phase_at(&known.phase)) {
            sums.insert((phase, &known.call, candidate), known.counts.clone());
        }
    }
    // Those of a block that has not ended are still with their trials.
    for trial in &report.trials {
        for observation in trial.observations.iter().filter(|observation| !observation.histograms.is_empty())
        {
            let Some((candidate, phase)) =
                candidate_at(&trial.id.candidate).zip(phase_at(&observation.phase))
            else {
                continue;
            };
            for histogram in &observation.histograms {
                let counts = sums.entry((phase, &histogram.call, candidate)).or_default();
                for (nanoseconds, count) in &histogram.buckets {
                    *counts.entry(*nanoseconds).or_default() += count;
                }
            }
        }
    }
    sums
}

/// The latency, in seconds, which this share of the calls did not exceed.
pub(super) fn at(counts: &Counts, share: f64) -> Option<f64> {
    let total: u64 = counts.values().sum();
    let mut seen = 0;
    for (nanoseconds, count) in counts {
        seen += count;
        if seen as f64 >= share * total as f64 {
            return Some(*nanoseconds as f64 * 1e-9);
        }
    }
    None
}

/// The section; nothing where no operation recorded latencies.
pub(super) fn section(report: &Report<'_>, index: &Index<'_>) -> Markup {
    let sums = collect(report);
    let mut groups: Vec<(usize, &str)> = sums.keys().map(|(phase, call, _)| (*phase, *call)).collect();
    groups.dedup();
    html! {
        @if !groups.is_empty() {
            section #latency aria-labelledby="latency-title" {
                h2 #latency-title { "How long single calls took" }
                p.lead {
                    "Left the typical call, right the rare slow ones: at 99.9% one call in a thousand took longer. Both axes are "
                    "logarithmic; the lowest line is best. All trials of a candidate are added up."
                }
                div.phases { @for (phase, call) in groups {
                    @let name = &report.phases[phase].name;
                    article.phase {
                        div.head { h3 { (one_line(name)) ": " code { (one_line(call)) } } }
                        (chart("latency", Some(phase), call, &format!("Latency of {} in {} by percentile; the table below has the numbers", one_line(call), one_line(name))))
                        details {
                            summary { "Numbers of " (one_line(name)) ": " (one_line(call)) }
                            (laid_out(&table(report, &sums, phase, call), Some(index)))
                        }
                    }
                } }
            }
        }
    }
}

fn table(
    report: &Report<'_>,
    sums: &BTreeMap<(usize, &str, usize), Counts>,
    phase: usize,
    call: &str,
) -> TextTable {
    let rows = report.candidates.iter().enumerate().filter_map(|(at_candidate, entry)| {
        let counts = sums.get(&(phase, call, at_candidate))?;
        let shares = SHOWN.map(|shown| shown.0).into_iter().chain([1.0]);
        let shown = |share| {
            at(counts, share).map_or("–".to_owned(), |value| alone(value, Unit::Seconds, Some(0.02)))
        };
        let calls = counts.values().sum::<u64>().to_string();
        Some(std::iter::once(entry.name.to_owned()).chain(shares.map(shown)).chain([calls]).collect())
    });
    let mut header = vec!["candidate"];
    header.extend(SHOWN.map(|shown| shown.1));
    header.extend(["longest", "calls"]);
    TextTable::new("", &header, rows.collect())
}

#[cfg(test)]
mod tests {
    use super::{Counts, at};

    #[test]
    fn a_percentile_is_the_first_latency_that_covers_its_share() {
        let counts: Counts = [(1_000, 98), (5_000, 1), (1_000_000, 1)].into();
        let microseconds = |share| (at(&counts, share).unwrap() * 1e6).round();
        assert_eq!([0.5, 0.98, 0.99, 0.999, 1.0].map(microseconds), [1.0, 1.0, 5.0, 1000.0, 1000.0]);
        assert_eq!(at(&Counts::new(), 0.5), None);
    }
}

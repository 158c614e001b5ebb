//! Phase by phase: every trial as a point, with the numbers as a table beside the chart; the steps around the work (mkfs, mount,
//! fsck) in the same way; how long single calls took; and the results over the time of the run.

use std::collections::BTreeMap;

use maud::{Markup, html};

use super::ReportTopic;
use crate::Report;
use crate::model::{Index, thinning};
use crate::page::figures::{alone, chart, in_scale, numbers, spread};
use crate::page::{PageBlock, Text};
use crate::wording::{NumberScale, TextTable, in_lines, one_line};
use fsverdict_judgement::journal::Unit;
use fsverdict_judgement::plan::{Phase, PhaseWork};
use fsverdict_judgement::verdict::{LatencyCounts, PhaseEntry, PhaseEstimate, latencies, latency_at};

/// The metrics of the tables, where they were measured: the goal's own comes first.
const SHOWN: [&str; 4] = ["durable", "returned", "throughput", "file_rate"];

pub(super) static TOPIC: ReportTopic = ReportTopic { build_section, ..ReportTopic::EMPTY };

pub(super) static STEPS: ReportTopic = ReportTopic { build_section: build_steps, ..ReportTopic::EMPTY };

pub(super) static DRIFT: ReportTopic = ReportTopic { build_section: build_drift, ..ReportTopic::EMPTY };

fn build_section<'a>(report: &'a Report<'_>) -> Option<PageBlock<'a>> {
    if !report.has_results() {
        return None;
    }
    let (_, thinned) = thinning::choose(report.judged.run);
    let lead = Text::ours("Every trial is a point: ")
        .strong("● durable")
        .plain(", when the work had also reached the device, and ")
        .strong("◇ returned")
        .plain(", when the program said it was done. ")
        .strong("┃")
        .plain(
            " is what stands in the tables, side by side with the leader; the bar through it is its 95% interval, or with fewer \
             than 3 trials a thin line its range.",
        );
    let drawn = move || {
        let index = Index::of(report);
        html! {
            div.phases { @for phase in report.judged.headline() { (draw_phase(report, &index, phase)) } }
            (buffered(report))
        }
    };
    let thinned = thinned.map(|thinned| PageBlock::Note(thinned.write_sentence().into()));
    let blocks = std::iter::once(PageBlock::Lead(lead)).chain(thinned).chain([PageBlock::picture(drawn)]);
    Some(PageBlock::section("phases", "Phase by phase", blocks.collect()))
}

/// Durable against returned times: they differ for candidates that let a program go on before its data are on the
/// device.
fn buffered(report: &Report<'_>) -> Markup {
    let both = |metric: &str| report.judged.estimates.iter().any(|found| found.metric == metric);
    html! {
        @if both("returned") && both("durable") {
            article.phase #buffered {
                div.head { h3 { "Returned and durable" } }
                p.work { "Each point is a candidate in a phase. On the diagonal the work was on the device when the program returned; the higher above it, the more was still to come." }
                (chart("buffered", None, "", "Time until durable against time until returned, by candidate and phase; the tables above have the numbers"))
            }
        }
    }
}

/// mkfs, mount, umount, fsck and other steps around the work; `None` where there are none.
fn build_steps<'a>(report: &'a Report<'_>) -> Option<PageBlock<'a>> {
    let around = |phase: &&PhaseEntry| !report.judged.is_headline(phase);
    let steps: Vec<&PhaseEntry> = report.judged.phases.iter().filter(around).collect();
    if steps.is_empty() || !report.has_results() {
        return None;
    }
    let lead =
        "The steps every trial takes before and after its phases: making, mounting, unmounting, checking.";
    let drawn = move || {
        let index = Index::of(report);
        html! { div.phases { @for step in &steps { (draw_phase(report, &index, step)) } } }
    };
    Some(PageBlock::section(
        "steps",
        "Around the work",
        vec![PageBlock::Lead(lead.into()), PageBlock::picture(drawn)],
    ))
}

/// The results over the run's time.
fn build_drift<'a>(report: &'a Report<'_>) -> Option<PageBlock<'a>> {
    // A candidate's only trial divided by itself is a level line, even on a disturbed machine.
    report.judged.sample_sizes().filter(|(_, most)| *most >= 2 && report.has_results())?;
    let lead = "Each trial's time as a multiple of its own candidate's median, over the time of the run. A level band means a \
                steady machine; a slope or a step means that it changed. Vertical lines are the borders of blocks; trials of blocks \
                that were thrown out are hollow.";
    let words = format!(
        "Times of {} trials relative to their candidate's median, by the time at which they began",
        report.judged.run.trials.len()
    );
    let blocks =
        vec![PageBlock::Lead(lead.into()), PageBlock::picture(move || chart("drift", None, "", &words))];
    Some(PageBlock::section("drift", "Was the machine steady?", blocks))
}

fn draw_phase(report: &Report<'_>, index: &Index<'_>, phase: &PhaseEntry) -> Markup {
    let planned = report.judged.plan.phases.iter().find(|planned| planned.name == phase.name);
    let name = one_line(&phase.name);
    html! {
        article.phase {
            div.head {
                h3 { (name) }
                @if let Some(planned) = planned { p.work { (work(planned)) } }
            }
            @if index.measured.iter().all(|candidate| index.get(candidate, &phase.name, "durable").is_none() && index.get(candidate, &phase.name, &report.judged.plan.goal.metric).is_none()) {
                p.none { "Not measured for any candidate." }
            } @else {
                (chart("phase", report.judged.phases.iter().position(|known| known == phase), "", &format!("Every trial of {name}, by candidate; the table below has the numbers")))
                details { summary { "Numbers of " (name) } (build_table(report, index, phase)) }
            }
        }
    }
}

fn work(phase: &Phase) -> Markup {
    html! {
        @match &phase.work {
            PhaseWork::Operation(operation) => { "built-in operation " code { (operation.name()) } }
            PhaseWork::Command(line) => { "command " code { (in_lines(line)) } }
            PhaseWork::Adapter { name, options } => { code { (one_line(name)) " " (in_lines(options)) } }
        }
        @if let Some(dataset) = &phase.dataset { " on dataset " code { (one_line(dataset)) } }
        @if phase.cold { ", with cold caches (unmounted, put out of memory, mounted again)" }
    }
}

fn build_table(report: &Report<'_>, index: &Index<'_>, phase: &PhaseEntry) -> Markup {
    let goal = report.judged.plan.goal.metric.as_str();
    let mut metrics: Vec<&str> = vec![goal];
    metrics.extend(SHOWN.into_iter().filter(|shown| *shown != goal));
    let columns: Vec<(&str, NumberScale)> = metrics
        .into_iter()
        .filter_map(|metric| {
            let estimates = index.column(&phase.name, metric);
            let unit: Unit = estimates.first()?.unit;
            Some((metric, NumberScale::suited(unit, estimates.iter().map(|found| found.estimate.point))))
        })
        .collect();
    let titles = columns.iter().map(|(name, scale)| match scale.label {
        "" => (*name).to_owned(),
        unit => format!("{name}, {unit}"),
    });
    let row = |candidate: &&str| {
        let cells =
            columns.iter().map(|(metric, scale)| cell(index.get(candidate, &phase.name, metric), *scale));
        let counted = columns.first().and_then(|column| index.get(candidate, &phase.name, column.0));
        let trials = counted.map_or(0, |found| found.estimate.n).to_string();
        std::iter::once((*candidate).to_owned()).chain(cells).chain([trials]).collect()
    };
    let rows = index.measured.iter().map(row).collect();
    let header = std::iter::once("candidate".to_owned()).chain(titles).chain(["trials".to_owned()]).collect();
    numbers(&TextTable { title: String::new(), header, rows }, Some(index))
}

fn cell(found: Option<&PhaseEstimate>, scale: NumberScale) -> String {
    let Some(found) = found else { return "–".to_owned() };
    let share = spread(found);
    let shown = |value| in_scale(value, scale, share);
    let ends = found.ends().map_or(String::new(), |(low, high)| format!(" ({}–{})", shown(low), shown(high)));
    format!("{}{ends}", shown(found.estimate.point))
}

const PERCENTILES: [(f64, &str); 4] = [(0.5, "median"), (0.95, "95%"), (0.99, "99%"), (0.999, "99.9%")];

/// The section; nothing where no operation recorded latencies.
pub(super) static LATENCY: ReportTopic = ReportTopic { build_section: build_latency, ..ReportTopic::EMPTY };

fn build_latency<'a>(report: &'a Report<'_>) -> Option<PageBlock<'a>> {
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
                    (numbers(&build_latency_table(report, sums, phase, call), Some(&index)))
                }
            }
        } }
    }
}

fn build_latency_table(report: &Report<'_>, sums: &Sums<'_>, phase: usize, call: &str) -> TextTable {
    let rows = report.judged.candidates.iter().enumerate().filter_map(|(at_candidate, entry)| {
        let counts = sums.get(&(phase, call, at_candidate))?;
        let shares = PERCENTILES.map(|shown| shown.0).into_iter().chain([1.0]);
        let shown = |share| {
            latency_at(counts, share)
                .map_or("–".to_owned(), |value| alone(value, Unit::Seconds, Some(0.02)))
        };
        let calls = counts.values().sum::<u64>().to_string();
        Some(std::iter::once(entry.name.to_owned()).chain(shares.map(shown)).chain([calls]).collect())
    });
    let mut header = vec!["candidate"];
    header.extend(PERCENTILES.map(|shown| shown.1));
    header.extend(["longest", "calls"]);
    TextTable::new("", &header, rows.collect())
}

//! The data embedded in the HTML page: the JSON report, the CSV of the trials, latencies and blocks. The charts are
//! drawn from it, and the page can save it as CSV and JSON.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use fsverdict_text::make_json_displayable;
use serde::Serialize;

use crate::forms::{CsvRows, csv, json};
use crate::model::{JsonObject, thinning};
use crate::{Report, ReportError, Requests};
use fsverdict_judgement::journal::{Better, CandidateStatus, Measurement, Run, Trial, WorkCourse, metric};
use fsverdict_judgement::plan::Plan;
use fsverdict_judgement::verdict::{LatencyCounts, latencies, latency_at};

/// Percentiles of the latency curves, as "one call in N took longer": roughly equal steps on the chart's axis.
const ONE_IN: [f64; 22] = [
    1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 7.0, 10.0, 15.0, 20.0, 35.0, 50.0, 100.0, 200.0, 350.0, 500.0, 1e3, 2e3,
    5e3, 1e4, 1e5, 1e6,
];

/// The data as text that is safe within a script element.
#[derive(Debug)]
pub(crate) struct Embedded {
    pub(crate) json: String,
    /// The rows of `--format csv`, compressed.
    pub(crate) csv: String,
}

/// Candidate, block, attempt, seconds since the run began, rows of the CSV.
type TrialPart = (Option<usize>, u32, u32, f64, usize);

/// The time course of a phase in one trial of a candidate: pairs of seconds since the phase began and a value.
#[derive(Serialize)]
struct CoursePart {
    phase: usize,
    candidate: usize,
    /// Bytes that had not reached the device.
    unwritten: Vec<(f64, f64)>,
    /// Bytes per second that a modelled device read and wrote; `queue` has the number of requests inside it.
    rate: Vec<(f64, f64)>,
    queue: Vec<(f64, f64)>,
    /// Work per second, as the operation or program counted it itself; `work_unit` is its unit.
    work: Vec<(f64, f64)>,
    work_unit: &'static str,
}

pub(crate) fn embedded(report: &Report<'_>) -> Result<Embedded, ReportError> {
    let (trials, _) = thinning::choose(report.judged.run);
    let csv = match &report.rows {
        Some(packed) => packed.clone(),
        None => packed_rows(report.judged.plan, report.judged.run)?,
    };
    Ok(Embedded { json: json_of(report, &trials)?, csv })
}

/// The CSV rows of a run for its page, compressed. This is the slowest part of a page and needs no judgement. Stronger
/// compression takes twice the time and saves one per cent.
pub fn packed_rows(plan: &Plan, run: &Run) -> Result<String, ReportError> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    let mut rows = CsvRows::from_writer(&mut packed);
    csv::write_trials(plan, run, &thinning::choose(run).0, &mut rows).map_err(csv::unwrapped)?;
    rows.flush()?;
    drop(rows);
    Ok(STANDARD.encode(packed.finish()?))
}

fn json_of(report: &Report<'_>, trials: &[&Trial]) -> Result<String, ReportError> {
    let judged = &report.judged;
    let candidates = judged.candidates.iter().map(|entry| {
        JsonObject::new("name", entry.name).with("measured", entry.status == CandidateStatus::Ok)
    });
    let phases = judged.phases.iter().map(|phase| {
        // The name of a phase in the CSV rows is its cell.
        JsonObject::new("name", &phase.name)
            .with("cell", csv::cell(&phase.name))
            .with("headline", judged.is_headline(phase))
    });
    let trial_parts: Vec<TrialPart> = trials.iter().map(|trial| trial_part(report, trial)).collect();
    let data = JsonObject::new("report", json::build_document(report))
        .with("goal", &judged.plan.goal.metric)
        .with("candidates", candidates.collect::<Vec<_>>())
        .with("phases", phases.collect::<Vec<_>>())
        .with("metrics", describe_metrics(trials))
        .with("trials", trial_parts)
        .with("latency", describe_latencies(report))
        .with("courses", course_parts(report));
    Ok(harmless(&serde_json::to_string(&data)?))
}

/// Escapes JSON so that it can neither end its script element nor hide characters.
fn harmless(json: &str) -> String {
    make_json_displayable(json).replace('<', "\\u003c")
}

/// Every metric that the trials have, in the order of first appearance.
fn describe_metrics<'a>(trials: &[&'a Trial]) -> Vec<JsonObject<'a>> {
    let mut metrics: Vec<&Measurement> = Vec::new();
    for found in trials.iter().flat_map(|trial| &trial.observations).flat_map(|found| &found.measurements) {
        if !metrics.iter().any(|known| known.metric == found.metric) {
            metrics.push(found);
        }
    }
    let describe = |found: &'a Measurement| {
        let better = match found.direction() {
            Better::Lower => "lower",
            Better::Higher => "higher",
            Better::Neither => "neither",
        };
        JsonObject::new("name", &found.metric)
            .with("cell", csv::cell(&found.metric))
            .with("unit", found.unit.word())
            .with("better", better)
            .with("meaning", metric(&found.metric).map_or("", |known| known.meaning))
    };
    metrics.into_iter().map(describe).collect()
}

fn trial_part(report: &Report<'_>, trial: &Trial) -> TrialPart {
    let candidate = report.judged.candidates.iter().position(|entry| entry.name == trial.id.candidate);
    let since = trial.started.duration_since(report.judged.run.header.started).as_secs_f64();
    let rows = trial.observations.iter().map(|observation| observation.measurements.len()).sum();
    (candidate, trial.id.block, trial.id.attempt, since, rows)
}

fn describe_latencies<'a>(report: &'a Report<'_>) -> Vec<JsonObject<'a>> {
    let describe = |((phase, call, candidate), counts): ((usize, &'a str, usize), LatencyCounts)| {
        let calls: u64 = counts.values().sum();
        // Leaves out percentiles that are finer than the number of calls can show.
        let shown = ONE_IN.into_iter().filter(|one_in| *one_in <= calls as f64);
        // Pairs of N and seconds: one call in N took longer than that many seconds.
        let curve = shown.filter_map(|one_in| Some((one_in, latency_at(&counts, 1.0 - 1.0 / one_in)?)));
        let curve: Vec<(f64, f64)> = curve.collect();
        JsonObject::new("phase", phase)
            .with("call", call)
            .with("candidate", candidate)
            .with("calls", calls)
            .with("curve", curve)
    };
    latencies(&report.judged).into_iter().map(describe).collect()
}

/// The time courses of the trial that is shown with its requests, or else of the first trial.
fn course_parts(report: &Report<'_>) -> Vec<CoursePart> {
    let mut parts = Vec::new();
    for (candidate, entry) in report.judged.candidates.iter().enumerate() {
        let asked = report.requests.iter().find(|requests| requests.candidate == entry.name);
        let own = |trial: &&&Trial| {
            trial.id.candidate == entry.name && asked.is_none_or(|requests| requests.block == trial.id.block)
        };
        let Some(trial) = report.judged.trials.iter().find(own) else { continue };
        for observation in &trial.observations {
            let phase = report.judged.phases.iter().position(|phase| phase.name == observation.phase);
            let Some(phase) = phase.filter(|at| report.judged.phases[*at].planned) else { continue };
            let span =
                trial.value(&observation.phase, "began").zip(trial.value(&observation.phase, "durable"));
            let within = |values: Vec<f64>| match (asked, span) {
                (Some(requests), Some((began, durable))) => {
                    let wide = (requests.to - requests.from) / values.len().max(1) as f64;
                    let places = values.into_iter().enumerate();
                    let placed =
                        places.map(|(at, value)| (requests.from + (at as f64 + 0.5) * wide - began, value));
                    placed
                        .filter(|(at, _)| (0.0..=durable).contains(at))
                        .map(|(at, value)| rounded(at, value))
                        .collect()
                }
                _ => Vec::new(),
            };
            let both = |requests: &Requests| {
                requests.rates[0]
                    .iter()
                    .zip(&requests.rates[1])
                    .map(|(read, written)| read + written)
                    .collect()
            };
            let part = CoursePart {
                phase,
                candidate,
                unwritten: observation
                    .unwritten
                    .iter()
                    .map(|(at, bytes)| (*at as f64 / 1e3, *bytes as f64))
                    .collect(),
                rate: within(asked.map(both).unwrap_or_default()),
                queue: within(asked.map(|requests| requests.depth.clone()).unwrap_or_default()),
                work: observation.course.as_ref().map(work_points).unwrap_or_default(),
                work_unit: observation.course.as_ref().map_or("", |course| course.unit.word()),
            };
            if [&part.unwritten, &part.rate, &part.queue, &part.work].iter().any(|course| course.len() > 1) {
                parts.push(part);
            }
        }
    }
    parts
}

/// Each rate at the middle of its interval of time.
fn work_points(course: &WorkCourse) -> Vec<(f64, f64)> {
    let place = |(at, rate): (usize, &f64)| rounded((at as f64 + 0.5) * course.every, *rate);
    course.rates.iter().enumerate().map(place).collect()
}

fn rounded(at: f64, value: f64) -> (f64, f64) {
    let fine = |value: f64, parts: f64| libm::round(value * parts) / parts;
    (fine(at, 1e4), if value > 100.0 { fine(value, 1.0) } else { fine(value, 100.0) })
}

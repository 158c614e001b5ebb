//! `--format json`: the stable, versioned form for programs. docs/reference/output-formats.md describes every field.

use serde::{Serialize, Serializer};

use crate::model::JsonObject;
use crate::topics::SECTIONS;
use crate::topics::across::SideBySide;
use crate::wording::candidates::explain_missing_result;
use crate::{PageNote, Report};
use fsverdict_judgement::journal::CandidateStatus;
use fsverdict_judgement::plan::{AXES, Axis, Candidate, Goal};
use fsverdict_judgement::verdict::{AcrossColumn, CandidateEntry, TrialBasis};

/// Version of the format: raised when a field changes its meaning or goes, not when one is added.
pub const SCHEMA: u32 = 1;

/// Filesystem and options, each by its key; nothing where the plan no longer names the candidate.
struct ChosenOptions<'a>(Option<&'a Candidate>);

impl Serialize for ChosenOptions<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let unnamed = Candidate::with_defaults("");
        let level = |axis: &Axis| match self.0 {
            Some(candidate) => axis.level(candidate),
            None => axis.level(&unnamed).default_level(),
        };
        let chosen = AXES.iter().filter(|axis| axis.is_chosen());
        serializer.collect_map(chosen.map(|axis| {
            let level = level(axis);
            (axis.key_of(&level.text()), level)
        }))
    }
}

/// The whole document; the HTML report carries it too.
pub(crate) fn build_document<'a>(report: &'a Report<'a>) -> JsonObject<'a> {
    let judged = &report.judged;
    let columns = report.across.iter().flat_map(SideBySide::columns);
    let kernels = report.across.as_ref().map_or(&[][..], |across| &across.found.kernels);
    let document = JsonObject::new("schema", SCHEMA)
        .with("run", describe_run(report))
        .with("candidates", in_plan_order(report).map(describe_candidate).collect::<Vec<_>>())
        .with("estimates", &judged.estimates)
        .with("verdict", describe_verdict(report))
        .with(
            "strata",
            columns.map(|(column, words)| describe_environment(column, words)).collect::<Vec<_>>(),
        )
        .with("kernels", kernels)
        .with("findings", &judged.findings)
        .with("legacy", &judged.combined)
        .with("raw_shares", &judged.raw_shares);
    let document = SECTIONS.iter().fold(document, |document, topic| (topic.add_data)(report, document));
    document
        .with_some("to_use", report.to_use.as_ref())
        .with_list("guarantees", &report.guarantees)
        .with_some("drawbacks", report.drawbacks())
}

fn describe_run<'a>(report: &'a Report<'a>) -> JsonObject<'a> {
    let (plan, run) = (report.judged.plan, report.judged.run);
    let header = &run.header;
    let mut environment = header.environment.clone();
    if let Some(harness) = report.judged.harness {
        match harness.simulated {
            Some(seconds) => environment.insert("harness.simulated".to_owned(), format!("{seconds:.3}")),
            None => environment.insert("harness.share".to_owned(), format!("{:.4}", harness.share)),
        };
        environment.insert("harness.settle".to_owned(), format!("{:.4}", harness.settle));
        for (part, share) in harness.overhead_parts() {
            environment.insert(format!("harness.{part}"), format!("{share:.4}"));
        }
    }
    let invalid = run.invalid_blocks().map(|(block, rule)| {
        JsonObject::new("block", block.block).with("attempt", block.attempt).with("rule", rule)
    });
    let ended = run.finished.as_ref();
    JsonObject::new("id", &header.id)
        .with("title", &header.title)
        .with("started", header.started)
        .with("lab", &header.lab)
        .with("lab_reason", &header.lab_reason)
        .with("fidelity", &header.fidelity)
        .with("plan_digest", &header.plan_digest)
        .with_some("work", plan.work.as_ref())
        .with("seed", plan.protocol.seed)
        .with("blocks", run.complete_blocks())
        .with("blocks_invalid", run.invalid_blocks().count())
        .with("invalid", invalid.collect::<Vec<_>>())
        .with("provisional", matches!(report.judged.basis, TrialBasis::OpenBlock(_)))
        .with("complete", run.finished.is_some())
        .with("ended", ended.map(|why| JsonObject::new("reason", why).with("by", run.ending)))
        .with("environment", environment)
}

fn describe_verdict<'a>(report: &'a Report<'a>) -> impl Serialize + 'a {
    let goal = Goal { weights: report.judged.objective.weights.clone(), ..report.judged.plan.goal.clone() };
    let words = JsonObject::new("words", report.paragraph.as_deref())
        .with("cautions", report.notes.iter().map(PageNote::line).collect::<Vec<_>>());
    JsonObject::new("goal", goal).around(&report.judged.verdict, words)
}

fn describe_environment<'a>(column: &'a AcrossColumn, words: &'a str) -> impl Serialize + 'a {
    let words = JsonObject::new("words", words);
    JsonObject::new("under", &column.under).around(&column.result.verdict, words)
}

/// The order of a data format must not hang on the numbers.
fn in_plan_order<'a>(report: &'a Report<'a>) -> impl Iterator<Item = &'a CandidateEntry<'a>> {
    let states = report.judged.run.candidates.iter();
    states.filter_map(|state| report.judged.find_entry(&state.name))
}

fn describe_candidate<'a>(entry: &'a CandidateEntry<'a>) -> impl Serialize + 'a {
    let (status, reason) = match entry.status {
        CandidateStatus::Ok => ("ok", explain_missing_result(entry)),
        CandidateStatus::Failed => ("failed", explain_missing_result(entry)),
        CandidateStatus::Untried if entry.why.is_nothing() => ("skipped", "not tried yet".to_owned()),
        CandidateStatus::Skipped | CandidateStatus::Untried => ("skipped", explain_missing_result(entry)),
    };
    let rest = JsonObject::default()
        .with_some("under", entry.plan.map(|plan| &plan.under).filter(|under| !under.is_plain()))
        .with("status", status)
        .with("reason", reason)
        .with("hint", entry.hint);
    JsonObject::new("name", entry.name).around(ChosenOptions(entry.plan), rest)
}

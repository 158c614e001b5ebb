//! `--format json`: the stable, versioned form for programs. docs/reference/output-formats.md describes every field.

use serde::{Serialize, Serializer};

use crate::topics::across::SideBySide;
use crate::topics::{SECTIONS, TopicData};
use crate::wording::candidates::explain_missing_result;
use crate::{Guarantees, PageNote, Report, ToUse};
use fsverdict_judgement::journal::{CandidateStatus, Ending, Facts};
use fsverdict_judgement::plan::{AXES, Axis, Candidate, Environment, Goal, WorkSource};
use fsverdict_judgement::verdict::{
    CandidateEntry, Combined, KernelPair, PhaseEstimate, RawShare, ThenAndNow, TrialBasis, Verdict,
};

/// Version of the format: raised when a field changes its meaning or goes, not when one is added.
pub const SCHEMA: u32 = 1;

/// The whole document; the HTML report carries it too.
#[derive(Serialize)]
pub(crate) struct RunDocument<'a> {
    schema: u32,
    run: RunJson<'a>,
    candidates: Vec<RunCandidateJson<'a>>,
    estimates: &'a [PhaseEstimate],
    verdict: VerdictPart<'a>,
    strata: Vec<EnvironmentJson<'a>>,
    kernels: &'a [KernelPair],
    findings: &'a [ThenAndNow],
    legacy: Option<&'a Combined>,
    raw_shares: &'a [RawShare],
    /// The data of topics that are no part of the verdict.
    #[serde(flatten)]
    topics: TopicsJson<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    to_use: Option<&'a ToUse>,
    #[serde(skip_serializing_if = "<[Guarantees]>::is_empty")]
    guarantees: &'a [Guarantees],
    #[serde(skip_serializing_if = "Option::is_none")]
    drawbacks: Option<String>,
}

#[derive(Serialize)]
struct RunJson<'a> {
    id: &'a str,
    title: &'a str,
    started: jiff::Timestamp,
    lab: &'a str,
    lab_reason: &'a str,
    fidelity: &'a str,
    plan_digest: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    work: Option<&'a WorkSource>,
    seed: u64,
    blocks: usize,
    blocks_invalid: usize,
    invalid: Vec<InvalidPart<'a>>,
    provisional: bool,
    complete: bool,
    ended: Option<EndPart<'a>>,
    environment: Facts,
}

#[derive(Serialize)]
struct InvalidPart<'a> {
    block: u32,
    attempt: u32,
    rule: &'a str,
}

#[derive(Serialize)]
struct EndPart<'a> {
    reason: &'a str,
    by: Option<Ending>,
}

#[derive(Serialize)]
struct RunCandidateJson<'a> {
    name: &'a str,
    #[serde(flatten)]
    chosen: ChosenOptions<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    under: Option<&'a Environment>,
    status: &'static str,
    reason: String,
    hint: &'a str,
}

struct TopicsJson<'a>(Vec<TopicData<'a>>);

impl Serialize for TopicsJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, data)| (key, data)))
    }
}

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

#[derive(Serialize)]
struct VerdictPart<'a> {
    goal: Goal,
    #[serde(flatten)]
    verdict: &'a Verdict,
    words: Option<&'a str>,
    cautions: Vec<String>,
}

/// The conclusions in some environments, where a run has several.
#[derive(Serialize)]
struct EnvironmentJson<'a> {
    under: &'a Environment,
    #[serde(flatten)]
    verdict: &'a Verdict,
    words: &'a str,
}

pub(crate) fn build_document<'a>(report: &'a Report<'a>) -> RunDocument<'a> {
    let (run, verdict) = (report.judged.run, &report.judged.verdict);
    let mut environment = run.header.environment.clone();
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
    RunDocument {
        schema: SCHEMA,
        run: RunJson {
            id: &run.header.id,
            title: &run.header.title,
            started: run.header.started,
            lab: &run.header.lab,
            lab_reason: &run.header.lab_reason,
            fidelity: &run.header.fidelity,
            plan_digest: &run.header.plan_digest,
            work: report.judged.plan.work.as_ref(),
            seed: report.judged.plan.protocol.seed,
            blocks: run.complete_blocks(),
            blocks_invalid: run.invalid_blocks().count(),
            invalid: run
                .invalid_blocks()
                .map(|(state, rule)| InvalidPart { block: state.block, attempt: state.attempt, rule })
                .collect(),
            provisional: matches!(report.judged.basis, TrialBasis::OpenBlock(_)),
            complete: run.finished.is_some(),
            ended: run.finished.as_deref().map(|reason| EndPart { reason, by: run.ending }),
            environment,
        },
        candidates: in_plan_order(report).map(candidate).collect(),
        estimates: &report.judged.estimates,
        verdict: VerdictPart {
            goal: Goal {
                metric: report.judged.plan.goal.metric.clone(),
                by: report.judged.plan.goal.by,
                weights: report.judged.objective.weights.clone(),
                require: report.judged.plan.goal.require.clone(),
                one_ranking: report.judged.plan.goal.one_ranking,
                protection: report.judged.plan.goal.protection.clone(),
                safeguards: report.judged.plan.goal.safeguards.clone(),
            },
            verdict,
            words: report.paragraph.as_deref(),
            cautions: report.notes.iter().map(PageNote::line).collect(),
        },
        strata: report
            .across
            .iter()
            .flat_map(SideBySide::columns)
            .map(|(column, words)| EnvironmentJson { under: &column.under, verdict: &column.verdict, words })
            .collect(),
        kernels: report.across.as_ref().map_or(&[], |across| across.found.kernels.as_slice()),
        findings: &report.judged.findings,
        legacy: report.judged.combined.as_ref(),
        raw_shares: &report.judged.raw_shares,
        topics: TopicsJson(SECTIONS.iter().filter_map(|topic| (topic.data)(report)).collect()),
        to_use: report.to_use.as_ref(),
        guarantees: &report.guarantees,
        drawbacks: report.drawbacks(),
    }
}

/// The order of a data format must not hang on the numbers.
fn in_plan_order<'a>(report: &'a Report<'a>) -> impl Iterator<Item = &'a CandidateEntry<'a>> {
    let states = report.judged.run.candidates.iter();
    states.filter_map(|state| report.judged.candidates.iter().find(|entry| entry.name == state.name))
}

fn candidate<'a>(entry: &'a CandidateEntry<'a>) -> RunCandidateJson<'a> {
    let (status, reason) = match entry.status {
        CandidateStatus::Ok => ("ok", explain_missing_result(entry)),
        CandidateStatus::Failed => ("failed", explain_missing_result(entry)),
        CandidateStatus::Untried if entry.why.is_nothing() => ("skipped", "not tried yet".to_owned()),
        CandidateStatus::Skipped | CandidateStatus::Untried => ("skipped", explain_missing_result(entry)),
    };
    let plan = entry.plan;
    RunCandidateJson {
        name: entry.name,
        chosen: ChosenOptions(plan),
        under: plan.map(|plan| &plan.under).filter(|under| !under.is_plain()),
        status,
        reason,
        hint: entry.hint,
    }
}

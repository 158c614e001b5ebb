//! A run as a cell of an atlas: its answers with and without requirements, numbers for a picture, and the basis of the
//! answer. It is read from the run's judgement, so that a page agrees with the run's own report.

use jiff::civil::Date;
use jiff::tz::TimeZone;

use crate::Report;
use crate::run::describe_source;
use crate::wording::candidates::{describe_status, explain_missing_result};
use crate::wording::difference::{describe_total, is_of_time, of_what};
use crate::wording::{TextTable, capitalize, decimals, fixed, one_line};
use fsverdict_judgement::journal::{CandidateStatus, Run, metric};
use fsverdict_judgement::plan::{Candidate, Plan, ProtectionFeature, write};
use fsverdict_judgement::verdict::{Answer, Estimate, RunnerUp, compare_all};

/// A run as a cell of an atlas.
#[derive(Debug, Clone)]
pub struct ComputedCell {
    /// The answer for each filter of the atlas, in its order; `None` where no candidate meets it.
    pub answers: Vec<Option<Answer>>,
    /// The verdict in two sentences.
    pub sentence: String,
    /// The properties that the recommended filesystem lacks and another has.
    pub drawbacks: Option<String>,
    /// Cautions and limits, without full stops.
    pub notes: Vec<String>,
    /// All candidates with a result, the recommended one first.
    pub bars: Vec<CandidateBar>,
    /// Whether a bar is time; words such as "takes" do not suit anything else.
    pub is_of_time: bool,
    /// Candidates without a result, each with the reason.
    pub missing: Vec<(String, String)>,
    /// The goal's metric by candidate and phase.
    pub(crate) phases: Option<TextTable>,
    /// The basis of the answer: labels and texts.
    pub basis: Vec<(&'static str, String)>,
    /// The effect of each option on its filesystem.
    pub options: Vec<OptionWorth>,
    /// The plan, as a file to run again.
    pub plan: String,
    pub digest: String,
    pub kernel: String,
    /// The day on which the run began.
    pub day: Date,
}

/// A candidate in the picture of a cell.
#[derive(Debug, Clone)]
pub struct CandidateBar {
    pub name: String,
    pub filesystem: String,
    /// How many times as much as the first it takes; exactly 1 for the first.
    pub times: Estimate,
    /// The goal in its unit, where it is a total.
    pub total: Option<String>,
    /// The features by which it is protected more or less than usual.
    pub protection: String,
}

/// How many times as much a candidate takes with an option as without it.
#[derive(Debug, Clone)]
pub struct OptionWorth {
    pub filesystem: String,
    pub option: String,
    pub times: Estimate,
}

impl ComputedCell {
    /// Reads a cell from the report of all candidates of a run and of those without a requirement. `answers` are those
    /// for each filter.
    pub fn new(whole: &Report<'_>, usual: &Report<'_>, answers: Vec<Option<Answer>>) -> Self {
        let judged = &whole.judged;
        let (plan, run) = (judged.plan, judged.run);
        let first = answers.iter().flatten().next().map(|answer| answer.first.clone());
        let others = first.as_deref().map_or(Vec::new(), |first| compare_all(judged, first));
        let alone =
            Estimate { point: 1.0, low: None, high: None, n: others.first().map_or(0, |one| one.times.n) };
        let first_bar = first.iter().map(|name| RunnerUp { name: name.clone(), times: alone });
        let bars =
            first_bar.chain(others.iter().cloned()).map(|one| describe_bar(usual, plan, one)).collect();
        let missing = judged.candidates.iter().filter(|entry| entry.status != CandidateStatus::Ok);
        let missing = missing.map(|entry| {
            let reason = format!("{}: {}", describe_status(entry), one_line(&explain_missing_result(entry)));
            (entry.name.to_owned(), reason)
        });
        ComputedCell {
            answers,
            sentence: usual.sentence.clone(),
            drawbacks: usual.drawbacks().map(|text| capitalize(&text)),
            notes: usual
                .notes
                .iter()
                .filter(|note| !note.detail)
                .map(|note| one_line(&note.line()))
                .collect(),
            bars,
            is_of_time: is_of_time(judged),
            missing: missing.collect(),
            phases: whole
                .picture
                .as_ref()
                .map(|matrix| matrix.to_text(|cell| fixed(cell.value, decimals(cell.value, Some(0.02))))),
            basis: describe_basis(plan, run, whole),
            options: first.map_or(Vec::new(), |_| option_worths(whole)),
            plan: write(&Plan { protocol: without_budget(plan), ..plan.clone() }),
            digest: run.header.plan_digest.clone(),
            kernel: run.header.kernel().map_or_else(|| "unknown".to_owned(), |kernel| one_line(kernel)),
            day: run.header.started.to_zoned(TimeZone::UTC).date(),
        }
    }

    /// The answer without a requirement.
    pub fn answer(&self) -> Option<&Answer> {
        self.answers.first()?.as_ref()
    }
}

fn without_budget(plan: &Plan) -> fsverdict_judgement::plan::Protocol {
    let mut protocol = plan.protocol.clone();
    protocol.budget = None;
    protocol
}

fn describe_bar(usual: &Report<'_>, plan: &Plan, one: RunnerUp) -> CandidateBar {
    let candidate = plan.find_candidate(&one.name);
    let protection = plan.goal.protection_of(&one.name);
    let features: Vec<&str> = protection.features().map(ProtectionFeature::adjective).collect();
    CandidateBar {
        total: describe_total(&usual.judged, &one.name),
        filesystem: candidate.map_or_else(String::new, |candidate| candidate.filesystem.clone()),
        protection: features.join(", "),
        name: one.name,
        times: one.times,
    }
}

fn describe_basis(plan: &Plan, run: &Run, report: &Report<'_>) -> Vec<(&'static str, String)> {
    let counted = run.counted_trials().count();
    let work = plan.work.as_ref().map(describe_source);
    let blocks = run.complete_blocks();
    let ended = run.finished.as_deref().map(one_line);
    let goal = plan.goal.metric.as_str();
    let title = metric(goal).map_or(goal, |known| known.title);
    let texts = [
        ("Goal", Some(one_line(&format!("{title} {}", of_what(&report.judged))))),
        ("Trials", Some(format!("{counted} trials in {blocks} blocks, each on another device of the class"))),
        ("Ended", ended),
        ("Device and clock", Some(one_line(&run.header.fidelity))),
        ("Work", work.map(|work| one_line(&work))),
        ("Noise", report.noise.as_deref().map(one_line)),
    ];
    texts.into_iter().filter_map(|(label, text)| Some((label, text?))).collect()
}

/// Each candidate with one option or layer, beside the plain one of its filesystem.
fn option_worths(report: &Report<'_>) -> Vec<OptionWorth> {
    let plan = report.judged.plan;
    let is_plain = |one: &Candidate| one.is_same_but_for_name(&Candidate::with_defaults(&one.filesystem));
    let mut worths = Vec::new();
    for base in plan.candidates.iter().filter(|one| is_plain(one)) {
        let compared = compare_all(&report.judged, &base.name);
        for other in
            plan.candidates.iter().filter(|one| one.filesystem == base.filesystem && one.name != base.name)
        {
            if let Some(found) = compared.iter().find(|one| one.name == other.name) {
                let (filesystem, times) = (base.filesystem.clone(), found.times);
                worths.push(OptionWorth { filesystem, option: describe_options(other), times });
            }
        }
    }
    worths
}

/// The options of a candidate: `-o compress=zstd`, `on LUKS 2`.
fn describe_options(candidate: &Candidate) -> String {
    let mount = (!candidate.mount.is_empty()).then(|| format!("-o {}", candidate.mount.join(",")));
    let mkfs = (!candidate.mkfs.is_empty()).then(|| candidate.mkfs.join(" "));
    let layers: Vec<String> = candidate.layers.names().map(|layer| format!("on {layer}")).collect();
    let layers = (!layers.is_empty()).then(|| layers.join(" "));
    one_line(&[mkfs, mount, layers].into_iter().flatten().collect::<Vec<_>>().join(" "))
}

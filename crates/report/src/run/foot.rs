//! The foot of a run's page: the basis of the verdict, and the next steps.

use crate::Report;
use crate::page::{Media, PageBlock, ReportPage, Text, build_remarks};
use crate::topics::factors;
use crate::wording::text::{count, listing};
use crate::wording::{candidates, harness};
use fsverdict_judgement::journal::{CandidateStatus, TrialStanding};
use fsverdict_judgement::plan::WorkSource;
use fsverdict_judgement::statistics::FEWEST;
use fsverdict_judgement::verdict::{Judgement, Outcome, TrialBasis};
use fsverdict_text::quoted;

pub(super) fn add_foot(report: &Report<'_>, page: &mut ReportPage<'_>) {
    let run = report.judged.run;
    let header = &run.header;
    let mut line = |shown: Media, label: &'static str, text: String| {
        page.add(shown, PageBlock::Labelled(label, text));
    };
    line(Media::TERMINAL, "Trials", trials(report));
    line(Media::MARKDOWN, "Trials", candidates::count_candidates(&report.judged));
    line(Media::MARKDOWN, "Lab", header.lab.clone());
    line(Media::MARKDOWN, "Fidelity", header.fidelity.clone());
    report.judged.plan.work.iter().for_each(|work| line(Media::TEXT, "Work", describe_source(work)));
    let factors = factors::write_sentence(&report.judged);
    for (label, text) in [("Ended", &run.finished), ("Noise", &report.noise), ("Options", &factors)] {
        text.iter().for_each(|text| line(Media::TEXT, label, text.clone()));
    }
    line(Media::TERMINAL, "Lab", join(&header.lab, &header.lab_reason));
    line(Media::TERMINAL, "Fidelity", header.fidelity.clone());
    if let Some(harness) = report.judged.harness {
        line(Media::TEXT, "Harness", harness::write_sentence(&harness));
    }
    let brief = report.notes.iter().filter(|note| !note.detail);
    page.add(Media::BRIEF, build_remarks("Cautions", brief));
    page.add(Media::DETAIL, build_remarks("Cautions", report.notes.iter()));
    page.add(Media::MARKDOWN, build_remarks("Caution", report.notes.iter()));
    if let Some(folder) = &report.folder {
        page.add(Media::TERMINAL, PageBlock::Labelled("Run", folder.display().to_string()));
    }
    page.add(Media::BRIEF, PageBlock::Next("Next", next(report, false)));
    page.add(Media::DETAIL, PageBlock::Next("Next", next(report, true)));
    // Last, where it is seen.
    if let Some(file) = &report.page {
        page.add(Media::TERMINAL, PageBlock::Next("Page", vec![(file.display().to_string(), None)]));
    }
    let of = Text::ours("Run ").code(&header.id).plain(", plan ").code(&header.plan_digest).plain(".");
    page.add(Media::MARKDOWN, PageBlock::Paragraph(of));
}

/// `a week at a laptop; recorded from programs: SQLite 3.40, …`.
pub(super) fn describe_source(work: &WorkSource) -> String {
    let kinds: Vec<&str> = work.kinds.iter().map(|kind| kind.describe()).collect();
    let job = work.job.as_ref().map_or(String::new(), |job| format!("{job}; "));
    format!("{job}{}: {}", listing(&kinds, kinds.len()), work.source)
}

fn trials(report: &Report<'_>) -> String {
    let trials = report.judged.run.trials.iter();
    let used = trials.clone().filter(|trial| trial.standing != TrialStanding::Discarded).count();
    let mut text = match report.judged.basis {
        TrialBasis::Nothing => format!("{used}; {}", candidates::count_candidates(&report.judged)),
        _ => format!("{used} in {}", candidates::count_candidates(&report.judged)),
    };
    match trials.count() - used {
        0 => {}
        discarded => text.push_str(&format!("; {} discarded", count(discarded, "trial"))),
    }
    text
}

fn join(one: &str, other: &str) -> String {
    if other.is_empty() { one.to_owned() } else { format!("{one}: {other}") }
}

/// How many blocks an ended run lacks for any conclusion.
fn too_few(judged: &Judgement<'_>) -> Option<u32> {
    let lacks = FEWEST.checked_sub(u32::try_from(judged.run.complete_blocks()).unwrap_or(FEWEST))?;
    let open = judged.verdict.outcome == Outcome::Undecided && judged.verdict.refused.is_none();
    let compared = judged.basis != TrialBasis::Nothing && judged.verdict.ranking.len() > 1;
    (lacks > 0 && open && compared && judged.run.finished.is_some()).then_some(lacks)
}

/// The commands to type next, each with its purpose.
fn next(report: &Report<'_>, all: bool) -> Vec<(String, Option<&'static str>)> {
    let Some(folder) = &report.folder else { return Vec::new() };
    let (judged, folder) = (&report.judged, quoted(&folder.display().to_string()));
    let mut lines = Vec::new();
    let mut add = |line: String, purpose: &'static str| lines.push((line, Some(purpose)));
    let shared = judged.run.is_merged();
    if judged.run.finished.is_none() && shared {
        add(format!("fsverdict block {folder} --site NAME --block N"), "does the next block of a site");
    } else if judged.run.finished.is_none() {
        add(format!("fsverdict resume {folder}"), "goes on where it stopped");
    } else if let Some(more) = judged
        .verdict
        .first_to_settle()
        .and_then(|pair| pair.more_blocks)
        .filter(|_| !shared && judged.verdict.inseparable_candidates(judged.plan.protocol.tie).is_none())
    {
        add(format!("fsverdict resume {folder} --more {more}"), "may settle what is open");
    }
    if let Some(more) = too_few(judged).filter(|_| !shared) {
        add(format!("fsverdict resume {folder} --more {more}"), "to as many blocks as a conclusion takes");
    }
    if judged.with_status(CandidateStatus::Skipped).next().is_some() {
        add("fsverdict doctor".to_owned(), "what the skipped candidates need");
    }
    if judged.basis != TrialBasis::Nothing {
        add(format!("fsverdict report {folder} --format csv"), "or json, markdown");
        if !all {
            add(format!("fsverdict report {folder} --all"), "with every table");
        }
    }
    lines
}

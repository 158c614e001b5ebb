//! The foot of a run's page: the basis of the verdict, and the next steps.

use crate::page::{Media, PageBlock, ReportPage, Text, build_remarks};
use crate::topics::{factors, free_computation};
use crate::wording::{candidates, count, harness, listing, one_line, shorten_to_clauses};
use crate::{PageNote, Report};
use fsverdict_judgement::journal::{CandidateStatus, Ending, Trial, TrialStanding};
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
    line(Media::BRIEF, "Stands on", describe_basis(report));
    line(Media::DETAIL, "Trials", trials(report));
    line(Media::MARKDOWN, "Trials", candidates::count_candidates(&report.judged));
    line(Media::MARKDOWN, "Lab", header.lab.clone());
    line(Media::MARKDOWN, "Fidelity", header.fidelity.clone());
    report.judged.plan.work.iter().for_each(|work| line(Media::FULL_TEXT, "Work", describe_source(work)));
    let factors = factors::write_sentence(&report.judged);
    let ended = describe_ending(report);
    for (label, text) in [("Ended", &ended), ("Noise", &report.noise), ("Options", &factors)] {
        text.iter().for_each(|text| line(Media::FULL_TEXT, label, text.clone()));
    }
    line(Media::DETAIL, "Lab", join(&header.lab, &header.lab_reason));
    line(Media::DETAIL, "Fidelity", header.fidelity.clone());
    if let Some(harness) = report.judged.harness {
        line(Media::FULL_TEXT, "Harness", harness::write_sentence(&harness));
    }
    page.add(Media::BRIEF, build_remarks("Cautions", &list_brief_notes(report)));
    page.add(Media::DETAIL, build_remarks("Cautions", &report.notes));
    page.add(Media::MARKDOWN, build_remarks("Caution", &report.notes));
    if let Some(folder) = &report.folder {
        page.add(Media::DETAIL, PageBlock::Labelled("Run", folder.display().to_string()));
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
pub(crate) fn describe_source(work: &WorkSource) -> String {
    let kinds: Vec<&str> = work.kinds.iter().map(|kind| kind.describe()).collect();
    let job = work.job.as_ref().map_or(String::new(), |job| format!("{job}; "));
    format!("{job}{}: {}", listing(&kinds, kinds.len()), work.source)
}

/// Why the run ended. Its stopping rule looks at times alone, and calls a run recommended whose recommendation is withheld
/// for another reason.
pub(super) fn describe_ending(report: &Report<'_>) -> Option<String> {
    let (run, verdict) = (report.judged.run, &report.judged.verdict);
    let is_withheld = run.ending == Some(Ending::Rule)
        && (free_computation::list_undecidable(&report.judged).is_some() || !verdict.unevaluated.is_empty());
    match is_withheld {
        true => Some(format!("the times are decided after {}", count(verdict.blocks, "block"))),
        false => run.finished.clone(),
    }
}

/// The most cautions that a terminal shows without `--all`.
const MOST_CAUTIONS: usize = 2;
/// The columns of the line on the basis of the verdict: all of it, at the usual width.
const BASIS: usize = 70;

/// The gravest cautions that could change the decision, and the number of all others.
fn list_brief_notes(report: &Report<'_>) -> Vec<PageNote> {
    // Of a run at several sites, each shard that is left out has a caution.
    let most = if report.judged.run.is_merged() { usize::MAX } else { MOST_CAUTIONS };
    let brief = report.notes.iter().filter(|note| !note.detail).take(most);
    let mut notes: Vec<PageNote> = brief.cloned().collect();
    let more = report.notes.len() - notes.len();
    if more > 0 {
        notes.push(PageNote::about_the_run(format!("{more} more with --all")));
    }
    notes
}

/// The amount of data behind the verdict and the kind of device, on one line.
fn describe_basis(report: &Report<'_>) -> String {
    let trials = count(used_trials(report).count(), "trial");
    let sample = match report.judged.basis {
        TrialBasis::Blocks(blocks) => format!("{trials} in {}", count(blocks, "block")),
        _ => trials,
    };
    if report.judged.run.is_merged() {
        return format!("{sample}, {}", report.judged.run.header.lab_reason);
    }
    let room = BASIS.saturating_sub(sample.len() + 2);
    format!("{sample}; {}", shorten_to_clauses(&one_line(&report.judged.run.header.fidelity), room))
}

/// The trials that no other attempt replaces.
fn used_trials<'a>(report: &'a Report<'_>) -> impl Iterator<Item = &'a Trial> {
    report.judged.run.trials.iter().filter(|trial| trial.standing != TrialStanding::Discarded)
}

fn trials(report: &Report<'_>) -> String {
    let used = used_trials(report).count();
    let mut text = match report.judged.basis {
        TrialBasis::Nothing => format!("{used}; {}", candidates::count_candidates(&report.judged)),
        _ => format!("{used} in {}", candidates::count_candidates(&report.judged)),
    };
    match report.judged.run.trials.len() - used {
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
        .filter(|_| !shared && judged.verdict.outcome == Outcome::Undecided)
        .filter(|_| judged.verdict.inseparable_candidates(judged.plan.protocol.tie).is_none())
    {
        add(format!("fsverdict resume {folder} --more {more}"), "may settle what is open");
    }
    if let Some(more) = too_few(judged).filter(|_| !shared) {
        add(format!("fsverdict resume {folder} --more {more}"), "to as many blocks as a conclusion takes");
    }
    if judged.with_status(CandidateStatus::Skipped).next().is_some() {
        add("fsverdict doctor".to_owned(), "what the skipped candidates need");
    }
    if !all {
        add(format!("fsverdict report {folder} --all"), "with all numbers and cautions");
    } else if judged.basis != TrialBasis::Nothing {
        add(format!("fsverdict report {folder} --format csv"), "or json, markdown");
    }
    lines
}

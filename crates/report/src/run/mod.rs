//! The page of a run. Only this module decides which block is for which audience: a terminal shows little unless asked
//! for all of it, Markdown as much as fits into a thread, HTML everything, drawn where possible.

mod foot;
mod legend;
mod opening;

use crate::Report;
use crate::model::Index;
use crate::page::{
    CandidateWithoutResult, MatrixBlock, Media, PageBlock, ReportPage, Text, Tone, in_use, in_use_instead,
    in_words,
};
pub(crate) use crate::run::foot::describe_source;
use crate::run::opening::build_opening;
use crate::topics::{SECTIONS, TOPICS, then_and_now};
use crate::wording::{TextTable, candidates};
use fsverdict_judgement::journal::CandidateStatus;
use fsverdict_judgement::verdict::Judgement;

pub(crate) fn page_of_run<'a>(report: &'a Report<'a>) -> ReportPage<'a> {
    let mut page = ReportPage::new(build_opening(report));
    add_headline(report, &mut page);
    if let Some(sentences) = &report.plain_words {
        page.add(Media::DETAIL, in_words("In plain words", "plain-words", sentences));
    }
    if let Some(paragraph) = &report.paragraph {
        page.add(Media::DETAIL, in_words("In detail", "words", paragraph));
        page.add(Media::MARKDOWN, PageBlock::Paragraph(Text::foreign(paragraph)));
    }
    if let Some(to_use) = &report.to_use {
        page.add(Media::BRIEF, PageBlock::Fold(in_use(to_use, false)));
        page.add(Media::FULL_TEXT, PageBlock::Fold(in_use(to_use, true)));
        for instead in &report.to_use_instead {
            page.add(Media::FULL_TEXT, PageBlock::Fold(in_use_instead(instead)));
        }
    }
    add_tables(report, &mut page);
    foot::add_foot(report, &mut page);
    let sections = SECTIONS.iter().filter_map(|topic| (topic.build_section)(report));
    sections.for_each(|section| page.add(Media::HTML, section));
    page.index = Some(Index::of(report));
    page
}

/// The goal's metric in the plan's phases, and the candidates that have no numbers.
fn add_headline<'a>(report: &'a Report<'a>, page: &mut ReportPage<'a>) {
    let missing = report.judged.candidates.iter().filter(|entry| entry.status != CandidateStatus::Ok);
    let missing = missing.map(|entry| CandidateWithoutResult {
        name: entry.name,
        status: candidates::describe_status(entry),
        reason: candidates::explain_missing_result(entry),
        hint: entry.hint,
        tone: if entry.status == CandidateStatus::Failed { Tone::Bad } else { Tone::Faint },
    });
    // The whole reason and its hint are shown with --all.
    let brief = missing.clone().map(|one| match report.judged.run.why_out(one.name) {
        Some(loss) => CandidateWithoutResult { reason: loss.summary, hint: "", ..one },
        None => one,
    });
    let matrix = |missing: Vec<CandidateWithoutResult<'a>>| {
        PageBlock::Matrix(MatrixBlock {
            title: None,
            matrix: report.picture.as_ref(),
            is_ranked: true,
            names: report.judged.candidates.iter().map(|entry| entry.name).collect(),
            missing,
        })
    };
    page.add(Media::BRIEF, matrix(brief.collect()));
    page.add(Media::DETAIL, matrix(missing.clone().collect()));
    page.add(Media::MARKDOWN, matrix(Vec::new()));
    if let Some(matrix) = &report.picture {
        page.add(Media::BRIEF, PageBlock::Note(legend::for_terminal(report, matrix, true)));
        page.add(Media::DETAIL, PageBlock::Note(legend::for_terminal(report, matrix, false)));
        page.add(Media::MARKDOWN, PageBlock::Note(legend::for_markdown(report, matrix)));
    }
    page.add(Media::MARKDOWN, PageBlock::Missing(missing.collect()));
}

/// Small tables below the headline, the findings of a study, and with `--all` one for each rate and cost that was
/// measured.
fn add_tables<'a>(report: &'a Report<'a>, page: &mut ReportPage<'a>) {
    let mut add = |shown, table: &TextTable| page.add(shown, PageBlock::plain_table(table.clone()));
    for (shown, table) in TOPICS.iter().flat_map(|topic| (topic.build_tables)(report)) {
        add(shown, &table);
    }
    for (shown, findings) in then_and_now::build_folded_findings(report) {
        page.add(shown, findings);
    }
    let around = report.around.iter();
    let around =
        around.map(|matrix| ("around the phases: wall time of the steps every trial has".to_owned(), matrix));
    let details = report.details.iter().map(|detail| match (&detail.metric, detail.meaning) {
        (name, "") => (name.clone(), &detail.matrix),
        (name, meaning) => (format!("{name}: {meaning}"), &detail.matrix),
    });
    for (title, matrix) in around.chain(details) {
        page.add(
            Media::DETAIL,
            PageBlock::Matrix(MatrixBlock {
                title: Some(title),
                matrix: Some(matrix),
                is_ranked: false,
                names: measured(&report.judged),
                missing: Vec::new(),
            }),
        );
    }
}

fn measured<'a>(judged: &'a Judgement<'_>) -> Vec<&'a str> {
    judged.with_status(CandidateStatus::Ok).map(|entry| entry.name).collect()
}

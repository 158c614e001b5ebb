//! `--format terminal`: one calm page. The outcome, the table, what it stands on, what to do next.

mod look;
mod paint;
mod table;

pub use look::TerminalLook;
pub(super) use paint::{Tone, toned};
pub(super) use table::aligned;

use look::{ASCII, Signs, UNICODE};
use paint::finished;

use super::across;
use super::matrix::{Matrix, Spread};
use super::number::percent;
use super::text::{count, listing, one_line, shorten, width, wrap};
use super::text_table::TextTable;
use super::to_use::LEAD;
use super::{Report, factors, findings, harness, sentence, sites};
use crate::journal::{CandidateStatus, TrialStanding, metric};
use crate::plan::quoted;
use crate::verdict::TrialBasis;

/// Width of the labels at the foot of the page.
const LABEL: usize = 10;
/// A reason is shown in this many columns; all of it is in the journal.
const LONGEST_REASON: usize = 400;

/// Width of the words on findings.
const FINDING: usize = 21;

pub(super) fn render(report: &Report<'_>, look: TerminalLook) -> String {
    let (mut page, signs) = Page::begin(look, &report.judged.run.header.title);
    page.plain(&report.sentence);
    page.blank();
    headline(report, &mut page, signs);
    if let Some(paragraph) = report.paragraph.as_deref() {
        page.text(Tone::Strong, "In plain words");
        page.plain(paragraph);
        page.blank();
    }
    to_use(report, &mut page);
    repeated(report, &mut page);
    if look.detail {
        detail(report, &mut page, signs);
    }
    foot(report, &mut page, signs);
    page.finished()
}

pub(super) struct Page {
    pub(super) lines: Vec<String>,
    pub(super) look: TerminalLook,
}

impl Page {
    /// With its title, and the signs to use on it.
    pub(super) fn begin(look: TerminalLook, title: &str) -> (Self, Signs) {
        let mut page = Page { lines: Vec::new(), look };
        page.text(Tone::Strong, title);
        (page, if look.unicode { UNICODE } else { ASCII })
    }

    pub(super) fn finished(self) -> String {
        finished(&(self.lines.join("\n") + "\n"), self.look)
    }

    pub(super) fn blank(&mut self) {
        if self.lines.last().is_some_and(|line| !line.is_empty()) {
            self.lines.push(String::new());
        }
    }

    pub(super) fn plain(&mut self, text: &str) {
        self.lines.extend(wrap(&one_line(text), self.look.columns));
    }

    pub(super) fn text(&mut self, tone: Tone, text: &str) {
        let lines = wrap(&one_line(text), self.look.columns);
        self.lines.extend(lines.iter().map(|line| toned(tone, line)));
    }

    pub(super) fn beside(&mut self, label: &str, labelled: usize, tone: Option<Tone>, text: &str) {
        let room = self.look.columns.saturating_sub(labelled);
        for (at, line) in wrap(&one_line(text), room).iter().enumerate() {
            let label = if at == 0 { label } else { "" };
            let gap = " ".repeat(labelled.saturating_sub(width(label)));
            let line = tone.map_or(line.clone(), |tone| toned(tone, line));
            self.lines.push(format!("{label}{gap}{line}"));
        }
    }
}

/// The goal's metric in the plan's phases, and the candidates that have no numbers as rows of their own.
fn headline(report: &Report<'_>, page: &mut Page, signs: Signs) {
    let names = table::name_width(report.judged.candidates.iter().map(|entry| entry.name));
    if let Some(matrix) = &report.picture {
        page.lines.extend(table::lines(matrix, names, true, page.look, signs));
        unmeasured(report, page, names, signs);
        page.blank();
        page.text(Tone::Faint, &legend(report, matrix, signs));
    } else {
        unmeasured(report, page, names, signs);
    }
    page.blank();
}

/// The lines to type; never broken, since they are there to be copied.
fn to_use(report: &Report<'_>, page: &mut Page) {
    let Some(to_use) = &report.to_use else { return };
    page.text(Tone::Strong, "To use it");
    page.plain(LEAD);
    page.lines.extend(to_use.lines.iter().map(|line| format!("  {line}")));
    page.plain(&format!("{}.", to_use.properties()));
    for note in &to_use.notes {
        page.plain(&format!("{}.", note.trim_end_matches('.')));
    }
    page.blank();
}

/// What lies beside the ranking, and what a plan that repeats a study has to say.
fn repeated(report: &Report<'_>, page: &mut Page) {
    let beside: &[TextTable] = if page.look.detail { &report.beside } else { &[] };
    let across: Vec<TextTable> =
        report.across.iter().flat_map(|across| across::tables(&across.found)).collect();
    for table in across
        .iter()
        .chain(beside)
        .chain(&sites::table(&report.judged, page.look.detail))
        .chain(&report.of_study)
    {
        page.text(Tone::Strong, &table.title);
        page.lines.extend(aligned(table, page.look.columns, &[]));
        page.blank();
    }
    let found = findings::in_words(&report.judged);
    if found.is_empty() {
        return;
    }
    page.text(Tone::Strong, "Then and now");
    page.plain(&findings::standing(&report.judged));
    for found in found {
        page.beside(found.now_as.words(), FINDING, None, &found.finding);
        for (label, text) in [("then ", &found.then), ("now ", &found.now), ("", &found.why)] {
            if !text.is_empty() {
                page.beside("", FINDING, Some(Tone::Faint), &format!("{label}{text}"));
            }
        }
    }
    page.blank();
}

fn unmeasured(report: &Report<'_>, page: &mut Page, names: usize, signs: Signs) {
    for entry in &report.judged.candidates {
        let tone = match entry.status {
            CandidateStatus::Ok => continue,
            CandidateStatus::Failed => Tone::Bad,
            CandidateStatus::Skipped | CandidateStatus::Untried => Tone::Faint,
        };
        let mut text = sentence::fared(entry).to_owned();
        let why = sentence::why(entry);
        if !why.is_empty() {
            text.push_str(": ");
            text.push_str(&shorten(&one_line(&why), LONGEST_REASON, signs.more));
        }
        if !entry.hint.is_empty() {
            text.push_str("; ");
            text.push_str(&one_line(entry.hint));
        }
        page.beside(&table::shown_name(entry.name, signs), names + table::GAP, Some(tone), &text);
    }
}

fn legend(report: &Report<'_>, matrix: &Matrix, signs: Signs) -> String {
    let goal = &report.judged.plan.goal.metric;
    let meaning = match goal.as_str() {
        "durable" => "Time until the data were durable",
        name => metric(name).map_or(name, |known| known.meaning),
    };
    let sizes = match report.judged.sample_sizes() {
        Some((1, 1)) | None => "one trial".to_owned(),
        Some((few, many)) if few == many => format!("mean of {}", count(few, "trial")),
        Some((few, many)) => format!("mean of {few} to {many} trials, side by side within blocks"),
    };
    let spread = match matrix.spread {
        Spread::Interval if matrix.rows.len() == 1 => format!(" {} its 95% interval", signs.plus_minus),
        Spread::Interval => format!(" {} 95% of the distance from the leader", signs.plus_minus),
        Spread::Range => format!(" {} half the range from least to most", signs.plus_minus),
        Spread::Unknown => String::new(),
    };
    let tie = percent(report.judged.plan.protocol.tie);
    let mut text = format!("{meaning}: {sizes}{spread}.");
    if report.judged.verdict.refused.is_none() {
        text.push_str(&format!(" {} best of its phase, {} within {tie} of it.", signs.best, signs.tied));
    }
    if report.judged.verdict.ranking.len() > 1 {
        text.push_str(&format!(" goal: {} the leader; {}.", signs.times, weighting(report)));
    }
    text
}

/// How the phases are weighted together, shortly where they weigh the same.
fn weighting(report: &Report<'_>) -> String {
    let weights = &report.judged.yardstick.weights;
    let planned = report.judged.phases.iter().filter(|phase| report.judged.is_headline(phase));
    let counted: Vec<(&str, f64)> = planned
        .clone()
        .filter_map(|phase| Some((phase.name.as_str(), *weights.get(&phase.name)?)))
        .filter(|(_, weight)| *weight > 0.0)
        .collect();
    let names: Vec<&str> = counted.iter().map(|(name, _)| *name).collect();
    match counted.as_slice() {
        [(only, _)] => format!("{only} alone counts"),
        [(_, first), rest @ ..] if rest.iter().all(|(_, weight)| weight == first) => {
            if counted.len() == planned.count() {
                "all phases weigh the same".to_owned()
            } else {
                format!("{} weigh the same", listing(&names, names.len()))
            }
        }
        _ => {
            let each: Vec<String> = counted.iter().map(|(name, weight)| format!("{name} {weight}")).collect();
            format!("weights {}", each.join(", "))
        }
    }
}

/// A table for the steps around the phases, and one for each rate and cost that was measured.
fn detail(report: &Report<'_>, page: &mut Page, signs: Signs) {
    let names = table::name_width(report.judged.with_status(CandidateStatus::Ok).map(|entry| entry.name));
    let around = report.around.iter();
    let around =
        around.map(|matrix| ("around the phases: wall time of the steps every trial has".to_owned(), matrix));
    let details = report.details.iter().map(|detail| match (&detail.metric, detail.meaning) {
        (name, "") => (name.clone(), &detail.matrix),
        (name, meaning) => (format!("{name}: {meaning}"), &detail.matrix),
    });
    for (title, matrix) in around.chain(details) {
        page.text(Tone::Strong, &title);
        page.lines.extend(table::lines(matrix, names, false, page.look, signs));
        page.blank();
    }
}

fn foot(report: &Report<'_>, page: &mut Page, signs: Signs) {
    let header = &report.judged.run.header;
    page.beside("Trials", LABEL, None, &trials(report));
    if let Some(reason) = &report.judged.run.finished {
        page.beside("Ended", LABEL, None, reason);
    }
    if let Some(noise) = &report.noise {
        page.beside("Noise", LABEL, None, noise);
    }
    if let Some(factors) = factors::sentence(&report.judged) {
        page.beside("Options", LABEL, None, &factors);
    }
    page.beside("Lab", LABEL, None, &join(&header.lab, &header.lab_reason));
    page.beside("Fidelity", LABEL, None, &header.fidelity);
    if let Some(harness) = report.judged.harness {
        page.beside("Harness", LABEL, None, &harness::sentence(&harness));
    }
    for (at, note) in report.notes.iter().enumerate() {
        let label = if at == 0 { "Cautions" } else { "" };
        let before = page.lines.len();
        page.beside("", LABEL + 2, None, &shorten(&one_line(&note.line()), LONGEST_REASON, signs.more));
        if let Some(line) = page.lines.get_mut(before) {
            *line = format!("{label:LABEL$}{} {}", signs.bullet, line.trim_start());
        }
    }
    if let Some(folder) = &report.folder {
        page.beside("Run", LABEL, None, &folder.display().to_string());
    }
    for (at, (command, purpose)) in next(report, page.look.detail).iter().enumerate() {
        // A command is never broken: it is there to be copied. Its purpose is said where there is room.
        let label = if at == 0 { "Next" } else { "" };
        let line = format!("{label:LABEL$}{}", one_line(command));
        let whole = format!("{line}   {purpose}");
        page.lines.push(if width(&whole) <= page.look.columns { whole } else { line });
    }
    // Last, where it is seen; never broken, since it is there to be copied, too.
    if let Some(file) = &report.page {
        page.lines.push(format!("{:LABEL$}{}", "Page", one_line(&file.display().to_string())));
    }
}

fn trials(report: &Report<'_>) -> String {
    let trials = report.judged.run.trials.iter();
    let used = trials.clone().filter(|trial| trial.standing != TrialStanding::Discarded).count();
    let mut text = match report.judged.basis {
        TrialBasis::Nothing => format!("{used}; {}", sentence::tally(&report.judged)),
        _ => format!("{used} in {}", sentence::tally(&report.judged)),
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

fn next(report: &Report<'_>, all: bool) -> Vec<(String, &'static str)> {
    let Some(folder) = &report.folder else { return Vec::new() };
    let folder = quoted(&folder.display().to_string());
    let mut lines = Vec::new();
    let shared = report.judged.run.is_merged();
    if report.judged.run.finished.is_none() && shared {
        lines.push((
            format!("fsverdict block {folder} --site NAME --block N"),
            "does the next block of a site",
        ));
    } else if report.judged.run.finished.is_none() {
        lines.push((format!("fsverdict resume {folder}"), "goes on where it stopped"));
    } else if let Some(more) = report
        .judged
        .verdict
        .pressing()
        .and_then(|pair| pair.more_blocks)
        .filter(|_| !shared && report.judged.verdict.alike(report.judged.plan.protocol.tie).is_none())
    {
        lines.push((format!("fsverdict resume {folder} --more {more}"), "settles what is open"));
    }
    if report.judged.with_status(CandidateStatus::Skipped).next().is_some() {
        lines.push(("fsverdict doctor".to_owned(), "what the skipped candidates need"));
    }
    if report.judged.basis != TrialBasis::Nothing {
        lines.push((format!("fsverdict report {folder} --format csv"), "or json, markdown"));
        if !all {
            lines.push((format!("fsverdict report {folder} --all"), "with every table"));
        }
    }
    lines
}

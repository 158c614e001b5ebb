//! The comparison as a page of text.

use super::{ComparisonReport, WORDS};
use crate::report::TerminalLook;
use crate::report::terminal::{Page, Tone, aligned, toned};
use crate::report::text::{one_line, shorten, width};
use crate::report::text_table::TextTable;
use crate::verdict::Comparison;

/// Width of the labels at the foot of the page.
const LABEL: usize = 10;
/// A name or a value is shown in this many columns at most.
const LONGEST: usize = 24;

pub(super) fn render(report: ComparisonReport<'_>, look: TerminalLook) -> String {
    let whole = &report.found.whole;
    let (mut page, signs) = Page::begin(look, &report.before.header.title);
    let tone = if report.found.has_regression() { Tone::Bad } else { Tone::Good };
    page.text(tone, &report.sentence());
    page.blank();
    let tones = whole.judged.iter().map(|change| match change.outcome() {
        Some(Comparison::Worse) => Some(Tone::Bad),
        Some(Comparison::Better) => Some(Tone::Good),
        _ => None,
    });
    page.lines.extend(table(report.table(), tones.collect(), look, signs.rule));
    page.blank();
    page.text(Tone::Faint, &report.legend());
    page.blank();
    let costs = report.costs(false);
    if !costs.rows.is_empty() {
        page.text(Tone::Strong, &costs.title);
        page.lines.extend(table(costs, Vec::new(), look, signs.rule));
        page.blank();
    }
    foot(report, &mut page, signs.bullet);
    page.finished()
}

/// A candidate is named once, and each row has its tone.
fn table(mut table: TextTable, tones: Vec<Option<Tone>>, look: TerminalLook, rule: &str) -> Vec<String> {
    let mut last = String::new();
    for row in &mut table.rows {
        for cell in row.iter_mut().take(2) {
            *cell = shorten(&one_line(cell), LONGEST, "…");
        }
        let name = row[0].clone();
        if name == last {
            row[0].clear();
        }
        last = name;
    }
    let mut lines = aligned(&table, look.columns.max(120), &WORDS);
    for (line, tone) in lines.iter_mut().skip(1).zip(tones) {
        *line = tone.map_or(line.clone(), |tone| toned(tone, line));
    }
    let across = lines.iter().map(|line| width(line)).max().unwrap_or(0);
    lines.insert(1, toned(Tone::Faint, &rule.repeat(across)));
    lines
}

fn foot(report: ComparisonReport<'_>, page: &mut Page, bullet: &str) {
    let last = report.runs().count() - 1;
    for (at, run) in report.runs().enumerate() {
        let header = &run.header;
        let label = if at == 0 {
            "Before"
        } else if at == last {
            "After"
        } else {
            ""
        };
        let text = format!(
            "{}, {}, {} blocks, lab {}",
            header.id,
            header.started.strftime("%Y-%m-%d %H:%M UTC"),
            run.complete_blocks(),
            header.lab
        );
        page.beside(label, LABEL, None, &text);
    }
    let mut last = "";
    for (label, text) in report.remarks() {
        let shown = if label == last { "" } else { label };
        let tone = (label == "Broken").then_some(Tone::Bad);
        page.beside(&format!("{shown:LABEL$}{bullet}"), LABEL + 2, tone, &text);
        last = label;
    }
}

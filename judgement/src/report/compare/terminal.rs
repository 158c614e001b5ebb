//! The comparison as a page of text.

use super::row::{Row, row, share};
use super::{ComparisonReport, word};
use crate::report::Look;
use crate::report::terminal::{ASCII, Page, Tone, UNICODE, finished, toned};
use crate::report::text::{one_line, shorten, width};
use crate::verdict::Comparison;
use crate::verdict::{ALPHA, Change, LeftOut};

/// Width of the labels at the foot of the page.
const LABEL: usize = 10;
/// A name or a value is shown in this many columns at most.
const LONGEST: usize = 24;
/// Headers of the columns; those from the third on are set right.
const HEADERS: [&str; 7] = ["candidate", "phase", "before", "after", "change", "95% interval", "outcome"];

pub(super) fn render(report: ComparisonReport<'_>, look: Look) -> String {
    let found = report.found;
    let signs = if look.unicode { UNICODE } else { ASCII };
    let mut page = Page { lines: Vec::new(), look };
    page.text(Tone::Strong, &report.before.header.title);
    let tone = if found.has_regression() { Tone::Bad } else { Tone::Good };
    page.text(tone, &report.sentence());
    page.blank();
    page.lines.extend(table(&found.judged, None, signs.rule));
    page.blank();
    page.text(
        Tone::Faint,
        &format!(
            "{}: geometric means ± half their 95% interval. change: after against before. worse, better: significant over all {} comparisons (Holm, {}) and beyond {}; same: the interval lies within it.",
            found.goal.metric,
            found.judged.len(),
            share(ALPHA),
            share(found.tie)
        ),
    );
    page.blank();
    if !found.costs.is_empty() {
        page.text(Tone::Strong, "For information: not tested, and no part of the outcome");
        page.lines.extend(table(&found.costs, Some(&found.goal.metric), signs.rule));
        page.blank();
    }
    foot(report, &mut page, signs.bullet);
    finished(&(page.lines.join("\n") + "\n"), look)
}

/// The changes as lines. A metric other than the goal's is named with its phase.
fn table(changes: &[Change], goal: Option<&str>, rule: &str) -> Vec<String> {
    let mut rows: Vec<[String; 7]> = vec![HEADERS.map(str::to_owned)];
    let mut last = "";
    for change in changes {
        let Row { before, after, change: ratio, interval } = row(change);
        let name = if change.candidate == last { String::new() } else { short(&change.candidate) };
        last = &change.candidate;
        let phase = match goal {
            Some(_) => format!("{} {}", short(change.subject()), short(&change.metric)),
            None => short(change.subject()),
        };
        let outcome = change.outcome().map_or("", word).to_owned();
        rows.push([name, phase, before, after, ratio, interval, outcome]);
    }
    let widths: Vec<usize> =
        (0..7).map(|at| rows.iter().map(|row| width(&row[at])).max().unwrap_or(0)).collect();
    let mut lines = Vec::new();
    for (number, row) in rows.iter().enumerate() {
        let mut line = String::new();
        for (at, cell) in row.iter().enumerate() {
            let gap = " ".repeat(widths[at] - width(cell));
            let gutter = if at == 0 { "" } else { "  " };
            let right = (2..6).contains(&at);
            line.push_str(gutter);
            line.push_str(&if right { format!("{gap}{cell}") } else { format!("{cell}{gap}") });
        }
        let line = line.trim_end();
        lines.push(match number.checked_sub(1).and_then(|at| changes[at].outcome()) {
            Some(Comparison::Worse) => toned(Tone::Bad, line),
            Some(Comparison::Better) => toned(Tone::Good, line),
            _ => line.to_owned(),
        });
    }
    let across = lines.iter().map(|line| width(line)).max().unwrap_or(0);
    lines.insert(1, toned(Tone::Faint, &rule.repeat(across)));
    lines
}

fn short(name: &str) -> String {
    shorten(&one_line(name), LONGEST, "…")
}

fn foot(report: ComparisonReport<'_>, page: &mut Page, bullet: &str) {
    let found = report.found;
    for (label, run) in [("Before", report.before), ("After", report.after)] {
        let header = &run.header;
        let text = format!(
            "{}, {}, {} blocks, lab {}",
            header.id,
            header.started.strftime("%Y-%m-%d %H:%M UTC"),
            run.complete_blocks(),
            header.lab
        );
        page.beside(label, LABEL, None, &text);
    }
    let mut list = |label: &str, tone: Option<Tone>, texts: Vec<String>| {
        for (at, text) in texts.iter().enumerate() {
            let label = if at == 0 { label } else { "" };
            page.beside(&format!("{label:LABEL$}{bullet}"), LABEL + 2, tone, text);
        }
    };
    let named = |left: &LeftOut| format!("{}: {}", left.candidate, left.reason);
    list("Broken", Some(Tone::Bad), found.broken.iter().map(named).collect());
    list("Left out", None, found.left_out.iter().map(named).collect());
    let differences = found.differences.iter().map(|difference| {
        let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "none".to_owned());
        format!("{}: {} → {}", difference.what, value(&difference.before), value(&difference.after))
    });
    let mut differences: Vec<String> = differences.collect();
    if differences.is_empty() {
        differences
            .push("nothing that is recorded: this compares two times, not two configurations".to_owned());
    }
    list("Differs", None, differences);
    list("Cautions", None, found.cautions.clone());
}

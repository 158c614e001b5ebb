//! `--format markdown`: the outcome and its tables, to be pasted into a pull request, an issue or a forum.

use super::across;
use super::matrix::{Cell, Matrix, Spread};
use super::number::{fixed, percent, times};
use super::text::{count, one_line};
use super::text_table::TextTable;
use super::to_use::LEAD;
use super::{Report, factors, findings, harness, sentence, sites};
use crate::journal::CandidateStatus;
use crate::verdict::Mark;

pub(super) fn render(report: &Report<'_>) -> String {
    let mut page =
        format!("## {}\n\n{}\n\n", escaped(&report.judged.run.header.title), escaped(&report.sentence));
    if let Some(matrix) = &report.picture {
        page.push_str(&table(matrix));
        page.push_str(&legend(report, matrix));
    }
    let missing = report.judged.candidates.iter().filter(|entry| entry.status != CandidateStatus::Ok);
    let mut rows = String::new();
    for entry in missing {
        let status = sentence::fared(entry);
        let mut why = escaped(&sentence::why(entry));
        if !entry.hint.is_empty() {
            why.push_str(&format!(" ({})", escaped(entry.hint)));
        }
        rows.push_str(&format!("| {} | {status} | {why} |\n", escaped(entry.name)));
    }
    if !rows.is_empty() {
        page.push_str(&format!("| candidate | status | why |\n|:--|:--|:--|\n{rows}\n"));
    }
    if let Some(paragraph) = report.paragraph.as_deref() {
        page.push_str(&format!("{}\n\n", escaped(paragraph)));
    }
    if let Some(to_use) = &report.to_use {
        let notes: String =
            to_use.notes.iter().map(|note| format!("{}.\n", escaped(note.trim_end_matches('.')))).collect();
        // Not in a fence: nothing in a line can end an indented block.
        let lines: String = to_use.lines.iter().map(|line| format!("    {line}\n")).collect();
        page.push_str(&format!(
            "### To use it\n\n{LEAD}\n\n{lines}\n{}.\n{notes}\n",
            escaped(&to_use.properties())
        ));
    }
    page.push_str(&repeated(report));
    page.push_str(&foot(report));
    page
}

/// A small table: names and these columns of words on the left, values on the right.
pub(super) fn text_table(table: &TextTable, words: &[&str]) -> String {
    let row = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|cell| escaped(cell)).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let left = |at: usize, title: &str| at == 0 || words.contains(&title);
    let rules = table.header.iter().enumerate();
    let rule: String = rules.map(|(at, title)| if left(at, title) { ":--|" } else { "--:|" }).collect();
    let rows: String = table.rows.iter().map(|cells| row(cells)).collect();
    format!("{}|{rule}\n{rows}", row(&table.header))
}

/// What a plan that repeats a study has of its own.
fn repeated(report: &Report<'_>) -> String {
    let mut text = String::new();
    let across: Vec<TextTable> =
        report.across.iter().flat_map(|across| across::tables(&across.found)).collect();
    for table in across
        .iter()
        .chain(&report.beside)
        .chain(&sites::table(&report.judged, false))
        .chain(&report.of_study)
    {
        text.push_str(&format!("{}\n\n{}\n", escaped(&table.title), text_table(table, &[])));
    }
    let found = findings::in_words(&report.judged);
    if !found.is_empty() {
        text.push_str(&format!("### Then and now\n\n{}\n\n", escaped(&findings::standing(&report.judged))));
        text.push_str("| finding | then | now | holds? |\n|:--|:--|:--|:--|\n");
        for found in found {
            let [finding, source, then, now, why] =
                [&found.finding, &found.source, &found.then, &found.now, &found.why]
                    .map(|part| escaped(part));
            text.push_str(&format!(
                "| {finding} ({source}) | {then} | {now} | **{}**: {why} |\n",
                found.now_as.words()
            ));
        }
        text.push('\n');
    }
    text
}

fn table(matrix: &Matrix) -> String {
    let ranked = matrix.rows.iter().filter(|row| row.behind.is_some()).count() > 1;
    let mut header = "| candidate |".to_owned();
    let mut rule = "|:--|".to_owned();
    if ranked {
        header.push_str(" goal, × |");
        rule.push_str("--:|");
    }
    for column in &matrix.columns {
        let unit = if column.unit.is_empty() { String::new() } else { format!(", {}", column.unit) };
        header.push_str(&format!(" {}{unit} |", escaped(&column.phase)));
        rule.push_str("--:|");
    }
    let mut text = format!("{header}\n{rule}\n");
    for row in &matrix.rows {
        text.push_str(&format!("| {} |", escaped(&row.candidate)));
        if ranked {
            text.push_str(&format!(" {} |", row.behind.map_or("–".to_owned(), |behind| times(behind.point))));
        }
        for cell in &row.cells {
            text.push_str(&format!(" {} |", cell.as_ref().map_or("–".to_owned(), shown)));
        }
        text.push('\n');
    }
    text + "\n"
}

/// The best in bold and with a sign: neither a plain-text mail nor a screen reader need lose it.
fn shown(cell: &Cell) -> String {
    let spread = cell.spread.map_or(String::new(), |spread| format!(" ±{}", percent(spread)));
    let text = format!("{}{spread}", fixed(cell.value, cell.decimals));
    match cell.mark {
        Mark::Best => format!("► **{text}**"),
        Mark::Tied => format!("≈ {text}"),
        Mark::Unsure | Mark::Plain => text,
    }
}

fn legend(report: &Report<'_>, matrix: &Matrix) -> String {
    let spread = match matrix.spread {
        Spread::Interval if matrix.rows.len() == 1 => ", ± its 95% interval",
        Spread::Interval => ", ± 95% of the distance from the leader",
        Spread::Range => ", ± half the range from least to most",
        Spread::Unknown => "",
    };
    let sizes = match report.judged.sample_sizes() {
        Some((1, 1)) | None => "one trial each".to_owned(),
        Some((few, many)) if few == many => format!("mean of {}", count(few, "trial")),
        Some((few, many)) => format!("mean of {few} to {many} trials, side by side within blocks"),
    };
    let tie = percent(report.judged.plan.protocol.tie);
    let metric = escaped(&report.judged.plan.goal.metric);
    let marks = if report.judged.verdict.refused.is_some() {
        String::new()
    } else {
        format!(" ► best of its phase, ≈ within {tie} of it.")
    };
    format!("*{metric}*: {sizes}{spread}.{marks}\n\n")
}

fn foot(report: &Report<'_>) -> String {
    let header = &report.judged.run.header;
    let mut text = format!(
        "- **Trials**: {}\n- **Lab**: {}\n- **Fidelity**: {}\n",
        sentence::tally(&report.judged),
        escaped(&header.lab),
        escaped(&header.fidelity)
    );
    if let Some(reason) = &report.judged.run.finished {
        text.push_str(&format!("- **Ended**: {}\n", escaped(reason)));
    }
    if let Some(noise) = &report.noise {
        text.push_str(&format!("- **Noise**: {}\n", escaped(noise)));
    }
    if let Some(factors) = factors::sentence(&report.judged) {
        text.push_str(&format!("- **Options**: {}\n", escaped(&factors)));
    }
    if let Some(harness) = report.judged.harness {
        text.push_str(&format!("- **Harness**: {}\n", harness::sentence(&harness)));
    }
    for note in &report.notes {
        text.push_str(&format!("- **Caution**: {}\n", escaped(&note.line())));
    }
    text.push_str(&format!("\nRun `{}`, plan `{}`.\n", code(&header.id), code(&header.plan_digest)));
    text
}

/// Foreign text that stays text: nothing in it is a table border, a tag, an entity, a link or emphasis.
pub(super) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in one_line(text).chars() {
        match character {
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            // An `@name` would notify somebody in a forge.
            '@' => safe.push_str("&#64;"),
            '|' | '\\' | '`' | '*' | '_' | '[' | ']' | '~' | '#' => {
                safe.push('\\');
                safe.push(character);
            }
            other => safe.push(other),
        }
    }
    safe
}

/// Foreign text within back quotes.
pub(super) fn code(text: &str) -> String {
    one_line(text).replace('`', "'")
}

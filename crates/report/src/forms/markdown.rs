//! `--format markdown`: the outcome and its tables, to paste into a pull request, an issue or a forum post.

use crate::model::{Matrix, MatrixCell};
use crate::page::{
    CandidateWithoutResult, Finding, FoldedPart, Media, PageBlock, PageTable, ReportPage, Span, Text,
};
use crate::wording::{TextTable, fixed, one_line, times};
use fsverdict_judgement::verdict::ContrastOutcome;

pub(crate) fn written(page: &ReportPage<'_>) -> String {
    let opening = &page.opening;
    let subtitle = opening.subtitle.map_or(String::new(), |subtitle| format!(": {subtitle}"));
    let sentence = escaped(&opening.sentence);
    let mut text = Vec::new();
    text.push(format!("## {}{subtitle}", escaped(&opening.title)));
    text.push(if opening.tone.is_some() { format!("**{sentence}**") } else { sentence });
    let mut last_is_item = false;
    for block in page.blocks(Media::MARKDOWN) {
        let (is_item, mut all) = (is_of_a_list(block), paragraphs(block));
        all.retain(|text| !text.is_empty());
        if all.is_empty() {
            continue;
        }
        match text.last_mut().filter(|_| is_item && last_is_item) {
            Some(list) => all.iter().for_each(|item| *list = format!("{list}\n{item}")),
            None => text.append(&mut all),
        }
        last_is_item = is_item;
    }
    text.join("\n\n") + "\n"
}

/// Whether the block is a list; lists that follow each other are joined.
fn is_of_a_list(block: &PageBlock<'_>) -> bool {
    matches!(block, PageBlock::Labelled(..) | PageBlock::Bullets(..) | PageBlock::Remarks(_))
}

/// The block as paragraphs, which the caller separates by blank lines.
fn paragraphs(block: &PageBlock<'_>) -> Vec<String> {
    let lines = |lines: Vec<String>| vec![lines.join("\n")];
    match block {
        PageBlock::Section { title, blocks, .. } => under(&escaped(title), blocks),
        PageBlock::Fold(FoldedPart { title, blocks, .. }) => under(&marked(title), blocks),
        PageBlock::Folded(FoldedPart { title, blocks, .. }) => {
            let inside: Vec<String> = blocks.iter().flat_map(paragraphs).collect();
            let title = marked(title);
            vec![format!("<details><summary>{title}</summary>\n\n{}\n\n</details>", inside.join("\n\n"))]
        }
        PageBlock::Heading(text) => vec![format!("### {}", marked(text))],
        PageBlock::Lead(text) | PageBlock::Paragraph(text) | PageBlock::Note(text) => vec![marked(text)],
        PageBlock::Sentences(all) => lines(all.iter().map(|text| escaped(text)).collect()),
        PageBlock::Table(PageTable { table, words, changes, .. }) => {
            let table_itself = text_table(table, words, changes.is_some());
            match table.title.as_str() {
                "" => vec![table_itself],
                title => vec![escaped(title), table_itself],
            }
        }
        PageBlock::Matrix(block) => block.matrix.into_iter().map(matrix).collect(),
        PageBlock::Missing(all) if all.is_empty() => Vec::new(),
        PageBlock::Missing(all) => vec![write_candidates_without_results(all)],
        PageBlock::Findings(all) => vec![findings(all)],
        // Uses an indented block instead of a fence, because no line can end it.
        PageBlock::Commands(all) => lines(all.iter().map(|line| format!("    {line}")).collect()),
        PageBlock::Next(_, all) => lines(all.iter().map(|(line, _)| format!("    {line}")).collect()),
        PageBlock::Labelled(label, text) => vec![labelled(label, text)],
        PageBlock::Bullets(all, _) => lines(all.iter().map(|text| format!("- {}", marked(text))).collect()),
        PageBlock::Remarks(all) => {
            lines(all.iter().map(|remark| labelled(remark.label, &remark.text)).collect())
        }
        PageBlock::Gist { lines: all, .. } => {
            lines(all.iter().map(|text| format!("- {}", escaped(text))).collect())
        }
        PageBlock::Facts(all) => {
            let line = |(what, text): &(Text, Text)| format!("- {}: {}", marked(what), marked(text));
            lines(all.iter().map(line).collect())
        }
        PageBlock::Picture(_) => Vec::new(),
    }
}

fn under(title: &str, blocks: &[PageBlock<'_>]) -> Vec<String> {
    std::iter::once(format!("### {title}")).chain(blocks.iter().flat_map(paragraphs)).collect()
}

fn labelled(label: &str, text: &str) -> String {
    format!("- **{label}**: {}", escaped(text))
}

fn marked(text: &Text) -> String {
    let span = |span: &Span| match span {
        Span::Plain(text) => text.clone(),
        Span::Said(text) | Span::Small(text) | Span::Marked(_, text) => harmless(text),
        Span::Strong(text) => format!("**{}**", harmless(text)),
        Span::Meant(_, text) => format!("*{}*", harmless(text)),
        Span::Code(text) => format!("`{}`", text.replace('`', "'")),
        Span::Sign(sign) => sign.sign().to_owned(),
        Span::Break => " ".to_owned(),
    };
    text.0.iter().map(span).collect()
}

/// A small table with names and the columns listed in `words` aligned to the left, and values to the right. Changes
/// have a sign, which a screen reader also reads.
fn text_table(table: &TextTable, words: &[&str], has_changes: bool) -> String {
    let cell = |cell: &String| match cell.as_str() {
        "worse" if has_changes => "▲ **worse**".to_owned(),
        "better" if has_changes => "▼ **better**".to_owned(),
        cell => escaped(cell),
    };
    let row = |cells: &Vec<String>| {
        let cells: Vec<String> = cells.iter().map(cell).collect();
        format!("| {} |", cells.join(" | "))
    };
    let is_left_aligned = |at: usize, title: &str| at == 0 || words.contains(&title);
    let rules = table.header.iter().enumerate();
    let rule: String =
        rules.map(|(at, title)| if is_left_aligned(at, title) { ":--|" } else { "--:|" }).collect();
    let head = [row(&table.header), format!("|{rule}")];
    head.into_iter().chain(table.rows.iter().map(row)).collect::<Vec<_>>().join("\n")
}

fn write_candidates_without_results(all: &[CandidateWithoutResult<'_>]) -> String {
    let mut text = "| candidate | status | why |\n|:--|:--|:--|".to_owned();
    for CandidateWithoutResult { name, status, reason, hint, .. } in all {
        let mut reason = escaped(reason);
        if !hint.is_empty() {
            reason.push_str(&format!(" ({})", escaped(hint)));
        }
        text.push_str(&format!("\n| {} | {status} | {reason} |", escaped(name)));
    }
    text
}

fn findings(all: &[Finding]) -> String {
    let mut text = "| finding | then | now | holds? |\n|:--|:--|:--|:--|".to_owned();
    for found in all {
        let [finding, source, then, now, why] =
            [&found.finding, &found.source, &found.then, &found.now, &found.why].map(|part| escaped(part));
        let word = found.now_as.words();
        text.push_str(&format!("\n| {finding} ({source}) | {then} | {now} | **{word}**: {why} |"));
    }
    text
}

fn matrix(matrix: &Matrix) -> String {
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
    let mut text = format!("{header}\n{rule}");
    for row in &matrix.rows {
        text.push_str(&format!("\n| {} |", escaped(&row.candidate)));
        if ranked {
            text.push_str(&format!(" {} |", row.behind.map_or("–".to_owned(), |behind| times(behind.point))));
        }
        for cell in &row.cells {
            text.push_str(&format!(" {} |", cell.as_ref().map_or("–".to_owned(), shown)));
        }
    }
    text
}

/// Marks the best in bold and with a sign, so that neither plain text nor a screen reader loses it.
fn shown(cell: &MatrixCell) -> String {
    let spread = cell.spread.map_or(String::new(), |spread| format!(" {}", spread.shown("±")));
    let text = format!("{}{spread}", fixed(cell.value, cell.decimals));
    match cell.mark {
        Some(ContrastOutcome::Better) => format!("► **{text}**"),
        Some(ContrastOutcome::Tied) => format!("≈ {text}"),
        _ => text,
    }
}

/// Escapes foreign text, on one line.
fn escaped(text: &str) -> String {
    harmless(&one_line(text))
}

/// Escapes table borders, tags, entities, links and emphasis.
fn harmless(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            // An `@name` would notify a user of the forge.
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

//! A table of changes on the terminal: a rule below its header, a candidate named once, rows in the tone of their news.

use crate::forms::terminal::TerminalLook;
use crate::forms::terminal::paint::toned;
use crate::forms::terminal::table::aligned;
use crate::page::Tone;
use crate::wording::{TextTable, one_line, shorten};
use fsverdict_text::display_width;

/// A name or a value is shown in this many columns at most.
const LONGEST: usize = 24;
/// The columns that say which row it is: they stand at the beginning of each part of a table that is broken.
const KEYS: usize = 2;
/// Of a table that is broken, the column that must be seen beside the values.
const OUTCOME: &str = "outcome";

pub(crate) fn ruled(
    table: &TextTable,
    words: &[&str],
    tones: &[Option<Tone>],
    look: TerminalLook,
    rule: &str,
) -> Vec<String> {
    let mut table = table.clone();
    let mut last = String::new();
    for row in &mut table.rows {
        for cell in row.iter_mut().take(KEYS) {
            *cell = shorten(&one_line(cell), LONGEST, "…");
        }
        let name = row[0].clone();
        if name == last {
            row[0].clear();
        }
        last = name;
    }
    let whole = aligned(&table, usize::MAX, words, KEYS);
    let lines = match whole.iter().all(|line| display_width(line) <= look.columns) {
        true => whole,
        false => aligned(&broken(&table), look.columns, words, KEYS),
    };
    let across = |part: &[String]| part.iter().map(|line| display_width(line)).max().unwrap_or(0);
    let mut ruled = Vec::new();
    for part in lines.chunks(table.rows.len() + 1) {
        if !ruled.is_empty() {
            ruled.push(String::new());
        }
        for (at, line) in part.iter().enumerate() {
            let tone = at.checked_sub(1).and_then(|row| tones.get(row).copied().flatten());
            ruled.push(tone.map_or(line.clone(), |tone| toned(tone, line)));
            if at == 0 {
                ruled.push(toned(Tone::Faint, &rule.repeat(across(part))));
            }
        }
    }
    ruled
}

/// The table to be broken: the outcome stands before the interval, in the part with the values.
fn broken(table: &TextTable) -> TextTable {
    let outcome = table.header.iter().position(|title| title == OUTCOME).filter(|at| *at > KEYS);
    let in_order = |row: &Vec<String>| {
        let mut row = row.clone();
        if let Some(at) = outcome.filter(|at| *at < row.len()) {
            row.swap(at - 1, at);
        }
        row
    };
    TextTable {
        title: table.title.clone(),
        header: in_order(&table.header),
        rows: table.rows.iter().map(in_order).collect(),
    }
}

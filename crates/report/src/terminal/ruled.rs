//! A table of changes on the terminal: a rule below its header, a candidate named once, rows in the tone of their news.

use super::TerminalLook;
use super::paint::toned;
use super::table::aligned;
use crate::page::Tone;
use crate::text::{one_line, shorten, width};
use crate::text_table::TextTable;

/// A name or a value is shown in this many columns at most.
const LONGEST: usize = 24;
/// So many columns such a table has in any case: its rows are compared, and broken they cannot be.
const ROOM: usize = 120;

pub(super) fn ruled(
    table: &TextTable,
    words: &[&str],
    tones: &[Option<Tone>],
    look: TerminalLook,
    rule: &str,
) -> Vec<String> {
    let mut table = table.clone();
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
    let mut lines = aligned(&table, look.columns.max(ROOM), words);
    for (line, tone) in lines.iter_mut().skip(1).zip(tones) {
        *line = tone.map_or(line.clone(), |tone| toned(tone, line));
    }
    let across = lines.iter().map(|line| width(line)).max().unwrap_or(0);
    lines.insert(1, toned(Tone::Faint, &rule.repeat(across)));
    lines
}

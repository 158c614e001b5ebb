//! `--format terminal`: one calm page with the outcome, the table, the basis of both, and the next steps.

mod look;
mod paint;
mod ruled;
mod table;

pub use crate::forms::terminal::look::TerminalLook;

use crate::forms::terminal::look::{ASCII, Signs, UNICODE};
use crate::forms::terminal::paint::{finished, to_ascii, toned};
use crate::forms::terminal::ruled::ruled;
use crate::page::{
    CandidateWithoutResult, Finding, FoldedPart, MatrixBlock, Media, PageBlock, PageTable, Remark,
    ReportPage, Sign, Text, Tone,
};
use crate::wording::{one_line, shorten, wrap};

use fsverdict_text::{display_width, wrap_command};

/// Width of the labels at the foot of the page.
const LABEL: usize = 10;
/// A reason is shown in this many columns, and in fewer without `--all`; all of it is in the journal.
const LONGEST_REASON: usize = 400;
const LONGEST_BRIEF_REASON: usize = 280;
/// Width of the words on findings.
const FINDING: usize = 21;

pub(crate) fn written(page: &ReportPage<'_>, look: TerminalLook) -> String {
    let signs = if look.unicode { UNICODE } else { ASCII };
    let mut sheet = Sheet { lines: Vec::new(), look, signs };
    sheet.text(Tone::Strong, &page.opening.title);
    match page.opening.tone {
        Some(tone) => sheet.text(tone, &page.opening.sentence),
        None => sheet.plain(&page.opening.sentence),
    }
    sheet.blank();
    for block in page.blocks(if look.detail { Media::DETAIL } else { Media::BRIEF }) {
        sheet.block(block);
        if !is_of_the_foot(block) {
            sheet.blank();
        }
    }
    finished(&(sheet.lines.join("\n") + "\n"), look)
}

/// Lines that stand close to those after them.
fn is_of_the_foot(block: &PageBlock<'_>) -> bool {
    matches!(
        block,
        PageBlock::Labelled(..) | PageBlock::Next(..) | PageBlock::Bullets(..) | PageBlock::Remarks(_)
    )
}

struct Sheet {
    lines: Vec<String>,
    look: TerminalLook,
    signs: Signs,
}

impl Sheet {
    fn blank(&mut self) {
        if self.lines.last().is_some_and(|line| !line.is_empty()) {
            self.lines.push(String::new());
        }
    }

    /// The text on one line, in the characters of the terminal: those that take several of ASCII are counted so.
    fn one_line(&self, text: &str) -> String {
        let line = one_line(text);
        if self.look.unicode { line } else { to_ascii(&line) }
    }

    fn longest_reason(&self) -> usize {
        if self.look.detail { LONGEST_REASON } else { LONGEST_BRIEF_REASON }
    }

    fn plain(&mut self, text: &str) {
        self.lines.extend(wrap(&self.one_line(text), self.look.columns));
    }

    fn text(&mut self, tone: Tone, text: &str) {
        let lines = wrap(&self.one_line(text), self.look.columns);
        self.lines.extend(lines.iter().map(|line| toned(tone, line)));
    }

    fn write_labelled(&mut self, label: &str, labelled: usize, tone: Option<Tone>, text: &str) {
        let room = self.look.columns.saturating_sub(labelled);
        for (at, line) in wrap(&self.one_line(text), room).iter().enumerate() {
            let label = if at == 0 { label } else { "" };
            let gap = " ".repeat(labelled.saturating_sub(display_width(label)));
            let line = tone.map_or(line.clone(), |tone| toned(tone, line));
            self.lines.push(format!("{label}{gap}{line}"));
        }
    }

    /// With the signs that can be shown.
    fn bare(&self, text: &Text) -> String {
        text.bare(|sign| match sign {
            Sign::Best => self.signs.best,
            Sign::Tied => self.signs.tied,
            Sign::PlusMinus => self.signs.plus_minus,
            Sign::Times => self.signs.times,
        })
    }

    fn block(&mut self, block: &PageBlock<'_>) {
        match block {
            PageBlock::Section { title, blocks, .. } => {
                self.text(Tone::Strong, title);
                blocks.iter().for_each(|block| self.block(block));
            }
            PageBlock::Fold(FoldedPart { title, blocks, .. })
            | PageBlock::Folded(FoldedPart { title, blocks, .. }) => {
                self.text(Tone::Strong, &self.bare(title));
                blocks.iter().for_each(|block| self.block(block));
            }
            PageBlock::Heading(text) => self.text(Tone::Strong, &self.bare(text)),
            PageBlock::Lead(text) | PageBlock::Note(text) => self.text(Tone::Faint, &self.bare(text)),
            PageBlock::Paragraph(text) => self.plain(&self.bare(text)),
            PageBlock::Sentences(all) => all.iter().for_each(|text| self.plain(text)),
            PageBlock::Table(table) => self.write_table(table),
            PageBlock::Matrix(matrix) => self.write_matrix(matrix),
            PageBlock::Missing(all) => self.write_candidates_without_results(all, 0),
            PageBlock::Findings(all) => all.iter().for_each(|finding| self.write_finding(finding)),
            PageBlock::Commands(all) => {
                let lines = all.iter().map(|line| wrap_command(&format!("  {line}"), self.look.columns, 6));
                self.lines.extend(lines.flat_map(|line| line.lines().map(str::to_owned).collect::<Vec<_>>()));
            }
            PageBlock::Next(label, lines) => self.next(label, lines),
            PageBlock::Labelled(label, text) => self.write_labelled(label, LABEL, None, text),
            PageBlock::Bullets(all, tone) => {
                let bullet = format!("{} ", self.signs.bullet);
                all.iter().for_each(|text| self.write_labelled(&bullet, 2, *tone, &self.bare(text)));
            }
            PageBlock::Remarks(all) => self.remarks(all),
            PageBlock::Gist { lines, .. } => lines.iter().for_each(|line| self.plain(line)),
            PageBlock::Facts(all) => {
                for (what, text) in all {
                    self.plain(&format!("{}: {}", self.bare(what), self.bare(text)));
                }
            }
            PageBlock::Picture(_) => {}
        }
    }

    fn write_table(&mut self, PageTable { table, words, title, changes, .. }: &PageTable) {
        if !table.title.is_empty() {
            self.text(*title, &table.title);
        }
        self.lines.extend(match changes {
            Some(tones) => ruled(table, words, tones, self.look, self.signs.rule),
            None => table::aligned(table, self.look.columns, words, 1),
        });
    }

    fn write_matrix(&mut self, MatrixBlock { title, matrix, is_ranked, names, missing }: &MatrixBlock<'_>) {
        if let Some(title) = title {
            self.text(Tone::Strong, title);
        }
        let names = table::name_width(names.iter().copied());
        if let Some(matrix) = matrix {
            self.lines.extend(table::lines(matrix, names, *is_ranked, self.look, self.signs));
        }
        self.write_candidates_without_results(missing, names);
    }

    /// Writes one line for each candidate without a result: its name, padded to `name_width` columns, its status, the
    /// reason and a hint.
    fn write_candidates_without_results(
        &mut self,
        candidates: &[CandidateWithoutResult<'_>],
        name_width: usize,
    ) {
        for CandidateWithoutResult { name, status, reason, hint, tone } in candidates {
            let mut text = (*status).to_owned();
            if !reason.is_empty() {
                text.push_str(": ");
                text.push_str(&shorten(&one_line(reason), self.longest_reason(), self.signs.more));
            }
            if !hint.is_empty() {
                text.push_str("; ");
                text.push_str(&one_line(hint));
            }
            self.write_labelled(
                &table::shown_name(name, self.signs),
                name_width + table::GAP,
                Some(*tone),
                &text,
            );
        }
    }

    fn write_finding(&mut self, found: &Finding) {
        self.write_labelled(found.now_as.words(), FINDING, None, &found.finding);
        for (label, text) in [("then ", &found.then), ("now ", &found.now), ("", &found.why)] {
            if !text.is_empty() {
                self.write_labelled("", FINDING, Some(Tone::Faint), &format!("{label}{text}"));
            }
        }
    }

    /// Prints the commands to copy: a broken line is still accepted by a shell. Their purpose is added if there is
    /// room.
    fn next(&mut self, label: &str, lines: &[(String, Option<&str>)]) {
        for (at, (command, purpose)) in lines.iter().enumerate() {
            let label = if at == 0 { label } else { "" };
            let line = format!("{label:LABEL$}{}", one_line(command));
            let whole = purpose.map(|purpose| format!("{line}   {purpose}"));
            let broken = || wrap_command(&line, self.look.columns, LABEL + 4);
            let shown =
                whole.filter(|whole| display_width(whole) <= self.look.columns).unwrap_or_else(broken);
            self.lines.extend(shown.lines().map(str::to_owned));
        }
    }

    fn remarks(&mut self, all: &[Remark]) {
        let mut last = "";
        for Remark { label, text, tone, is_cut } in all {
            let shown = if *label == last { "" } else { label };
            let at_most = if *is_cut { self.longest_reason() } else { usize::MAX };
            let text = shorten(&one_line(text), at_most, self.signs.more);
            self.write_labelled(&format!("{shown:LABEL$}{}", self.signs.bullet), LABEL + 2, *tone, &text);
            last = label;
        }
    }
}

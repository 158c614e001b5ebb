//! A report page as a list of blocks. The terminal, Markdown and HTML writers lay out the same blocks; they differ only
//! in layout and in the blocks that are not shown on every medium.

pub(crate) mod embedded_plan;
pub(crate) mod figures;
mod parts;
mod ratios;
#[cfg(test)]
mod tests;
mod text;

use maud::Markup;

use crate::model::index::Index;
use crate::model::matrix::Matrix;
use crate::wording::TextTable;
use fsverdict_judgement::verdict::FindingStatus;

pub(crate) use crate::page::parts::{build_gist, build_remarks, in_use, in_use_instead, in_words};
pub(crate) use crate::page::ratios::{RatioRow, RatioTable};
pub(crate) use crate::page::text::{Sign, Span, Text};

/// The media that a block is shown on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Media(u8);

impl Media {
    /// A terminal without `--all`.
    pub(crate) const BRIEF: Media = Media(1);
    /// A terminal with `--all`.
    pub(crate) const DETAIL: Media = Media(2);
    pub(crate) const TERMINAL: Media = Media(1 | 2);
    pub(crate) const MARKDOWN: Media = Media(4);
    /// A terminal with `--all`, and Markdown.
    pub(crate) const FULL_TEXT: Media = Media(2 | 4);
    pub(crate) const TEXT: Media = Media(1 | 2 | 4);
    pub(crate) const HTML: Media = Media(8);

    pub(crate) const fn and(self, other: Media) -> Media {
        Media(self.0 | other.0)
    }

    fn has(self, medium: Media) -> bool {
        self.0 & medium.0 != 0
    }
}

/// The meaning of a text style.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Strong,
    Good,
    Bad,
    Faint,
}

pub(crate) struct ReportPage<'a> {
    pub(crate) opening: Opening,
    /// The candidates, where rows of tables are candidates.
    pub(crate) index: Option<Index<'a>>,
    blocks: Vec<(Media, PageBlock<'a>)>,
}

/// The start of a page.
pub(crate) struct Opening {
    pub(crate) title: String,
    /// Further words of the heading where the page is one of several in a discussion thread.
    pub(crate) subtitle: Option<&'static str>,
    pub(crate) sentence: String,
    /// Whether the news is good or bad; `None` where it is neither.
    pub(crate) tone: Option<Tone>,
    pub(crate) top: Top,
}

/// The top of an HTML page, visible without scrolling.
#[derive(Default)]
pub(crate) struct Top {
    pub(crate) kicker: String,
    /// The CSS class of the verdict: decided, undecided, nothing.
    pub(crate) class: &'static str,
    /// A word for the outcome, and the amount of data behind it.
    pub(crate) tally: Option<(&'static str, String)>,
    /// Replaces the sentence where that is too long.
    pub(crate) sentence: Option<String>,
    /// The basis of the verdict: lines with a label each.
    pub(crate) basis: Vec<(&'static str, Text)>,
    pub(crate) folds: Option<Vec<PageBlock<'static>>>,
}

/// A picture; it is drawn on HTML pages only.
pub(crate) type Picture<'a> = Box<dyn Fn() -> Markup + 'a>;

pub(crate) enum PageBlock<'a> {
    /// A part of a page under its title.
    Section {
        id: &'static str,
        title: &'static str,
        keys: Option<Keys>,
        blocks: Vec<PageBlock<'a>>,
    },
    /// A part under its title that an HTML page folds.
    Fold(FoldedPart<'a>),
    /// A part under its title that is folded wherever the medium can fold.
    Folded(FoldedPart<'a>),
    Heading(Text),
    /// An introduction to a part.
    Lead(Text),
    Paragraph(Text),
    /// Sentences that belong together.
    Sentences(Vec<String>),
    /// An explanation of the signs and numbers beside it.
    Note(Text),
    Table(PageTable),
    Matrix(MatrixBlock<'a>),
    /// Candidates without numbers, where the matrix does not list them.
    Missing(Vec<CandidateWithoutResult<'a>>),
    Findings(Vec<Finding>),
    /// Commands to copy; their lines are never broken.
    Commands(Vec<String>),
    /// Commands behind a label, each with its purpose.
    Next(&'static str, Vec<(String, Option<&'static str>)>),
    Labelled(&'static str, String),
    Bullets(Vec<Text>, Option<Tone>),
    /// Bullets with a label each; a terminal prints repeated labels once.
    Remarks(Vec<Remark>),
    /// The number of lines in a summary, which unfolds to all of them.
    Gist {
        id: Option<&'static str>,
        what: String,
        lines: Vec<String>,
    },
    Facts(Vec<(Text, Text)>),
    Picture(Picture<'a>),
}

/// A part that can be folded.
pub(crate) struct FoldedPart<'a> {
    pub(crate) id: Option<&'static str>,
    pub(crate) title: Text,
    pub(crate) blocks: Vec<PageBlock<'a>>,
}

/// The text beside the title of a picture: its introduction, the meaning of its colours, and a switch between its
/// forms.
pub(crate) struct Keys {
    pub(crate) lead: Text,
    pub(crate) keys: Vec<(&'static str, String)>,
    pub(crate) has_switch: bool,
}

pub(crate) struct Remark {
    pub(crate) label: &'static str,
    pub(crate) text: String,
    pub(crate) tone: Option<Tone>,
    /// Whether a terminal shows only the first few lines; the journal has all of it.
    pub(crate) is_cut: bool,
}

pub(crate) struct PageTable {
    pub(crate) table: TextTable,
    /// Titles of the columns that contain words, which are aligned to the left.
    pub(crate) words: &'static [&'static str],
    /// The style of the table's title on a terminal.
    pub(crate) title: Tone,
    /// Whether rows are candidates, which an HTML page can hide one by one.
    pub(crate) by_candidate: bool,
    /// The tones of the rows, where rows are changes for the better or worse. The table then has a rule below its
    /// header, and only the first of several rows of one candidate names it.
    pub(crate) changes: Option<Vec<Option<Tone>>>,
}

impl PageTable {
    pub(crate) fn plain(table: TextTable) -> Self {
        Self { table, words: &[], title: Tone::Strong, by_candidate: false, changes: None }
    }
}

/// A finding of a study, and whether it still holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) now_as: FindingStatus,
    pub(crate) finding: String,
    pub(crate) source: String,
    /// The published figures; empty where there are none.
    pub(crate) then: String,
    /// Ours; empty where there are none.
    pub(crate) now: String,
    pub(crate) why: String,
}

/// One metric of all candidates, and the candidates without numbers.
pub(crate) struct MatrixBlock<'a> {
    pub(crate) title: Option<String>,
    pub(crate) matrix: Option<&'a Matrix>,
    /// Whether it has a column for the goal.
    pub(crate) is_ranked: bool,
    /// The names that the first column must have room for.
    pub(crate) names: Vec<&'a str>,
    pub(crate) missing: Vec<CandidateWithoutResult<'a>>,
}

/// A candidate without numbers, and the reason.
pub(crate) struct CandidateWithoutResult<'a> {
    pub(crate) name: &'a str,
    pub(crate) status: &'static str,
    pub(crate) reason: String,
    pub(crate) hint: &'a str,
    pub(crate) tone: Tone,
}

impl Finding {
    /// The finding and whether it holds, without figures and reasons.
    pub(crate) fn without_reasons(&self) -> Self {
        Self { then: String::new(), now: String::new(), why: String::new(), ..self.clone() }
    }
}

impl<'a> ReportPage<'a> {
    pub(crate) fn new(opening: Opening) -> Self {
        Self { opening, index: None, blocks: Vec::new() }
    }

    pub(crate) fn add(&mut self, shown: Media, block: PageBlock<'a>) {
        self.blocks.push((shown, block));
    }

    pub(crate) fn blocks(&self, medium: Media) -> impl Iterator<Item = &PageBlock<'a>> {
        self.blocks.iter().filter(move |(shown, _)| shown.has(medium)).map(|(_, block)| block)
    }
}

impl<'a> PageBlock<'a> {
    pub(crate) fn picture(draw: impl Fn() -> Markup + 'a) -> Self {
        PageBlock::Picture(Box::new(draw))
    }

    pub(crate) fn plain_table(table: TextTable) -> Self {
        PageBlock::Table(PageTable::plain(table))
    }

    /// Sentences without full stops, each as a lead of its own.
    pub(crate) fn leads(sentences: impl IntoIterator<Item = String>) -> impl Iterator<Item = Self> {
        sentences.into_iter().map(|what| PageBlock::Lead(format!("{what}.").into()))
    }

    pub(crate) fn fold(id: Option<&'static str>, title: impl Into<Text>, blocks: Vec<PageBlock<'a>>) -> Self {
        PageBlock::Fold(FoldedPart { id, title: title.into(), blocks })
    }

    pub(crate) fn section(id: &'static str, title: &'static str, blocks: Vec<PageBlock<'a>>) -> Self {
        PageBlock::Section { id, title, keys: None, blocks }
    }
}

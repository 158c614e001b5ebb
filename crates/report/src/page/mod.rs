//! A report page as a list of blocks. The terminal, Markdown and HTML writers lay out the same blocks; they differ only
//! in layout and in the blocks that are not shown on every medium.

mod parts;
#[cfg(test)]
mod tests;
mod text;

use std::rc::Rc;

use maud::Markup;

use super::index::Index;
use super::matrix::Matrix;
use super::text_table::TextTable;
use fsverdict_judgement::verdict::FindingStatus;

pub(super) use parts::{build_gist, build_remarks, in_use, in_words};
pub(super) use text::{Sign, Span, Text};

/// The media that a block is shown on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Media(u8);

impl Media {
    /// A terminal without `--all`.
    pub(super) const BRIEF: Media = Media(1);
    /// A terminal with `--all`.
    pub(super) const DETAIL: Media = Media(2);
    pub(super) const TERMINAL: Media = Media(1 | 2);
    pub(super) const MARKDOWN: Media = Media(4);
    pub(super) const TEXT: Media = Media(1 | 2 | 4);
    pub(super) const HTML: Media = Media(8);

    pub(super) const fn and(self, other: Media) -> Media {
        Media(self.0 | other.0)
    }

    fn has(self, medium: Media) -> bool {
        self.0 & medium.0 != 0
    }
}

/// The meaning of a text style.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tone {
    Strong,
    Good,
    Bad,
    Faint,
}

pub(super) struct ReportPage<'a> {
    pub(super) opening: Opening,
    /// The candidates, where rows of tables are candidates.
    pub(super) index: Option<Rc<Index<'a>>>,
    blocks: Vec<(Media, PageBlock<'a>)>,
}

/// The start of a page.
pub(super) struct Opening {
    pub(super) title: String,
    /// Further words of the heading where the page is one of several in a discussion thread.
    pub(super) subtitle: Option<&'static str>,
    pub(super) sentence: String,
    /// Whether the news is good or bad; `None` where it is neither.
    pub(super) tone: Option<Tone>,
    pub(super) top: Top,
}

/// The top of an HTML page, visible without scrolling.
pub(super) struct Top {
    pub(super) kicker: String,
    /// The CSS class of the verdict: decided, undecided, nothing.
    pub(super) class: &'static str,
    /// A word for the outcome, and the amount of data behind it.
    pub(super) tally: Option<(&'static str, String)>,
    /// Replaces the sentence where that is too long.
    pub(super) sentence: Option<String>,
    /// The basis of the verdict: lines with a label each.
    pub(super) basis: Vec<(&'static str, Text)>,
    pub(super) folds: Option<Vec<PageBlock<'static>>>,
}

/// A picture; it is drawn on HTML pages only.
pub(super) type Picture<'a> = Box<dyn Fn() -> Markup + 'a>;

pub(super) enum PageBlock<'a> {
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
pub(super) struct FoldedPart<'a> {
    pub(super) id: Option<&'static str>,
    pub(super) title: Text,
    pub(super) blocks: Vec<PageBlock<'a>>,
}

/// The text beside the title of a picture: its introduction, the meaning of its colours, and a switch between its
/// forms.
pub(super) struct Keys {
    pub(super) lead: Text,
    pub(super) keys: Vec<(&'static str, String)>,
    pub(super) has_switch: bool,
}

pub(super) struct Remark {
    pub(super) label: &'static str,
    pub(super) text: String,
    pub(super) tone: Option<Tone>,
    /// Whether a terminal shows only the first few lines; the journal has all of it.
    pub(super) is_cut: bool,
}

pub(super) struct PageTable {
    pub(super) table: TextTable,
    /// Titles of the columns that contain words, which are aligned to the left.
    pub(super) words: &'static [&'static str],
    /// The style of the table's title on a terminal.
    pub(super) title: Tone,
    /// Whether rows are candidates, which an HTML page can hide one by one.
    pub(super) by_candidate: bool,
    /// The tones of the rows, where rows are changes for the better or worse. The table then has a rule below its
    /// header, and only the first of several rows of one candidate names it.
    pub(super) changes: Option<Vec<Option<Tone>>>,
}

impl PageTable {
    pub(super) fn plain(table: TextTable) -> Self {
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
pub(super) struct MatrixBlock<'a> {
    pub(super) title: Option<String>,
    pub(super) matrix: Option<&'a Matrix>,
    /// Whether it has a column for the goal.
    pub(super) is_ranked: bool,
    /// The names that the first column must have room for.
    pub(super) names: Vec<&'a str>,
    pub(super) missing: Vec<CandidateWithoutResult<'a>>,
}

/// A candidate without numbers, and the reason.
pub(super) struct CandidateWithoutResult<'a> {
    pub(super) name: &'a str,
    pub(super) status: &'static str,
    pub(super) reason: String,
    pub(super) hint: &'a str,
    pub(super) tone: Tone,
}

impl<'a> ReportPage<'a> {
    pub(super) fn new(opening: Opening) -> Self {
        Self { opening, index: None, blocks: Vec::new() }
    }

    pub(super) fn add(&mut self, shown: Media, block: PageBlock<'a>) {
        self.blocks.push((shown, block));
    }

    /// The blocks that this medium shows.
    pub(super) fn blocks(&self, medium: Media) -> impl Iterator<Item = &PageBlock<'a>> {
        self.blocks.iter().filter(move |(shown, _)| shown.has(medium)).map(|(_, block)| block)
    }
}

impl<'a> PageBlock<'a> {
    pub(super) fn picture(draw: impl Fn() -> Markup + 'a) -> Self {
        PageBlock::Picture(Box::new(draw))
    }

    pub(super) fn plain_table(table: TextTable) -> Self {
        PageBlock::Table(PageTable::plain(table))
    }

    /// Sentences without full stops, each as a lead of its own.
    pub(super) fn leads(sentences: impl IntoIterator<Item = String>) -> impl Iterator<Item = Self> {
        sentences.into_iter().map(|what| PageBlock::Lead(format!("{what}.").into()))
    }

    pub(super) fn fold(id: Option<&'static str>, title: impl Into<Text>, blocks: Vec<PageBlock<'a>>) -> Self {
        PageBlock::Fold(FoldedPart { id, title: title.into(), blocks })
    }

    pub(super) fn section(id: &'static str, title: &'static str, blocks: Vec<PageBlock<'a>>) -> Self {
        PageBlock::Section { id, title, keys: None, blocks }
    }
}

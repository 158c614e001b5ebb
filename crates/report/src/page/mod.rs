//! A page as a list of blocks, made once from what was found: terminal, Markdown and HTML have one writer each that lays them
//! out, and differ in nothing but that and in the blocks that are not meant for all of them.

mod parts;
#[cfg(test)]
mod tests;
mod text;

use std::rc::Rc;

use maud::Markup;

use super::findings::Finding;
use super::index::Index;
use super::matrix::Matrix;
use super::text_table::TextTable;

pub(super) use parts::{gist, in_use, in_words, remarks};
pub(super) use text::{Sign, Span, Text};

/// For whom a block is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct For(u8);

impl For {
    /// A terminal without `--all`.
    pub(super) const BRIEF: For = For(1);
    /// A terminal with it.
    pub(super) const DETAIL: For = For(2);
    pub(super) const TERMINAL: For = For(1 | 2);
    pub(super) const MARKDOWN: For = For(4);
    pub(super) const TEXT: For = For(1 | 2 | 4);
    pub(super) const HTML: For = For(8);

    pub(super) const fn and(self, other: For) -> For {
        For(self.0 | other.0)
    }

    fn has(self, medium: For) -> bool {
        self.0 & medium.0 != 0
    }
}

/// A style's meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tone {
    Strong,
    Good,
    Bad,
    Faint,
}

pub(super) struct ReportPage<'a> {
    pub(super) opening: Opening,
    /// Where rows of tables are candidates: who they are.
    pub(super) index: Option<Rc<Index<'a>>>,
    blocks: Vec<(For, PageBlock<'a>)>,
}

/// What a page says first.
pub(super) struct Opening {
    pub(super) title: String,
    /// What else the heading says where the page is one of several in a thread.
    pub(super) subtitle: Option<&'static str>,
    pub(super) sentence: String,
    /// Whether it is good or bad news; `None` where neither is said.
    pub(super) tone: Option<Tone>,
    pub(super) top: Top,
}

/// What an HTML page has besides at its top, before anybody scrolls.
pub(super) struct Top {
    pub(super) kicker: String,
    /// The class of the verdict: decided, undecided, nothing.
    pub(super) class: &'static str,
    /// A word for it, and from how much it is.
    pub(super) tally: Option<(&'static str, String)>,
    /// In place of the sentence, where that is too long.
    pub(super) sentence: Option<String>,
    /// What it stands on, in lines with a label each.
    pub(super) basis: Vec<(&'static str, Text)>,
    pub(super) folds: Option<Vec<PageBlock<'static>>>,
}

/// Something drawn, for pages of HTML only; only there it is drawn.
pub(super) type Picture<'a> = Box<dyn Fn() -> Markup + 'a>;

pub(super) enum PageBlock<'a> {
    /// A part of a page under its title.
    Section {
        id: &'static str,
        title: &'static str,
        keys: Option<Keys>,
        blocks: Vec<PageBlock<'a>>,
    },
    /// A part under its title that a page of HTML folds away.
    Fold(FoldedPart<'a>),
    /// The same, folded wherever that can be.
    Folded(FoldedPart<'a>),
    Heading(Text),
    /// What a part is about.
    Lead(Text),
    Paragraph(Text),
    /// Lines of text that belong together.
    Sentences(Vec<String>),
    /// What the signs and numbers beside it mean.
    Note(Text),
    Table(PageTable),
    Matrix(MatrixBlock<'a>),
    /// Candidates without numbers, where the matrix does not have them.
    Missing(Vec<Missing<'a>>),
    Findings(Vec<Finding>),
    /// Lines to be copied, never broken.
    Commands(Vec<String>),
    /// The same behind a label, each with what it is for.
    Next(&'static str, Vec<(String, Option<&'static str>)>),
    Labelled(&'static str, String),
    Bullets(Vec<Text>, Option<Tone>),
    /// Bullets with a label each, which a terminal says once.
    Remarks(Vec<Remark>),
    /// As many as there are in a word, and all of them where that is unfolded.
    Gist {
        id: Option<&'static str>,
        what: String,
        lines: Vec<String>,
    },
    Facts(Vec<(Text, Text)>),
    Picture(Picture<'a>),
}

/// A part that can be folded away.
pub(super) struct FoldedPart<'a> {
    pub(super) id: Option<&'static str>,
    pub(super) title: Text,
    pub(super) blocks: Vec<PageBlock<'a>>,
}

/// What stands beside the title of a picture: its lead, what its colours mean, a switch between its two forms.
pub(super) struct Keys {
    pub(super) lead: Text,
    pub(super) keys: Vec<(&'static str, String)>,
    pub(super) has_switch: bool,
}

pub(super) struct Remark {
    pub(super) label: &'static str,
    pub(super) text: String,
    pub(super) tone: Option<Tone>,
    /// On a terminal no more of it than in a few lines: all of it is in the journal.
    pub(super) is_cut: bool,
}

pub(super) struct PageTable {
    pub(super) table: TextTable,
    /// Titles of the columns of words, which are set left.
    pub(super) words: &'static [&'static str],
    /// How its own title is set on a terminal.
    pub(super) title: Tone,
    /// Rows are candidates, each of which a page of HTML can hide.
    pub(super) by_candidate: bool,
    /// Rows are changes for the better or worse, with these tones, under a rule; of rows of one candidate the first names it.
    pub(super) changes: Option<Vec<Option<Tone>>>,
}

impl PageTable {
    pub(super) fn plain(table: TextTable) -> Self {
        Self { table, words: &[], title: Tone::Strong, by_candidate: false, changes: None }
    }
}

/// One metric of all candidates, and those that have no numbers.
pub(super) struct MatrixBlock<'a> {
    pub(super) title: Option<String>,
    pub(super) matrix: Option<&'a Matrix>,
    /// Whether it has a column for the goal.
    pub(super) is_ranked: bool,
    /// Everybody whose name is to have room.
    pub(super) names: Vec<&'a str>,
    pub(super) missing: Vec<Missing<'a>>,
}

/// A candidate without numbers, and why it has none.
pub(super) struct Missing<'a> {
    pub(super) name: &'a str,
    pub(super) fared: &'static str,
    pub(super) why: String,
    pub(super) hint: &'a str,
    pub(super) tone: Tone,
}

impl<'a> ReportPage<'a> {
    pub(super) fn new(opening: Opening) -> Self {
        Self { opening, index: None, blocks: Vec::new() }
    }

    pub(super) fn add(&mut self, shown: For, block: PageBlock<'a>) {
        self.blocks.push((shown, block));
    }

    /// The blocks that are meant for this medium.
    pub(super) fn blocks(&self, medium: For) -> impl Iterator<Item = &PageBlock<'a>> {
        self.blocks.iter().filter(move |(shown, _)| shown.has(medium)).map(|(_, block)| block)
    }
}

impl<'a> PageBlock<'a> {
    pub(super) fn picture(draw: impl Fn() -> Markup + 'a) -> Self {
        PageBlock::Picture(Box::new(draw))
    }

    pub(super) fn fold(id: Option<&'static str>, title: impl Into<Text>, blocks: Vec<PageBlock<'a>>) -> Self {
        PageBlock::Fold(FoldedPart { id, title: title.into(), blocks })
    }

    pub(super) fn section(id: &'static str, title: &'static str, blocks: Vec<PageBlock<'a>>) -> Self {
        PageBlock::Section { id, title, keys: None, blocks }
    }
}

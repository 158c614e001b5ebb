//! Text of a page with emphasis. Text from files and programs is made harmless on the way in.

use crate::wording::one_line;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Span {
    /// Text of the program itself, the same in every format.
    Plain(String),
    /// Text that contains something from a file or a program.
    Said(String),
    Strong(String),
    Code(String),
    Small(String),
    /// Text with a CSS class of the page.
    Marked(&'static str, String),
    /// Emphasised text, with an explanation that an HTML page shows on hover.
    Meant(Option<&'static str>, String),
    Sign(Sign),
    /// A line break on an HTML page.
    Break,
}

/// Signs that have an ASCII replacement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sign {
    Best,
    Tied,
    PlusMinus,
    Times,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Text(pub(crate) Vec<Span>);

impl Text {
    pub(crate) fn ours(text: impl Into<String>) -> Self {
        Self::default().plain(text)
    }

    pub(crate) fn foreign(text: &str) -> Self {
        Self::default().said(text)
    }

    pub(crate) fn plain(self, text: impl Into<String>) -> Self {
        self.with(Span::Plain(text.into()))
    }

    pub(crate) fn said(self, foreign: &str) -> Self {
        self.with(Span::Said(one_line(foreign)))
    }

    pub(crate) fn strong(self, foreign: &str) -> Self {
        self.with(Span::Strong(one_line(foreign)))
    }

    pub(crate) fn code(self, foreign: &str) -> Self {
        self.with(Span::Code(one_line(foreign)))
    }

    pub(crate) fn small(self, foreign: &str) -> Self {
        self.with(Span::Small(one_line(foreign)))
    }

    pub(crate) fn meant(self, meaning: Option<&'static str>, foreign: &str) -> Self {
        self.with(Span::Meant(meaning, one_line(foreign)))
    }

    pub(crate) fn sign(self, sign: Sign) -> Self {
        self.with(Span::Sign(sign))
    }

    pub(crate) fn with(mut self, span: Span) -> Self {
        self.0.push(span);
        self
    }

    /// The text without emphasis; `sign` chooses the signs.
    pub(crate) fn bare(&self, sign: impl Fn(Sign) -> &'static str) -> String {
        let bare = |span: &Span| match span {
            Span::Plain(text)
            | Span::Said(text)
            | Span::Strong(text)
            | Span::Code(text)
            | Span::Small(text)
            | Span::Marked(_, text)
            | Span::Meant(_, text) => text.clone(),
            Span::Sign(known) => sign(*known).to_owned(),
            Span::Break => " ".to_owned(),
        };
        self.0.iter().map(bare).collect()
    }
}

impl Sign {
    /// The Unicode sign, which every output uses except a terminal without Unicode.
    pub(crate) fn sign(self) -> &'static str {
        match self {
            Sign::Best => "►",
            Sign::Tied => "≈",
            Sign::PlusMinus => "±",
            Sign::Times => "×",
        }
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Text::ours(text)
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Text::ours(text)
    }
}

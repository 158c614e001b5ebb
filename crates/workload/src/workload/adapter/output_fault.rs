//! The faults of a benchmark program's output, by what is wrong with it.

use std::borrow::Cow;

/// Why an output has no results that can be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OutputFault {
    /// A word that does not fit its place, and why it does not.
    #[error("\"{word}\" {fault}")]
    Word { word: String, fault: &'static str },
    /// The beginning of a line that is not of its form, after words that say where it stands.
    #[error("{place} \"{line}\"")]
    Line { place: Cow<'static, str>, line: String },
    #[error("{0}")]
    Json(String),
    /// A part that every complete output has is not there.
    #[error("{0}")]
    Missing(Cow<'static, str>),
    /// Results of less work than the program was to do.
    #[error("it ended before it was done: {0}")]
    Unfinished(String),
    /// The program reports that it failed.
    #[error("{0}")]
    Failed(String),
    /// The program succeeded without any work that is measured.
    #[error("{0}")]
    NothingDone(Cow<'static, str>),
    /// Results of another version, or of more than the adapter can tell apart.
    #[error("{0}")]
    Unsupported(Cow<'static, str>),
    /// Numbers that contradict each other, or that nothing can have.
    #[error("{0}")]
    Implausible(String),
}

impl OutputFault {
    pub(super) fn of_word(word: &str, fault: &'static str) -> Self {
        Self::Word { word: word.to_owned(), fault }
    }

    /// Shows the first characters of a line, `longest` at most.
    pub(super) fn of_line(place: impl Into<Cow<'static, str>>, line: &str, longest: usize) -> Self {
        Self::Line { place: place.into(), line: line.chars().take(longest).collect() }
    }
}

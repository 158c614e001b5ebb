//! A statement about a run with its rank. Topics and the verdict make one list of them, from which the sentence, the
//! paragraph, the plain words and the notes of a report choose.

use fsverdict_judgement::verdict::{Judgement, Limit};

/// The purpose of a clause; the order is their rank within a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ClauseKind {
    /// The candidates that the requirements rule out. A sentence, or more.
    RuledOut,
    /// A fact that a reader must know before the answer: it begins the sentence on the outcome, with its punctuation.
    Premise,
    /// Explains the standings.
    Detail,
    /// Predicts the results on one device; stands behind all other explanations.
    Prediction,
    /// A caveat: the work is too little to decide by.
    TooLittle,
    /// A caveat: a candidate leaves data in the device's cache.
    Unflushed,
    /// A caveat: computation was free for some candidates only.
    FreeWork,
    /// A limit of the verdict.
    Limit,
    /// A condition of the verdict that is not shown to hold, or the way to learn it.
    Proviso,
    /// A note for the reader of the numbers.
    Note,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Clause {
    pub(crate) kind: ClauseKind,
    /// Without a full stop, unless it is a premise.
    pub(crate) text: String,
    /// Whether it is listed among the notes.
    pub(crate) is_noted: bool,
    /// Whether the text begins with a name, which keeps its small letter.
    pub(crate) begins_with_name: bool,
}

impl Clause {
    pub(crate) fn new(kind: ClauseKind, text: String) -> Self {
        let is_noted = matches!(
            kind,
            ClauseKind::TooLittle
                | ClauseKind::Unflushed
                | ClauseKind::Limit
                | ClauseKind::Proviso
                | ClauseKind::Note
        );
        Self { kind, text, is_noted, begins_with_name: false }
    }

    pub(crate) fn list(kind: ClauseKind, texts: impl IntoIterator<Item = String>) -> Vec<Self> {
        texts.into_iter().map(|text| Self::new(kind, text)).collect()
    }

    pub(crate) fn list_limits(judged: &Judgement<'_>) -> Vec<Self> {
        let clause = |limit: &Limit| match limit {
            Limit::TooLittle(_) => Self::new(ClauseKind::TooLittle, limit.to_string()),
            _ => Self::new(ClauseKind::Limit, limit.to_string()),
        };
        judged.verdict.limits.iter().map(clause).collect()
    }

    /// The same among the notes, too.
    pub(crate) fn noted(self) -> Self {
        Self { is_noted: true, ..self }
    }

    /// Whether it might lead a reader to another decision than the verdict, which says itself that the work is too little.
    pub(crate) fn may_change_decision(&self) -> bool {
        (ClauseKind::Unflushed..=ClauseKind::Proviso).contains(&self.kind)
    }

    /// Whether it says how far the verdict is to be believed.
    pub(crate) fn is_caveat(&self) -> bool {
        (ClauseKind::TooLittle..=ClauseKind::Limit).contains(&self.kind)
    }
}

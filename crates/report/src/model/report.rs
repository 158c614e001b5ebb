//! A run prepared for display: its judgement, computed once, with the words and tables made from it. Renderers only lay
//! it out.

use std::path::PathBuf;

use crate::model::matrix::Matrix;
use crate::topics::across::SideBySide;
use crate::{Guarantees, PageNote, Requests, ToUse};
use fsverdict_judgement::journal::{CandidateStatus, Group};
use fsverdict_judgement::plan::Candidate;
use fsverdict_judgement::verdict::{Judgement, SafetyPoint};

#[derive(Debug, Clone)]
pub struct Report<'a> {
    pub judged: Judgement<'a>,
    pub sentence: String,
    /// The verdict as a paragraph; `None` where there is nothing to compare, or not yet.
    pub paragraph: Option<String>,
    /// The verdict in three sentences without intervals.
    pub plain_words: Option<String>,
    /// How noisy the run is, without a full stop.
    pub(crate) noise: Option<String>,
    /// Notes that a reader of the numbers must know.
    pub notes: Vec<PageNote>,
    /// The goal's metric in the phases of the first table.
    pub(crate) picture: Option<Matrix>,
    pub(crate) around: Option<Matrix>,
    pub(crate) details: Vec<Detail>,
    /// The verdicts of the environments, where there are several; then the run as a whole has no verdict.
    pub(crate) across: Option<SideBySide>,
    /// The folder of the run, to show to the reader.
    pub folder: Option<PathBuf>,
    /// The path of the HTML page among the run's files, if it exists.
    pub page: Option<PathBuf>,
    /// The requests to a modelled device in one trial of each candidate; for HTML pages, and empty until it is set.
    pub requests: Vec<Requests>,
    /// The rows of the trials, [compressed](crate::packed_rows) in advance; an HTML page compresses them itself where
    /// `None`.
    pub rows: Option<String>,
    /// How to set up the recommended candidate for permanent use; for HTML pages, and `None` until it is set.
    pub to_use: Option<ToUse>,
    /// The same for the candidates to take if the data must be better protected.
    pub to_use_instead: Vec<ToUse>,
    /// The guarantees of each candidate; empty until set.
    pub guarantees: Vec<Guarantees>,
    /// Time beside the data that was lost, where the plan tested faults.
    pub(crate) safety: Vec<SafetyPoint>,
    /// Whether the run is in progress, so that its page should be reloaded.
    pub live: bool,
}

impl<'a> Report<'a> {
    /// Whether there are numbers to show.
    pub(crate) fn has_results(&self) -> bool {
        self.judged.with_status(CandidateStatus::Ok).next().is_some() && !self.judged.estimates.is_empty()
    }

    /// The candidate that [`to_use`](Self::to_use) sets up; `None` where none is to be taken.
    pub fn taken(&self) -> Option<&Candidate> {
        let taken = self.judged.candidate_to_take().filter(|_| self.across.is_none())?;
        self.judged.plan.find_candidate(taken)
    }
}

/// A metric by phase, with its meaning.
#[derive(Debug, Clone)]
pub(crate) struct Detail {
    pub(crate) metric: String,
    pub(crate) meaning: &'static str,
    pub(crate) group: Group,
    pub(crate) matrix: Matrix,
}

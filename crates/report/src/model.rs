//! A run prepared for display: its judgement, computed once, with the words and tables made from it. Renderers only lay
//! it out.

use std::path::PathBuf;

use super::across::SideBySide;
use super::matrix::Matrix;
use super::text_table::TextTable;
use super::topics::tradeoffs;
use super::{Guarantees, PageNote, Requests, ToUse, groups, guarantees, noise, notes, plain_words, words};
use fsverdict_judgement::journal::{Group, METRICS, Run, adapter_metric};
use fsverdict_judgement::plan::{Candidate, Plan};
use fsverdict_judgement::verdict::{Judgement, SafetyPoint, price_of_safety};

#[derive(Debug, Clone)]
pub struct Report<'a> {
    pub judged: Judgement<'a>,
    pub sentence: String,
    /// The verdict as a paragraph; `None` where there is nothing to compare, or not yet.
    pub paragraph: Option<String>,
    /// The verdict in three sentences without intervals.
    pub plain_words: Option<String>,
    /// How noisy the run is, without a full stop.
    pub(super) noise: Option<String>,
    /// Notes that a reader of the numbers must know.
    pub notes: Vec<PageNote>,
    /// The goal's metric in the phases of the first table.
    pub(super) picture: Option<Matrix>,
    pub(super) around: Option<Matrix>,
    pub(super) details: Vec<Detail>,
    /// Time beside the other costs, and how far the weights can move.
    pub(super) beside: Vec<TextTable>,
    /// The verdicts of the environments, where there are several; then the run as a whole has no verdict.
    pub(super) across: Option<SideBySide>,
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
    /// The guarantees of each candidate; empty until set.
    pub guarantees: Vec<Guarantees>,
    /// Time beside the data that was lost, where the plan tested faults.
    pub(super) safety: Vec<SafetyPoint>,
    /// Whether the run is in progress, so that its page should be reloaded.
    pub live: bool,
}

impl<'a> Report<'a> {
    /// Builds the report; `folder` is the folder of the run.
    pub fn new(plan: &'a Plan, run: &'a Run, folder: Option<PathBuf>) -> Self {
        let judged = Judgement::from_run(plan, run);
        let goal = plan.goal.metric.as_str();
        let across = SideBySide::of(&judged);
        let found = across.as_ref().map(|across| &across.found);
        let noise = noise::write_sentence(&judged);
        let outcome = groups::describe_outcome(&judged);
        Self {
            paragraph: words::write_paragraph(&judged, found, &outcome, noise.as_deref()),
            plain_words: if found.is_some() { None } else { plain_words::write_sentences(&judged) },
            notes: notes::gather(&judged),
            picture: Matrix::of(&judged, goal, |phase| judged.is_headline(phase)),
            // Steps that the goal weighs by their time are shown with the phases instead.
            around: Matrix::of(&judged, "durable", |phase| {
                !phase.planned && (goal != "durable" || !judged.is_headline(phase))
            }),
            details: details(&judged),
            beside: tradeoffs::build_tables(&judged),
            safety: price_of_safety(run, &judged.objective),
            sentence: across.as_ref().map_or(outcome, SideBySide::write_sentence),
            across,
            noise,
            judged,
            folder,
            page: None,
            requests: Vec::new(),
            rows: None,
            to_use: None,
            guarantees: Vec::new(),
            live: false,
        }
    }

    /// The guarantees that the recommended candidates lack and others have, in a sentence; `None` if there are none, or
    /// they are not known.
    pub(super) fn drawbacks(&self) -> Option<String> {
        if self.across.is_some() {
            None
        } else {
            guarantees::describe_drawbacks(&self.judged, &self.guarantees)
        }
    }

    /// The candidate that [`to_use`](Self::to_use) sets up; `None` where nothing is recommended.
    pub fn taken(&self) -> Option<&Candidate> {
        let taken = self.judged.verdict.recommended.as_ref().filter(|_| self.across.is_none())?;
        self.judged.plan.candidates.iter().find(|candidate| candidate.name == *taken)
    }
}

/// A metric by phase, with its meaning.
#[derive(Debug, Clone)]
pub(super) struct Detail {
    pub(super) metric: String,
    pub(super) meaning: &'static str,
    pub(super) group: Group,
    pub(super) matrix: Matrix,
}

/// Rates, then costs, then metrics of adapters, where they were measured and are not zero.
fn details(judged: &Judgement<'_>) -> Vec<Detail> {
    let listed = |group: Group| METRICS.iter().filter(move |metric| metric.group == group);
    let mut metrics: Vec<(&str, &'static str, Group)> = listed(Group::Rate)
        .chain(listed(Group::Cost))
        .map(|metric| (metric.name, metric.meaning, metric.group))
        .collect();
    for found in &judged.estimates {
        let built_in = METRICS.iter().any(|metric| metric.name == found.metric);
        if !built_in && !metrics.iter().any(|(name, ..)| *name == found.metric) {
            let meaning = adapter_metric(&found.metric).map_or("", |known| known.meaning);
            metrics.push((&found.metric, meaning, Group::Rate));
        }
    }
    let detail = |(metric, meaning, group): (&str, &'static str, Group)| {
        let matrix = Matrix::of(judged, metric, |phase| phase.planned)?;
        (!matrix.is_empty()).then(|| Detail { metric: metric.to_owned(), meaning, group, matrix })
    };
    let goal = judged.plan.goal.metric.as_str();
    metrics.into_iter().filter(|(name, ..)| *name != goal).filter_map(detail).collect()
}

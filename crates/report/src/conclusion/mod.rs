//! The conclusion of a report: the outcome in a sentence, a paragraph and plain words, and notes.

mod clauses;
mod equals;
pub(crate) mod levels;
pub(crate) mod losses;
mod no_verdict;
mod noise;
pub(crate) mod notes;
mod paragraph;
mod plain_words;
pub(crate) mod sentence;
mod trade;

use std::path::PathBuf;

use crate::Report;
use crate::model::{Detail, Matrix};
use crate::topics::across::SideBySide;
use crate::topics::guarantees;
use fsverdict_judgement::journal::{Group, METRICS, Run, adapter_metric};
use fsverdict_judgement::plan::Plan;
use fsverdict_judgement::verdict::{Across, Judgement, Slice, price_of_safety, slice_by_environment};
use levels::describe_outcome;

impl<'a> Report<'a> {
    /// Builds the report; `folder` is the folder of the run.
    pub fn new(plan: &'a Plan, run: &'a Run, folder: Option<PathBuf>) -> Self {
        let judged = Judgement::from_run(plan, run);
        let goal = plan.goal.metric.as_str();
        let across = compare_environments(&judged);
        let found = across.as_ref().map(|across| &across.found);
        let noise = noise::write_sentence(&judged);
        let outcome = describe_outcome(&judged);
        Self {
            paragraph: paragraph::write_paragraph(&judged, found, &outcome, noise.as_deref()),
            plain_words: if found.is_some() { None } else { plain_words::write_sentences(&judged) },
            notes: notes::gather(&judged),
            picture: Matrix::of(&judged, goal, |phase| judged.is_headline(phase)),
            // Steps that the goal weighs by their time are shown with the phases instead.
            around: Matrix::of(&judged, "durable", |phase| {
                !phase.planned && (goal != "durable" || !judged.is_headline(phase))
            }),
            details: list_details(&judged),
            safety: price_of_safety(plan, run, &judged.objective),
            sentence: clauses::with_too_little(
                &judged,
                across.as_ref().map_or(outcome, SideBySide::write_sentence),
            ),
            across,
            noise,
            judged,
            folder,
            page: None,
            requests: Vec::new(),
            rows: None,
            to_use: None,
            to_use_instead: Vec::new(),
            guarantees: Vec::new(),
            live: false,
        }
    }

    /// The guarantees that the recommended candidates lack and others have, in a sentence; `None` if there are none, or
    /// they are not known.
    pub(crate) fn drawbacks(&self) -> Option<String> {
        if self.across.is_some() {
            None
        } else {
            guarantees::describe_drawbacks(&self.judged, &self.guarantees)
        }
    }
}

/// The environments of a run, each with its outcome; `None` where every trial had the same environment.
fn compare_environments(whole: &Judgement<'_>) -> Option<SideBySide> {
    let environments = slice_by_environment(whole.plan, whole.run);
    let judged: Vec<Judgement<'_>> = environments.iter().map(Slice::judge).collect();
    let found = Across::from_environments(whole, &environments, &judged)?;
    Some(SideBySide::new(found, judged.iter().map(describe_outcome).collect()))
}

/// Rates, then costs, then metrics of adapters, where they were measured and are not zero.
fn list_details(judged: &Judgement<'_>) -> Vec<Detail> {
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

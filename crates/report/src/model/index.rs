//! An index of estimates by candidate, phase and metric, because a page reads each of them several times.

use std::collections::HashMap;

use crate::Report;
use fsverdict_judgement::journal::CandidateStatus;
use fsverdict_judgement::verdict::PhaseEstimate;

/// The estimates of a report, indexed.
#[derive(Debug)]
pub(crate) struct Index<'a> {
    estimates: HashMap<(&'a str, &'a str, &'a str), &'a PhaseEstimate>,
    numbers: HashMap<&'a str, usize>,
    /// Measured candidates, best first.
    pub(crate) measured: Vec<&'a str>,
}

impl<'a> Index<'a> {
    pub(crate) fn of(report: &'a Report<'a>) -> Self {
        let key = |found: &'a PhaseEstimate| {
            ((found.candidate.as_str(), found.phase.as_str(), found.metric.as_str()), found)
        };
        Self {
            estimates: report.judged.estimates.iter().map(key).collect(),
            numbers: report
                .judged
                .candidates
                .iter()
                .enumerate()
                .map(|(number, entry)| (entry.name, number))
                .collect(),
            measured: report.judged.with_status(CandidateStatus::Ok).map(|entry| entry.name).collect(),
        }
    }

    pub(crate) fn get(&self, candidate: &str, phase: &str, metric: &str) -> Option<&'a PhaseEstimate> {
        self.estimates.get(&(candidate, phase, metric)).copied()
    }

    /// The number that identifies a candidate on the page; names are foreign text and not valid as identifiers.
    pub(crate) fn number(&self, candidate: &str) -> Option<usize> {
        self.numbers.get(candidate).copied()
    }

    /// The estimates of a metric in a phase, for the measured candidates in order.
    pub(crate) fn column(&self, phase: &str, metric: &str) -> Vec<&'a PhaseEstimate> {
        self.measured.iter().filter_map(|name| self.get(name, phase, metric)).collect()
    }
}

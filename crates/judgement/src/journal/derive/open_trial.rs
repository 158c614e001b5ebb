//! A trial while its journal is read: the records about it, and how its time is spent.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::journal::trial::{Trial, TrialStanding};
use crate::journal::{CLAIM, CommandRecord, Facts, Learnt, STAGE, Status, TEAR_DOWN, TrialId};

/// A trial that has begun and not ended.
#[derive(Debug)]
pub(super) struct OpenTrial {
    pub(super) trial: Trial,
    pub(super) commands: Vec<CommandRecord>,
    /// The step under way, and when it began.
    step: (String, Timestamp),
}

/// A trial that has begun and not ended, and the step that it is at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnderwayTrial {
    pub id: TrialId,
    pub started: Timestamp,
    /// A phase, `mkfs`, `mount` …; empty before the first.
    pub step: String,
    pub step_started: Timestamp,
}

impl OpenTrial {
    pub(super) fn underway_trial(&self) -> UnderwayTrial {
        let (step, step_started) = self.step.clone();
        UnderwayTrial { id: self.trial.id.clone(), started: self.trial.started, step, step_started }
    }

    pub(super) fn new(id: TrialId, started: Timestamp) -> Self {
        let trial = Trial {
            id,
            started,
            status: Status::Failed,
            reason: String::new(),
            hint: String::new(),
            wall: 0.0,
            spent: None,
            standing: TrialStanding::Open,
            observations: Vec::new(),
            facts: Facts::new(),
            learnt: Learnt::default(),
            cautions: Vec::new(),
            surroundings: None,
        };
        let step = (String::new(), trial.started);
        OpenTrial { trial, commands: Vec::new(), step }
    }

    /// Ends the step under way, and begins another.
    pub(super) fn begin_step(&mut self, name: &str, at: Timestamp) {
        let (step, since) = std::mem::replace(&mut self.step, (name.to_owned(), at));
        // A trial that records no steps says nothing of where its time went.
        if step.is_empty() && name.is_empty() {
            return;
        }
        let spent = self.trial.spent.get_or_insert_default();
        let part = match step.as_str() {
            "" | CLAIM => &mut spent.boot,
            TEAR_DOWN => &mut spent.teardown,
            name if name.starts_with(STAGE) => &mut spent.staging,
            _ => &mut spent.work,
        };
        // A clock that was set back took no time away.
        *part += at.duration_since(since).as_secs_f64().max(0.0);
    }
}

pub(super) type OpenTrials = BTreeMap<TrialId, OpenTrial>;

/// The trial with this id, if it has started and not ended.
pub(super) fn find_open<'a>(open: &'a mut OpenTrials, id: Option<&TrialId>) -> Option<&'a mut OpenTrial> {
    open.get_mut(id?)
}

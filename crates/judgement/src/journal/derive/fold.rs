//! Builds the state of a run record by record.

use std::path::Path;

use super::open_trial::{OpenTrial, OpenTrials, UnderwayTrial};
use super::{LatencyPlaces, untried_candidate};
use crate::journal::run::{CandidateState, Header, Run};
use crate::journal::{Event, JournalError, Record};
use crate::plan::Plan;

/// A run that is built record by record; its state can be inspected between records.
#[derive(Debug)]
pub struct Fold {
    candidates: Vec<CandidateState>,
    begun: bool,
    /// `None` before the first record, and if the first record does not start a run.
    run: Option<Run>,
    open: OpenTrials,
    latency_places: LatencyPlaces,
}

impl Fold {
    /// Starts with an empty journal.
    pub fn new(plan: &Plan) -> Self {
        let candidates = plan.candidates.iter().map(|candidate| untried_candidate(&candidate.name)).collect();
        Self {
            candidates,
            begun: false,
            run: None,
            open: OpenTrials::new(),
            latency_places: LatencyPlaces::new(),
        }
    }

    pub fn add_record(&mut self, record: Record) {
        if !std::mem::replace(&mut self.begun, true) {
            self.run = begin_run(record);
            if let Some(run) = &mut self.run {
                run.candidates = std::mem::take(&mut self.candidates);
            }
        } else if let Some(run) = &mut self.run {
            match record.event {
                // When a session resumes a run, cautions about what has changed come first, after a pause of any length.
                // The next record counts the time up to a caution within a session, too.
                Event::Caution(_) if record.trial.is_none() => {}
                Event::RunResumed { .. } | Event::PowerCut(_) | Event::Rotten(_) => {
                    run.last = record.at;
                }
                ref event => {
                    let jumped = match event {
                        Event::ClockJumped { milliseconds } => *milliseconds as f64 / 1000.0,
                        _ => 0.0,
                    };
                    // A clock that was set back subtracts no time.
                    run.worked += (record.at.duration_since(run.last).as_secs_f64() - jumped).max(0.0);
                    run.last = record.at;
                }
            }
            run.apply_record(record, &mut self.open, &mut self.latency_places);
        }
    }

    /// The run so far; `None` if the first record does not start a run.
    pub fn run(&mut self) -> Option<&Run> {
        let run = self.run.as_mut()?;
        run.interrupted = self.open.keys().cloned().collect();
        run.settle_standings();
        run.settle_candidates();
        Some(run)
    }

    /// The trials that have begun and not ended.
    pub(in crate::journal) fn underway(&self) -> Vec<UnderwayTrial> {
        self.open.values().map(OpenTrial::underway_trial).collect()
    }

    /// The final run, after the last record.
    pub fn into_run(mut self) -> Option<Run> {
        self.run();
        let mut run = self.run?;
        run.trials.shrink_to_fit();
        Some(run)
    }

    pub(super) fn finish_run(self, path: &Path, torn: bool) -> Result<Run, JournalError> {
        let run = self.into_run().ok_or_else(|| JournalError::NoRun { path: path.to_path_buf() })?;
        Ok(Run { torn, ..run })
    }
}

fn begin_run(record: Record) -> Option<Run> {
    let (started, event) = (record.at, record.event);
    let Event::RunStarted {
        id, title, plan_digest, lab, lab_reason, fidelity, environment, beginning, ..
    } = event
    else {
        return None;
    };
    let header =
        Header { started, id, title, plan_digest, lab, lab_reason, fidelity, environment, beginning };
    Some(Run { header, last: started, ..Run::default() })
}

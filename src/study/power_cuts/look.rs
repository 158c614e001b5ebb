//! States looked at in guests: many in each, and so many guests at once as there is room for.

use std::sync::Mutex;
use std::thread::scope;

use crate::lab::{LogPurpose, TrialEnd, WriteLogFile};
use crate::trial::{CutLook, TrialSpec};
use fsverdict_disk::crash::CrashState;
use fsverdict_judgement::journal::{CutOutcome, Event, StateFinding, Status};
use fsverdict_judgement::plan::Candidate;
use fsverdict_text::Reason;

use super::{PowerCutting, plain};
use crate::study::error::SessionError;

/// States that one guest looks at, at most: one that dies takes no more with it than are left of these.
const BATCH: usize = 250;

impl PowerCutting<'_> {
    /// Looks at these states, so many guests at once as there is room for.
    pub(super) fn look_at(
        &self,
        candidate: &Candidate,
        states: &[CrashState],
        look: &(dyn Fn(&[CrashState]) -> CutLook + Sync),
        tell: &(dyn Fn(usize, usize) + Sync),
    ) -> Result<Vec<StateFinding>, SessionError> {
        let (jobs, states_in_all) = (self.choice.lab.side_by_side().unwrap_or(1), states.len());
        let batch = states.len().div_ceil(jobs.max(1)).clamp(1, BATCH);
        let waiting = Mutex::new(states.chunks(batch));
        let found: Mutex<Vec<StateFinding>> = Mutex::new(Vec::with_capacity(states.len()));
        let take = || waiting.lock().ok().and_then(|mut waiting| waiting.next());
        let work = |job: usize| -> Result<(), SessionError> {
            while let Some(states) = take() {
                let findings = self.batch(candidate, states, look, job)?;
                if let Ok(mut found) = found.lock() {
                    found.extend(findings);
                    tell(found.len(), states_in_all);
                }
            }
            Ok(())
        };
        scope(|scope| {
            let work = &work;
            let workers: Vec<_> = (0..jobs).map(|job| scope.spawn(move || work(job))).collect();
            workers
                .into_iter()
                .try_for_each(|worker| worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        })?;
        found.into_inner().map_err(|_| SessionError::Disk(Reason::plain("a thread was lost")))
    }

    /// Looks at these, in one guest after the other where one does not survive a state.
    fn batch(
        &self,
        candidate: &Candidate,
        states: &[CrashState],
        look: &(dyn Fn(&[CrashState]) -> CutLook + Sync),
        job: usize,
    ) -> Result<Vec<StateFinding>, SessionError> {
        let mut findings: Vec<StateFinding> = Vec::with_capacity(states.len());
        while let Some(left) = states.get(findings.len()..).filter(|left| !left.is_empty()) {
            let purpose = LogPurpose::Enter { states: left.to_vec(), rule: self.rule(candidate)? };
            let log = WriteLogFile { device: 1, path: self.log_path(candidate, 1), purpose };
            let attachments = self.attachments.clone().with_logs(vec![log]);
            let spec = TrialSpec { cuts: Some(look(left)), ..self.spec(candidate) };
            let (mut at, mut told) = (None, Vec::new());
            let mut watch = |event: Event| match event {
                Event::StepStarted { step } => at = step.parse::<usize>().ok().or(at),
                Event::AfterCut(finding) => told.push(finding),
                _ => {}
            };
            let end = self.choice.lab.run(&spec, &attachments, job, &mut watch)?;
            let done = told.len();
            // A guest counts from its first state on, and tells of each.
            let in_order = (0..).zip(&told).all(|(number, finding)| finding.state == number.to_string());
            let named = told.into_iter().zip(left);
            findings
                .extend(named.map(|(finding, state)| StateFinding { state: state.to_string(), ..finding }));
            match left.get(done) {
                _ if !in_order => return Err(plain("a guest did not tell of each state")),
                None => {}
                Some(state) if at == Some(done) && end.status == Status::Failed => {
                    findings.push(died(*state, &end));
                }
                Some(_) => return Err(SessionError::Disk(Reason::new(end.reason, end.hint))),
            }
        }
        Ok(findings)
    }
}

/// A guest that did not survive a state.
fn died(state: CrashState, end: &TrialEnd) -> StateFinding {
    let panicked = end.killed || end.reason.contains("panic");
    let outcome = if panicked { CutOutcome::Panic } else { CutOutcome::Hang };
    let seen = end.reason.chars().take(600).collect();
    StateFinding { state: state.to_string(), outcome, broken: Vec::new(), seen, back_s: 0.0 }
}

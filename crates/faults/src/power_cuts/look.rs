//! States looked at in guests: many in each, and so many guests at once as there is room for.

use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::scope;
use std::time::Duration;

use fsverdict_disk::crash::{CrashState, WriteLog};
use fsverdict_judgement::journal::{CutOutcome, Event, LossAges, StateFinding, Status};
use fsverdict_judgement::plan::Candidate;
use fsverdict_lab::lab::TrialEnd;
use fsverdict_lab::trial::TrialSpec;
use fsverdict_text::Reason;

use super::kept::KeptFindings;
use super::record::CutRecord;
use super::{CutName, PowerCutting, plain};
use crate::error::FaultError;
use crate::interruptions::Interruptions;

/// States that one guest looks at, at most: one that dies takes no more with it than are left of these.
const BATCH: usize = 250;
/// The same where programs look at their own data in each.
const BATCH_OF_PROGRAMS: usize = 50;
/// What the plan allows a trial may be too little for a guest in which programs look at so many states: for each so much.
const FOR_PROGRAMS: Duration = Duration::from_secs(30);

/// What is to be looked at of a candidate.
pub(super) struct CutStates<'a> {
    pub(super) candidate: &'a Candidate,
    pub(super) part: u32,
    pub(super) states: &'a [CrashState],
    pub(super) record: &'a CutRecord,
    pub(super) log: &'a WriteLog,
}

impl CutStates<'_> {
    fn name(&self, state: CrashState) -> CutName {
        CutName { part: self.part, state }
    }
}

impl PowerCutting<'_> {
    /// Looks at these states, so many guests at once as there is room for, and keeps what was found. `tell` hears how many were
    /// looked at, of how many.
    pub(super) fn look_at(
        &self,
        looked: &CutStates<'_>,
        kept: &KeptFindings,
        tell: &(dyn Fn(usize, usize) + Sync),
    ) -> Result<(), FaultError> {
        let known: HashSet<String> = kept.findings().into_iter().map(|finding| finding.state).collect();
        let states = looked.states;
        let left: Vec<CrashState> = states
            .iter()
            .copied()
            .filter(|state| !known.contains(&looked.name(*state).to_string()))
            .collect();
        let (jobs, all) = (self.choice.lab.side_by_side().unwrap_or(1), states.len());
        let done = AtomicUsize::new(all - left.len());
        let most = if looked.record.rechecks.is_empty() { BATCH } else { BATCH_OF_PROGRAMS };
        let batch = left.len().div_ceil(jobs.max(1)).clamp(1, most);
        let waiting = Mutex::new(left.chunks(batch));
        let take = || waiting.lock().ok().and_then(|mut waiting| waiting.next());
        let work = |job: usize| -> Result<(), FaultError> {
            while let Some(states) = take() {
                let findings = self.batch(looked, states, job)?;
                kept.add(findings)?;
                tell(done.fetch_add(states.len(), Ordering::Relaxed) + states.len(), all);
            }
            Ok(())
        };
        scope(|scope| {
            let work = &work;
            let workers: Vec<_> = (0..jobs).map(|job| scope.spawn(move || work(job))).collect();
            workers
                .into_iter()
                .try_for_each(|worker| worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        })
    }

    /// Looks at these, in one guest after the other where one does not survive a state.
    fn batch(
        &self,
        looked: &CutStates<'_>,
        states: &[CrashState],
        job: usize,
    ) -> Result<Vec<StateFinding>, FaultError> {
        let CutStates { candidate, part, record, log, .. } = *looked;
        let mut findings: Vec<StateFinding> = Vec::with_capacity(states.len());
        let mut interruptions = Interruptions::default();
        while let Some(left) = states.get(findings.len()..).filter(|left| !left.is_empty()) {
            let entered = self.entered(candidate, part, record, log, left)?;
            let attachments = self.attachments.clone().with_logs(entered);
            let spec = self.spec(candidate, part);
            let programs = u32::try_from(record.rechecks.len() * left.len()).unwrap_or(u32::MAX);
            let limit = spec.limit.max(FOR_PROGRAMS.saturating_mul(programs));
            let spec = TrialSpec { cuts: Some(record.look(log, left)), limit, ..spec };
            let (mut at, mut told) = (None, Vec::new());
            let mut watch = |event: Event| match event {
                Event::StepStarted { step } => at = step.parse::<usize>().ok().or(at),
                // One more than there are shows that the guest reports too many; more of them would only take memory.
                Event::AfterCut(finding) if told.len() <= left.len() => told.push(finding.bounded()),
                _ => {}
            };
            let end = self.choice.lab.run(&spec, &attachments, job, &mut watch)?;
            let done = told.len();
            // A guest counts from its first state on, and tells of each.
            let in_order = done <= left.len()
                && (0..).zip(&told).all(|(number, finding)| finding.state == number.to_string());
            let named = told.into_iter().zip(left);
            findings.extend(
                named.map(|(finding, state)| StateFinding {
                    state: looked.name(*state).to_string(),
                    ..finding
                }),
            );
            match left.get(done) {
                _ if !in_order => return Err(plain("a guest did not tell of each state")),
                None => {}
                // What ends a guest from outside says nothing about the state it is at.
                Some(_) if interruptions.take(&end)? => {}
                Some(state) if at == Some(done) && end.status == Status::Failed => {
                    if interruptions.is_first_death_at(findings.len()) {
                        continue;
                    }
                    findings.push(died(looked.name(*state), &end));
                }
                Some(_) => return Err(FaultError::Refused(Reason::new(end.reason, end.hint))),
            }
        }
        Ok(findings)
    }
}

/// A guest that did not survive a state.
fn died(state: CutName, end: &TrialEnd) -> StateFinding {
    let panicked = end.killed || end.reason.contains("panic");
    let outcome = if panicked { CutOutcome::Panic } else { CutOutcome::Hang };
    let why = end.interrupted.map_or(String::new(), |interruption| format!("{interruption}: "));
    let seen = format!("{why}{}", end.reason).chars().take(600).collect();
    StateFinding {
        state: state.to_string(),
        outcome,
        broken: Vec::new(),
        seen,
        back_s: 0.0,
        ages: LossAges::default(),
    }
}

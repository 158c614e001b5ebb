//! Conducts a study: the loop over blocks, from the first one until the study is concluded.

use std::time::Instant;

use fsverdict_judgement::journal::{Caution, Ending, Event, OpenJournal, Run, TrialId};
use fsverdict_judgement::plan::Plan;
use fsverdict_lab::lab::{Attachments, Lab};
use fsverdict_text::Reason;

use super::block_validity::{broken_rule, find_changed_data, find_mixed_data};
use super::clocks::{ClockReadings, JumpWatch};
use super::conclusion::{Conclusion, next_to_try, still_in};
use super::error::SessionError;
use super::prospect::find_obstacle;
use super::schedule::{draw_order, order_seed};
use super::time::{Outlook, TimeBudget};
use super::watcher::Watcher;

/// The maximum number of attempts at a block that is conducted by itself.
pub const BLOCK_ATTEMPTS: u32 = 3;

/// Receives the events of a study while it is conducted.
pub trait Observer {
    /// Announces the remaining work and the leader at the beginning of a block.
    fn expect_trials(&mut self, outlook: Outlook);
    /// Receives an event, with its trial if it belongs to one.
    fn observe_event(&mut self, trial: Option<&TrialId>, event: &Event);
    /// Receives the run as it is known at the end of a block.
    fn block_ended(&mut self, _run: &Run) {}
}

/// An observer that ignores all events.
#[derive(Debug, Default)]
pub struct Silent;

impl Observer for Silent {
    fn expect_trials(&mut self, _outlook: Outlook) {}
    fn observe_event(&mut self, _trial: Option<&TrialId>, _event: &Event) {}
}

/// A plan that is being carried out.
pub struct Study<'a> {
    pub plan: &'a Plan,
    pub lab: &'a dyn Lab,
    pub attachments: Attachments,
    pub journal: OpenJournal,
    pub observer: &'a mut dyn Observer,
    pub watcher: Box<dyn Watcher + 'a>,
    /// The number of trials that run at once; 1 where a watcher observes the machine.
    pub jobs: usize,
    /// No trial begins after this moment, and trials in progress are stopped then.
    pub deadline: Option<Instant>,
    /// The names of candidates that preparation has excluded, each with the reason.
    pub refused: Vec<(String, Reason)>,
    /// Detects sleeps and steps of the time of day between records.
    pub jumps: JumpWatch,
}

impl Study<'_> {
    /// Conducts the study from where the journal stands to its end; `resumed` is the event with which a resumed study
    /// continues.
    ///
    /// # Errors
    /// Fails when the journal cannot be written or a trial cannot be started. A failed trial is no error.
    pub fn conduct(&mut self, resumed: Option<Event>) -> Result<(), SessionError> {
        if let Some(event) = resumed {
            self.record_event(None, event)?;
        }
        let run = self.journal.run()?;
        let begun = !run.blocks.is_empty();
        // The previous session may have ended before it recorded the conclusion of its last block.
        let between_blocks = begun && run.resume_point().is_none();
        if !begun {
            self.skip_what_cannot_be_tried()?;
        }
        if between_blocks && self.record_conclusion()? {
            return Ok(());
        }
        loop {
            let run = self.journal.run()?;
            let candidates = next_to_try(self.plan, run);
            if candidates.is_empty() {
                let reason = "no candidate can be tried here".to_owned();
                return self.record_event(None, Event::RunFinished { reason, ending: Some(Ending::Nobody) });
            }
            let (block, attempt, names) = match run.resume_point() {
                Some(state) => {
                    (state.block, state.attempt, state.untried_candidates().map(str::to_owned).collect())
                }
                None => {
                    let (block, attempt) = run.next_block();
                    let seed = order_seed(self.plan, run);
                    let order = self.order_candidates(seed, block, &candidates);
                    self.record_event(
                        None,
                        Event::BlockStarted { block, attempt, order: order.clone(), place: None },
                    )?;
                    (block, attempt, order)
                }
            };
            let outlook = Outlook::of(self.plan, self.journal.run()?);
            self.observer.expect_trials(outlook);
            self.run_block(block, attempt, &names)?;
            if let Some(reason) = self.stopped_by_time()? {
                return self.record_event(None, Event::RunFinished { reason, ending: Some(Ending::Budget) });
            }
            self.observer.block_ended(self.journal.run()?);
            if self.record_conclusion()? {
                return Ok(());
            }
        }
    }

    /// Conducts block `number` by itself, without the candidates that are `out`, and repeats it if it was disturbed.
    /// Returns whether the block counts.
    ///
    /// # Errors
    /// As [`Self::conduct`].
    pub fn conduct_one(
        &mut self,
        number: u32,
        order_seed: u64,
        out: &[String],
    ) -> Result<bool, SessionError> {
        self.skip_what_cannot_be_tried()?;
        let here = still_in(self.plan, self.journal.run()?).map(str::to_owned);
        let tried: Vec<String> = here.filter(|name| !out.contains(name)).collect();
        let order = self.order_candidates(order_seed, number, &tried);
        for attempt in 1..=BLOCK_ATTEMPTS {
            self.observer.expect_trials(Outlook::of_block(&order));
            let begun = Event::BlockStarted { block: number, attempt, order: order.clone(), place: None };
            self.record_event(None, begun)?;
            self.run_block(number, attempt, &order)?;
            let run = self.journal.run()?;
            let counts = run.blocks.last().is_some_and(|last| last.invalid.is_none());
            self.observer.block_ended(run);
            if counts {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The remaining candidates, in the order in which this block tries them.
    fn order_candidates(&self, seed: u64, block: u32, still_in: &[String]) -> Vec<String> {
        let names: Vec<&String> = self.plan.candidates.iter().map(|candidate| &candidate.name).collect();
        let places = draw_order(seed, block, names.len(), |at| still_in.contains(names[at]));
        places.into_iter().map(|at| names[at].clone()).collect()
    }

    /// Runs the trials of a block, or those that are left of it. Whether the block counts depends on the machine's
    /// state, never on the measured results.
    fn run_block(&mut self, block: u32, attempt: u32, names: &[String]) -> Result<(), SessionError> {
        let plan = self.plan;
        self.run_trials(block, attempt, names)?;
        if self.stopped_by_time()?.is_some() {
            return Ok(());
        }
        let run = self.journal.run()?;
        // In simulated time, other load on this machine does not affect the guest.
        let limits = plan.protocol.disturbed.as_ref().filter(|_| self.lab.side_by_side().is_none());
        let disturbed = || broken_rule(limits?, run, block, attempt);
        let invalid = find_mixed_data(run, block, attempt).or_else(disturbed);
        // The caution must be recorded before the block ends, because a session that resumes after the end does not
        // check again.
        if let Some(text) = find_changed_data(run, block, attempt).filter(|_| invalid.is_none()) {
            self.record_event(None, Event::Caution(Caution::new(text)))?;
        }
        self.record_event(None, Event::BlockFinished { block, attempt, invalid })
    }

    pub(super) fn is_time_up(&self) -> bool {
        self.deadline.is_some_and(|deadline| deadline <= Instant::now())
    }

    /// Why the run has ended within a block, if its time was up before the block's last trial had ended.
    fn stopped_by_time(&mut self) -> Result<Option<String>, SessionError> {
        if !self.is_time_up() {
            return Ok(None);
        }
        let plan = self.plan;
        let run = self.journal.run()?;
        let budget = TimeBudget::from_run(plan, run);
        Ok(run.resume_point().zip(budget).and_then(|(open, budget)| budget.describe_time_up(open)))
    }

    /// Evaluates all results so far: drops candidates that take no further part, and ends the study when no question is
    /// open. Returns whether the study has ended.
    fn record_conclusion(&mut self) -> Result<bool, SessionError> {
        let Conclusion { drop, end } = Conclusion::from_run(self.plan, self.journal.run()?);
        for (candidate, reason) in drop {
            self.record_event(None, Event::CandidateDropped { candidate, reason })?;
        }
        let ended = end.is_some();
        if let Some((reason, ending)) = end {
            self.record_event(None, Event::RunFinished { reason, ending: Some(ending) })?;
        }
        Ok(ended)
    }

    /// Records each candidate that cannot be tried here, once, before the first block.
    fn skip_what_cannot_be_tried(&mut self) -> Result<(), SessionError> {
        let untried: Vec<String> = still_in(self.plan, self.journal.run()?).map(str::to_owned).collect();
        for candidate in self.plan.candidates.iter().filter(|candidate| untried.contains(&candidate.name)) {
            let known = self
                .refused
                .iter()
                .find(|(name, _)| *name == candidate.name)
                .map(|(_, reason)| reason.clone());
            let obstacle = find_obstacle(self.plan, self.lab, candidate, self.attachments.size()).or(known);
            if let Some(Reason { what: reason, hint, .. }) = obstacle {
                let candidate = candidate.name.clone();
                self.record_event(None, Event::CandidateSkipped { candidate, reason, hint })?;
            }
        }
        Ok(())
    }

    pub(super) fn record_event(&mut self, trial: Option<&TrialId>, event: Event) -> Result<(), SessionError> {
        if let Some(milliseconds) = self.jumps.jump_until(ClockReadings::now()) {
            self.journal.append(None, Event::ClockJumped { milliseconds })?;
        }
        let record = self.journal.append(trial, event)?;
        self.observer.observe_event(trial, &record.event);
        Ok(())
    }
}

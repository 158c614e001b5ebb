//! The trials of a block: one after the other, or several under way at once where nothing can disturb them. Labs work in
//! threads of their own; the journal, and what is decided, stay with the one that conducts.

use std::collections::{BTreeMap, VecDeque};
use std::sync::mpsc::{Sender, channel};
use std::thread::scope;

use fsverdict_judgement::journal::{Caution, DeviceEvent, Event, Observation, Status, Surroundings, TrialId};
use fsverdict_judgement::plan::{Candidate, DeviceSource};
use fsverdict_lab::lab::{ATTEMPTS, Interruption, LabError, TrialEnd, describe_interruptions};
use fsverdict_lab::trial::{Drawn, Repeats, TrialSpec};
use fsverdict_text::{Hinted, Reason};

use super::conduct::Study;
use super::error::SessionError;
use super::repeats::repeats;

/// What to do about a trial that was ended from outside each time it was tried.
const KILLED: &str = "find out which process ended it (`dmesg` names what ran out of memory); `fsverdict resume` tries it again, unless a later block has begun";

/// What to do about a device that failed.
const DEVICE_FAILED: &str = "`dmesg` shows all that the kernel says of it; check its cable, its power and what lies below it; `fsverdict resume` tries the trial again";

/// What a lab says of the trial it is at.
enum LabMessage {
    Event(Event),
    End(Result<TrialEnd, LabError>),
}

/// A trial to be done, or under way.
struct TrialTask<'a> {
    id: TrialId,
    candidate: &'a Candidate,
    earlier: EarlierTries,
    /// Bytes it may have moved so far.
    own_bytes: u64,
}

/// What came of the tries of a trial that are not its last.
#[derive(Debug, Default)]
struct EarlierTries {
    /// What ended those that something outside ended.
    interruptions: Vec<Interruption>,
    /// Whether one crashed: what does so again has failed.
    crashed: bool,
    /// Why the last of them ended; `None` before there is one.
    reason: Option<String>,
}

impl EarlierTries {
    /// Takes in the end of one more try. Whether the trial is to be tried again.
    fn take(&mut self, end: &TrialEnd) -> bool {
        let tried_before = self.reason.replace(end.reason.clone()).is_some();
        match end.interrupted {
            Some(interruption) => {
                self.interruptions.push(interruption);
                interruption.can_pass()
                    && self.interruptions.len() < ATTEMPTS
                    && !(end.unheard && tried_before)
            }
            None => {
                end.killed && !std::mem::replace(&mut self.crashed, true) && !(end.unheard && tried_before)
            }
        }
    }
}

impl Study<'_> {
    /// Does these trials. One that fails is no error here: the journal says so. One that is ended from outside is tried up to
    /// [`ATTEMPTS`] times, and one that crashes twice: an accident says nothing about the candidate. After an error none is begun any more, and those under way are
    /// recorded to their ends.
    pub(super) fn trials(&mut self, block: u32, attempt: u32, names: &[String]) -> Result<(), SessionError> {
        let outcome = self.conduct_trials(block, attempt, names);
        outcome.or_else(|error| self.record_foreign_write().and(Err(error)))
    }

    fn conduct_trials(&mut self, block: u32, attempt: u32, names: &[String]) -> Result<(), SessionError> {
        let plan = self.plan;
        let run = self.journal.run()?;
        let repeats = repeats(plan, run, self.lab.side_by_side().is_some());
        let drawn = fsverdict_lab::trial::circumstances_of_block(plan, run, block);
        let task = |name: &String| {
            let candidate = plan.candidates.iter().find(|candidate| candidate.name == *name)?;
            let id = TrialId { block, candidate: name.clone(), attempt };
            Some(TrialTask { id, candidate, earlier: EarlierTries::default(), own_bytes: 0 })
        };
        let mut waiting: VecDeque<TrialTask<'_>> = names.iter().filter_map(task).collect();
        let mut free: Vec<usize> = (0..self.jobs.max(1)).rev().collect();
        let mut underway: BTreeMap<usize, TrialTask<'_>> = BTreeMap::new();
        let (sender, receiver) = channel();
        scope(|scope| {
            // The first thing that went wrong is what is reported.
            let mut outcome = Ok(());
            loop {
                while let Some(job) = free.pop_if(|_| outcome.is_ok() && !waiting.is_empty()) {
                    let Some(task) = waiting.pop_front() else { break };
                    outcome = self.begin(&task);
                    if outcome.is_err() {
                        break;
                    }
                    let (lab, attachments, spec, sender) = (
                        self.lab,
                        self.attachments.clone(),
                        self.spec(&task, &repeats, drawn),
                        sender.clone(),
                    );
                    underway.insert(job, task);
                    scope.spawn(move || {
                        let mut watch = |event| tell(&sender, job, LabMessage::Event(event));
                        let end = lab.run(&spec, &attachments, job, &mut watch);
                        tell(&sender, job, LabMessage::End(end));
                    });
                }
                if underway.is_empty() {
                    return outcome;
                }
                let Ok((job, said)) = receiver.recv() else { return outcome };
                let heard = match said {
                    LabMessage::Event(event) => match underway.get_mut(&job) {
                        Some(task) => self.hear(task, event),
                        None => Ok(()),
                    },
                    LabMessage::End(end) => {
                        free.push(job);
                        match (underway.remove(&job), end) {
                            (Some(task), Ok(end)) => self.end(task, end).map(|again| {
                                again.into_iter().for_each(|task| waiting.push_front(task));
                            }),
                            (_, Err(error)) => Err(error.into()),
                            (None, Ok(_)) => Ok(()),
                        }
                    }
                };
                outcome = outcome.and(heard);
            }
        })
    }

    fn spec(
        &self,
        task: &TrialTask<'_>,
        repeats: &BTreeMap<String, Repeats>,
        drawn: Option<Drawn>,
    ) -> TrialSpec {
        TrialSpec {
            trial: task.id.clone(),
            seed: self.plan.protocol.seed,
            candidate: task.candidate.clone(),
            datasets: self.plan.datasets.clone(),
            phases: self.plan.phases.clone(),
            services: self.plan.services.clone(),
            repeats: repeats.clone(),
            limit: self.plan.protocol.timeout,
            drawn,
            calibration: None,
            cuts: None,
            rot: None,
            part: 0,
            only: None,
            devices: self.plan.device.count(),
        }
    }

    /// What an earlier try recorded is nobody's from the new beginning on.
    fn begin(&mut self, task: &TrialTask<'_>) -> Result<(), SessionError> {
        self.watcher.begin();
        self.report(Some(&task.id), Event::TrialStarted {})?;
        match &task.earlier.reason {
            Some(reason) => {
                let first = reason.split([';', '\n']).next().unwrap_or_default();
                let which = match task.earlier.interruptions.len() + usize::from(task.earlier.crashed) {
                    1 => "a second time",
                    2 => "a third time",
                    _ => "once more",
                };
                self.caution(&task.id, format!("tried {which}, since {first}"))
            }
            None => Ok(()),
        }
    }

    fn hear(&mut self, task: &mut TrialTask<'_>, event: Event) -> Result<(), SessionError> {
        self.watcher.look();
        if let Event::Observation(observation) = &event {
            task.own_bytes += bytes_at_most(observation);
        }
        self.report(Some(&task.id), event)
    }

    /// Records the end of a trial, or gives it back to be done again.
    fn end<'a>(
        &mut self,
        mut task: TrialTask<'a>,
        end: TrialEnd,
    ) -> Result<Option<TrialTask<'a>>, SessionError> {
        let left = self.attachments.note_end(&describe_trial(&task.id));
        // What it measured on a device that somebody else writes to counts for nothing, and so does its failure.
        if let (Err(error), true) = (&left, self.attachments.foreign_write().is_some()) {
            return Err(LabError::Given(error.reason()).into());
        }
        // A scratch image whose disk is full is reported as that, below.
        let is_image = matches!(self.plan.device.source, DeviceSource::Image(_));
        let has_room = !is_image || self.attachments.is_there().is_ok();
        let failed = end.status == Status::Failed;
        if let Some((number, found)) = end.device_error.as_ref().filter(|_| failed && has_room) {
            let source = number.checked_sub(1).and_then(|at| self.plan.device.all().nth(at));
            let device = source.map_or(format!("device {number}"), ToString::to_string);
            let text = format!(
                "{device} failed in {}, which says nothing about the candidate: {found}",
                describe_trial(&task.id)
            );
            return Err(LabError::Given(Reason::new(text, DEVICE_FAILED)).into());
        }
        let again = task.earlier.take(&end);
        let id = &task.id;
        let last = !again && !end.unheard;
        let from_outside = last && end.interrupted.is_some();
        // What cannot pass would not on resuming either.
        let killed = last && end.interrupted.map_or(end.killed, Interruption::can_pass);
        let seen = self.watcher.end(task.own_bytes);
        let seen = Surroundings { stopped: end.stopped || seen.stopped, killed, from_outside, ..seen };
        if seen.stopped {
            self.caution(id, "it was stopped for a while and went on: its times hold the pause".to_owned())?;
        }
        if seen != Surroundings::default() {
            self.report(Some(id), Event::Surroundings(seen))?;
        }
        if end.status == Status::Failed {
            left.as_ref().map_err(|error| given_up(id, error))?;
        }
        if again {
            return Ok(Some(TrialTask { own_bytes: 0, ..task }));
        }
        if end.unheard {
            let text = format!(
                "{} was ended from outside again before it asked for anything: {}",
                id.candidate, end.reason
            );
            let hint = "find out which process ended it, or which limit refused it memory (`dmesg` names what ran out of memory; `ulimit -v`)";
            return Err(LabError::Machine(Reason::new(text, hint)).into());
        }
        let TrialEnd { status, mut reason, mut hint, wall, .. } = end;
        if status == Status::Failed
            && let Err(error) = self.attachments.is_there()
        {
            return Err(given_up(id, &error).into());
        }
        if killed && hint.is_empty() {
            KILLED.clone_into(&mut hint);
        }
        if from_outside {
            reason = format!("{}: {reason}", describe_interruptions(&task.earlier.interruptions));
        }
        self.report(Some(id), Event::TrialFinished { status, reason, hint, wall })?;
        left.map_err(LabError::from)?;
        Ok(None)
    }

    /// Writes into the journal that another program has written to a device, if so: whoever resumes the run is asked again.
    fn record_foreign_write(&mut self) -> Result<(), SessionError> {
        let Some((device, foreign)) = self.attachments.foreign_write() else { return Ok(()) };
        self.report(None, Event::Device(DeviceEvent::ForeignWrite { device, found: foreign.to_string() }))
    }

    fn caution(&mut self, id: &TrialId, text: String) -> Result<(), SessionError> {
        self.report(Some(id), Event::Caution(Caution { phase: String::new(), text }))
    }
}

/// Which trial it is, for people.
fn describe_trial(id: &TrialId) -> String {
    let attempt = if id.attempt > 1 { format!(", attempt {}", id.attempt) } else { String::new() };
    format!("the trial of {} in block {}{attempt}", id.candidate, id.block)
}

/// Why a trial that failed is not counted: what it was tried on is not as it was.
fn given_up(id: &TrialId, error: &impl Hinted) -> LabError {
    let what = format!("a trial of {} failed, and what it needs is not there: ", id.candidate);
    LabError::Given(error.reason().after(what))
}

/// Who conducts hears until every lab has come to its end.
fn tell(sender: &Sender<(usize, LabMessage)>, job: usize, said: LabMessage) {
    let _ = sender.send((job, said));
}

/// What a step may have moved on the disk at most: what was read, and what was written and then read again to be
/// verified.
fn bytes_at_most(observation: &Observation) -> u64 {
    // Bytes are whole and not negative.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let of = |name: &str| observation.value(name).map_or(0, |bytes| bytes as u64);
    of("device_read") + 2 * of("device_written")
}

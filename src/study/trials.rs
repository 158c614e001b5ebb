//! Runs the trials of a block: one after the other, or several at once where they cannot disturb each other. Each lab
//! runs in a thread of its own; only the conducting thread writes the journal and makes decisions.

use std::collections::{BTreeMap, VecDeque};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::scope;

use fsverdict_judgement::journal::{
    Caution, DeviceEvent, Event, JournalError, Observation, Status, Surroundings, TrialId,
};
use fsverdict_judgement::plan::{Candidate, DeviceSource};
use fsverdict_lab::lab::{Interruption, LabError, TrialEnd, describe_interruptions};
use fsverdict_lab::trial::{Drawn, Repeats, TrialSpec};
use fsverdict_text::{Hinted, Reason};

use super::conduct::Study;
use super::earlier_tries::EarlierTries;
use super::error::SessionError;
use super::repeats::decide_repeats;

/// The hint for a trial that was killed from outside at each try.
const KILLED: &str = "find out which process ended it (`dmesg` names what ran out of memory); `fsverdict resume` tries it again, unless a later block has begun";

/// The hint for a device that failed.
const DEVICE_FAILED: &str = "`dmesg` shows all that the kernel says of it; check its cable, its power and what lies below it; `fsverdict resume` tries the trial again";

/// A message of a lab's thread about its trial.
enum LabMessage {
    Event(Box<Event>),
    End(Result<TrialEnd, LabError>),
}

/// Messages of labs that wait to be recorded, at most: a guest that reports faster than a disk takes records waits.
const WAITING_MESSAGES: usize = 64;

/// A trial that is waiting or running.
struct TrialTask<'a> {
    id: TrialId,
    candidate: &'a Candidate,
    earlier: EarlierTries,
    /// An upper bound on the bytes that this trial has moved so far.
    own_bytes: u64,
    /// Whether an event of it was left out of the journal, and a caution says so.
    has_left_out: bool,
}

impl Study<'_> {
    /// Runs these trials. A failed trial is no error here: the journal records it. A trial that is ended from outside
    /// is tried up to [`ATTEMPTS`](fsverdict_lab::lab::ATTEMPTS) times and one that crashes twice, because an accident
    /// says nothing about the candidate. After an error no further trial begins, and the running trials are recorded to
    /// their ends.
    pub(super) fn run_trials(
        &mut self,
        block: u32,
        attempt: u32,
        names: &[String],
    ) -> Result<(), SessionError> {
        let outcome = self.conduct_trials(block, attempt, names);
        outcome.or_else(|error| self.record_foreign_write().and(Err(error)))
    }

    fn conduct_trials(&mut self, block: u32, attempt: u32, names: &[String]) -> Result<(), SessionError> {
        let plan = self.plan;
        let run = self.journal.run()?;
        let repeats = decide_repeats(plan, run, self.lab.side_by_side().is_some());
        let drawn = fsverdict_lab::trial::circumstances_of_block(plan, run, block);
        let task = |name: &String| {
            let candidate = plan.find_candidate(name)?;
            let id = TrialId { block, candidate: name.clone(), attempt };
            Some(TrialTask {
                id,
                candidate,
                earlier: EarlierTries::default(),
                own_bytes: 0,
                has_left_out: false,
            })
        };
        let mut waiting: VecDeque<TrialTask<'_>> = names.iter().filter_map(task).collect();
        let mut free: Vec<usize> = (0..self.jobs.max(1)).rev().collect();
        let mut underway: BTreeMap<usize, TrialTask<'_>> = BTreeMap::new();
        let (sender, receiver) = sync_channel(WAITING_MESSAGES);
        scope(|scope| {
            // The first error is the one that is reported.
            let mut outcome = Ok(());
            loop {
                while let Some(job) =
                    free.pop_if(|_| outcome.is_ok() && !waiting.is_empty() && !self.is_time_up())
                {
                    let Some(task) = waiting.pop_front() else { break };
                    outcome = self.record_start(&task);
                    if outcome.is_err() {
                        break;
                    }
                    let (lab, attachments, spec, sender) = (
                        self.lab,
                        self.attachments.clone(),
                        self.trial_spec(&task, &repeats, drawn),
                        sender.clone(),
                    );
                    underway.insert(job, task);
                    scope.spawn(move || {
                        let mut watch =
                            |event| send_message(&sender, job, LabMessage::Event(Box::new(event)));
                        let end = lab.run_trial(&spec, &attachments, job, &mut watch);
                        send_message(&sender, job, LabMessage::End(end));
                    });
                }
                if underway.is_empty() {
                    return outcome;
                }
                let Ok((job, message)) = receiver.recv() else { return outcome };
                let handled = match message {
                    LabMessage::Event(event) => match underway.get_mut(&job) {
                        Some(task) => self.record_trial_event(task, *event),
                        None => Ok(()),
                    },
                    LabMessage::End(end) => {
                        free.push(job);
                        match (underway.remove(&job), end) {
                            (Some(task), Ok(end)) => self.record_end(task, end).map(|again| {
                                again.into_iter().for_each(|task| waiting.push_front(task));
                            }),
                            (_, Err(error)) => Err(error.into()),
                            (None, Ok(_)) => Ok(()),
                        }
                    }
                };
                outcome = outcome.and(handled);
            }
        })
    }

    fn trial_spec(
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
            deadline: self.deadline,
            drawn,
            calibration: None,
            cuts: None,
            rot: None,
            part: 0,
            only: None,
            devices: self.plan.device.count(),
        }
    }

    /// Records the start of a try. From here on, the records of an earlier try no longer count.
    fn record_start(&mut self, task: &TrialTask<'_>) -> Result<(), SessionError> {
        self.watcher.begin_trial();
        self.record_event(Some(&task.id), Event::TrialStarted {})?;
        match &task.earlier.reason {
            Some(reason) => {
                let first = reason.split([';', '\n']).next().unwrap_or_default();
                let which = match task.earlier.interruptions.len() + usize::from(task.earlier.crashed) {
                    1 => "a second time",
                    2 => "a third time",
                    _ => "once more",
                };
                self.record_caution(&task.id, format!("tried {which}, since {first}"))
            }
            None => Ok(()),
        }
    }

    /// Records an event of a trial. Events that the journal does not take are left out, since a trial may report anything.
    fn record_trial_event(&mut self, task: &mut TrialTask<'_>, event: Event) -> Result<(), SessionError> {
        self.watcher.read_clocks();
        if let Event::Observation(observation) = &event {
            task.own_bytes = task.own_bytes.saturating_add(bytes_at_most(observation));
        }
        match self.record_event(Some(&task.id), event) {
            Err(SessionError::Journal(JournalError::Unbounded { reason, .. })) => {
                if std::mem::replace(&mut task.has_left_out, true) {
                    return Ok(());
                }
                self.record_caution(&task.id, format!("left out of what the trial reported: {reason}"))
            }
            recorded => recorded,
        }
    }

    /// Records the end of a trial, or returns the trial if it is to be tried again.
    fn record_end<'a>(
        &mut self,
        mut task: TrialTask<'a>,
        end: TrialEnd,
    ) -> Result<Option<TrialTask<'a>>, SessionError> {
        let devices_left = self.attachments.note_end(&describe_trial(&task.id));
        // While another program writes to the device, neither a measurement nor a failure counts.
        if let (Err(error), true) = (&devices_left, self.attachments.foreign_write().is_some()) {
            return Err(LabError::Given(error.reason()).into());
        }
        // A full disk below a scratch image is reported below as exactly that.
        let is_image = matches!(self.plan.device.source, DeviceSource::Image(_));
        let has_room = !is_image || self.attachments.is_there().is_ok();
        let failed = end.status == Status::Failed;
        if let Some((number, error)) = end.device_error.as_ref().filter(|_| failed && has_room) {
            let source = number.checked_sub(1).and_then(|at| self.plan.device.all_sources().nth(at));
            let device = source.map_or(format!("device {number}"), ToString::to_string);
            let text = format!(
                "{device} failed in {}, which says nothing about the candidate: {error}",
                describe_trial(&task.id)
            );
            return Err(LabError::Given(Reason::new(text, DEVICE_FAILED)).into());
        }
        // The trial is stopped as in an interrupted run: the journal has its start and no end.
        if failed && self.is_time_up() {
            devices_left.map_err(LabError::from)?;
            return Ok(None);
        }
        let again = task.earlier.add_try(&end);
        let id = &task.id;
        let last = !again && !end.unheard;
        let from_outside = last && end.interrupted.is_some();
        // An interruption that cannot pass would occur again on resuming.
        let killed = last && end.interrupted.map_or(end.killed, Interruption::can_pass);
        let observed = self.watcher.end_trial(task.own_bytes);
        let surroundings =
            Surroundings { stopped: end.stopped || observed.stopped, killed, from_outside, ..observed };
        if surroundings.stopped {
            self.record_caution(
                id,
                "it was stopped for a while and went on: its times hold the pause".to_owned(),
            )?;
        }
        if surroundings != Surroundings::default() {
            self.record_event(Some(id), Event::Surroundings(surroundings))?;
        }
        if end.status == Status::Failed {
            devices_left.as_ref().map_err(|error| given_up(id, error))?;
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
        self.record_event(Some(id), Event::TrialFinished { status, reason, hint, wall })?;
        devices_left.map_err(LabError::from)?;
        Ok(None)
    }

    /// Records in the journal that another program has written to a device, if so: a later `resume` then asks for
    /// permission again.
    fn record_foreign_write(&mut self) -> Result<(), SessionError> {
        let Some((device, foreign)) = self.attachments.foreign_write() else { return Ok(()) };
        self.record_event(
            None,
            Event::Device(DeviceEvent::ForeignWrite { device, found: foreign.to_string() }),
        )
    }

    fn record_caution(&mut self, id: &TrialId, text: String) -> Result<(), SessionError> {
        self.record_event(Some(id), Event::Caution(Caution::new(text)))
    }
}

/// Names the trial for messages.
fn describe_trial(id: &TrialId) -> String {
    let attempt = if id.attempt > 1 { format!(", attempt {}", id.attempt) } else { String::new() };
    format!("the trial of {} in block {}{attempt}", id.candidate, id.block)
}

/// The error for a failed trial that does not count, because a device or file that it needs is gone.
fn given_up(id: &TrialId, error: &impl Hinted) -> LabError {
    let statement = format!("a trial of {} failed, and what it needs is not there: ", id.candidate);
    LabError::Given(error.reason().after(statement))
}

/// Sends a message to the conducting thread, which receives until every lab has ended.
fn send_message(sender: &SyncSender<(usize, LabMessage)>, job: usize, message: LabMessage) {
    let _ = sender.send((job, message));
}

/// An upper bound on the bytes that a step moved on the disk: the bytes read, plus twice the bytes written, because
/// written data may be read again for verification.
fn bytes_at_most(observation: &Observation) -> u64 {
    // The value is a whole number of bytes and not negative.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let bytes_of = |name: &str| observation.value(name).map_or(0, |bytes| bytes as u64);
    bytes_of("device_read").saturating_add(bytes_of("device_written").saturating_mul(2))
}

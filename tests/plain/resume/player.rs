//! A lab that plays recorded trials back, and a machine that is as busy as the tale has it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use fsverdict::study::Watcher;
use fsverdict_judgement::journal::{Event, FILE_NAME, Facts, Learnt, Status, Surroundings, TrialId, read};
use fsverdict_judgement::plan::Candidate;
use fsverdict_lab::lab::{Attachments, Interruption, Lab, LabError, TrialEnd, Watch};
use fsverdict_lab::trial::TrialSpec;
use fsverdict_text::Reason;

const RECORDED_BLOCKS: u32 = 8;
pub(super) const RECORDED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/runs/recorded");

/// How a run differs from the recording.
#[derive(Default)]
pub(super) struct Tale {
    /// Candidates whose times are multiplied.
    pub(super) slower: Vec<(&'static str, f64)>,
    /// Candidates that cannot be tried.
    pub(super) missing: Vec<&'static str>,
    /// Trials that fail.
    pub(super) failing: Vec<(u32, u32, &'static str)>,
    /// Trials that are killed from outside, as often as they are named.
    pub(super) killed: Mutex<Vec<(u32, &'static str)>>,
    /// Whether what kills them comes from outside; a crash otherwise.
    pub(super) from_outside: bool,
    /// Attempts at blocks during which the machine was busy.
    pub(super) busy: Vec<(u32, u32)>,
    /// How many trials are under way at once besides one.
    pub(super) jobs: usize,
    /// What the user's folder held in trials in which it did not hold the usual.
    pub(super) held: Vec<(u32, u32, &'static str, &'static str)>,
}

/// Plays recorded trials back.
pub(super) struct Player {
    trials: BTreeMap<(u32, String), Vec<Event>>,
    pub(super) tale: Tale,
    /// The trial that is played.
    pub(super) now: Mutex<Option<TrialId>>,
}

pub(super) fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Player {
    pub(super) fn new(tale: Tale) -> Self {
        let mut trials: BTreeMap<(u32, String), Vec<Event>> = BTreeMap::new();
        for record in read(&Path::new(RECORDED).join(FILE_NAME)).unwrap().records {
            if let (Some(id), Event::Observation(_)) = (&record.trial, &record.event) {
                trials.entry((id.block, id.candidate.clone())).or_default().push(record.event);
            }
        }
        // Nothing was recorded twice; ext4 without a journal stands in for the twin of ext4.
        for block in 1..=RECORDED_BLOCKS {
            let twin = trials[&(block, "ext4-plain".to_owned())].clone();
            trials.insert((block, "ext4~twin".to_owned()), twin);
        }
        Player { trials, tale, now: Mutex::default() }
    }

    fn slower(&self, candidate: &str, event: &Event) -> Event {
        let mut event = event.clone();
        let factor = self.tale.slower.iter().find(|(name, _)| *name == candidate);
        if let (Event::Observation(observation), Some((_, factor))) = (&mut event, factor) {
            observation.measurements.iter_mut().for_each(|found| found.value *= factor);
        }
        event
    }
}

impl Lab for Player {
    fn name(&self) -> &'static str {
        "uml"
    }

    fn fidelity(&self) -> String {
        "a recording".to_owned()
    }

    fn facts(&self) -> Facts {
        Facts::new()
    }

    fn find_obstacle(&self, candidate: &Candidate) -> Option<Reason> {
        let missing = self.tale.missing.contains(&candidate.name.as_str());
        missing.then(|| Reason::new("not recorded", "record it"))
    }

    fn command_line(&self) -> Vec<String> {
        Vec::new()
    }

    fn run_trial(
        &self,
        spec: &TrialSpec,
        _: &Attachments,
        job: usize,
        watch: Watch<'_>,
    ) -> Result<TrialEnd, LabError> {
        // Whoever began last ends first, as far as they are let.
        std::thread::sleep(std::time::Duration::from_millis(2) * (self.tale.jobs - job) as u32);
        let TrialId { block, candidate, attempt } = spec.trial.clone();
        lock(&self.now).replace(spec.trial.clone());
        // As many blocks were recorded; a run may go on for longer.
        let recorded = (block - 1) % RECORDED_BLOCKS + 1;
        for event in &self.trials[&(recorded, candidate.clone())] {
            watch(self.slower(&candidate, event));
        }
        if !self.tale.held.is_empty() {
            let here = (block, attempt, candidate.as_str());
            let held =
                self.tale.held.iter().find(|(block, attempt, name, _)| (*block, *attempt, *name) == here);
            let held = held.map_or("1 files", |(.., held)| held).to_owned();
            let held = BTreeMap::from([("docs".to_owned(), held)]);
            watch(Event::Facts { facts: Facts::new(), learnt: Learnt { held, ..Learnt::default() } });
        }
        let fails = self.tale.failing.contains(&(block, attempt, candidate.as_str()));
        let mut left = lock(&self.tale.killed);
        let killed =
            left.iter().position(|id| *id == (block, candidate.as_str())).map(|at| left.remove(at)).is_some();
        let (status, reason) = if fails || killed { (Status::Failed, "it broke") } else { (Status::Ok, "") };
        let (reason, hint) = (reason.to_owned(), String::new());
        let interrupted = (killed && self.tale.from_outside).then_some(Interruption::Signal(9));
        Ok(TrialEnd {
            status,
            reason,
            hint,
            wall: 1.0,
            killed,
            interrupted,
            unheard: false,
            stopped: false,
            device_error: None,
        })
    }
}

/// Sees a busy machine when the tale has it so.
pub(super) struct Machine<'a>(pub(super) &'a Player);

impl Watcher for Machine<'_> {
    fn begin_trial(&mut self) {}

    fn end_trial(&mut self, own_bytes: u64) -> Surroundings {
        let now = lock(&self.0.now);
        let busy = now.as_ref().is_some_and(|id| self.0.tale.busy.contains(&(id.block, id.attempt)));
        Surroundings {
            cpu_time: Some(2.0),
            foreign_cpu: Some(if busy { 1.5 } else { 0.1 }),
            own_bytes: Some(own_bytes),
            ..Surroundings::default()
        }
    }
}

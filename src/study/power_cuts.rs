//! Cuts of power: each candidate's first trial is done once more with a log of what it writes, states of its device are drawn from
//! that, and each is looked at in a guest.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread::scope;

use rustix::fs::{CWD, OFlags};
use serde::{Deserialize, Serialize};

use crate::dataset::prepare;
use crate::filesystem::{DocumentedPrice, documented_prices};
use crate::host::whole_file;
use crate::lab::{Attachments, ChosenLab, LabError, LogPurpose, TrialEnd, WriteLogFile, choose};
use crate::trial::{CutLook, TrialSpec};
use crate::workload::{SavedFolder, SavedPhase};
use fsverdict_disk::crash::{CrashState, CutWindow, LossRule, StateImage, WriteLog, export, sample};
use fsverdict_disk::device::{Model, Store};
use fsverdict_judgement::journal::{CutOutcome, Event, Observation, PowerCuts, Save, StateFinding, Status};
use fsverdict_judgement::plan::{Candidate, Faults, Operation, PhaseWork, Plan};
use fsverdict_text::{Hinted, Links, Reason, open_regular};

use super::claim::Permission;
use super::error::SessionError;
use super::session::check_limits;

/// Bytes of a candidate's log at most.
const LOG: u64 = 2 << 30;
/// States that one guest looks at, at most: one that dies takes no more with it than are left of these.
const BATCH: usize = 250;
/// Of so many states that lost something it is kept what was seen.
const FIRST: usize = 12;
/// The folder of the logs within a run's.
const FOLDER: &str = "cuts";
/// No file about a log is longer.
const LONGEST: u64 = 256 << 20;

/// What is known of a candidate's log: what must be there, and when.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct CutRecord {
    folders: Vec<SavedFolder>,
    /// The digest of the requests.
    trace: String,
}

/// A plan whose faults are to be tried, in its lab.
pub struct PowerCutting<'a> {
    plan: &'a Plan,
    faults: Faults,
    choice: ChosenLab,
    attachments: Attachments,
    folder: PathBuf,
}

/// A state, as it is told to people.
#[derive(Debug)]
pub struct StateTold {
    /// Seconds of the device's clock at which power was cut.
    pub at_s: f64,
    /// What must be there, a line each.
    pub must: Vec<String>,
}

impl<'a> PowerCutting<'a> {
    /// Of the run in this folder.
    pub fn of(plan: &'a Plan, run: &Path) -> Result<Self, SessionError> {
        let faults = plan.faults.ok_or_else(|| {
            SessionError::Disk(Reason::new(
                "the plan of this run has no [faults]",
                "[faults] power_cuts = 500, say",
            ))
        })?;
        check_limits(plan)?;
        let permission = Permission { erase: &[], ask: &|_| None };
        let attachments = permission.claim(plan)?;
        let choice = choose(plan, plan.lab)?;
        let folder = run.join(FOLDER);
        std::fs::create_dir_all(&folder).map_err(LabError::from)?;
        Ok(PowerCutting { plan, faults, choice, attachments, folder })
    }

    /// Cuts a candidate's power; `tell` hears what was done so far, of how many.
    pub fn cut(
        &self,
        candidate: &Candidate,
        tell: &(dyn Fn(usize, usize) + Sync),
    ) -> Result<PowerCuts, SessionError> {
        if let Some(reason) = self.choice.lab.obstacle(candidate) {
            return Err(SessionError::Disk(reason));
        }
        let record = self.record(candidate)?;
        let log = self.log(candidate)?;
        let states = self.states(&log, candidate, &record)?;
        let look = |states: &[CrashState]| CutLook {
            moments_ns: states.iter().map(|state| log.moment_ns(state.cut)).collect(),
            folders: record.folders.clone(),
        };
        let findings = self.look_at(candidate, &states, &look, tell)?;
        Ok(PowerCuts {
            accepted: self.faults.accept_loss,
            priced: prices(candidate),
            ..summary(candidate, findings, record.trace)
        })
    }

    /// Does the candidate's first trial once more, and keeps what it wrote.
    fn record(&self, candidate: &Candidate) -> Result<CutRecord, SessionError> {
        let path = self.log_path(candidate);
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(LabError::from(error).into());
            }
            _ => {}
        }
        let purpose = LogPurpose::Record { bound: LOG };
        let attachments = self.attachments.clone().with_log(WriteLogFile { path, purpose });
        let spec = self.spec(candidate);
        let (mut saves, mut synced): (BTreeMap<String, Vec<Save>>, BTreeMap<String, u64>) =
            Default::default();
        let (mut trace, mut is_full) = (String::new(), false);
        let mut watch = |event: Event| match event {
            Event::Saved { phase, saves: more } => saves.entry(phase).or_default().extend(more),
            Event::Observation(observation) => {
                synced.insert(observation.phase.clone(), durable_ns(&observation));
            }
            Event::Facts { facts, .. } => {
                trace = facts.get("device.trace").cloned().unwrap_or(std::mem::take(&mut trace));
                is_full |= facts.contains_key("device.log_is_full");
            }
            _ => {}
        };
        let end = self.choice.lab.run(&spec, &attachments, 0, &mut watch)?;
        let failed = |reason: Reason| {
            SessionError::Disk(
                reason.after(format!("the trial of {} that was to be recorded: ", candidate.name)),
            )
        };
        if end.status != Status::Ok {
            return Err(failed(Reason::new(end.reason, end.hint)));
        }
        if is_full {
            return Err(failed(Reason::new(
                "it writes more than is kept",
                "scale its data down: --scale 0.1",
            )));
        }
        let record = CutRecord { folders: self.folders(&saves, &synced), trace };
        let text = serde_json::to_vec(&record).map_err(std::io::Error::from).map_err(LabError::from)?;
        whole_file::replace(&self.record_path(candidate), |file| std::io::Write::write_all(file, &text))
            .map_err(LabError::from)?;
        Ok(record)
    }

    fn spec(&self, candidate: &Candidate) -> TrialSpec {
        TrialSpec {
            datasets: self.plan.datasets.clone(),
            phases: self.plan.phases.clone(),
            ..TrialSpec::without_work(candidate.clone(), self.plan.protocol.seed, self.plan.protocol.timeout)
        }
    }

    /// What was saved where, in the order of the phases.
    fn folders(
        &self,
        saves: &BTreeMap<String, Vec<Save>>,
        synced: &BTreeMap<String, u64>,
    ) -> Vec<SavedFolder> {
        let mut folders: Vec<SavedFolder> = Vec::new();
        for phase in &self.plan.phases {
            let (PhaseWork::Operation(operation), Some(saves)) = (&phase.work, saves.get(&phase.name)) else {
                continue;
            };
            let dataset = phase.dataset.clone().unwrap_or_default();
            let into = phase.into.clone().unwrap_or_else(|| dataset.clone());
            let saved = SavedPhase {
                careful: *operation == Operation::DirectorySave,
                saves: saves.clone(),
                synced_ns: synced.get(&phase.name).copied().unwrap_or(u64::MAX),
            };
            match folders.iter_mut().find(|folder| folder.into == into) {
                Some(folder) => folder.phases.push(saved),
                None => folders.push(SavedFolder { into, dataset, phases: vec![saved] }),
            }
        }
        folders
    }

    fn states(
        &self,
        log: &WriteLog,
        candidate: &Candidate,
        record: &CutRecord,
    ) -> Result<Vec<CrashState>, SessionError> {
        let began = record.folders.iter().filter_map(SavedFolder::began_ns).min();
        let until = record.folders.iter().filter_map(SavedFolder::synced_ns).max();
        let (Some(from_ns), Some(until_ns)) = (began, until) else {
            return Err(SessionError::Disk(Reason::plain(format!("{} saved nothing", candidate.name))));
        };
        let promised = |now_ns| record.folders.iter().map(|folder| folder.promised_by(now_ns)).sum();
        let window = CutWindow { from_ns, until_ns };
        let wanted = self.faults.power_cuts as usize;
        Ok(sample(log, self.rule(candidate)?, window, wanted, self.plan.protocol.seed, promised))
    }

    fn rule(&self, candidate: &Candidate) -> Result<LossRule, SessionError> {
        let models = self.plan.models_of(candidate);
        let name = models.first().map_or("", |model| model.name);
        let rule = Model::find(name).map(|model| LossRule::of(&model));
        let rule = rule.map_err(|error| SessionError::Disk(error.reason()))?;
        Ok(if self.faults.keeps_all { rule.nothing_lost() } else { rule })
    }

    /// Looks at these states, so many guests at once as there is room for.
    fn look_at(
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
            let purpose = LogPurpose::Enter { states: left.to_vec(), keeps_all: self.faults.keeps_all };
            let log = WriteLogFile { path: self.log_path(candidate), purpose };
            let attachments = self.attachments.clone().with_log(log);
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

    fn log_path(&self, candidate: &Candidate) -> PathBuf {
        self.folder.join(format!("{}.writes", candidate.name))
    }

    fn record_path(&self, candidate: &Candidate) -> PathBuf {
        self.folder.join(format!("{}.json", candidate.name))
    }

    fn log(&self, candidate: &Candidate) -> Result<WriteLog, SessionError> {
        let file = open_regular(CWD, &self.log_path(candidate), OFlags::RDONLY, Links::Refuse);
        let log = file.map_err(LabError::from).map(WriteLog::read)?;
        log.map_err(|error| SessionError::Disk(Reason::plain(error)))
    }

    /// Writes the image of a state of a recorded candidate into a file that is not there yet, and says what must be in it.
    pub fn write_state(
        &self,
        candidate: &Candidate,
        state: CrashState,
        image: &Path,
    ) -> Result<StateTold, SessionError> {
        let (log, record) = (self.log(candidate)?, self.read_record(candidate)?);
        let at_ns = log.moment_ns(state.cut);
        let size = self.plan.models_of(candidate).first().map_or(0, |model| model.size.0);
        let file = File::options().read(true).write(true).create_new(true).open(image);
        let mut store = file.map_err(LabError::from).map(|file| Store::new(file, size))?.map_err(plain)?;
        StateImage::new(log, self.rule(candidate)?).write(&mut store, state).map_err(plain)?;
        let mut must = Vec::new();
        for folder in &record.folders {
            if let Some(spec) = self.plan.datasets.get(&folder.dataset) {
                let prepared = prepare(&folder.dataset, spec, self.plan.protocol.seed).map_err(plain)?;
                must.extend(folder.tell(&prepared, at_ns));
            }
        }
        Ok(StateTold { at_s: at_ns as f64 / 1e9, must })
    }

    /// Writes a recorded candidate's log in the form of dm-log-writes into a file that is not there yet.
    pub fn export_log(&self, candidate: &Candidate, path: &Path) -> Result<(), SessionError> {
        let file = File::create_new(path).map_err(LabError::from)?;
        export(&self.log(candidate)?, &mut std::io::BufWriter::new(file)).map_err(plain)
    }

    fn read_record(&self, candidate: &Candidate) -> Result<CutRecord, SessionError> {
        let file = open_regular(CWD, &self.record_path(candidate), OFlags::RDONLY, Links::Refuse);
        let input = std::io::Read::take(file.map_err(LabError::from)?, LONGEST);
        serde_json::from_reader(std::io::BufReader::new(input)).map_err(plain)
    }
}

fn plain(error: impl std::fmt::Display) -> SessionError {
    SessionError::Disk(Reason::plain(error.to_string()))
}

/// When a phase was durable, in nanoseconds of the device's clock.
fn durable_ns(observation: &Observation) -> u64 {
    let seconds = |name| observation.value(name);
    match (seconds("began"), seconds("durable")) {
        (Some(began), Some(durable)) => ((began + durable) * 1e9) as u64,
        _ => u64::MAX,
    }
}

/// A guest that did not survive a state.
fn died(state: CrashState, end: &TrialEnd) -> StateFinding {
    let panicked = end.killed || end.reason.contains("panic");
    let outcome = if panicked { CutOutcome::Panic } else { CutOutcome::Hang };
    let seen = end.reason.chars().take(600).collect();
    StateFinding { state: state.to_string(), outcome, broken: Vec::new(), seen, back_s: 0.0 }
}

/// What the candidate's options cost by their documentation, each with where that stands.
fn prices(candidate: &Candidate) -> Vec<String> {
    let told = |price: &DocumentedPrice| format!("{}: {} ({})", price.option, price.says, price.source);
    documented_prices(candidate).map(told).collect()
}

fn summary(candidate: &Candidate, mut findings: Vec<StateFinding>, trace: String) -> PowerCuts {
    let (mut outcomes, mut broken) = (BTreeMap::new(), BTreeMap::new());
    for finding in &findings {
        *outcomes.entry(finding.outcome).or_insert(0) += 1;
        for promise in &finding.broken {
            *broken.entry(promise.clone()).or_insert(0) += 1;
        }
    }
    let mut back: Vec<f64> = findings.iter().map(|finding| finding.back_s).collect();
    back.sort_by(f64::total_cmp);
    let back_s = [back.get(back.len() / 2), back.last()].map(|one| one.copied().unwrap_or(0.0));
    let states = u32::try_from(findings.len()).unwrap_or(u32::MAX);
    // In the order of the cuts, however many looked at them.
    findings.retain(|finding| finding.outcome.is_loss());
    findings.sort_by_key(|finding| finding.state.parse::<CrashState>().ok());
    findings.truncate(FIRST);
    PowerCuts {
        candidate: candidate.name.clone(),
        states,
        outcomes,
        broken,
        first: findings,
        priced: Vec::new(),
        back_s,
        accepted: false,
        trace,
    }
}

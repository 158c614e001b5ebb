//! Cuts of power: each candidate's first trial is done once more with a log of what it writes, states of its device are drawn from
//! that, and each is looked at in a guest.

mod look;
mod record;
mod summary;

use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::dataset::prepare;
use crate::lab::{Attachments, ChosenLab, LabError, choose};
use crate::trial::CutLook;
use crate::workload::SavedFolder;
use fsverdict_disk::crash::{CrashState, CutWindow, LossRule, StateImage, WriteLog, export, sample};
use fsverdict_disk::device::{Model, Store};
use fsverdict_judgement::journal::PowerCuts;
use fsverdict_judgement::plan::{Candidate, Faults, Plan};
use fsverdict_text::{Hinted, Reason};

use super::claim::Permission;
use super::error::SessionError;
use super::session::check_limits;
pub(super) use record::CutRecord;
use summary::summary;

/// The folder of the logs within a run's.
const FOLDER: &str = "cuts";

/// A plan whose faults are to be tried, in its lab.
pub struct PowerCutting<'a> {
    pub(super) plan: &'a Plan,
    pub(super) faults: Faults,
    pub(super) choice: ChosenLab,
    pub(super) attachments: Attachments,
    pub(super) folder: PathBuf,
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
                "[faults] power_cuts = 500, say, or rot = 200",
            ))
        })?;
        check_limits(plan)?;
        let permission = Permission { erase: &[], ask: &|_| None };
        let attachments = permission.claim(plan)?;
        let choice = choose(plan, plan.lab)?;
        let folder = run.join(FOLDER);
        std::fs::create_dir_all(&folder).map_err(LabError::from)?;
        check_folder(&folder, plan)?;
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
        Ok(PowerCuts { accepted: self.faults.accept_loss, ..summary(candidate, findings, record.trace) })
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
        Ok(match self.faults {
            Faults { keeps_all: true, .. } => rule.nothing_lost(),
            Faults { ignores_flushes: true, .. } => rule.flushes_ignored(),
            _ => rule,
        })
    }

    /// Writes the image of a state of a recorded candidate into a file that is not there yet, and says what must be in it.
    pub fn write_state(
        &self,
        candidate: &Candidate,
        state: CrashState,
        image: &Path,
    ) -> Result<StateTold, SessionError> {
        let (log, record) = (self.log(candidate)?, self.read_record(candidate)?);
        let requests = log.requests().len();
        if state.cut > requests {
            return Err(plain(format!(
                "{} made {requests} requests, and {state} is after {}",
                candidate.name, state.cut
            )));
        }
        let at_ns = log.moment_ns(state.cut);
        let size = self.plan.models_of(candidate).first().map_or(0, |model| model.size.0);
        let mut store = Store::new(new_file(image)?, size).map_err(plain)?;
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
        let log = self.log(candidate)?;
        export(&log, &mut std::io::BufWriter::new(new_file(path)?)).map_err(plain)
    }
}

/// A run's folder may be a stranger's: nothing is read or written elsewhere.
fn check_folder(folder: &Path, plan: &Plan) -> Result<(), SessionError> {
    if !folder.symlink_metadata().map_err(LabError::from)?.is_dir() {
        return Err(plain(format!("{} is a link", folder.display())));
    }
    let leads_away = |candidate: &&Candidate| candidate.name.contains('/');
    plan.candidates.iter().find(leads_away).map_or(Ok(()), |candidate| {
        Err(plain(format!("`{}` is no name of a candidate", candidate.name.escape_debug())))
    })
}

/// What lies there already may be wanted still.
pub(super) fn new_file(path: &Path) -> Result<File, SessionError> {
    File::options().read(true).write(true).create_new(true).open(path).map_err(|error| {
        let hint = match error.kind() {
            ErrorKind::AlreadyExists => "remove it, or name another file",
            _ => "name a file in a folder that can be written to",
        };
        SessionError::Disk(Reason::new(format!("cannot make {}: {error}", path.display()), hint))
    })
}

pub(super) fn plain(error: impl std::fmt::Display) -> SessionError {
    SessionError::Disk(Reason::plain(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::check_folder;
    use fsverdict_judgement::plan::Plan;

    #[test]
    fn a_strangers_folder_leads_nowhere_else() {
        let mut plan: Plan =
            serde_json::from_str(include_str!("../../../tests/runs/demo/plan.json")).unwrap();
        let (run, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let cuts = run.path().join("cuts");
        std::os::unix::fs::symlink(elsewhere.path(), &cuts).unwrap();
        assert!(check_folder(&cuts, &plan).unwrap_err().to_string().ends_with("is a link"));
        std::fs::remove_file(&cuts).unwrap();
        std::fs::create_dir(&cuts).unwrap();
        check_folder(&cuts, &plan).unwrap();
        plan.candidates[0].name = "../../victim".to_owned();
        assert!(check_folder(&cuts, &plan).is_err());
    }
}

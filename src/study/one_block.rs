//! Conducts one block by itself, in its own journal: for a run with blocks that are shared among several machines.

use fsverdict_judgement::journal::{Event, Facts};
use fsverdict_judgement::plan::{DeviceSource, Plan};
use fsverdict_lab::lab::{ChosenLab, LabError};
use fsverdict_linux::guard::LeftDevice;
use fsverdict_text::FolderFile;

use super::claim::Permission;
use super::clocks::JumpWatch;
use super::conduct::Study;
use super::error::SessionError;
use super::folder::RunFolder;
use super::observer::Observer;
use super::prospect::check_datasets;
use super::session::{
    begin_journal, check_limits, choose_watcher, collect_run_facts, refusals_of, start_event,
};

pub struct OneBlock<'a> {
    /// The plan of the run.
    pub plan: &'a Plan,
    /// The folder of the run, of which name and digest of the plan are recorded.
    pub folder: &'a RunFolder,
    /// The number of the block, from 1.
    pub number: u32,
    /// The seed for the order of the candidates.
    pub order_seed: u64,
    /// The seed for random draws within trials, instead of the plan's.
    pub seed: u64,
    /// The candidates that rest or were dropped.
    pub out: Vec<String>,
    /// The device, if it differs from the plan's.
    pub device: Option<DeviceSource>,
    /// The journal to begin; traces of modelled devices lie beside it.
    pub journal: &'a FolderFile,
    /// Facts to record besides those about machine, lab and device.
    pub facts: Facts,
    /// In: how the previous block left the devices, if this block uses the same permission. Out: how this block left
    /// them.
    pub left: &'a mut Vec<LeftDevice>,
    /// Runs after all checks, before anything is written to a device.
    pub before_first_write: &'a dyn Fn() -> Result<(), SessionError>,
    /// Compares the first record with those of other blocks; returns each difference as a sentence.
    pub misfits: &'a dyn Fn(&Event) -> Vec<String>,
}

impl OneBlock<'_> {
    /// Conducts the block in the lab that `choose` finds for the plan as this machine carries it out. Returns whether
    /// the block counts: it does not if the machine was too busy.
    ///
    /// # Errors
    /// Before anything is written to the device: fails when writing is not permitted, or when a dataset or the
    /// journal cannot be used. After that: as [`Study::conduct`].
    pub fn conduct(
        self,
        choose: impl FnOnce(&Plan) -> Result<ChosenLab, SessionError>,
        permission: &Permission<'_>,
        observer: &mut dyn Observer,
    ) -> Result<bool, SessionError> {
        let mut plan = self.plan.clone();
        plan.protocol.seed = self.seed;
        if let Some(device) = self.device {
            plan.device.replace_sources(&[device]);
        }
        check_datasets(&plan)?;
        let choice = choose(&plan)?;
        check_limits(&plan)?;
        let attachments = permission.claim_devices(&plan)?;
        if let Err(error) = attachments.check_left(self.left) {
            *self.left = attachments.describe_left();
            return Err(LabError::from(error).into());
        }
        let attachments = attachments.with_traces_in(self.journal.folder());
        let mut environment = collect_run_facts(&plan, &choice, &attachments);
        environment.extend(self.facts);
        let start = start_event(self.plan, self.folder, &choice, &attachments, environment, None);
        let misfits = (self.misfits)(&start);
        if !misfits.is_empty() {
            return Err(SessionError::Changed(misfits));
        }
        let journal = begin_journal(&plan, self.journal, start, &attachments)?;
        (self.before_first_write)()?;
        let lab = choice.lab.as_ref();
        let mut watcher = choose_watcher(lab, &attachments);
        let jobs = choice.jobs;
        let refused = refusals_of(&plan, lab, &attachments);
        let mut study = Study {
            plan: &plan,
            lab,
            attachments,
            journal,
            observer,
            watcher: watcher.as_mut(),
            jobs,
            deadline: None,
            refused,
            jumps: JumpWatch::start(),
        };
        let counts = study.conduct_one(self.number, self.order_seed, &self.out);
        *self.left = study.attachments.describe_left();
        counts
    }
}

//! One block by itself, in a journal of its own: for machines that do a run's blocks between them.

use fsverdict_judgement::journal::{Event, Facts};
use fsverdict_judgement::plan::{DeviceSource, Plan};
use fsverdict_lab::lab::{ChosenLab, LabError};
use fsverdict_linux::guard::LeftDevice;
use fsverdict_text::FolderFile;

use super::claim::Permission;
use super::conduct::Study;
use super::error::SessionError;
use super::observer::Observer;
use super::prospect::check_datasets;
use super::session::{begin_journal, check_limits, facts, refusals_of, start, watcher};

pub struct OneBlock<'a> {
    /// The plan of the run, whose digest is recorded.
    pub plan: &'a Plan,
    pub run: String,
    /// From 1.
    pub number: u32,
    /// Of the order of the candidates.
    pub order_seed: u64,
    /// Of what is drawn within trials, in place of the plan's.
    pub seed: u64,
    /// Candidates that rest or take no further part.
    pub out: Vec<String>,
    /// The device, where it is another than the plan's.
    pub device: Option<DeviceSource>,
    /// The journal that is to be begun; traces of modelled devices lie beside it.
    pub journal: &'a FolderFile,
    /// What is recorded besides the facts about machine, lab and device.
    pub facts: Facts,
    /// How the block before it left the devices, where this one goes by the same permission; then how this one has.
    pub left: &'a mut Vec<LeftDevice>,
    /// What is done when all checks are over and nothing was written to a device yet.
    pub before_first_write: &'a dyn Fn() -> Result<(), SessionError>,
    /// What of the first record does not fit those of other blocks, each in a sentence.
    pub misfits: &'a dyn Fn(&Event) -> Vec<String>,
}

impl OneBlock<'_> {
    /// Conducts it in the lab that `choose` finds for the plan as it is carried out here. Whether it counts: a machine may be
    /// too busy.
    ///
    /// # Errors
    /// Before anything is written to the device: when it may not be, or a dataset or the journal cannot be used. Then: as
    /// [`Study::conduct`].
    pub fn conduct(
        self,
        choose: impl FnOnce(&Plan) -> Result<ChosenLab, SessionError>,
        permission: &Permission<'_>,
        observer: &mut dyn Observer,
    ) -> Result<bool, SessionError> {
        let mut plan = self.plan.clone();
        plan.protocol.seed = self.seed;
        if let Some(device) = self.device {
            plan.device.replace(&[device]);
        }
        check_datasets(&plan)?;
        let choice = choose(&plan)?;
        check_limits(&plan)?;
        let attachments = permission.claim(&plan)?;
        if let Err(error) = attachments.check_left(self.left) {
            *self.left = attachments.describe_left();
            return Err(LabError::from(error).into());
        }
        let attachments = attachments.with_traces_in(self.journal.folder());
        let mut environment = facts(&plan, &choice, &attachments);
        environment.extend(self.facts);
        let start = start(self.plan, self.run, &choice, &attachments, environment, None);
        let misfits = (self.misfits)(&start);
        if !misfits.is_empty() {
            return Err(SessionError::Changed(misfits));
        }
        let journal = begin_journal(&plan, self.journal, start, &attachments)?;
        (self.before_first_write)()?;
        let lab = choice.lab.as_ref();
        let mut watcher = watcher(lab, &attachments);
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
        };
        let counts = study.conduct_one(self.number, self.order_seed, &self.out);
        *self.left = study.attachments.describe_left();
        counts
    }
}

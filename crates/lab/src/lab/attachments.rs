//! The devices of a run, attached: most runs have one, and what is said of all is what is said of it.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use super::Attachment;
use super::LabError;
use super::attachment::{AttachmentError, ClaimedDisk, LentDevice};
use super::trace_file::TraceFile;
use super::write_log::{OpenLog, WriteLogFile};
use fsverdict_judgement::journal::{Caution, DeviceEvent, Facts, TrialId};
use fsverdict_judgement::plan::once_each;
use fsverdict_linux::guard::{ForeignWrite, HeldLease, LeftDevice};
use fsverdict_linux::host::root::Root;
use fsverdict_text::FolderHandle;

/// In the order in which the plan has them; the first is there always.
#[derive(Debug, Clone)]
pub struct Attachments {
    first: Attachment,
    further: Vec<Attachment>,
    /// What is done with logs of the writes to them; most trials have none.
    logs: Vec<WriteLogFile>,
}

impl From<Attachment> for Attachments {
    fn from(first: Attachment) -> Self {
        Attachments { first, further: Vec::new(), logs: Vec::new() }
    }
}

impl Attachments {
    pub fn new(first: Attachment, further: Vec<Attachment>) -> Self {
        Attachments { first, further, logs: Vec::new() }
    }

    pub fn first(&self) -> &Attachment {
        &self.first
    }

    pub fn each(&self) -> impl Iterator<Item = &Attachment> {
        std::iter::once(&self.first).chain(&self.further)
    }

    fn map(self, change: impl Fn(Attachment) -> Attachment) -> Self {
        let Attachments { first, further, logs } = self;
        Attachments { first: change(first), further: further.into_iter().map(change).collect(), logs }
    }

    /// What a trial's agent is given by a lab whose kernel is this machine's; `path` is the candidate's folder.
    pub(super) fn lend(&self, path: Option<&Path>) -> Result<Vec<LentDevice>, LabError> {
        self.each().map(|one| one.lend(path)).collect()
    }

    /// Open files, for a kernel that is given them as its disks. None is written to before each was found to be as it was left.
    pub(super) fn open(&self) -> Result<Vec<OwnedFd>, AttachmentError> {
        let claimed = self.each().map(Attachment::claim).collect::<Result<Vec<_>, _>>()?;
        claimed.into_iter().map(ClaimedDisk::make_bare).collect()
    }

    /// Takes in what an agent of this machine's own kernel says of the devices that it was lent.
    pub(super) fn hear(&self, event: &DeviceEvent) {
        match event {
            DeviceEvent::FirstWrite => {
                self.each().filter_map(Attachment::lease).for_each(HeldLease::note_writing);
            }
            DeviceEvent::ForeignWrite { device, found } => {
                let lease = device.checked_sub(1).and_then(|at| self.each().nth(at)?.lease());
                lease.map(|lease| lease.revoke(found));
            }
            DeviceEvent::Failed { .. } => {}
        }
    }

    /// How each block device is left, for [`check_left`](Self::check_left).
    pub fn describe_left(&self) -> Vec<LeftDevice> {
        let leases = self.each().filter_map(Attachment::lease);
        leases.map(|lease| lease.describe_left(&Root::default())).collect()
    }

    /// Whether each block device is as an earlier part of the run left it.
    ///
    /// # Errors
    /// When another program has written to one since. This run does not write to it any more.
    pub fn check_left(&self, left: &[LeftDevice]) -> Result<(), AttachmentError> {
        let leases = self.each().filter_map(Attachment::lease);
        let checked = leases.zip(left).map(|(lease, known)| lease.check_left(&Root::default(), known));
        Ok(checked.fold(Ok(()), Result::and)?)
    }

    /// The first foreign write that was found on any of them, with the number of the device: nothing may be written to it any more.
    pub fn foreign_write(&self) -> Option<(usize, ForeignWrite)> {
        (1..).zip(self.each()).find_map(|(number, one)| Some((number, one.lease()?.revocation()?)))
    }

    /// Whether a candidate had what it was to be tried on.
    pub fn is_there(&self) -> Result<(), AttachmentError> {
        self.each().try_for_each(Attachment::is_there)
    }

    /// What results on them stand on, to follow what the lab says of itself.
    pub fn fidelity(&self) -> String {
        let each = once_each(self.each().map(Attachment::fidelity));
        match self.further.len() {
            0 => each.join("; "),
            more => format!("each trial has {} devices, each {}", more + 1, each.join("; ")),
        }
    }

    /// The same, with the traces of modelled devices in the folder of this run.
    #[must_use]
    pub fn with_traces_in(self, run: &FolderHandle) -> Self {
        self.map(|one| one.with_traces_in(run))
    }

    /// An empty file for what a trial writes to a modelled device.
    pub(super) fn store(&self) -> Result<OwnedFd, AttachmentError> {
        self.first.store()
    }

    /// The file for a trial's trace of the device of this number, made anew; none where it is not kept.
    pub(super) fn trace(&self, trial: &TrialId, number: usize) -> Result<Option<OwnedFd>, AttachmentError> {
        let Some(file) = self.first.trace_file(trial, number) else { return Ok(None) };
        let created = file.create();
        Ok(Some(created.map_err(|source| AttachmentError::RunFile { path: file.path(), source })?.into()))
    }

    /// The same, with these logs of the writes to them.
    #[must_use]
    pub fn with_logs(self, logs: Vec<WriteLogFile>) -> Self {
        Attachments { logs, ..self }
    }

    /// Those logs, opened.
    pub(super) fn logs(&self) -> Result<Vec<OpenLog<'_>>, AttachmentError> {
        self.logs
            .iter()
            .map(|log| {
                log.open().map_err(|source| AttachmentError::RunFile { path: log.file.path(), source })
            })
            .collect()
    }

    /// A trial's trace of the device of this number, if it is kept.
    pub(super) fn trace_file(&self, trial: &TrialId, number: usize) -> Option<TraceFile> {
        self.first.trace_file(trial, number)
    }

    /// Where further scratch images may lie.
    pub(super) fn scratch_folder(&self) -> Result<PathBuf, AttachmentError> {
        self.first.scratch_folder()
    }

    /// Notes how `trial` has left each of them: what is on them now is ours, and stays as it is until the next trial.
    ///
    /// # Errors
    /// When that cannot be known of one, or somebody else has written to one. Each is looked at all the same.
    pub fn note_end(&self, trial: &str) -> Result<(), AttachmentError> {
        let leases = self.each().filter_map(Attachment::lease);
        let ends = leases.map(|lease| lease.note_end(&Root::default(), trial));
        Ok(ends.fold(Ok(()), Result::and)?)
    }

    /// Bytes of the smallest.
    pub fn size(&self) -> u64 {
        self.each().map(Attachment::size).min().unwrap_or(0)
    }

    /// Those of the first under their own names, those of the second with its number: `device.2.size`.
    pub fn facts(&self) -> Facts {
        let mut facts = self.first.facts();
        if !self.further.is_empty() {
            facts.insert("device.count".to_owned(), (1 + self.further.len()).to_string());
        }
        for (number, one) in (2..).zip(&self.further) {
            let named = |name: &str| name.replacen("device.", &format!("device.{number}."), 1);
            facts.extend(one.facts().into_iter().map(|(name, value)| (named(&name), value)));
        }
        facts
    }

    /// What a reader of the numbers must know of them, each once.
    pub fn cautions(&self) -> Vec<Caution> {
        once_each(self.each().flat_map(Attachment::cautions))
    }
}

//! The attached devices of a run. Most runs have one; statements about all of them combine those about each.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use super::Attachment;
use super::LabError;
use super::attachment::{AttachmentError, ClaimedDisk, LentDevice};
use super::trace_file::TraceFile;
use super::write_log::{OpenLog, WriteLogFile};
use fsverdict_folders::FolderHandle;
use fsverdict_judgement::journal::{Caution, DeviceEvent, Facts, TrialId};
use fsverdict_judgement::plan::once_each;
use fsverdict_linux::guard::{ForeignWrite, HeldLease, LeftDevice};
use fsverdict_linux::host::root::Root;

/// In the order in which the plan has them; the first is there always.
#[derive(Debug, Clone)]
pub struct Attachments {
    first: Attachment,
    further: Vec<Attachment>,
    /// Logs of the writes to the devices, with their purpose; most trials have none.
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

    pub fn first_device(&self) -> &Attachment {
        &self.first
    }

    pub fn iter(&self) -> impl Iterator<Item = &Attachment> {
        std::iter::once(&self.first).chain(&self.further)
    }

    fn map_each(self, change: impl Fn(Attachment) -> Attachment) -> Self {
        let Attachments { first, further, logs } = self;
        Attachments { first: change(first), further: further.into_iter().map(change).collect(), logs }
    }

    /// The devices for a trial's agent on this machine's kernel; `path` is the candidate's folder.
    pub(super) fn lend_devices(&self, path: Option<&Path>) -> Result<Vec<LentDevice>, LabError> {
        self.iter().map(|attachment| attachment.lend_device(path)).collect()
    }

    /// Open files, for a kernel that is given them as its disks. None is written to before each was found to be as it was left.
    pub(super) fn open_disks(&self) -> Result<Vec<OwnedFd>, AttachmentError> {
        let claimed = self.iter().map(Attachment::claim_disk).collect::<Result<Vec<_>, _>>()?;
        claimed.into_iter().map(ClaimedDisk::make_bare).collect()
    }

    /// Records an event about a lent device, from an agent on this machine's kernel.
    pub(super) fn note_device_event(&self, event: &DeviceEvent) {
        match event {
            DeviceEvent::FirstWrite => {
                self.iter().filter_map(Attachment::lease).for_each(HeldLease::note_writing);
            }
            DeviceEvent::ForeignWrite { device, found } => {
                let lease = device.checked_sub(1).and_then(|at| self.iter().nth(at)?.lease());
                lease.map(|lease| lease.revoke(found));
            }
            DeviceEvent::Failed { .. } => {}
        }
    }

    /// How each block device is left, for [`check_left`](Self::check_left).
    pub fn describe_left(&self) -> Vec<LeftDevice> {
        let leases = self.iter().filter_map(Attachment::lease);
        leases.map(|lease| lease.describe_left(&Root::default())).collect()
    }

    /// Whether each block device is as an earlier part of the run left it.
    ///
    /// # Errors
    /// When another program has written to one since. This run does not write to it any more.
    pub fn check_left(&self, left: &[LeftDevice]) -> Result<(), AttachmentError> {
        let leases = self.iter().filter_map(Attachment::lease);
        let checked = leases.zip(left).map(|(lease, known)| lease.check_left(&Root::default(), known));
        Ok(checked.fold(Ok(()), Result::and)?)
    }

    /// The first foreign write that was found on any of them, with the number of the device: nothing may be written to it any more.
    pub fn foreign_write(&self) -> Option<(usize, ForeignWrite)> {
        (1..).zip(self.iter()).find_map(|(number, one)| Some((number, one.lease()?.revocation()?)))
    }

    /// Checks that all devices are still usable.
    pub fn is_there(&self) -> Result<(), AttachmentError> {
        self.iter().try_for_each(Attachment::is_there)
    }

    /// The basis of results on these devices, as a continuation of the lab's own statement.
    pub fn fidelity(&self) -> String {
        let each = once_each(self.iter().map(Attachment::fidelity));
        match self.further.len() {
            0 => each.join("; "),
            more => format!("each trial has {} devices, each {}", more + 1, each.join("; ")),
        }
    }

    /// The same, with the traces of modelled devices in the folder of this run.
    #[must_use]
    pub fn with_traces_in(self, run: &FolderHandle) -> Self {
        self.map_each(|attachment| attachment.with_traces_in(run))
    }

    /// Creates an empty file for the data of a modelled device.
    pub(super) fn create_store(&self) -> Result<OwnedFd, AttachmentError> {
        self.first.create_store()
    }

    /// Creates the file for a trial's trace of the device of this number; `None` if traces are not kept.
    pub(super) fn create_trace(
        &self,
        trial: &TrialId,
        number: usize,
    ) -> Result<Option<OwnedFd>, AttachmentError> {
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
    pub(super) fn open_logs(&self) -> Result<Vec<OpenLog<'_>>, AttachmentError> {
        self.logs
            .iter()
            .map(|log| {
                log.open_log().map_err(|source| AttachmentError::RunFile { path: log.file.path(), source })
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

    /// Records the content that `trial` left on each device, which must stay unchanged until the next trial.
    ///
    /// # Errors Fails if a device cannot be examined, or if another program wrote to it. All devices are examined in
    /// any case.
    pub fn note_end(&self, trial: &str) -> Result<(), AttachmentError> {
        let leases = self.iter().filter_map(Attachment::lease);
        let ends = leases.map(|lease| lease.note_end(&Root::default(), trial));
        Ok(ends.fold(Ok(()), Result::and)?)
    }

    /// Bytes of the smallest.
    pub fn size(&self) -> u64 {
        self.iter().map(Attachment::size).min().unwrap_or(0)
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

    /// Cautions for the reader of the results, each once.
    pub fn cautions(&self) -> Vec<Caution> {
        once_each(self.iter().flat_map(Attachment::cautions))
    }
}

//! The devices of a run, attached: most runs have one, and what is said of all is what is said of it.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use super::Attachment;
use super::LabError;
use super::attachment::{AttachmentError, LentDevice};
use super::trace_file::TraceFile;
use super::write_log::{OpenLog, WriteLogFile};
use fsverdict_judgement::journal::{Caution, Facts, TrialId};
use fsverdict_judgement::plan::once_each;
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

    /// Open files, for a kernel that is given them as its disks.
    pub(super) fn open(&self) -> Result<Vec<OwnedFd>, AttachmentError> {
        self.each().map(Attachment::open).collect()
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

    /// The same once a trial has written to them: what is on them now is ours, and stays as it is until the next trial.
    #[must_use]
    pub fn after_trial(self, ended_well: bool) -> Self {
        self.map(|one| one.after_trial(ended_well))
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

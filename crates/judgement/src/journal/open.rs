//! A journal being written, with the run as far as it goes: each event is on the disk and in the run when it is appended.

use super::{Event, Fold, JournalError, Record, Run, TrialId, Writer};
use crate::plan::Plan;
use fsverdict_text::FolderFile;

#[derive(Debug)]
pub struct OpenJournal {
    writer: Writer,
    fold: Fold,
}

impl OpenJournal {
    /// Begins a journal with its first event.
    pub fn begin(plan: &Plan, place: &FolderFile, start: Event) -> Result<Self, JournalError> {
        let mut journal = OpenJournal { writer: Writer::create(place)?, fold: Fold::new(plan) };
        journal.append(None, start)?;
        Ok(journal)
    }

    /// Goes on with a journal; a torn last line is cut off.
    pub fn resume(plan: &Plan, place: &FolderFile) -> Result<Self, JournalError> {
        let mut fold = Fold::new(plan);
        let writer = Writer::append_to(place, |record| fold.add_record(record))?;
        let mut journal = OpenJournal { writer, fold };
        journal.run()?;
        Ok(journal)
    }

    /// Appends an event and takes it into the run.
    pub fn append(&mut self, trial: Option<&TrialId>, event: Event) -> Result<Record, JournalError> {
        let record = self.writer.append(trial, event)?;
        self.fold.add_record(record.clone());
        Ok(record)
    }

    /// The run as far as it goes.
    pub fn run(&mut self) -> Result<&Run, JournalError> {
        let path = self.writer.path();
        self.fold.run().ok_or_else(|| JournalError::NoRun { path: path.to_path_buf() })
    }
}

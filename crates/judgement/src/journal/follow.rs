//! Follows a journal that is being written: reads the records appended since the last look, and none twice.
//!
//! A follower takes no lock and writes nothing, so the writer does not notice it.

use std::fs::File;

use super::reader::{Scanned, opened_in_folder, scan_file};
use super::{Fold, JournalError, Run, UnderwayTrial};
use crate::plan::Plan;
use fsverdict_folders::FolderFile;

/// An open journal, and the run as far as it was read.
#[derive(Debug)]
pub struct JournalFollower {
    /// Its name in the folder of its run.
    place: FolderFile,
    file: File,
    scanned: Scanned,
    fold: Fold,
}

impl JournalFollower {
    /// Opens the journal in the folder of a run and reads its records.
    ///
    /// # Errors
    /// If there is no journal yet, or it is damaged before its end.
    pub fn open(plan: &Plan, place: &FolderFile) -> Result<Self, JournalError> {
        let (place, file) = (place.clone(), opened_in_folder(place)?);
        let mut follower = Self { place, file, scanned: Scanned::default(), fold: Fold::new(plan) };
        follower.read_new()?;
        Ok(follower)
    }

    /// Reads the records that were appended since the last call; returns whether there were any. A line that is being
    /// written is left for later.
    ///
    /// # Errors
    /// If the journal is shorter than before, has lost its name, or is damaged.
    pub fn read_new(&mut self) -> Result<bool, JournalError> {
        let path = self.place.path();
        let length = self.file.metadata().map_err(|error| JournalError::io("read", &path, error))?.len();
        let before = self.scanned.intact_bytes;
        // No process writes any more to a file that was replaced or removed.
        if length < before || !self.place.is_name_of(&self.file) {
            return Err(JournalError::Gone { path });
        }
        if length == before {
            return Ok(false);
        }
        let (scanned, fold) = (std::mem::take(&mut self.scanned), &mut self.fold);
        self.scanned = scan_file(&path, &self.file, scanned, |record| fold.add_record(record))?;
        Ok(self.scanned.intact_bytes > before)
    }

    /// The run so far; `None` before its first record.
    pub fn run(&mut self) -> Option<&Run> {
        self.fold.run()
    }

    /// The trials that have begun and not ended.
    pub fn trials_underway(&self) -> Vec<UnderwayTrial> {
        self.fold.underway()
    }

    /// The open file, to find the process that is writing it.
    pub fn file(&self) -> &File {
        &self.file
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, OpenOptions};
    use std::io::Write;
    use std::path::Path;

    use super::JournalFollower;
    use crate::journal::{JournalError, Run};
    use crate::plan::Plan;
    use fsverdict_folders::FolderHandle;

    fn append(path: &Path, bytes: &[u8]) {
        OpenOptions::new().append(true).create(true).open(path).unwrap().write_all(bytes).unwrap();
    }

    #[test]
    fn a_journal_that_grows_is_read_as_one_that_is_whole() {
        let plan: Plan = serde_json::from_str(include_str!("../../../../tests/runs/demo/plan.json")).unwrap();
        let recorded = include_bytes!("../../../../tests/runs/demo/journal.jsonl");
        let folder = tempfile::tempdir().unwrap();
        let place = FolderHandle::open(folder.path()).unwrap().file("journal.jsonl");
        assert!(matches!(JournalFollower::open(&plan, &place), Err(JournalError::NoRun { .. })));
        let path = place.path();
        // Pieces that end within lines, as a reader beside the writer may see them.
        let pieces: Vec<&[u8]> = recorded.chunks(recorded.len() / 50 + 7).collect();
        append(&path, pieces[0]);
        let mut follower = JournalFollower::open(&plan, &place).unwrap();
        let mut underway = 0;
        for piece in &pieces[1..] {
            append(&path, piece);
            follower.read_new().unwrap();
            assert!(!follower.read_new().unwrap(), "nothing is read twice");
            underway += follower.trials_underway().len();
        }
        assert!(underway > 0);
        assert_eq!(*follower.run().unwrap(), Run::read_in_folder(&plan, &place).unwrap());
        // A crash leaves bytes behind the last record, which the next writer cuts off.
        let whole = fs::metadata(&path).unwrap().len();
        append(&path, b"{\"at\":\"2026-\0\0");
        assert!(!follower.read_new().unwrap());
        OpenOptions::new().write(true).open(&path).unwrap().set_len(whole).unwrap();
        append(&path, b"{\"at\":\"2026-11-21T07:00:00Z\",\"event\":\"run_resumed\"}\n");
        assert!(follower.read_new().unwrap());
        assert_eq!(follower.run().unwrap().resumed, 1);
        let length = fs::metadata(&path).unwrap().len();
        OpenOptions::new().write(true).open(&path).unwrap().set_len(10).unwrap();
        assert!(matches!(follower.read_new(), Err(JournalError::Gone { .. })));
        OpenOptions::new().write(true).open(&path).unwrap().set_len(length).unwrap();
        assert!(!follower.read_new().unwrap());
    }

    #[test]
    fn a_journal_that_lost_its_name_is_followed_no_more() {
        type Replace = fn(&Path);
        let cases: [Replace; 4] = [
            |path| fs::remove_file(path).unwrap(),
            |path| {
                fs::copy(path, path.with_extension("copy")).unwrap();
                fs::rename(path.with_extension("copy"), path).unwrap();
            },
            |path| {
                fs::rename(path, path.with_extension("away")).unwrap();
                std::os::unix::fs::symlink(path.with_extension("away"), path).unwrap();
            },
            |path| {
                fs::remove_file(path).unwrap();
                rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, 0o600.into(), 0)
                    .unwrap();
            },
        ];
        let plan: Plan = serde_json::from_str(include_str!("../../../../tests/runs/demo/plan.json")).unwrap();
        for replace in cases {
            let folder = tempfile::tempdir().unwrap();
            let place = FolderHandle::open(folder.path()).unwrap().file("journal.jsonl");
            append(&place.path(), include_bytes!("../../../../tests/runs/demo/journal.jsonl"));
            let mut follower = JournalFollower::open(&plan, &place).unwrap();
            assert!(!follower.read_new().unwrap());
            replace(&place.path());
            assert!(matches!(follower.read_new(), Err(JournalError::Gone { .. })));
        }
    }
}

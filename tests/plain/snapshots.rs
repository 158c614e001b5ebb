//! What is looked for in snapshots: folders stand for them here.

use std::fs;
use std::path::{Path, PathBuf};

use fsverdict_judgement::plan::{Dataset, Operation};
use fsverdict_text::Bytes;
use fsverdict_workload::dataset::{Prepared, prepare_dataset};
use fsverdict_workload::workload::{
    Ledger, WorkError, Workplace, run_operation, verify_operation, verify_written,
};

struct Kept {
    folder: tempfile::TempDir,
    dataset: Prepared,
    ledger: Ledger,
}

impl Kept {
    fn new() -> Kept {
        let crowd = Dataset::Flat { files: 20, file_size: Bytes(700) };
        let dataset = prepare_dataset("data", &crowd, 1).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let mut kept = Kept { folder, dataset, ledger: Ledger::new() };
        kept.at(Operation::DirectoryFill, true).unwrap();
        kept
    }

    fn at(&mut self, operation: Operation, is_done: bool) -> Result<(), WorkError> {
        let mut site = Workplace {
            operation,
            mount: self.folder.path(),
            into: Path::new("crowd"),
            dataset: &self.dataset,
            staged: None,
            ledger: &mut self.ledger,
            changed: 0.0,
            to: 1.0,
            piece: 4096,
            sync_every: 1,
            pause: std::time::Duration::ZERO,
            threads: 1,
            pulls: 3,
            rounds: 2,
            depth: 0,
            pace: fsverdict_judgement::plan::Pace::Unpaced,
        };
        if is_done {
            run_operation(&mut site)?;
        }
        verify_operation(&site)
    }

    /// A copy in place of a snapshot, which the ledger is told of.
    fn keep(&mut self) -> PathBuf {
        let id = self.ledger.next_snapshot().to_string();
        let shown = PathBuf::from(format!(".snapshot-{id}"));
        let there = self.folder.path().join(&shown).join("crowd");
        fs::create_dir_all(&there).unwrap();
        for file in fs::read_dir(self.folder.path().join("crowd")).unwrap().map(Result::unwrap) {
            fs::copy(file.path(), there.join(file.file_name())).unwrap();
        }
        self.ledger.keep_snapshot(id, Some(shown));
        there
    }

    fn all(&self) -> Result<(), WorkError> {
        verify_written(self.folder.path(), &self.ledger, |_| Some((&self.dataset, None)))
    }
}

#[test]
fn a_snapshot_is_held_to_what_was_there_when_it_was_made() {
    let mut kept = Kept::new();
    let there = kept.keep();
    kept.at(Operation::SnapshotCreate, false).unwrap();
    kept.at(Operation::DirectoryEmpty, true).unwrap();
    kept.all().unwrap();
    let file = fs::read_dir(&there).unwrap().next().unwrap().unwrap().path();
    let whole = fs::read(&file).unwrap();
    fs::write(&file, &whole[1..]).unwrap();
    for told in [kept.all(), kept.at(Operation::SnapshotCreate, false)] {
        let told = told.unwrap_err().to_string();
        assert!(told.contains("byte"), "{told}");
    }
}

#[test]
fn the_oldest_snapshot_goes_and_no_number_comes_twice() {
    let mut kept = Kept::new();
    let first = kept.keep();
    let second = kept.keep();
    assert_eq!(kept.ledger.oldest_snapshot().unwrap().id, "1");
    kept.ledger.give_up_oldest_snapshot();
    // It is still seen.
    kept.at(Operation::SnapshotDelete, false).unwrap_err();
    fs::remove_dir_all(first.parent().unwrap()).unwrap();
    kept.at(Operation::SnapshotDelete, false).unwrap();
    assert_eq!((kept.ledger.oldest_snapshot().unwrap().id.as_str(), kept.ledger.next_snapshot()), ("2", 3));
    kept.all().unwrap();
    fs::remove_dir_all(second).unwrap();
    kept.all().unwrap_err();
}

#[test]
fn without_a_snapshot_there_is_nothing_to_look_at() {
    let mut kept = Kept::new();
    let told = kept.at(Operation::SnapshotCreate, false).unwrap_err().to_string();
    assert!(told.contains("put a snapshot.create phase before it"), "{told}");
    let told = kept.at(Operation::SnapshotDelete, true).unwrap_err().to_string();
    assert!(told.contains("not in a folder"), "{told}");
}

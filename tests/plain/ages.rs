//! Trees that go through a history of changes, on ordinary folders.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use fsverdict_judgement::plan::{Dataset, Operation, Remake, TreeForm, TreeShape};
use fsverdict_text::Bytes;
use fsverdict_workload::dataset::{Prepared, prepare_dataset};
use fsverdict_workload::workload::{
    Ledger, OperationResult, WorkError, Workplace, layout_score, run_operation, verify_operation,
    verify_written, write_again,
};

const CHANGED: f64 = 0.05;

/// Files by their paths from the folder, with their lengths and what holds them.
type Found = BTreeMap<String, (u64, u64)>;

struct Aging {
    folder: tempfile::TempDir,
    dataset: Prepared,
    ledger: Ledger,
}

impl Aging {
    fn new(hard_links: Option<f64>) -> Aging {
        let shape = TreeShape {
            profile: "source-code".into(),
            files: 300,
            directories: 20,
            size: Bytes(2 << 20),
            compressible: None,
            duplicates: None,
            hard_links,
            sizes: Vec::new(),
            form: TreeForm::PLAIN,
        };
        let dataset = prepare_dataset("sources", &Dataset::Tree(shape), 7).unwrap();
        Aging { folder: tempfile::tempdir().unwrap(), dataset, ledger: Ledger::new() }
    }

    fn site(&mut self, operation: Operation, pulls: u32) -> Workplace<'_> {
        Workplace {
            operation,
            mount: self.folder.path(),
            into: Path::new("sources"),
            dataset: &self.dataset,
            staged: None,
            ledger: &mut self.ledger,
            changed: CHANGED,
            to: 0.0,
            pulls,
            rounds: 1,
            depth: 0,
            pace: fsverdict_judgement::plan::Pace::Unpaced,
            piece: 4096,
            sync_every: 1,
            pause: std::time::Duration::ZERO,
            threads: 1,
        }
    }

    fn go(&mut self, operation: Operation, pulls: u32) -> Result<OperationResult, WorkError> {
        let mut site = self.site(operation, pulls);
        let done = run_operation(&mut site)?;
        verify_operation(&site)?;
        Ok(done)
    }

    fn all(&self) -> Result<(), WorkError> {
        verify_written(self.folder.path(), &self.ledger, |_| Some((&self.dataset, None)))
    }

    fn found(&self) -> Found {
        use std::os::unix::fs::MetadataExt;
        let root = self.folder.path().join("sources");
        let (mut found, mut open) = (Found::new(), vec![root.clone()]);
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
                let (path, status) = (entry.path(), entry.metadata().unwrap());
                match status.is_dir() {
                    true => open.push(path),
                    false => {
                        let name = path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
                        found.insert(name, (status.len(), status.ino()));
                    }
                }
            }
        }
        found
    }
}

#[test]
fn pulls_change_some_files_keep_their_objects_and_leave_the_rest() {
    let mut aging = Aging::new(None);
    aging.go(Operation::TreeWrite, 1).unwrap();
    let before = aging.found();
    let done = aging.go(Operation::AgePull, 4).unwrap();
    let after = aging.found();
    let own = |name: &&String| !name.starts_with(".git/");
    let changed = after.iter().filter(|(name, found)| own(name) && before.get(*name) != Some(found)).count();
    let gone = before.keys().filter(|name| !after.contains_key(*name)).count();
    // A twentieth of 300 files, four times; some twice.
    assert!((25..=70).contains(&changed), "{changed}");
    assert!(gone <= 12, "{gone}");
    let objects = after.keys().filter(|name| name.starts_with(".git/objects/")).count() as u64;
    // One for each file, for each directory above, and for each pull; the index is no object.
    assert!(objects > changed as u64 + 4 && done.files > 2 * changed as u64, "{objects} {done:?}");
    assert!(after.contains_key(".git/index"));
    assert!(!after.keys().any(|name| name.ends_with(".tmp") || name.ends_with(".lock")));
    assert_eq!(done.main_call, "pull");
    assert_eq!(done.histograms()[0].buckets.iter().map(|(_, count)| count).sum::<u64>(), 4);
    aging.all().unwrap();
    // What is read is what the history says, and goes on from there.
    let read = aging.go(Operation::TreeRead, 1).unwrap();
    assert_eq!(read.files as usize, after.len());
    aging.go(Operation::TreeOverwrite, 1).unwrap();
    aging.go(Operation::AgePull, 2).unwrap();
    aging.all().unwrap();
    fs::write(aging.folder.path().join("sources/.git/index"), "x").unwrap();
    aging.all().unwrap_err();
    aging.go(Operation::TreeRemove, 1).unwrap();
    aging.all().unwrap();
    // A tree that is written anew has no history.
    aging.go(Operation::TreeWrite, 1).unwrap();
    assert_eq!(aging.found().len(), 300);
}

#[test]
fn a_history_is_the_same_for_everybody_however_it_is_cut() {
    let names = |lengths: &[u32]| {
        let mut aging = Aging::new(None);
        aging.go(Operation::TreeWrite, 1).unwrap();
        lengths.iter().for_each(|pulls| drop(aging.go(Operation::AgePull, *pulls).unwrap()));
        aging.found().into_iter().map(|(name, (bytes, _))| (name, bytes)).collect::<Vec<_>>()
    };
    assert_eq!(names(&[6]), names(&[1, 2, 3]));
    assert_ne!(names(&[6]), names(&[5]));
}

#[test]
fn a_fresh_copy_is_of_what_lies_there_or_of_what_lay_there_after_a_phase() {
    let mut aging = Aging::new(None);
    aging.go(Operation::TreeWrite, 1).unwrap();
    aging.go(Operation::AgePull, 2).unwrap();
    let young = aging.found().len();
    aging.ledger.remember_phase("young", Path::new("sources"));
    aging.go(Operation::AgePull, 5).unwrap();
    let old = aging.found().len();
    assert!(old > young);
    for (remake, files) in [(Remake::Now(true), old), (Remake::After("young".into()), young)] {
        fs::remove_dir_all(aging.folder.path().join("sources")).unwrap();
        write_again(&mut aging.site(Operation::TreeRead, 1), &remake).unwrap();
        assert_eq!(aging.found().len(), files);
        aging.go(Operation::TreeRead, 1).unwrap();
        aging.all().unwrap();
    }
    let strange = write_again(&mut aging.site(Operation::TreeRead, 1), &Remake::After("never".into()));
    assert!(strange.unwrap_err().to_string().contains("the former content of"));
}

#[test]
fn what_has_links_or_is_not_there_does_not_age() {
    let mut linked = Aging::new(Some(0.1));
    linked.go(Operation::TreeWrite, 1).unwrap();
    let told = linked.go(Operation::AgePull, 1).unwrap_err().to_string();
    assert!(told.contains("remove `hard_links` from the dataset"), "{told}");
    let told = Aging::new(None).go(Operation::AgePull, 1).unwrap_err().to_string();
    assert!(told.contains("put a tree.write phase before it"), "{told}");
}

#[test]
fn the_layout_of_small_files_is_a_share_or_is_not_told() {
    let mut aging = Aging::new(None);
    aging.go(Operation::TreeWrite, 1).unwrap();
    assert!(!aging.site(Operation::TreeRead, 1).is_aged());
    aging.go(Operation::AgePull, 1).unwrap();
    let site = aging.site(Operation::TreeRead, 1);
    assert!(site.is_aged());
    // As the filesystem of the folder for temporary files has it.
    if let Some(score) = layout_score(&site).unwrap() {
        assert!((0.0..=1.0).contains(&score), "{score}");
    }
}

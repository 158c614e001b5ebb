//! Built-in operations on a filesystem that is full, or nearly so.

use std::path::Path;

use fsverdict_judgement::plan::{Dataset, Operation, Pace, TreeForm, TreeShape};
use fsverdict_text::Bytes;
use fsverdict_workload::dataset::prepare_dataset;
use fsverdict_workload::workload::{
    Ledger, WorkError, Workplace, run_operation, verify_operation, verify_written,
};

use crate::common::{tool, unmount};

#[test]
fn loop_a_full_filesystem_is_reported_as_such() {
    let folder = tempfile::tempdir().unwrap();
    let mount = folder.path().to_str().unwrap();
    let crowd = Dataset::Flat { files: 500, file_size: Bytes(80 << 10) };
    let dataset = prepare_dataset("data", &crowd, 1).unwrap();
    tool(&["mount", "-t", "tmpfs", "-o", "size=4m", "fsverdict-test", mount]);
    let shown = run_operation(&mut Workplace {
        operation: Operation::try_from("directory.fill".to_owned()).unwrap(),
        mount: folder.path(),
        into: Path::new("some/where"),
        dataset: &dataset,
        staged: None,
        ledger: &mut Ledger::new(),
        changed: 0.1,
        to: 0.0,
        piece: 4096,
        sync_every: 1,
        pause: std::time::Duration::ZERO,
        threads: 1,
        depth: 0,
        pace: Pace::Unpaced,
        pulls: 3,
        rounds: 2,
    });
    unmount(folder.path());
    let shown = shown.unwrap_err().to_string();
    assert!(shown.starts_with("directory.fill: cannot write "), "{shown}");
    assert!(shown.contains("the filesystem is full"), "{shown}");
}

/// Files come and go on a filesystem that is as full as was asked for, and all that is left is right.
#[test]
fn loop_files_come_and_go_on_a_filesystem_that_is_nearly_full() {
    let folder = tempfile::tempdir().unwrap();
    let mount = folder.path().to_str().unwrap();
    let shape = TreeShape {
        profile: "small-files".into(),
        files: 100,
        directories: 8,
        size: Bytes(400 << 10),
        compressible: None,
        duplicates: None,
        hard_links: None,
        sizes: Vec::new(),
        form: TreeForm::PLAIN,
    };
    let dataset = prepare_dataset("data", &Dataset::Tree(shape), 1).unwrap();
    let mut ledger = Ledger::new();
    tool(&["mount", "-t", "tmpfs", "-o", "size=8m", "fsverdict-test", mount]);
    let mut phase = |operation: Operation, to: f64, rounds: u32| {
        let mut site = Workplace {
            operation,
            mount: folder.path(),
            into: Path::new("some/where"),
            dataset: &dataset,
            staged: None,
            ledger: &mut ledger,
            changed: 0.0,
            to,
            pulls: 1,
            rounds,
            piece: 4096,
            sync_every: 1,
            pause: std::time::Duration::ZERO,
            threads: 1,
            depth: 0,
            pace: Pace::Unpaced,
        };
        let done = run_operation(&mut site).and_then(|done| verify_operation(&site).map(|()| done))?;
        let found = rustix::fs::statvfs(folder.path()).unwrap();
        Ok::<_, WorkError>((1.0 - found.f_bfree as f64 / found.f_blocks as f64, done))
    };
    let written = phase(Operation::TreeWrite, 0.0, 1);
    let churned = phase(Operation::AgeChurn, 0.7, 3);
    let to_the_brim = phase(Operation::AgeChurn, 1.0, 1);
    let read = phase(Operation::TreeRead, 0.0, 1);
    let whole = verify_written(folder.path(), &ledger, |_| Some((&dataset, None)));
    unmount(folder.path());
    written.unwrap();
    let (used, done) = churned.unwrap();
    assert!((0.6..0.75).contains(&used), "{used}");
    // Up to there, and three times as much again.
    let held = done.held.unwrap();
    assert!(done.logical_bytes > 3 * held && done.logical_bytes < 6 * held, "{done:?}");
    let (used, _) = to_the_brim.unwrap();
    assert!(used > 0.9, "{used}");
    assert!(read.unwrap().1.files > 500);
    whole.unwrap();
}

/// As much of a small filesystem in memory as is asked for, in use by copies that all are as they must be.
#[test]
fn loop_copies_fill_a_filesystem_as_far_as_they_are_asked_to() {
    let folder = tempfile::tempdir().unwrap();
    let mount = folder.path().to_str().unwrap();
    let dataset =
        prepare_dataset("data", &Dataset::Flat { files: 10, file_size: Bytes(20 << 10) }, 1).unwrap();
    let mut ledger = Ledger::new();
    tool(&["mount", "-t", "tmpfs", "-o", "size=8m", "fsverdict-test", mount]);
    let mut phase = |operation: &str, to: f64| {
        let mut site = Workplace {
            operation: Operation::try_from(operation.to_owned()).unwrap(),
            mount: folder.path(),
            into: Path::new("some/where"),
            dataset: &dataset,
            staged: None,
            ledger: &mut ledger,
            changed: 0.0,
            to,
            piece: 4096,
            sync_every: 1,
            pause: std::time::Duration::ZERO,
            threads: 1,
            depth: 0,
            pace: Pace::Unpaced,
            pulls: 3,
            rounds: 2,
        };
        let done = run_operation(&mut site).map_err(|error| error.to_string())?;
        verify_operation(&site).map_err(|error| error.to_string())?;
        let found = rustix::fs::statvfs(folder.path()).unwrap();
        let used = 1.0 - found.f_bfree as f64 / found.f_blocks as f64;
        Ok::<_, String>((used, done))
    };
    let found = [
        phase("space.free", 0.5),
        phase("space.fill", 0.5),
        phase("space.fill", 0.8),
        phase("space.fill", 1.0),
        phase("space.free", 0.3),
        phase("space.fill", 0.6),
    ];
    let whole = verify_written(folder.path(), &ledger, |_| Some((&dataset, None)));
    let missing = folder.path().join("some/where").read_dir().unwrap().next().unwrap().unwrap().path();
    std::fs::remove_file(missing.read_dir().unwrap().next().unwrap().unwrap().path()).unwrap();
    let harmed = verify_written(folder.path(), &ledger, |_| Some((&dataset, None)));
    unmount(folder.path());
    let [early, half, more, full, freed, again] = found;
    assert!(early.unwrap_err().contains("space.fill"), "there are no copies yet");
    let copy = (10 * (20 << 10)) as f64 / (8 << 20) as f64;
    for (asked, (used, done)) in [(0.5, half.unwrap()), (0.8, more.unwrap()), (0.6, again.unwrap())] {
        assert!((asked..asked + 1.5 * copy).contains(&used), "{asked} was asked for: {used}");
        assert!((done.held.unwrap() as f64 / (8 << 20) as f64 - used).abs() < copy, "{done:?}");
    }
    let (used, done) = full.unwrap();
    assert!(used > 1.0 - 1.5 * copy, "it takes no more: {used} {done:?}");
    let (used, done) = freed.unwrap();
    assert!((0.3 - 1.5 * copy..=0.3).contains(&used) && done.files > 0, "{used}");
    whole.unwrap();
    assert!(harmed.is_err(), "a file is missing");
}

/// A fixed bug: a copy of which not even the folder went in was looked for, to be removed, and said not to have been written.
#[test]
fn loop_a_filesystem_is_full_when_not_even_a_folder_goes_in() {
    let folder = tempfile::tempdir().unwrap();
    let mount = folder.path().to_str().unwrap();
    let dataset = prepare_dataset("data", &Dataset::Flat { files: 10, file_size: Bytes(100) }, 1).unwrap();
    // Its root, `some` and `where`, and two copies of a folder and ten files.
    tool(&["mount", "-t", "tmpfs", "-o", "size=8m,nr_inodes=25", "fsverdict-test", mount]);
    let filled = run_operation(&mut Workplace {
        operation: Operation::SpaceFill,
        mount: folder.path(),
        into: Path::new("some/where"),
        dataset: &dataset,
        staged: None,
        ledger: &mut Ledger::new(),
        changed: 0.0,
        to: 1.0,
        piece: 4096,
        sync_every: 1,
        pause: std::time::Duration::ZERO,
        threads: 1,
        depth: 0,
        pace: Pace::Unpaced,
        pulls: 3,
        rounds: 2,
    });
    unmount(folder.path());
    assert_eq!(filled.unwrap().files, 20);
}

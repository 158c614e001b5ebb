//! The built-in operations on ordinary folders: what they leave behind, what they refuse, what their verification finds.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use fsverdict_judgement::plan::{Dataset, Operation, OperationKind, Pace, TreeForm, TreeShape};
use fsverdict_text::Bytes;
use fsverdict_workload::dataset::{Prepared, Staged, prepare_dataset, stage_dataset};
use fsverdict_workload::workload::{
    Ledger, OperationResult, WorkError, Workplace, run_operation, verify_operation, verify_written,
};

fn tree(files: u64, size: u64) -> Dataset {
    Dataset::Tree(TreeShape {
        profile: "mixed".into(),
        files,
        directories: 30,
        size: Bytes(size),
        compressible: None,
        duplicates: Some(0.1),
        hard_links: Some(0.1),
        sizes: Vec::new(),
        form: TreeForm::PLAIN,
    })
}

/// A filesystem under test that is a folder, a dataset, and what is known of it.
struct Bench {
    folder: tempfile::TempDir,
    dataset: Prepared,
    staged: Option<Staged>,
    ledger: Ledger,
    threads: u32,
    depth: u32,
    sync_every: u32,
}

impl Bench {
    fn new(spec: &Dataset) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("mount")).unwrap();
        Self {
            folder,
            dataset: prepare_dataset("data", spec, 1).unwrap(),
            staged: None,
            ledger: Ledger::new(),
            threads: 1,
            depth: 0,
            sync_every: 1,
        }
    }

    fn mount(&self) -> PathBuf {
        self.folder.path().join("mount")
    }

    fn stage(&mut self) {
        let staged = stage_dataset(&self.dataset, &self.folder.path().join("staged"), None).unwrap();
        self.staged = Some(staged);
    }

    fn at(&mut self, into: &str, name: &str) -> Result<OperationResult, WorkError> {
        let mount = self.mount();
        let operation = Operation::try_from(name.to_owned()).unwrap();
        let mut site = Workplace {
            operation,
            mount: &mount,
            into: Path::new(into),
            dataset: &self.dataset,
            staged: self.staged.as_ref(),
            ledger: &mut self.ledger,
            changed: 0.1,
            to: 0.0,
            piece: if operation == Operation::AppendFsync { 2300 } else { 4096 },
            sync_every: self.sync_every,
            pause: std::time::Duration::ZERO,
            threads: self.threads,
            depth: self.depth,
            pace: Pace::Unpaced,
            pulls: 3,
            rounds: 2,
        };
        let done = run_operation(&mut site)?;
        verify_operation(&site)?;
        Ok(done)
    }

    fn run(&mut self, name: &str) -> Result<OperationResult, WorkError> {
        self.at("some/where", name)
    }

    /// A phase that must be right: enough samples of its main call, and the bytes it claims.
    fn expect(&mut self, name: &str, files: u64, bytes: u64) {
        let done = self.run(name).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!((done.files, done.logical_bytes), (files, bytes), "{name}");
        let histograms = done.histograms();
        let main = histograms.iter().find(|histogram| histogram.call == done.main_call).unwrap();
        assert!(main.buckets.iter().map(|(_, count)| count).sum::<u64>() > 0, "{name}");
    }

    fn verify_all(&self) -> Result<(), WorkError> {
        verify_written(&self.mount(), &self.ledger, |_| Some((&self.dataset, self.staged.as_ref())))
    }

    /// The regular files written, biggest first.
    fn files(&self) -> Vec<PathBuf> {
        let found = Command::new("find").arg(self.mount()).args(["-type", "f", "-print0"]).output().unwrap();
        let names = found.stdout.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        let mut files: Vec<PathBuf> = names.map(|name| OsStr::from_bytes(name).into()).collect();
        files.sort_by_key(|file| std::cmp::Reverse((file.metadata().unwrap().len(), file.clone())));
        files
    }
}

#[test]
fn a_tree_lives_from_writing_to_removal() {
    let mut bench = Bench::new(&tree(600, 20 << 20));
    let totals = bench.dataset.totals().unwrap();
    assert_eq!((totals.files, totals.hard_links), (600, 60));
    bench.expect("tree.write", 600, totals.bytes);
    let held: u64 = bench.files().iter().map(|file| file.metadata().unwrap().len()).sum();
    let by_links: f64 = bench
        .files()
        .iter()
        .map(|file| file.metadata().unwrap())
        .map(|file| file.len() as f64 / file.nlink() as f64)
        .sum();
    assert!((by_links - totals.bytes as f64).abs() < 1.0);
    bench.expect("tree.read", 600, held);
    bench.expect("tree.overwrite", 540, totals.bytes);
    bench.expect("tree.read", 600, held);
    bench.expect("tree.overwrite", 540, totals.bytes);
    bench.verify_all().unwrap();
    bench.expect("tree.remove", 600, 0);
    assert!(bench.mount().join("some").exists());
    assert!(!bench.mount().join("some/where").exists());
    bench.verify_all().unwrap();
}

/// The last look at what a trial left finds whatever stands in the place of a removed folder.
#[test]
fn what_was_removed_and_is_there_again_is_found() {
    let mut bench = Bench::new(&tree(40, 100_000));
    bench.at("data", "tree.write").unwrap();
    bench.at("data", "tree.remove").unwrap();
    bench.verify_all().unwrap();
    fs::create_dir(bench.mount().join("data")).unwrap();
    let error = bench.verify_all().unwrap_err().to_string();
    assert!(error.contains("something") && error.contains("nothing"), "{error}");
}

/// How often the main call was timed.
fn calls(done: &OperationResult) -> u64 {
    let histograms = done.histograms();
    let main = histograms.iter().find(|histogram| histogram.call == done.main_call).unwrap();
    main.buckets.iter().map(|(_, count)| count).sum()
}

#[test]
fn pieces_of_a_big_file_are_each_written_and_read_once_by_however_many_threads() {
    let size = (1 << 20) + 1234;
    for threads in [1, 3] {
        let mut bench = Bench::new(&Dataset::File { size: Bytes(size), compressible: 0.0 });
        assert!(bench.run("random.write").unwrap_err().to_string().contains("has not been written"));
        bench.expect("stream.write", 1, size);
        bench.threads = threads;
        for name in ["random.read", "random.write", "random.read", "random.write"] {
            let done = bench.run(name).unwrap();
            assert_eq!((done.logical_bytes, calls(&done)), (size, 257), "{name}");
        }
        bench.verify_all().unwrap();
        // One byte of another generation is noticed.
        let file = bench.files().remove(0);
        let mut bytes = fs::read(&file).unwrap();
        bytes[500_000] ^= 1;
        fs::write(&file, bytes).unwrap();
        assert!(bench.verify_all().is_err());
        assert!(bench.run("random.read").is_err());
    }
}

#[test]
fn a_log_grows_by_a_piece_at_a_time_and_several_threads_have_files_of_their_own() {
    let mut bench = Bench::new(&Dataset::File { size: Bytes(23_001), compressible: 0.0 });
    let done = bench.run("append.fsync").unwrap();
    assert_eq!((done.logical_bytes, done.files, calls(&done)), (23_001, 1, 11));
    bench.verify_all().unwrap();
    assert!(bench.run("append.fsync").unwrap_err().to_string().contains("already exists"));
    let mut bench = Bench::new(&Dataset::Flat { files: 5, file_size: Bytes(4600) });
    bench.threads = 2;
    let done = bench.run("append.fsync").unwrap();
    assert_eq!((done.logical_bytes, done.files, calls(&done)), (23_000, 5, 10));
    bench.verify_all().unwrap();
    assert_eq!(bench.files().len(), 5);
}

#[test]
fn every_file_of_a_directory_is_replaced_and_nothing_else_is_left() {
    for threads in [1, 4] {
        let mut bench = Bench::new(&Dataset::Flat { files: 50, file_size: Bytes(700) });
        bench.expect("directory.fill", 50, 35_000);
        let before: HashSet<u64> = bench.files().iter().map(|file| file.metadata().unwrap().ino()).collect();
        bench.threads = threads;
        let done = bench.run("rename.replace").unwrap();
        assert_eq!((done.logical_bytes, done.files, calls(&done)), (35_000, 50, 50));
        let after: HashSet<u64> = bench.files().iter().map(|file| file.metadata().unwrap().ino()).collect();
        assert_eq!(after.len(), 50);
        assert!(after.iter().any(|inode| !before.contains(inode)));
        bench.verify_all().unwrap();
    }
}

#[test]
fn a_big_file_is_written_read_and_rewritten_in_place() {
    let size = (9 << 20) + 12_345;
    let mut bench = Bench::new(&Dataset::File { size: Bytes(size), compressible: 0.5 });
    bench.expect("stream.write", 1, size);
    bench.expect("stream.read", 1, size);
    let before = fs::metadata(bench.mount().join("some/where")).unwrap().ino();
    bench.expect("stream.rewrite", 1, size);
    assert_eq!(fs::metadata(bench.mount().join("some/where")).unwrap().ino(), before);
    bench.expect("stream.read", 1, size);
    bench.verify_all().unwrap();
    // As it was before it was rewritten, it is no longer right.
    let again = stage_dataset(&bench.dataset, &bench.folder.path().join("again"), None).unwrap();
    fs::copy(again.path, bench.mount().join("some/where")).unwrap();
    assert!(bench.verify_all().unwrap_err().to_string().contains("has other content from byte 0 on"));
}

#[test]
fn a_flat_directory_is_filled_listed_and_emptied() {
    let mut bench = Bench::new(&Dataset::Flat { files: 500, file_size: Bytes(100) });
    bench.expect("directory.fill", 500, 50_000);
    bench.expect("directory.list", 500, 0);
    // Saved anew twice, with fsync and without, each time with another content.
    bench.expect("directory.save", 500, 50_000);
    bench.expect("directory.replace", 500, 50_000);
    bench.expect("directory.empty", 500, 0);
    assert_eq!(fs::read_dir(bench.mount().join("some/where")).unwrap().count(), 0);
    bench.verify_all().unwrap();
    // An emptied directory may be filled again.
    bench.expect("directory.fill", 500, 50_000);
}

#[test]
fn what_is_missing_present_or_unsuitable_is_refused_with_a_remedy() {
    let mut bench = Bench::new(&tree(20, 1 << 20));
    for name in ["tree.read", "tree.overwrite", "tree.remove"] {
        let shown = bench.run(name).unwrap_err().to_string();
        let at = bench.mount().join("some/where");
        assert_eq!(
            shown,
            format!(
                "{name}: dataset `data` has not been written into {}; hint: put a tree.write phase before it",
                at.display()
            )
        );
    }
    bench.run("tree.write").unwrap();
    let shown = bench.run("tree.write").unwrap_err().to_string();
    assert!(shown.contains("already exists; hint:"), "{shown}");
    let shown = bench.run("stream.read").unwrap_err().to_string();
    assert_eq!(shown, "stream.read: cannot use dataset `data`, a tree; hint: it needs a file");
    for into in ["../out", "/etc", "a/../../b", ""] {
        let shown = bench.at(into, "tree.write").unwrap_err().to_string();
        assert!(shown.contains("is not below the mount point"), "{shown}");
    }
}

#[test]
fn a_symbolic_link_out_of_the_mount_is_never_followed() {
    let mut bench = Bench::new(&tree(20, 1 << 20));
    let outside = bench.folder.path().join("outside");
    fs::create_dir_all(outside.join("where")).unwrap();
    fs::write(outside.join("where/precious"), "x").unwrap();
    std::os::unix::fs::symlink(&outside, bench.mount().join("some")).unwrap();
    for name in ["tree.write", "tree.read", "tree.overwrite", "tree.remove"] {
        assert!(bench.run(name).is_err(), "{name}");
    }
    fs::remove_file(bench.mount().join("some")).unwrap();
    bench.run("tree.write").unwrap();
    std::os::unix::fs::symlink(outside.join("where"), bench.mount().join("some/where/link")).unwrap();
    bench.run("tree.remove").unwrap();
    assert!(outside.join("where/precious").exists());
}

/// However many compare.
#[test]
fn every_difference_is_counted_and_the_first_are_named_in_order() {
    let Dataset::Tree(shape) = tree(200, 1 << 20) else { unreachable!() };
    let mut bench = Bench::new(&Dataset::Tree(TreeShape { hard_links: None, ..shape }));
    bench.run("tree.write").unwrap();
    for file in bench.files().iter().take(40) {
        fs::remove_file(file).unwrap();
    }
    fs::write(bench.mount().join("some/where/new"), "").unwrap();
    let shown = bench.verify_all().unwrap_err().to_string();
    assert!(shown.contains(": new should not be there; ") && shown.contains("; and 36 more; "), "{shown}");
    assert_eq!(shown.matches("is missing").count(), 4, "{shown}");
    assert!((0..9).all(|_| bench.verify_all().unwrap_err().to_string() == shown));
}

/// Writes a tree, spoils it, and gives what the verification says.
fn spoiled(name: &str, spoil: impl FnOnce(&Bench, &[PathBuf])) -> String {
    let mut bench = Bench::new(&tree(200, 8 << 20));
    bench.run("tree.write").unwrap();
    let files = bench.files();
    spoil(&bench, &files);
    assert!(bench.verify_all().is_err());
    bench.run(name).unwrap_err().to_string()
}

#[test]
fn corruption_is_found_and_named() {
    let single = |files: &[PathBuf]| -> PathBuf {
        files.iter().find(|file| file.metadata().unwrap().nlink() == 1).unwrap().clone()
    };
    let shown = spoiled("tree.read", |_, files| {
        let mut bytes = fs::read(single(files)).unwrap();
        bytes[70_001] ^= 4;
        fs::write(single(files), bytes).unwrap();
    });
    assert!(shown.contains("has other content from byte 70001 on"), "{shown}");
    // Two blocks of the same file that changed places.
    let shown = spoiled("tree.read", |_, files| {
        let mut bytes = fs::read(single(files)).unwrap();
        let (first, second) = bytes.split_at_mut(131_072);
        first[65_536..69_632].swap_with_slice(&mut second[..4096]);
        fs::write(single(files), bytes).unwrap();
    });
    assert!(shown.contains("has other content from byte 65536 on"), "{shown}");
    let shown = spoiled("tree.read", |_, files| fs::remove_file(single(files)).unwrap());
    assert!(shown.contains("is missing"), "{shown}");
    let shown = spoiled("tree.read", |bench, _| fs::write(bench.mount().join("some/where/new"), "").unwrap());
    assert!(shown.contains("new should not be there"), "{shown}");
    let shown = spoiled("tree.read", |_, files| {
        fs::OpenOptions::new().write(true).open(single(files)).unwrap().set_len(7).unwrap();
    });
    assert!(shown.contains("has 7 bytes instead of"), "{shown}");
    let shown = spoiled("tree.overwrite", |bench, files| {
        fs::hard_link(single(files), bench.folder.path().join("other")).unwrap();
    });
    assert!(shown.contains("has 2 hard links instead of 1"), "{shown}");
    // Two files with each other's content: the sum of digests is right, a later comparison is not.
    let shown = {
        let mut bench = Bench::new(&Dataset::Flat { files: 50, file_size: Bytes(4096) });
        bench.run("directory.fill").unwrap();
        let files = bench.files();
        fs::rename(&files[0], files[0].with_extension("keep")).unwrap();
        fs::rename(&files[1], &files[0]).unwrap();
        fs::rename(files[0].with_extension("keep"), &files[1]).unwrap();
        bench.run("directory.list").unwrap_err().to_string()
    };
    assert!(shown.contains("has other content from byte 0 on"), "{shown}");
}

#[test]
fn only_the_first_few_differences_are_spelled_out() {
    let shown = spoiled("tree.read", |_, files| {
        for file in files.iter().skip(files.len() - 50) {
            fs::remove_file(file).unwrap();
        }
    });
    assert!(shown.contains("more") && shown.len() < 2000, "{shown}");
}

#[test]
fn what_a_command_copied_is_read_and_verified_too() {
    let mut bench = Bench::new(&tree(100, 4 << 20));
    bench.stage();
    let status = Command::new("cp")
        .args(["-R", "--no-preserve=links"])
        .args([bench.folder.path().join("staged"), bench.mount().join("tree")])
        .status()
        .unwrap();
    assert!(status.success());
    bench.ledger.mark_all_unsure();
    bench.at("tree", "tree.read").unwrap();
    bench.at("tree", "tree.overwrite").unwrap();
    bench.at("tree", "tree.read").unwrap();
    bench.at("tree", "tree.remove").unwrap();
}

#[test]
fn after_a_command_either_generation_is_right() {
    let mut bench = Bench::new(&Dataset::File { size: Bytes(100_000), compressible: 0.0 });
    bench.stage();
    bench.at("iso", "stream.write").unwrap();
    bench.at("iso", "stream.rewrite").unwrap();
    bench.ledger.mark_all_unsure();
    bench.at("iso", "stream.read").unwrap();
    fs::copy(bench.folder.path().join("staged"), bench.mount().join("iso")).unwrap();
    bench.at("iso", "stream.read").unwrap();
}

#[test]
fn a_real_folder_goes_through_the_same_operations() {
    let source = tempfile::tempdir().unwrap();
    fs::create_dir_all(source.path().join("a/b")).unwrap();
    fs::write(source.path().join("a/one"), vec![7; 300_000]).unwrap();
    fs::hard_link(source.path().join("a/one"), source.path().join("a/b/two")).unwrap();
    std::os::unix::fs::symlink("../one", source.path().join("a/b/link")).unwrap();
    let mut bench = Bench::new(&Dataset::Folder { path: source.path().into(), size: None });
    assert_eq!(bench.dataset.kind, OperationKind::Folder);
    let shown = bench.run("tree.write").unwrap_err().to_string();
    assert!(shown.contains("has not been staged"), "{shown}");
    bench.stage();
    bench.expect("tree.write", 2, 300_000);
    bench.expect("tree.read", 2, 600_000);
    bench.expect("tree.overwrite", 1, 300_000);
    bench.verify_all().unwrap();
    fs::write(bench.mount().join("some/where/a/one"), vec![8; 300_000]).unwrap();
    let shown = bench.run("tree.read").unwrap_err().to_string();
    assert!(shown.contains("a/one has other content"), "{shown}");
    bench.expect("tree.remove", 2, 0);
}

#[test]
fn generations_share_what_has_not_changed_and_the_oldest_goes() {
    let files = 600;
    for spec in [tree(files, 2 << 20), Dataset::Flat { files, file_size: Bytes(700) }] {
        let mut bench = Bench::new(&spec);
        assert_eq!(bench.dataset.totals().unwrap().files, files);
        bench.run("rotation.create").unwrap();
        for _ in 0..3 {
            let done = bench.run("rotation.next").unwrap();
            let calls = |name: &str| -> u64 {
                let histograms = done.histograms();
                let own = histograms.iter().filter(|histogram| histogram.call == name);
                own.flat_map(|histogram| &histogram.buckets).map(|(_, count)| count).sum()
            };
            let (written, linked) = (calls("write_file"), calls("link"));
            assert_eq!((done.files, written + linked), (files, files));
            assert!((20..120).contains(&written), "a tenth of 600 is about 60, not {written}");
        }
        let inodes: HashSet<u64> = bench.files().iter().map(|file| file.metadata().unwrap().ino()).collect();
        assert_eq!(bench.files().len() as u64, 4 * files);
        assert!(inodes.len() < 2 * files as usize, "{} files in 4 generations", inodes.len());
        bench.verify_all().unwrap();
        bench.run("rotation.drop").unwrap();
        bench.run("rotation.drop").unwrap();
        assert!(!bench.mount().join("some/where/1").exists() && bench.mount().join("some/where/2").exists());
        bench.verify_all().unwrap();
    }
}

#[test]
fn a_generation_of_copies_instead_of_links_is_found() {
    let mut bench = Bench::new(&Dataset::Flat { files: 20, file_size: Bytes(700) });
    let shown = bench.run("rotation.next").unwrap_err().to_string();
    assert!(shown.contains("rotation.create"), "{shown}");
    bench.run("rotation.create").unwrap();
    bench.run("rotation.next").unwrap();
    bench.verify_all().unwrap();
    let shared = bench.files().into_iter().find(|file| file.metadata().unwrap().nlink() == 2).unwrap();
    let copy = fs::read(&shared).unwrap();
    fs::remove_file(&shared).unwrap();
    fs::write(&shared, copy).unwrap();
    let shown = bench.verify_all().unwrap_err().to_string();
    assert!(shown.contains("has 1 hard links instead of 2"), "{shown}");
}

#[test]
fn a_real_folder_rotates_too() {
    let real = tempfile::tempdir().unwrap();
    fs::create_dir(real.path().join("below")).unwrap();
    for number in 0..200 {
        fs::write(real.path().join(format!("below/{number}")), vec![number as u8; 100 + number]).unwrap();
    }
    let mut bench = Bench::new(&Dataset::Folder { path: real.path().into(), size: None });
    bench.stage();
    for name in ["rotation.create", "rotation.next", "rotation.next", "rotation.drop"] {
        bench.run(name).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    bench.verify_all().unwrap();
}

/// Calls of every kind.
const CALLS: &str = "\
file 0 12 200000
dir 0 3
file 2 4 100
name 2 200
name 0 6
name 2 1
open 1 1 direct
+150 read 1 0 4096 x2
write 1 300000 5000
fdatasync 1
open 2 4 create truncate synced
write 2 0 70000
truncate 2 66000
write 2 80000 10
close 2
truncate 1 305000
reserve 1 0 310000
fsync 1
stat 4
stat 5
list 2
mkdir 5
rmdir 5
rename 4 5
link 5 4
rename 5 4
link 1 6
unlink 3
rename 5 1
";

#[test]
fn the_calls_of_a_trace_are_made_again_and_every_byte_of_what_they_leave_is_looked_at() {
    let mut bench = Bench::new(&Dataset::Trace { calls: CALLS.parse().unwrap() });
    let told = bench.run("trace.replay").unwrap_err().to_string();
    assert!(told.contains("put a tree.write phase before it"), "{told}");
    bench.expect("tree.write", 2, 200_100);
    let done = bench.run("trace.replay").unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((done.logical_bytes, done.read_besides), (75_010, 8192));
    assert_eq!(calls(&done), 24);
    bench.verify_all().unwrap();
    let sizes: Vec<u64> = bench.files().iter().map(|file| file.metadata().unwrap().len()).collect();
    assert_eq!(sizes, [310_000, 80_010, 80_010]);
    // A second time the files are not those that the trace begins with.
    assert!(bench.run("trace.replay").is_err());
    for damage in [10_u64, 69_000, 80_005] {
        let file = bench.files().pop().unwrap();
        let mut bytes = fs::read(&file).unwrap();
        bytes[damage as usize] ^= 1;
        fs::write(&file, &bytes).unwrap();
        let told = bench.verify_all().unwrap_err().to_string();
        assert!(told.contains(&format!("other content from byte {damage} on")), "{told}");
        bytes[damage as usize] ^= 1;
        fs::write(&file, &bytes).unwrap();
    }
    let stray = bench.files().pop().unwrap().parent().unwrap().join("stray");
    fs::write(&stray, b"").unwrap();
    assert!(bench.verify_all().is_err());
    fs::remove_file(stray).unwrap();
    bench.expect("tree.remove", 3, 0);
    bench.verify_all().unwrap();
}

#[test]
fn threads_share_a_trace_that_only_moves_bytes() {
    let lines: String = (0..500)
        .map(|at| format!("write 1 {} 4096\nread 1 {} 4096\n", at * 7 % 500 * 4096, at * 4096))
        .collect();
    let calls = format!("file 0 1 2048000\nopen 1 1\n{lines}fsync 1\n").parse().unwrap();
    let mut bench = Bench::new(&Dataset::Trace { calls });
    bench.run("tree.write").unwrap();
    bench.threads = 3;
    let done = bench.run("trace.replay").unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((done.logical_bytes, self::calls(&done)), (2_048_000, 1002));
    bench.verify_all().unwrap();
}

#[test]
fn a_tree_and_a_directory_are_the_same_by_however_many_threads() {
    let spec = tree(600, 20 << 20);
    let mut bench = Bench::new(&spec);
    bench.threads = 3;
    let totals = bench.dataset.totals().unwrap();
    bench.expect("tree.write", 600, totals.bytes);
    bench.verify_all().unwrap();
    let held: u64 = bench.files().iter().map(|file| file.metadata().unwrap().len()).sum();
    let done = bench.run("tree.read").unwrap();
    assert_eq!((done.files, done.logical_bytes, calls(&done)), (600, held, 600));
    let mut bench = Bench::new(&Dataset::Flat { files: 500, file_size: Bytes(1000) });
    bench.threads = 4;
    bench.expect("directory.fill", 500, 500_000);
    let done = bench.run("directory.list").unwrap();
    assert_eq!((done.files, calls(&done)), (500, 500));
    bench.expect("directory.empty", 500, 0);
    assert!(bench.files().is_empty());
    bench.verify_all().unwrap();
}

/// What the test's own folder lies on has no clones for the most part; then the error says so.
#[test]
fn a_copy_that_shares_its_blocks_is_right_or_refused_with_a_reason() {
    for threads in [1, 3] {
        let mut bench = Bench::new(&tree(100, 1 << 20));
        bench.threads = threads;
        let told = bench.at("copy", "copy.reflink").unwrap_err().to_string();
        assert!(
            told.contains("dataset `data` has not been written into")
                && told.contains("put a tree.write phase before it"),
            "{told}"
        );
        bench.at("data", "tree.write").unwrap();
        match bench.at("copy", "copy.reflink") {
            Ok(done) => {
                assert_eq!((done.files, done.logical_bytes, done.main_call), (100, 0, "clone"));
                assert_eq!(calls(&done), 90);
                bench.at("copy", "tree.read").unwrap();
                bench.verify_all().unwrap();
            }
            Err(error) => {
                let told = error.to_string();
                assert!(told.starts_with("copy.reflink: cannot clone "), "{told}");
                assert!(told.contains("hint: the filesystem does not support this"), "{told}");
            }
        }
    }
}

#[test]
fn a_staged_folder_is_written_by_several_threads_with_its_links() {
    let source = tempfile::tempdir().unwrap();
    for number in 0..40 {
        let inner = source.path().join(format!("d{}", number % 20));
        fs::create_dir_all(&inner).unwrap();
        fs::write(inner.join(number.to_string()), vec![7; 100 * number]).unwrap();
    }
    fs::hard_link(source.path().join("d1/1"), source.path().join("d2/linked")).unwrap();
    std::os::unix::fs::symlink("d1/1", source.path().join("pointer")).unwrap();
    let mut bench = Bench::new(&Dataset::Folder { path: source.path().into(), size: None });
    bench.stage();
    bench.threads = 2;
    bench.run("tree.write").unwrap_or_else(|error| panic!("{error}"));
    bench.run("tree.read").unwrap_or_else(|error| panic!("{error}"));
    bench.verify_all().unwrap();
}

#[test]
fn pieces_are_each_done_once_however_many_are_under_way() {
    for (depth, threads, sync) in [(1, 1, 0), (7, 1, 5), (16, 3, 1)] {
        let mut bench = Bench::new(&Dataset::File { size: Bytes(1_000_001), compressible: 0.0 });
        (bench.depth, bench.threads, bench.sync_every) = (depth, threads, sync);
        bench.expect("stream.write", 1, 1_000_001);
        let done = match bench.run("random.write") {
            Err(WorkError::Ring { .. }) => return crate::common::not_run("this kernel allows no io_uring"),
            done => done.unwrap_or_else(|error| panic!("{error}")),
        };
        assert_eq!((done.logical_bytes, calls(&done)), (1_000_001, 245));
        bench.verify_all().unwrap();
        let done = bench.run("random.read").unwrap();
        assert_eq!((done.logical_bytes, calls(&done)), (1_000_001, 245));
    }
}

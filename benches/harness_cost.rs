//! What the harness itself costs: `directory.fill` and `directory.list` against bare loops of the same system calls,
//! in the same process on a tmpfs, where the kernel's share is smallest; and laying out a tree of a million files.
//!
//! `cargo bench --bench harness_cost` takes well under a minute and 300 MB in /dev/shm.

#![expect(
    clippy::unwrap_used,
    reason = "a measurement that fails has nothing to clean up but its own folder"
)]

use std::ffi::CString;
use std::mem::MaybeUninit;
use std::path::Path;
use std::time::{Duration, Instant};

use fsverdict_judgement::plan::{Dataset, Operation, TreeShape};
use fsverdict_text::Bytes;
use fsverdict_workload::dataset::{Prepared, prepare_dataset};
use fsverdict_workload::workload::{Ledger, Workplace, run_operation};
use rustix::fs::{AtFlags, Mode, OFlags, RawDir, StatxFlags};

const FILES: u64 = 50_000;
const SIZE: usize = 1000;
const ROUNDS: usize = 9;

fn ours(operation: Operation, mount: &Path, dataset: &Prepared, ledger: &mut Ledger) -> Duration {
    let mut site = Workplace {
        operation,
        mount,
        into: Path::new("flat"),
        dataset,
        staged: None,
        ledger,
        changed: 0.0,
        to: 0.0,
        piece: 4096,
        sync_every: 1,
        pause: Duration::ZERO,
        depth: 0,
        pace: fsverdict_judgement::plan::Pace::Unpaced,
        threads: 1,
        pulls: 1,
        rounds: 1,
    };
    let start = Instant::now();
    run_operation(&mut site).unwrap();
    start.elapsed()
}

fn bare_fill(folder: &Path, names: &[CString]) -> Duration {
    let bytes = [7; SIZE];
    let start = Instant::now();
    rustix::fs::mkdir(folder, Mode::from_raw_mode(0o755)).unwrap();
    let here = rustix::fs::open(folder, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).unwrap();
    for name in names {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
        let file = rustix::fs::openat(&here, name, flags, Mode::from_raw_mode(0o644)).unwrap();
        assert_eq!(rustix::io::write(&file, &bytes).unwrap(), SIZE);
    }
    start.elapsed()
}

fn bare_list(folder: &Path) -> Duration {
    let mut buffer = vec![MaybeUninit::uninit(); 128 * 1024];
    let start = Instant::now();
    let here = rustix::fs::open(folder, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).unwrap();
    let mut entries = RawDir::new(&here, &mut buffer);
    let mut bytes = 0;
    while let Some(entry) = entries.next() {
        let entry = entry.unwrap();
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        bytes +=
            rustix::fs::statx(&here, entry.file_name(), flags, StatxFlags::BASIC_STATS).unwrap().stx_size;
    }
    assert!(bytes >= FILES * SIZE as u64);
    start.elapsed()
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn main() {
    let folder = tempfile::tempdir_in("/dev/shm").unwrap();
    let spec = Dataset::Flat { files: FILES, file_size: Bytes(SIZE as u64) };
    let dataset = prepare_dataset("flat", &spec, 1).unwrap();
    // The same names in the same order, so that only what surrounds the calls differs.
    let names: Vec<CString> = {
        let staged =
            fsverdict_workload::dataset::stage_dataset(&dataset, &folder.path().join("names"), None).unwrap();
        let names = std::fs::read_dir(staged.path).unwrap().map(|entry| entry.unwrap().file_name());
        names.map(|name| CString::new(name.into_encoded_bytes()).unwrap()).collect()
    };
    let (mut fills, mut lists) = (Vec::new(), Vec::new());
    let (mut fill_rates, mut list_rates) = (Vec::new(), Vec::new());
    let bare = folder.path().join("bare");
    for round in 0..ROUNDS {
        let mut ledger = Ledger::new();
        let measure_bare = || {
            let times = (bare_fill(&bare, &names), bare_list(&bare));
            std::fs::remove_dir_all(&bare).unwrap();
            times
        };
        let mut measure_ours = || {
            let fill = ours(Operation::DirectoryFill, folder.path(), &dataset, &mut ledger);
            let list = ours(Operation::DirectoryList, folder.path(), &dataset, &mut ledger);
            std::fs::remove_dir_all(folder.path().join("flat")).unwrap();
            (fill, list)
        };
        // Whichever comes first has a small advantage: take turns.
        let (theirs, mine) = if round % 2 == 0 {
            let theirs = measure_bare();
            (theirs, measure_ours())
        } else {
            let mine = measure_ours();
            (measure_bare(), mine)
        };
        fills.push(mine.0.as_secs_f64() / theirs.0.as_secs_f64());
        lists.push(mine.1.as_secs_f64() / theirs.1.as_secs_f64());
        fill_rates.push(FILES as f64 / mine.0.as_secs_f64());
        list_rates.push(FILES as f64 / mine.1.as_secs_f64());
    }
    println!("directory.fill: {:.3} times the bare calls, {:.0} files/s", median(fills), median(fill_rates));
    println!("directory.list: {:.3} times the bare calls, {:.0} files/s", median(lists), median(list_rates));
    let start = Instant::now();
    let shape = TreeShape {
        profile: "mixed".into(),
        files: 1_000_000,
        directories: 60_000,
        size: Bytes(100 << 30),
        compressible: None,
        duplicates: None,
        hard_links: None,
        sizes: Vec::new(),
        form: Default::default(),
    };
    prepare_dataset("tree", &Dataset::Tree(shape), 1).unwrap();
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or_default();
    println!("a tree of 1 000 000 files: laid out in {:.2} s; {peak}", start.elapsed().as_secs_f64());
}

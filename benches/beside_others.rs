//! `directory.fill` and `random.read` beside a bare loop in C, fs_mark and fio, by 1, 2 and 4 threads, on ext4, xfs and btrfs: in one
//! run, taking turns, on a scratch image in memory, so that the filesystem and who calls it are all that there is.
//!
//! `cargo bench --bench beside_others` wants root, cc, fs_mark and fio, a machine that is quiet, some minutes, and 3 GB in /dev/shm.
//! mdtest and elbencho are in no package of Debian's and are not asked. What it prints are rates as shares of ours: below 1 we are faster.

#![expect(clippy::unwrap_used, reason = "a measurement that fails leaves a mount for its guard to undo")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use fsverdict_judgement::plan::{Dataset, Operation, Pace};
use fsverdict_text::Bytes;
use fsverdict_workload::dataset::{Prepared, prepare_dataset};
use fsverdict_workload::workload::{Ledger, Workplace, run_operation};

const FILES: u64 = 65_536;
const SIZE: u64 = 1000;
const PIECES: u64 = 65_536;
const ROUNDS: usize = 5;

/// A filesystem on an image, unmounted in the end.
struct Mounted(PathBuf);

impl Mounted {
    fn make(folder: &Path, filesystem: &str) -> Self {
        let (image, mount) = (folder.join("image"), folder.join(filesystem));
        std::fs::File::create(&image).unwrap().set_len(2 << 30).unwrap();
        std::fs::create_dir(&mount).unwrap();
        let force = if filesystem == "ext4" { "-F" } else { "-f" };
        called(Command::new(format!("mkfs.{filesystem}")).arg(force).arg("-q").arg(&image));
        called(Command::new("mount").args(["-o", "loop"]).arg(&image).arg(&mount));
        Mounted(mount)
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

/// Runs a program; its standard output.
fn called(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Seconds of one operation of ours.
fn ours(operation: Operation, mount: &Path, dataset: &Prepared, ledger: &mut Ledger, threads: u32) -> f64 {
    let mut site = Workplace {
        operation,
        mount,
        into: Path::new("ours"),
        dataset,
        staged: None,
        ledger,
        changed: 0.0,
        to: 0.0,
        piece: 4096,
        sync_every: 0,
        pause: Duration::ZERO,
        depth: 0,
        pace: Pace::Unpaced,
        threads,
        pulls: 1,
        rounds: 1,
    };
    let start = Instant::now();
    run_operation(&mut site).unwrap();
    start.elapsed().as_secs_f64()
}

/// The names that our fill gives, as a list in a file beside the mount, and how long they are in the mean: ext4 looks through a block of
/// a directory entry by entry, so that who has longer names, and fewer of them in a block, is a fifth faster.
fn names(at: &Path, mount: &Path, flat: &Prepared) -> usize {
    ours(Operation::DirectoryFill, mount, flat, &mut Ledger::new(), 1);
    let names: Vec<String> = std::fs::read_dir(mount.join("ours"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(names.len() as u64, FILES);
    std::fs::write(at, names.join("\n")).unwrap();
    (names.iter().map(String::len).sum::<usize>() + names.len() / 2) / names.len()
}

/// Seconds of a bare loop in C.
fn bare(program: &Path, what: &str, at: &Path, threads: u32, names: &Path) -> f64 {
    let count = if what == "fill" { FILES } else { PIECES };
    let mut command = Command::new(program);
    command.arg(what).arg(at).args([count, SIZE, u64::from(threads)].map(|number| number.to_string()));
    called(command.arg(names)).trim().parse().unwrap()
}

/// Seconds between the first and the last file that fs_mark makes, by their times of birth, which are those of the kernel's tick (4 ms).
///
/// The rate that it prints is no help with several processes: it adds up what each of them reached in a time of its own
/// (`aggregate_thread_stats` in fs_mark.c), and those who begin late or end late have the processors for themselves. Its processes
/// sometimes draw the same names and write each other's files once more: then it has made fewer, and is asked again.
fn fs_mark(at: &Path, threads: u32, length: usize) -> f64 {
    (0..20).find_map(|_| fs_mark_once(at, threads, length)).unwrap()
}

/// `None` where it has made fewer files than it was asked for, which are removed.
fn fs_mark_once(at: &Path, threads: u32, length: usize) -> Option<f64> {
    let (each, length) = ((FILES / u64::from(threads)).to_string(), length.to_string());
    std::fs::create_dir(at).unwrap();
    let mut command = Command::new("fs_mark");
    command.arg("-d").arg(at).args(["-n", &each, "-s", &SIZE.to_string(), "-t", &threads.to_string()]);
    command.args(["-p", &length, "-r", &length]);
    called(command.args(["-k", "-S", "0", "-L", "1", "-l"]).arg(at.with_extension("log")));
    let born =
        |entry: std::io::Result<std::fs::DirEntry>| entry.unwrap().metadata().unwrap().created().unwrap();
    let births: Vec<_> = std::fs::read_dir(at).unwrap().map(born).collect();
    if births.len() as u64 != FILES {
        std::fs::remove_dir_all(at).unwrap();
        rustix::fs::sync();
        return None;
    }
    let (first, last) = (births.iter().min()?, births.iter().max()?);
    Some(last.duration_since(*first).unwrap().as_secs_f64())
}

/// Seconds that fio takes for as many reads of the same file.
fn fio(file: &Path, threads: u32) -> f64 {
    let mut command = Command::new("fio");
    command.args([
        "--name=j",
        "--rw=randread",
        "--bs=4k",
        "--ioengine=psync",
        "--thread",
        "--group_reporting",
    ]);
    command.args(["--output-format=json", "--invalidate=0", "--norandommap", "--gtod_reduce=1"]);
    command.arg(format!("--filename={}", file.display())).arg(format!("--size={}", PIECES * 4096));
    command
        .arg(format!("--io_size={}", PIECES * 4096 / u64::from(threads)))
        .arg(format!("--numjobs={threads}"));
    let said: serde_json::Value = serde_json::from_str(&called(&mut command)).unwrap();
    PIECES as f64 / said["jobs"][0]["read"]["iops"].as_f64().unwrap()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    let folder = tempfile::tempdir_in("/dev/shm").unwrap();
    let program = folder.path().join("bare");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/beside/bare.c");
    called(Command::new("cc").args(["-O2", "-pthread", "-o"]).arg(&program).arg(source));
    let flat = prepare_dataset("flat", &Dataset::Flat { files: FILES, file_size: Bytes(SIZE) }, 1).unwrap();
    let big =
        prepare_dataset("big", &Dataset::File { size: Bytes(PIECES * 4096), compressible: 0.0 }, 1).unwrap();
    let list = folder.path().join("names");
    let inner = folder.path().join("named");
    std::fs::create_dir(&inner).unwrap();
    let length = names(&list, &inner, &flat);
    std::fs::remove_dir_all(inner).unwrap();
    let load = std::fs::read_to_string("/proc/loadavg").unwrap();
    println!("load at the beginning: {}; names of {length} bytes", load.trim());
    println!(
        "{:8}{:>8}{:>14}{:>10}{:>10}{:>14}{:>10}{:>10}",
        "", "threads", "fill, files/s", "/ bare C", "/ fs_mark", "read, calls/s", "/ bare C", "/ fio"
    );
    for filesystem in ["ext4", "xfs", "btrfs"] {
        let mounted = Mounted::make(folder.path(), filesystem);
        let mount = mounted.0.as_path();
        let mut ledger = Ledger::new();
        ours(Operation::StreamWrite, mount, &big, &mut ledger, 1);
        let file = mount.join("ours");
        let _ = ours(Operation::RandomRead, mount, &big, &mut ledger, 1);
        for threads in [1, 2, 4] {
            let mut seconds: [Vec<f64>; 6] = Default::default();
            for round in 0..ROUNDS {
                // Whoever comes first has a small advantage: all take turns.
                for turn in 0..6 {
                    let who = (turn + round) % 6;
                    let took = match who {
                        0 => {
                            let inner = mount.join("fill");
                            std::fs::create_dir(&inner).unwrap();
                            let took =
                                ours(Operation::DirectoryFill, &inner, &flat, &mut Ledger::new(), threads);
                            std::fs::remove_dir_all(inner).unwrap();
                            took
                        }
                        1 => bare(&program, "fill", &mount.join("bare"), threads, &list),
                        2 => fs_mark(&mount.join("mark"), threads, length),
                        3 => ours(Operation::RandomRead, mount, &big, &mut ledger, threads),
                        4 => bare(&program, "read", &file, threads, &list),
                        _ => fio(&file, threads),
                    };
                    for left in ["bare", "mark"] {
                        let _ = std::fs::remove_dir_all(mount.join(left));
                    }
                    rustix::fs::sync();
                    seconds[who].push(took);
                }
            }
            // Each round against the same round: what disturbs all of it cancels.
            let ratio = |one: usize, other: usize| {
                median(seconds[one].iter().zip(&seconds[other]).map(|(one, other)| one / other).collect())
            };
            println!(
                "{filesystem:8}{threads:>8}{:>14.0}{:>10.3}{:>10.3}{:>14.0}{:>10.3}{:>10.3}",
                FILES as f64 / median(seconds[0].clone()),
                ratio(0, 1),
                ratio(0, 2),
                PIECES as f64 / median(seconds[3].clone()),
                ratio(3, 4),
                ratio(3, 5)
            );
        }
        drop(mounted);
        std::fs::remove_file(folder.path().join("image")).unwrap();
    }
    let load = std::fs::read_to_string("/proc/loadavg").unwrap();
    println!("load at the end: {}\nseconds of ours by seconds of theirs: below 1 we are faster", load.trim());
}

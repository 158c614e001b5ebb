//! The law of `capture --trace`: a program under strace, captured, made again under strace, and captured once more gives the same calls.
//!
//! Programs are drawn at random: `FSVERDICT_TRACED_PROGRAMS=1000` says how many. Steps are those of `Step`; a step that fails is a
//! call that fails, as in any program.

#[path = "../common/replayed.rs"]
mod replayed;

use std::ffi::OsString;
use std::fs::File;
use std::io::{IoSlice, IoSliceMut, Seek, SeekFrom};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use fsverdict_calls::{CallTrace, CallWork, NameBefore};
use fsverdict_recordings::{CapturedCalls, RecordRequest, STRACE_COMMAND, recorded_file};
use fsverdict_testutil::Random;
use rustix::fs::{AtFlags, CWD, FallocateFlags, Mode, OFlags, RawDir, RenameFlags};
use rustix::io::ReadWriteFlags;

use crate::common::not_run;
use replayed::{FOLDER, replay_calls};

/// How many programs are drawn, unless the environment says otherwise, and how many one process carries out.
const PROGRAMS: u64 = 40;
const TOGETHER: u64 = 20;
/// Steps of a program.
const STEPS: u64 = 60;
/// What tells the helper below what to do: the first program, the one behind the last, and the folder.
const HELP: &str = "FSVERDICT_TRACED_HELP";
/// Descriptors that a program has at once.
const SLOTS: usize = 6;

/// What a step does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Open,
    OpenUnnamed,
    Close,
    Read,
    ReadAt,
    ReadVectors,
    Write,
    WriteAt,
    WriteVectors,
    WriteFlagged,
    Seek,
    SeekData,
    Sync,
    SyncData,
    SyncFilesystem,
    SyncRange,
    Truncate,
    Allocate,
    Duplicate,
    DuplicateTo,
    SetAppend,
    Status,
    Look,
    LookMissing,
    Unlink,
    Rename,
    RenameExchange,
    Link,
    LinkOpen,
    MakeDirectory,
    RemoveDirectory,
    List,
    SyncDirectory,
    ChangeDirectory,
    Copy,
    SendFile,
    Splice,
    Clone,
    Pipe,
    Socket,
    Thread,
    Child,
    ChildReads,
    Symlink,
    Mode,
    Lock,
    Advise,
}

/// All of them, those that move bytes more often.
const ALL_STEPS: [Step; 47] = [
    Step::Open,
    Step::OpenUnnamed,
    Step::Close,
    Step::Read,
    Step::ReadAt,
    Step::ReadVectors,
    Step::Write,
    Step::WriteAt,
    Step::WriteVectors,
    Step::WriteFlagged,
    Step::Seek,
    Step::SeekData,
    Step::Sync,
    Step::SyncData,
    Step::SyncFilesystem,
    Step::SyncRange,
    Step::Truncate,
    Step::Allocate,
    Step::Duplicate,
    Step::DuplicateTo,
    Step::SetAppend,
    Step::Status,
    Step::Look,
    Step::LookMissing,
    Step::Unlink,
    Step::Rename,
    Step::RenameExchange,
    Step::Link,
    Step::LinkOpen,
    Step::MakeDirectory,
    Step::RemoveDirectory,
    Step::List,
    Step::SyncDirectory,
    Step::ChangeDirectory,
    Step::Copy,
    Step::SendFile,
    Step::Splice,
    Step::Clone,
    Step::Pipe,
    Step::Socket,
    Step::Thread,
    Step::Child,
    Step::ChildReads,
    Step::Symlink,
    Step::Mode,
    Step::Lock,
    Step::Advise,
];
const FREQUENT: [Step; 8] =
    [Step::Open, Step::Open, Step::Write, Step::WriteAt, Step::Read, Step::Close, Step::Sync, Step::Rename];

/// A program under way.
struct Program {
    random: Random,
    folder: PathBuf,
    slots: [Option<OwnedFd>; SLOTS],
    children: u32,
}

impl Program {
    /// Names with all that strace has to escape or that looks like its own signs.
    fn name(&mut self) -> OsString {
        let names: [&[u8]; 12] = [
            b"a",
            b"b-",
            b"c=",
            b"d\"quote",
            b"e, (f) <g>",
            b"h\\n",
            b"i\xff\xfe",
            b"d1/x",
            b"d1/y>",
            b"d2/z",
            b"d1/d3/w",
            b"j ->k",
        ];
        OsString::from_vec(self.random.pick(&names).to_vec())
    }

    fn directory(&mut self) -> PathBuf {
        PathBuf::from(self.random.pick(&["d1", "d2", "d1/d3", "."]))
    }

    /// A name as an absolute path, or relative to the working directory.
    fn path(&mut self) -> PathBuf {
        let name = self.name();
        self.placed(Path::new(&name))
    }

    fn placed(&mut self, relative: &Path) -> PathBuf {
        match self.random.below(4) {
            0 => self.folder.join(relative),
            1 => Path::new("d1/..").join(relative),
            _ => relative.to_path_buf(),
        }
    }

    fn slot(&mut self) -> usize {
        self.random.below(SLOTS as u64) as usize
    }

    fn length(&mut self) -> usize {
        self.random.pick(&[1, 100, 511, 4096, 10_000, 70_000])
    }

    fn offset(&mut self) -> u64 {
        self.random.pick(&[0, 1, 100, 4096, 8192, 30_000])
    }

    fn flags(&mut self) -> OFlags {
        let mut flags =
            self.random.pick(&[OFlags::RDWR, OFlags::RDWR, OFlags::RDWR, OFlags::RDONLY, OFlags::WRONLY]);
        for (flag, one_in) in [
            (OFlags::CREATE, 2),
            (OFlags::TRUNC, 8),
            (OFlags::EXCL, 6),
            (OFlags::APPEND, 5),
            (OFlags::DSYNC, 10),
            (OFlags::CLOEXEC, 2),
        ] {
            if self.random.below(one_in) == 0 {
                flags |= flag;
            }
        }
        flags
    }

    fn step(&mut self, step: Step) -> Option<()> {
        let (slot, other, length, offset) = (self.slot(), self.slot(), self.length(), self.offset());
        match step {
            Step::Open => {
                let (path, flags) = (self.path(), self.flags());
                self.slots[slot] = rustix::fs::open(path, flags, Mode::from_raw_mode(0o600)).ok();
            }
            Step::OpenUnnamed => {
                let flags = OFlags::RDWR | OFlags::TMPFILE | OFlags::CLOEXEC;
                let path = self.directory();
                self.slots[slot] = rustix::fs::open(path, flags, Mode::from_raw_mode(0o600)).ok();
            }
            Step::Close => self.slots[slot] = None,
            Step::Thread => {
                // Another thread closes, opens and writes: descriptors and working directory are the same.
                let steps = [Step::Close, Step::Open, Step::Write, Step::Sync];
                std::thread::scope(|scope| {
                    scope.spawn(|| {
                        for step in steps {
                            self.step(step);
                        }
                    });
                });
            }
            Step::Look => {
                let path = self.path();
                rustix::fs::stat(path).ok()?;
            }
            Step::LookMissing => {
                let path = self.placed(Path::new("missing"));
                rustix::fs::lstat(path).ok()?;
            }
            Step::Unlink => {
                let path = self.path();
                rustix::fs::unlink(path).ok()?;
            }
            Step::Rename => {
                let (from, to) = (self.path(), self.path());
                rustix::fs::rename(from, to).ok()?;
            }
            Step::RenameExchange => {
                let (from, to) = (self.path(), self.placed(Path::new("missing")));
                rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::EXCHANGE).ok()?;
            }
            Step::Link => {
                let (from, to) = (self.path(), self.path());
                rustix::fs::link(from, to).ok()?;
            }
            Step::MakeDirectory => {
                let path = self.directory();
                rustix::fs::mkdir(path, Mode::from_raw_mode(0o700)).ok()?;
            }
            Step::RemoveDirectory => {
                let path = self.directory();
                rustix::fs::rmdir(path).ok()?;
            }
            Step::List | Step::SyncDirectory => {
                let path = self.directory();
                let how = self.random.pick(&[OFlags::DIRECTORY, OFlags::empty()]);
                let directory =
                    rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC | how, Mode::empty()).ok()?;
                if step == Step::SyncDirectory {
                    rustix::fs::fsync(&directory).ok()?;
                } else {
                    let mut room = [MaybeUninit::uninit(); 4096];
                    let mut entries = RawDir::new(&directory, &mut room);
                    while entries.next().is_some() {}
                }
            }
            Step::ChangeDirectory => {
                std::env::set_current_dir(&self.folder).ok()?;
            }
            Step::Pipe => drop(rustix::pipe::pipe().ok()?),
            Step::Socket => {
                let pair = std::os::unix::net::UnixStream::pair().ok()?;
                rustix::io::write(&pair.0, &[0; 700]).ok()?;
            }
            Step::Symlink => {
                let path = self.placed(Path::new("symlink"));
                rustix::fs::symlink("d1", path).ok()?;
                rustix::fs::stat("symlink/x").ok()?;
            }
            Step::SyncFilesystem => {
                let directory =
                    rustix::fs::open(".", OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).ok()?;
                rustix::fs::syncfs(directory).ok()?;
            }
            step => self.on_file(step, (slot, other), length, offset)?,
        }
        Some(())
    }

    fn on_file(
        &mut self,
        step: Step,
        (slot, other): (usize, usize),
        length: usize,
        offset: u64,
    ) -> Option<()> {
        let mut bytes = vec![7; length];
        let choice = self.random.below(4);
        let path = self.path();
        let copy = self.slots[slot].as_ref()?.try_clone().ok();
        let file = self.slots[slot].as_ref()?;
        match step {
            Step::Read => drop(rustix::io::read(file, &mut bytes[..]).ok()?),
            Step::ReadAt => drop(rustix::io::pread(file, &mut bytes[..], offset).ok()?),
            Step::ReadVectors => {
                let (one, two) = bytes.split_at_mut(length / 2);
                rustix::io::readv(file, &mut [IoSliceMut::new(one), IoSliceMut::new(two)]).ok()?;
            }
            Step::Write => drop(rustix::io::write(file, &bytes).ok()?),
            Step::WriteAt => drop(rustix::io::pwrite(file, &bytes, offset).ok()?),
            Step::WriteVectors => {
                let (one, two) = bytes.split_at(length / 2);
                rustix::io::writev(file, &[IoSlice::new(one), IoSlice::new(two)]).ok()?;
            }
            Step::WriteFlagged => {
                let flags = [
                    ReadWriteFlags::DSYNC,
                    ReadWriteFlags::SYNC,
                    ReadWriteFlags::APPEND,
                    ReadWriteFlags::empty(),
                ];
                let place = if choice == 2 { offset } else { u64::MAX };
                rustix::io::pwritev2(file, &[IoSlice::new(&bytes)], place, flags[choice as usize]).ok()?;
            }
            Step::Seek => {
                let mut file = File::from(copy?);
                let places = [
                    SeekFrom::Start(offset),
                    SeekFrom::End(-(offset as i64)),
                    SeekFrom::Current(100),
                    SeekFrom::End(0),
                ];
                file.seek(places[choice as usize]).ok()?;
            }
            Step::SeekData => {
                let place = match choice {
                    0 => rustix::fs::SeekFrom::Data(offset),
                    _ => rustix::fs::SeekFrom::Hole(offset),
                };
                rustix::fs::seek(file, place).ok()?;
            }
            Step::Sync => rustix::fs::fsync(file).ok()?,
            Step::SyncData => rustix::fs::fdatasync(file).ok()?,
            Step::SyncRange => rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed).ok()?,
            Step::Truncate => rustix::fs::ftruncate(file, offset).ok()?,
            Step::Allocate => {
                let modes = [
                    FallocateFlags::empty(),
                    FallocateFlags::KEEP_SIZE,
                    FallocateFlags::KEEP_SIZE | FallocateFlags::PUNCH_HOLE,
                    FallocateFlags::empty(),
                ];
                rustix::fs::fallocate(file, modes[choice as usize], offset, length as u64).ok()?;
            }
            Step::Duplicate => self.slots[other] = copy,
            Step::DuplicateTo => {
                let file = copy?;
                let to = self.slots[other].as_mut()?;
                rustix::io::dup2(&file, to).ok()?;
            }
            Step::SetAppend => {
                let flags = if choice == 0 { OFlags::APPEND } else { OFlags::empty() };
                rustix::fs::fcntl_setfl(file, flags).ok()?;
            }
            Step::Status => drop(rustix::fs::fstat(file).ok()?),
            Step::LinkOpen => {
                let link = format!("/proc/self/fd/{}", file.as_raw_fd());
                rustix::fs::linkat(CWD, link, CWD, path, AtFlags::SYMLINK_FOLLOW).ok()?;
            }
            Step::Copy => {
                let target = self.slots[other].as_ref()?;
                let (mut from, mut to) = (offset, offset + 100_000);
                let places = if choice == 0 { (None, None) } else { (Some(&mut from), Some(&mut to)) };
                rustix::fs::copy_file_range(file, places.0, target, places.1, length).ok()?;
            }
            Step::SendFile => {
                let target = self.slots[other].as_ref()?;
                let mut from = offset;
                let place = if choice == 0 { None } else { Some(&mut from) };
                rustix::fs::sendfile(target, file, place, length).ok()?;
            }
            Step::Splice => {
                let (out, into) = rustix::pipe::pipe().ok()?;
                let flags = rustix::pipe::SpliceFlags::empty();
                let moved = rustix::pipe::splice(file, None, &into, None, length.min(4096), flags).ok()?;
                let target = self.slots[other].as_ref()?;
                if moved > 0 {
                    let mut to = offset;
                    rustix::pipe::splice(&out, None, target, Some(&mut to), moved, flags).ok()?;
                }
            }
            Step::Clone => drop(rustix::fs::ioctl_ficlone(self.slots[other].as_ref()?, file)),
            Step::Child => {
                // dd writes behind where this program is, by a copy of the descriptor.
                self.children += 1;
                if self.children <= 2 {
                    let mut child = Command::new("dd");
                    child.args(["if=/dev/zero", "bs=100", "count=3"]).stderr(Stdio::null());
                    child.stdin(Stdio::null()).stdout(Stdio::from(copy?)).status().ok()?;
                }
            }
            Step::ChildReads => {
                self.children += 1;
                if self.children <= 2 {
                    let mut child = Command::new("head");
                    child.args(["-c", "200"]).stdin(Stdio::from(copy?)).stdout(Stdio::null());
                    child.stderr(Stdio::null()).status().ok()?;
                }
            }
            Step::Mode => rustix::fs::fchmod(file, Mode::from_raw_mode(0o644)).ok()?,
            Step::Lock => rustix::fs::flock(file, rustix::fs::FlockOperation::NonBlockingLockShared).ok()?,
            Step::Advise => rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::Random).ok()?,
            other => unreachable!("{other:?} is not on a file"),
        }
        Some(())
    }
}

/// Where a program works.
fn folder_of(above: &Path, program: u64) -> PathBuf {
    above.join(format!("p{program}"))
}

/// Carries out a program in its folder. In every other one there are files before it begins, which it looks at first.
fn carry_out(above: &Path, number: u64) {
    let folder = folder_of(above, number);
    let prepared = above.join(format!("pre{number}"));
    std::fs::create_dir_all(prepared.join("d1")).unwrap();
    let before = number.is_multiple_of(2);
    if before {
        std::fs::write(prepared.join("a"), vec![1; 20_000]).unwrap();
        std::fs::write(prepared.join("d1/x"), vec![1; 5000]).unwrap();
    }
    std::fs::rename(&prepared, &folder).unwrap();
    std::env::set_current_dir(&folder).unwrap();
    if before {
        rustix::fs::stat("a").unwrap();
        rustix::fs::stat("d1/x").unwrap();
    }
    let mut program =
        Program { random: Random::with_seed(number), folder, slots: [const { None }; SLOTS], children: 0 };
    program.step(Step::Open);
    program.step(Step::LookMissing);
    for _ in 0..STEPS {
        let step = match program.random.below(3) {
            0 => program.random.pick(&ALL_STEPS),
            _ => program.random.pick(&FREQUENT),
        };
        program.step(step);
    }
    program.slots.iter_mut().for_each(|slot| *slot = None);
    std::env::set_current_dir("/").unwrap();
}

/// What strace runs: this file's helper in the program of these tests.
#[test]
#[ignore = "is run under strace by the tests of this file"]
fn traced_helper() {
    let help = std::env::var(HELP).expect("only tests of this file run this");
    let words: Vec<&str> = help.splitn(4, ' ').collect();
    let (first, last): (u64, u64) = (words[1].parse().unwrap(), words[2].parse().unwrap());
    let above = Path::new(words[3]);
    for number in first..last {
        if words[0] == "programs" {
            carry_out(above, number);
            continue;
        }
        let calls: CallTrace =
            std::fs::read_to_string(above.join(format!("{number}.calls"))).unwrap().parse().unwrap();
        let (before, after) = (above.join(format!("lay{number}")), above.join(format!("again{number}")));
        replay_calls(calls, &before, &after, || (), || ())
            .unwrap_or_else(|what| panic!("program {number}: {what}"));
    }
}

/// Runs the helper under the command that the documentation names.
fn trace_helper(what: &str, programs: (u64, u64), above: &Path, calls: &Path) {
    let command = STRACE_COMMAND.replace("calls.txt", calls.to_str().unwrap());
    let mut words = command.split(' ');
    let traced = Command::new(words.next().unwrap())
        .args(words)
        .arg(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "traced_programs::traced_helper", "--nocapture"])
        .env(HELP, format!("{what} {} {} {}", programs.0, programs.1, above.display()))
        .output()
        .unwrap();
    assert!(traced.status.success(), "{}", String::from_utf8_lossy(&traced.stderr));
}

fn capture(calls: &Path, below: PathBuf) -> CapturedCalls {
    let wanted = RecordRequest { below: Some(below), at_most: 1 << 30, device: None };
    let captured = recorded_file(calls, &wanted).unwrap_or_else(|reason| panic!("{reason:?}"));
    assert!(captured.account.is_balanced(), "{:?}", captured.account);
    captured
}

fn works(calls: &CallTrace) -> Vec<CallWork> {
    calls.calls().iter().map(|call| call.work).collect()
}

/// Names as a replay makes them: the digits of a number may be longer than the name was.
fn names(calls: &CallTrace) -> Vec<(u32, usize, NameBefore)> {
    let length = |number: u32| calls.name_text(number).len();
    (1..).zip(calls.names()).map(|(number, name)| (name.parent, length(number), name.before)).collect()
}

/// Traces, captures, replays, captures again, and compares; gives how many calls the programs had.
fn compare_programs(first: u64, last: u64) -> usize {
    // Where O_TMPFILE and sparse files are, and not in memory.
    let place = tempfile::Builder::new().prefix("fsverdict-it-").tempdir_in("/var/tmp").unwrap();
    let (recorded, replayed) = (place.path().join("calls.txt"), place.path().join("again.txt"));
    trace_helper("programs", (first, last), place.path(), &recorded);
    let mut captured = Vec::new();
    for number in first..last {
        let one = capture(&recorded, folder_of(place.path(), number));
        std::fs::write(place.path().join(format!("{number}.calls")), one.trace.to_string()).unwrap();
        captured.push(one);
    }
    trace_helper("replays", (first, last), place.path(), &replayed);
    let mut calls = 0;
    for (number, one) in (first..last).zip(captured) {
        let again = capture(&replayed, place.path().join(format!("again{number}")).join(FOLDER));
        calls += one.trace.calls().len();
        let (before, after) = (one.trace, again.trace);
        if works(&before) != works(&after) || names(&before) != names(&after) {
            let kept = std::env::temp_dir().join(format!("fsverdict-program-{number}"));
            std::fs::create_dir_all(&kept).unwrap();
            std::fs::copy(&recorded, kept.join("calls.txt")).unwrap();
            std::fs::copy(&replayed, kept.join("again.txt")).unwrap();
            panic!(
                "program {number} is another one when it is replayed ({}):\n{before}\nagain:\n{after}",
                kept.display()
            );
        }
        // Of a replay all is kept but what its own engine needs.
        assert_eq!(again.account.largest_loss().0, 0.0, "program {number}: {:?}", again.account);
    }
    calls
}

#[test]
fn a_program_and_its_replay_are_captured_alike() {
    if Command::new("strace").arg("-V").output().is_err() {
        return not_run("there is no strace");
    }
    let programs = std::env::var("FSVERDICT_TRACED_PROGRAMS")
        .ok()
        .and_then(|count| count.parse().ok())
        .unwrap_or(PROGRAMS);
    let mut calls = 0;
    let mut first = 0;
    while first < programs {
        let last = (first + TOGETHER).min(programs);
        calls += compare_programs(first, last);
        first = last;
    }
    println!("{programs} programs with {calls} calls are captured as their replays are");
    assert!(calls as u64 > programs * 10, "{calls} calls of {programs} programs");
}

/// A step that no program takes is a class of calls that nothing tests.
#[test]
fn every_step_is_drawn() {
    for (at, step) in ALL_STEPS.iter().enumerate() {
        assert!(!ALL_STEPS[..at].contains(step), "{step:?} is there twice");
    }
    let mut random = Random::with_seed(1);
    let drawn: Vec<Step> = (0..5000).map(|_| random.pick(&ALL_STEPS)).collect();
    assert!(ALL_STEPS.iter().all(|step| drawn.contains(step)));
}

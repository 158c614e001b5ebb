//! Another program writes to a device of a run, from outside of it: the run ends, and what was written stays.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::common::{Disk, Journal, Place};

/// Bytes of each device.
const SIZE: u64 = 512 << 20;
/// Where is written, in bytes: in the digests of the guard at either end, and where only counters show it.
pub const PLACES: [u64; 3] = [64 << 10, SIZE / 2 + (1 << 20), SIZE - 8192];
/// As many times a moment may be missed, since the machine is not ours alone.
const TRIES: u32 = 8;

/// When is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// The devices are claimed, and options of mkfs are tried on images.
    BeforeFirstTrial,
    /// The first trial has begun, and its agent not yet: datasets are staged.
    BeforeFirstWrite,
    BetweenTrials,
    BetweenBlocks,
    /// A trial was killed, and is about to be tried again.
    AfterKilledTrial,
}

/// One write of somebody else's.
#[derive(Debug, Clone, Copy)]
pub struct Strike {
    pub moment: Moment,
    /// In bytes.
    pub place: u64,
    /// From 0.
    pub device: usize,
}

fn plan(lab: &str, devices: usize) -> String {
    // Mirrors need both; options are tried before the first trial.
    let [one, other] = match devices {
        1 => ["filesystem = \"ext4\"\nmkfs = \"-m 1\"", "filesystem = \"ext2\"\nmkfs = \"-m 1\""],
        _ => [
            "filesystem = \"btrfs\"\nmkfs = \"-d raid1 -m raid1\"\nname = \"mirror\"",
            "filesystem = \"xfs\"\nmkfs = \"-l logdev={device.2}\"\nname = \"log\"",
        ],
    };
    format!(
        r#"
title        = "A stranger writes"
lab          = "{lab}"
protocol     = {{ blocks = 3, timeout = "120s" }}
dataset.tree = {{ profile = "mixed", files = 20, directories = 3, size = "256KiB" }}
[[phase]]
name    = "copy"
command = 'cp -a "$TREE" "$MOUNT/copy"; sleep 0.2'
[[candidate]]
{one}
[[candidate]]
{other}
"#
    )
}

/// A run in the background, with what it says kept.
struct Watched<'a> {
    place: &'a Place,
    child: Child,
    said: std::path::PathBuf,
}

impl Watched<'_> {
    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Whether an agent or a guest has been started: it may write to the devices.
    fn is_in_trial(&self) -> bool {
        let own = self.child.id();
        // Sandboxes, agents, guests: whatever runs besides the conductor, and what stages.
        self.place.processes().iter().any(|(pid, line)| {
            *pid != own && line.iter().any(|word| word == "agent" || word.starts_with("mem="))
        })
    }

    /// Stops the conductor where the journal is as wanted and no trial is at work, and writes then. Whether that was in time.
    fn strike(&mut self, is: &dyn Fn(&Journal) -> bool, write: &dyn Fn()) -> bool {
        let patience = Instant::now() + Duration::from_secs(120);
        while !is(&self.place.journal()) {
            if self.child.try_wait().unwrap().is_some() {
                return false;
            }
            assert!(Instant::now() < patience, "never came: {:#?}", self.place.journal());
            std::thread::sleep(Duration::from_millis(1));
        }
        self.signal(Signal::STOP);
        // What the conductor was starting just now has its own line of command a moment later.
        std::thread::sleep(Duration::from_millis(20));
        let in_time = is(&self.place.journal()) && !self.is_in_trial();
        if in_time {
            write();
        }
        self.signal(Signal::CONT);
        in_time
    }

    fn end(mut self) -> (Option<i32>, String) {
        let status = self.child.wait().unwrap();
        let mut said = String::new();
        File::open(&self.said).unwrap().read_to_string(&mut said).unwrap();
        (status.code(), said)
    }
}

/// Writes 4 KiB past the cache of a device.
pub fn write_directly(device: &str, place: u64) {
    let direct = i32::try_from(rustix::fs::OFlags::DIRECT.bits()).unwrap();
    let open = File::options().write(true).custom_flags(direct).open(device).unwrap();
    let memory = vec![b'x'; 8192];
    let start = memory.as_ptr().align_offset(4096);
    open.write_all_at(&memory[start..start + 4096], place).unwrap();
}

/// Whether those bytes are still there.
pub fn is_there(disk: &Disk, place: u64) -> bool {
    let mut page = [0; 4096];
    File::open(&disk.file).unwrap().read_exact_at(&mut page, place).unwrap();
    page == [b'x'; 4096]
}

fn last(journal: &Journal) -> &str {
    journal.0.last().and_then(|event| event["event"].as_str()).unwrap_or_default()
}

/// Whether the journal is at this moment.
fn is_at(moment: Moment, journal: &Journal) -> bool {
    let begun = journal.all("trial_started").count();
    let blocks = journal.all("block_finished").count();
    match moment {
        Moment::BeforeFirstTrial => !journal.0.is_empty() && begun == 0,
        Moment::BeforeFirstWrite => {
            begun == 1 && journal.finished() == 0 && journal.fact("device.discarded").is_empty()
        }
        Moment::BetweenTrials => blocks == 0 && journal.finished() == 1 && begun == 1,
        Moment::BetweenBlocks => blocks == 1 && last(journal) == "block_finished",
        Moment::AfterKilledTrial => begun == 2 && journal.finished() == 0 && last(journal) == "caution",
    }
}

/// What must be said of the time of a write at this moment.
fn said_of(moment: Moment, journal: &Journal) -> String {
    let trial = |event: &serde_json::Value| {
        format!(
            "after the trial of {} in block {}",
            event["trial"]["candidate"].as_str().unwrap(),
            event["trial"]["block"]
        )
    };
    let ended = || trial(journal.all("trial_finished").last().unwrap());
    match moment {
        Moment::BeforeFirstTrial | Moment::BeforeFirstWrite => "before the first trial".to_owned(),
        Moment::BetweenTrials | Moment::BetweenBlocks => ended(),
        Moment::AfterKilledTrial => trial(journal.all("trial_started").next().unwrap()),
    }
}

/// Waits until a trial copies; false if the first trial has ended and none was seen to copy, as on a busy machine.
fn is_copying(place: &Place) -> bool {
    let patience = Instant::now() + Duration::from_secs(120);
    while place.journal().step() != "copy" {
        if place.journal().finished() > 0 {
            return false;
        }
        assert!(Instant::now() < patience, "no trial began: {:#?}", place.journal());
        std::thread::sleep(Duration::from_millis(1));
    }
    true
}

/// The run that is struck so ends with status 1 and says when it was; the bytes stay, and whoever goes on is asked.
pub fn stranger_is_spared(lab: &str, devices: usize, strike: Strike) {
    for attempt in 1..=TRIES {
        let place = Place::new();
        let disks: Vec<Disk> = (0..devices).map(|at| Disk::new(&place, &format!("disk{at}"), SIZE)).collect();
        let names: Vec<String> = disks.iter().map(|disk| format!("\"{}\"", disk.device)).collect();
        let set = match names.as_slice() {
            [one] => format!("device.path={one}"),
            all => format!("device.path=[{}]", all.join(", ")),
        };
        let path = place.plan("plan", &plan(lab, devices));
        let said = place.path().join("said");
        let mut command = place.command(&["run", &path, "--out", "run", "--quiet", "--set", &set]);
        command.args(["--set", "protocol.disturbed=false"]);
        let child = command.stdout(Stdio::null()).stderr(File::create(&said).unwrap()).spawn().unwrap();
        let mut run = Watched { place: &place, child, said };
        if strike.moment == Moment::AfterKilledTrial {
            if !is_copying(&place) {
                let _ = run.child.kill();
                run.end();
                assert!(attempt < TRIES, "{lab} {strike:?}: no trial was seen copying {TRIES} times");
                continue;
            }
            crate::common::kill(place.worker(if lab == "native" { "agent" } else { "linux.uml" }));
        }
        let disk = &disks[strike.device];
        let write = || write_directly(&disk.device, strike.place);
        if !run.strike(&|journal| is_at(strike.moment, journal), &write) {
            let _ = run.child.kill();
            run.end();
            assert!(attempt < TRIES, "{lab} {strike:?}: the moment was missed {TRIES} times");
            continue;
        }
        let (code, text) = run.end();
        let journal = place.journal();
        let context = format!("{lab} {strike:?}: {text}\n{journal:#?}");
        assert_eq!(code, Some(1), "{context}");
        let when = said_of(strike.moment, &journal);
        let words = ["was written to by another program", when.as_str(), disk.device.as_str(), "--erase"];
        assert!(words.iter().all(|word| text.contains(word)), "{words:?}: {context}");
        if strike.place != PLACES[1] {
            assert!(text.contains(&format!("from byte {} on", strike.place)), "{context}");
        }
        assert!(is_there(disk, strike.place), "{context}");
        // No candidate is held to account.
        assert!(journal.all("trial_finished").all(|end| end["status"] == "ok"), "{context}");
        assert!(journal.all("candidate_dropped").next().is_none(), "{context}");
        assert!(journal.all("device").any(|event| event["device_event"] == "foreign_write"), "{context}");
        // Neither the same run nor another gets at it unasked.
        let resumed = place.fsverdict(&["resume", "run", "--quiet"]).exits(1);
        assert!(resumed.stderr.contains("--erase"), "{resumed:#?}");
        let again = place.fsverdict(&["run", &path, "--out", "again", "--quiet", "--set", &set]).exits(1);
        assert!(again.stderr.contains("--erase"), "{again:#?}");
        assert!(is_there(disk, strike.place), "{context}");
        drop(disks);
        place.is_left_clean();
        return;
    }
}

/// The same for a run whose conductor was killed: nobody knows then what the last trial left.
pub fn stranger_is_spared_by_who_resumes(lab: &str, places: &[u64]) {
    for &place_of_write in places {
        let place = Place::new();
        let disk = Disk::new(&place, "disk", SIZE);
        let set = format!("device.path=\"{}\"", disk.device);
        // Long enough to be met on a machine that does other things as well.
        let slow = plan(lab, 1).replace("sleep 0.2", "sleep 1");
        let mut running = place.start(&slow, &["--set", &set]);
        running.wait_for("the second trial", |journal| journal.finished() == 1 && journal.step() == "copy");
        running.signal(Signal::KILL);
        // Its mount goes with it, and writes until it has gone.
        let patience = Instant::now() + Duration::from_secs(20);
        while place.processes().iter().any(|(_, line)| !line.is_empty()) {
            assert!(Instant::now() < patience, "{:#?}", place.processes());
            std::thread::sleep(Duration::from_millis(20));
        }
        write_directly(&disk.device, place_of_write);
        let seen = place.fsverdict(&["resume", "run", "--quiet"]).exits(1);
        assert!(seen.stderr.contains("--erase"), "{seen:#?}");
        assert!(is_there(&disk, place_of_write), "{seen:#?}");
        let name = disk.file.to_str().unwrap();
        place.fsverdict(&["resume", "run", "--quiet", "--erase", name]).exits(0);
        assert_eq!(place.journal().0.last().unwrap()["event"], "run_finished");
    }
}

//! Another program writes to a device of a native run.

use std::fs::File;
use std::io::Write;
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::common::labs::foreign_writes::{
    Moment, PLACES, Strike, is_there, stranger_is_spared, stranger_is_spared_by_who_resumes, write_directly,
};
use crate::common::{Disk, PROGRAM, Place};

/// Each moment, with each place.
fn every_place(moment: Moment) {
    for place in PLACES {
        stranger_is_spared("native", 1, Strike { moment, place, device: 0 });
    }
}

#[test]
fn loop_a_stranger_who_writes_before_the_first_trial_is_spared() {
    every_place(Moment::BeforeFirstTrial);
}

#[test]
fn loop_a_stranger_who_writes_before_the_first_write_is_spared() {
    every_place(Moment::BeforeFirstWrite);
}

#[test]
fn loop_a_stranger_who_writes_between_two_trials_is_spared() {
    every_place(Moment::BetweenTrials);
}

#[test]
fn loop_a_stranger_who_writes_between_two_blocks_is_spared() {
    every_place(Moment::BetweenBlocks);
}

#[test]
fn loop_a_stranger_who_writes_after_a_killed_trial_is_spared() {
    every_place(Moment::AfterKilledTrial);
}

#[test]
fn loop_a_stranger_who_writes_to_either_of_two_devices_is_spared() {
    let mut places = PLACES.into_iter().cycle();
    for device in [0, 1] {
        for moment in [Moment::BeforeFirstTrial, Moment::BetweenTrials] {
            let place = places.next().unwrap();
            stranger_is_spared("native", 2, Strike { moment, place, device });
        }
    }
}

#[test]
fn loop_a_stranger_who_writes_to_what_a_killed_run_left_is_spared() {
    stranger_is_spared_by_who_resumes("native", &PLACES);
}

const SMALL: &str = r#"
title             = "Standing"
lab               = "native"
protocol          = { blocks = 5, timeout = "60s", disturbed = false }
dataset.tree      = { profile = "mixed", files = 20, directories = 3, size = "256KiB" }
matrix.filesystem = ["ext2", "ext4"]
phase             = [{ name = "write", operation = "tree.write", dataset = "tree" }]
"#;

/// The word of an inventory covers what a block left, not what somebody wrote since.
#[test]
fn loop_an_inventory_that_may_erase_a_device_spares_a_stranger_between_two_blocks() {
    for place_of_write in PLACES {
        let place = Place::new();
        let disk = Disk::new(&place, "disk", 512 << 20);
        let plan = place.plan("plan", SMALL);
        let file = disk.file.to_str().unwrap();
        let block = |number: &str, more: &[&str]| {
            let words = ["block", &plan, "--out", "shared", "--site", "a", "--block", number, "--quiet"];
            place.fsverdict(&[&words[..], &["--device", &disk.device, "--erase", file], more].concat())
        };
        block("1", &["--standing"]).exits(0);
        block("2", &["--standing"]).exits(0);
        write_directly(&disk.device, place_of_write);
        for _ in 0..2 {
            let seen = block("3", &["--standing"]).exits(1);
            let said = ["was written to by another program after the trial of", &disk.device, "--erase"];
            assert!(said.iter().all(|word| seen.stderr.contains(word)), "{seen:#?}");
            assert!(is_there(&disk, place_of_write), "{seen:#?}");
        }
        // Named by hand.
        block("3", &[]).exits(0);
        block("4", &["--standing"]).exits(0);
    }
}

/// A block that is refused before its first write, for a reason that has nothing to do with its device; by its name.
const REFUSED_BEFORE_THE_FIRST_WRITE: [&str; 3] = ["another program", "another identity", "no plan"];

/// Such a block changes nothing: the next one still knows how the device was left.
#[test]
fn loop_a_block_that_is_refused_before_its_first_write_forgets_nothing() {
    for reason in REFUSED_BEFORE_THE_FIRST_WRITE {
        let place = Place::new();
        let disk = Disk::new(&place, "disk", 512 << 20);
        let plan = place.plan("plan", SMALL);
        let file = disk.file.to_str().unwrap();
        let block = |program: &str, number: &str, plan: &str, identity: &str| {
            let words = ["block", plan, "--out", "shared", "--site", "a", "--block", number, "--quiet"];
            let device = ["--standing", "--device", &disk.device, "--erase", identity];
            place.any(program, &[&words[..], &device].concat())
        };
        block(PROGRAM, "1", &plan, file).exits(0);
        let refused = match reason {
            // Another program than that of the first block: one that is a byte longer.
            "another program" => {
                let other = place.path().join("fsverdict");
                std::fs::copy(PROGRAM, &other).unwrap();
                File::options().append(true).open(&other).unwrap().write_all(b"\n").unwrap();
                block(other.to_str().unwrap(), "2", &plan, file)
            }
            "another identity" => block(PROGRAM, "2", &plan, "/no/such/file"),
            "no plan" => block(PROGRAM, "2", "none.toml", file),
            other => panic!("{other}"),
        };
        assert!(refused.code != Some(0), "{reason}: {refused:#?}");
        write_directly(&disk.device, PLACES[1]);
        let seen = block(PROGRAM, "2", &plan, file).exits(1);
        assert!(seen.stderr.contains("was written to by another program"), "{reason}: {seen:#?}");
        assert!(is_there(&disk, PLACES[1]), "{reason}: {seen:#?}");
    }
}

/// What may be erased is said once for all sizes.
#[test]
fn loop_a_stranger_who_writes_between_two_sizes_is_spared() {
    for attempt in 1.. {
        let place = Place::new();
        let disk = Disk::new(&place, "disk", 512 << 20);
        let plan = place.plan("plan", &SMALL.replace("blocks = 5", "blocks = 1"));
        let mut command = place.command(&["run", &plan, "--out", "sizes", "--quiet", "--settle-size=3"]);
        command.args(["--device", &disk.device, "--erase", disk.file.to_str().unwrap()]);
        let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let (first, second) =
            (place.path().join("sizes/size-1/journal.jsonl"), place.path().join("sizes/size-4"));
        let patience = Instant::now() + Duration::from_secs(120);
        while !std::fs::read_to_string(&first).is_ok_and(|text| text.contains("\"run_finished\"")) {
            assert!(Instant::now() < patience, "the first size never ended");
            std::thread::sleep(Duration::from_millis(1));
        }
        kill_process(Pid::from_child(&child), Signal::STOP).unwrap();
        let in_time = !second.exists();
        if in_time {
            write_directly(&disk.device, PLACES[1]);
        }
        kill_process(Pid::from_child(&child), Signal::CONT).unwrap();
        let output = child.wait_with_output().unwrap();
        if in_time {
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(
                output.status.code() == Some(1) && said.contains("was written to by another program"),
                "{said}"
            );
            assert!(is_there(&disk, PLACES[1]), "{said}");
            return;
        }
        assert!(attempt < 8, "the moment was missed each time");
    }
}

//! kill -9, of the conductor and of what it started, in the middle of a phase: nothing is left behind, nothing that was
//! measured is lost, and `resume` carries on where it stopped.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic in its helpers too")]

mod common;

use std::time::{Duration, Instant};

use rustix::process::Signal;

use common::{Disk, Journal, Place, Running};

/// Guests take seconds each, so there are fewer of them.
fn filesystems(lab: &str) -> &'static [&'static str] {
    if lab == "uml" { &["ext2", "ext4"] } else { &["ext2", "ext3", "ext4"] }
}

/// A plan whose phase `hold` waits while the file `hold` is there.
fn plan(place: &Place, lab: &str) -> String {
    format!(
        r#"
title             = "To be interrupted"
lab               = "{lab}"
device.image      = "64MiB"
protocol          = {{ blocks = 2, order = 11, timeout = "120s" }}
dataset.tree      = {{ profile = "mixed", files = 10, directories = 2, size = "64KiB" }}
matrix.filesystem = {filesystems:?}
phase = [
    {{ name = "write", operation = "tree.write", dataset = "tree" }},
    {{ name = "hold", command = '''while test -e {hold}; do sleep 0.2; done''' }},
]
"#,
        filesystems = filesystems(lab),
        hold = place.path().join("hold").display()
    )
}

fn hold(place: &Place) {
    std::fs::write(place.path().join("hold"), "").unwrap();
}

fn let_go(place: &Place) {
    std::fs::remove_file(place.path().join("hold")).unwrap();
}

/// A run that has finished at least one trial and is held in the middle of another.
fn held<'a>(place: &'a Place, lab: &str) -> (Running<'a>, Journal) {
    let mut running = place.start(&plan(place, lab), &[]);
    running.wait_for("the first trial's end", |journal| journal.finished() > 0);
    hold(place);
    let journal = running.wait_for("the held phase", still_held);
    (running, journal)
}

/// A phase that began just before the file was there passes by; one that is held has been so for a while.
fn still_held(journal: &Journal) -> bool {
    let Some(last) =
        journal.0.last().filter(|last| last["event"] == "step_started" && last["step"] == "hold")
    else {
        return false;
    };
    let began: jiff::Timestamp = last["at"].as_str().unwrap().parse().unwrap();
    jiff::Timestamp::now().duration_since(began).as_millis() > 700
}

/// Candidates in the order they were tried to the end, per block.
fn tried(journal: &Journal, block: u32) -> Vec<String> {
    let ends = journal.all("trial_finished").filter(|end| end["trial"]["block"] == block);
    ends.map(|end| end["trial"]["candidate"].as_str().unwrap().to_owned()).collect()
}

/// The order of a block, as a dry run announces it.
fn announced(place: &Place, block: u32) -> Vec<String> {
    let plan = place.path().join("plan.toml");
    let seen = place.fsverdict(&["run", plan.to_str().unwrap(), "--dry-run"]).exits(0);
    let line = seen.stdout.lines().find_map(|line| line.strip_prefix(&format!("block {block}: ")));
    line.unwrap_or_else(|| panic!("{seen:#?}")).split(' ').map(str::to_owned).collect()
}

fn conductor_is_ended(lab: &str, signal: Signal) {
    let place = Place::new();
    let (mut running, before) = held(&place, lab);
    assert!(place.processes().len() > 2, "nothing to kill");
    running.signal(signal);
    place.is_left_clean();

    let after = place.journal();
    assert_eq!(after.0[..before.0.len()], before.0[..], "what was in the journal is not any more");
    let seen = place.fsverdict(&["report", "run"]);
    assert!([Some(0), Some(3)].contains(&seen.code), "{seen:#?}");

    let_go(&place);
    place.fsverdict(&["resume", "run", "--quiet"]).exits(0);
    let journal = place.journal();
    assert_eq!(journal.all("run_started").count(), 1);
    assert_eq!(journal.all("run_resumed").count(), 1);
    assert_eq!(journal.0.last().unwrap()["event"], "run_finished");
    assert!(journal.all("trial_finished").all(|end| end["status"] == "ok"), "{journal:#?}");
    for block in [1, 2] {
        let order = announced(&place, block);
        assert_eq!(order.len(), filesystems(lab).len());
        assert_eq!(tried(&journal, block), order, "block {block}");
    }
    assert!(filesystems(lab).iter().all(|name| place.status(name).0 == "ok"));
    place.fsverdict(&["resume", "run"]).exits(0).says(&["this run is complete"]);
    place.is_left_clean();
}

/// Kills the held trial, and waits until what it was is gone.
fn kill_worker(running: &mut Running<'_>, worker: &str) {
    let place = running.place;
    let others = |pid: &u32| *pid != running.child.id();
    let victims: Vec<u32> = place.processes().iter().map(|(pid, _)| *pid).filter(others).collect();
    let begun = place.journal().all("trial_started").count();
    common::kill(place.worker(worker));
    running.wait_for("a new trial", |journal| journal.all("trial_started").count() > begun);
    let processes = place.processes();
    let survivors: Vec<_> = processes.iter().filter(|(pid, _)| victims.contains(pid)).collect();
    assert!(survivors.is_empty(), "{survivors:?}");
    // The run goes on with its next trial, on a device of its own.
    assert!(place.loop_devices().len() <= 1, "{:?}", place.loop_devices());
}

fn worker_is_killed_once(lab: &str, worker: &str) {
    let place = Place::new();
    let (mut running, before) = held(&place, lab);
    kill_worker(&mut running, worker);
    let_go(&place);
    assert_eq!(running.end(), Some(0));
    let journal = place.journal();
    // It was done again in its place: nobody is lost, and nothing is counted twice.
    assert_eq!(journal.all("trial_started").count(), journal.finished() + 1);
    for block in [1, 2] {
        assert_eq!(tried(&journal, block), announced(&place, block), "block {block}");
    }
    assert!(filesystems(lab).iter().all(|name| place.status(name).0 == "ok"));
    let cautions: Vec<&serde_json::Value> = journal.all("caution").collect();
    let of_a_kill = |one: &&&serde_json::Value| one["text"].as_str().unwrap().contains("signal 9");
    assert_eq!(cautions.iter().filter(of_a_kill).count(), 1, "{cautions:#?}");
    assert_eq!(journal.0[..before.0.len()], before.0[..]);
    place.is_left_clean();
}

fn worker_is_stopped(lab: &str, worker: &str) {
    let place = Place::new();
    let mild = "protocol.disturbed={foreign_cpu=1, steal=1, foreign_bytes=1e9, drift=1e9}";
    hold(&place);
    let mut running = place.start(&plan(&place, lab), &["--set", mild, "--blocks", "1"]);
    running.wait_for("the held phase", still_held);
    let pid = place.worker(worker).to_string();
    common::tool(&["kill", "-STOP", &pid]);
    std::thread::sleep(Duration::from_millis(200));
    common::tool(&["kill", "-CONT", &pid]);
    let_go(&place);
    assert_eq!(running.end(), Some(0));
    let journal = place.journal();
    let ends: Vec<&serde_json::Value> = journal.all("block_finished").collect();
    assert_eq!(ends.len(), 2, "{ends:#?}");
    assert!(ends[0]["invalid"].as_str().unwrap().contains("was stopped"), "{ends:#?}");
    assert!(ends[1]["invalid"].is_null(), "{ends:#?}");
    assert_eq!(journal.all("surroundings").filter(|seen| seen["stopped"] == true).count(), 1);
}

fn worker_is_killed_again(lab: &str, worker: &str) {
    let place = Place::new();
    let (mut running, before) = held(&place, lab);
    kill_worker(&mut running, worker);
    running.wait_for("the held phase", still_held);
    common::kill(place.worker(worker));
    let journal = running.wait_for("the trial's end", |journal| journal.finished() > before.finished());
    let end = journal.all("trial_finished").last().unwrap();
    assert_eq!(end["status"], "failed");
    assert!(end["reason"].as_str().unwrap().contains("signal 9"), "{end:#}");
    let_go(&place);
    assert_eq!(running.end(), Some(3));
    let journal = place.journal();
    // The candidate it happened to is not tried again; all others are, in both blocks.
    let (lost, block) = (&end["trial"]["candidate"], end["trial"]["block"].as_u64().unwrap() as usize);
    assert_eq!(journal.finished(), 2 * filesystems(lab).len() - (2 - block));
    for name in filesystems(lab).iter().filter(|name| **name != *lost) {
        assert_eq!(place.status(name).0, "ok", "{name}");
    }
    assert_eq!(journal.all("trial_finished").filter(|end| end["status"] == "failed").count(), 1);
    assert_eq!(journal.0[..before.0.len()], before.0[..]);
    place.is_left_clean();
}

#[test]
fn loop_a_killed_conductor_leaves_nothing_and_the_run_can_be_resumed() {
    conductor_is_ended("native", Signal::KILL);
}

#[test]
fn loop_a_killed_conductor_leaves_nothing_at_whatever_step() {
    for step in ["claim", "mkfs", "mount", "write", "umount", "fsck"] {
        let place = Place::new();
        let mut running = place.start(&plan(&place, "native"), &[]);
        running.wait_for(step, |journal| journal.all("step_started").any(|event| event["step"] == step));
        running.signal(Signal::KILL);
        place.is_left_clean();
    }
}

#[test]
fn loop_a_killed_agent_is_tried_again_in_its_place() {
    worker_is_killed_once("native", "agent");
}

/// As by a kernel that ran out of memory.
#[test]
fn loop_a_killed_command_is_no_failure_of_its_candidate() {
    worker_is_killed_once("native", "/bin/sh");
}

/// Nobody is told of a process that another holds for good (ptrace(2), by its numbers on x86-64 and arm64).
#[test]
fn loop_an_agent_that_a_debugger_holds_is_found_before_its_time_is_up() {
    const HOLD: &str = r#"my $ptrace = qx(uname -m) =~ /^x86_64/ ? 101 : 117; $| = 1;
syscall($ptrace, 16, $ARGV[0] + 0, 0, 0) == 0 or die; print "held\n"; <STDIN>"#;
    let place = Place::new();
    hold(&place);
    let plan = plan(&place, "native").replace("120s", "2h");
    let mut running = place.start(&plan, &["--blocks", "1", "--fs", "ext4"]);
    running.wait_for("the held phase", still_held);
    let mut debugger = std::process::Command::new("perl")
        .args(["-e", HOLD, &place.worker("agent").to_string()])
        .stdin(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    running.wait_for("a new trial", |journal| journal.all("trial_started").count() > 1);
    drop(debugger.stdin.take());
    debugger.wait().unwrap();
    let_go(&place);
    assert_eq!(running.end(), Some(0));
    let journal = place.journal();
    let told =
        journal.all("caution").filter(|one| one["text"].as_str().unwrap().contains("held by a debugger"));
    assert_eq!(told.count(), 1, "{journal:#?}");
    assert_eq!(place.status("ext4").0, "ok");
    place.is_left_clean();
}

#[test]
fn loop_an_agent_that_is_killed_again_is_one_failed_trial() {
    worker_is_killed_again("native", "agent");
}

#[test]
fn loop_an_agent_that_is_killed_again_in_the_last_block_is_tried_again_on_resuming() {
    let place = Place::new();
    hold(&place);
    let mut running = place.start(&plan(&place, "native"), &["--blocks", "1", "--fs", "ext2,ext4"]);
    running.wait_for("the held phase", still_held);
    kill_worker(&mut running, "agent");
    running.wait_for("the held phase", still_held);
    common::kill(place.worker("agent"));
    let_go(&place);
    assert_eq!(running.end(), Some(3));
    let before = place.journal();
    place.fsverdict(&["report", "run"]).shows(&["fsverdict resume"]);
    place.fsverdict(&["resume", "run", "--quiet"]).exits(0);
    let journal = place.journal();
    assert_eq!(journal.finished(), before.finished() + 1);
    assert!(["ext2", "ext4"].iter().all(|name| place.status(name).0 == "ok"), "{journal:#?}");
    place.fsverdict(&["resume", "run"]).exits(0).says(&["this run is complete"]);
    place.is_left_clean();
}

#[test]
fn loop_what_an_interrupted_trial_left_on_a_device_is_erased_only_by_its_name() {
    let place = Place::new();
    let disk = Disk::new(&place, "disk", 64 << 20);
    hold(&place);
    let mut running = place.start(&plan(&place, "native"), &["--device", &disk.device]);
    running.wait_for("the held phase", still_held);
    running.signal(Signal::INT);
    let_go(&place);
    let seen = place.fsverdict(&["resume", "run", "--quiet"]).exits(1);
    let seen = seen.says(&["is not empty", "uuid", "an interrupted one, too"]);
    // By now the kernel has unmounted it, which is a write of its own.
    let left = disk.bytes();
    let name = seen.stderr.split("--erase ").nth(1).unwrap().split_whitespace().next().unwrap();
    // No run's folder says so by itself: whatever its journal claims of the device, somebody may have made it up.
    let journal = place.path().join("run/journal.jsonl");
    let mut text = std::fs::read_to_string(&journal).unwrap();
    let fact = text.lines().find(|line| line.contains("device.queue")).unwrap();
    let start = fact.find("\"device.queue").unwrap();
    let forged = format!("{}\"device.bears\":\"ext2 (uuid {name})\",{}\n", &fact[..start], &fact[start..]);
    text.push_str(&forged);
    std::fs::write(&journal, text).unwrap();
    place.fsverdict(&["resume", "run", "--quiet"]).exits(1).says(&["is not empty", name]);
    assert!(disk.bytes() == left, "a refused device was written");
    place.fsverdict(&["resume", "run", "--quiet", "--erase", name]).exits(0);
    assert_eq!(place.journal().0.last().unwrap()["event"], "run_finished");
}

#[test]
fn loop_a_stopped_agent_is_seen_and_its_block_repeated() {
    worker_is_stopped("native", "agent");
}

/// A device, held in a phase with another scheduler than it had; with the setting's file and its content before.
fn held_with_another_scheduler<'a>(place: &'a Place, disk: &Disk) -> Option<(Running<'a>, String, String)> {
    let (setting, before, other) = disk.another_scheduler()?;
    let candidate = format!("candidate = [{{ filesystem = \"ext4\", scheduler = \"{other}\" }}]");
    let matrix = format!("matrix.filesystem = {:?}", filesystems("native"));
    let plan = plan(place, "native").replace(&matrix, &candidate).replace("blocks = 2", "blocks = 1");
    hold(place);
    let mut running = place.start(&plan, &["--device", &disk.device]);
    running.wait_for("the held phase", still_held);
    assert_ne!(std::fs::read_to_string(&setting).unwrap(), before);
    Some((running, setting, before))
}

#[test]
fn loop_a_killed_agents_scheduler_is_put_back_at_once() {
    let place = Place::new();
    let disk = Disk::new(&place, "disk", 64 << 20);
    let Some((mut running, setting, before)) = held_with_another_scheduler(&place, &disk) else { return };
    kill_worker(&mut running, "agent");
    running.wait_for("the held phase", still_held);
    common::kill(place.worker("agent"));
    assert_eq!(running.end(), Some(1), "its only candidate failed");
    assert_eq!(std::fs::read_to_string(&setting).unwrap(), before);
}

#[test]
fn loop_a_killed_conductors_scheduler_is_put_back_by_clean() {
    let place = Place::new();
    let disk = Disk::new(&place, "disk", 64 << 20);
    let Some((mut running, setting, before)) = held_with_another_scheduler(&place, &disk) else { return };
    let shown = format!("the I/O scheduler of {}", disk.name());
    let seen = place.fsverdict(&["clean", "--dry-run"]);
    assert!(!seen.stdout.contains(&shown), "it is in use: {seen:#?}");
    running.signal(Signal::KILL);
    // The kernel takes a moment to close what a killed process had open; until then the setting is somebody's.
    let patience = Instant::now() + Duration::from_secs(5);
    while std::fs::read_to_string(&setting).unwrap() != before && Instant::now() < patience {
        place.fsverdict(&["clean"]).exits(0);
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(std::fs::read_to_string(&setting).unwrap(), before);
}

#[test]
fn uml_a_killed_conductor_leaves_nothing_and_the_run_can_be_resumed() {
    conductor_is_ended("uml", Signal::KILL);
}

/// Ctrl-C. What it says before is `src/cli/interrupt.rs`'s.
#[test]
fn uml_conductor_is_interrupted() {
    conductor_is_ended("uml", Signal::INT);
}

#[test]
fn uml_a_killed_guest_is_tried_again_in_its_place() {
    worker_is_killed_once("uml", "linux.uml");
}

#[test]
fn uml_a_guest_that_is_killed_again_is_one_failed_trial() {
    worker_is_killed_again("uml", "linux.uml");
}

#[test]
fn uml_a_stopped_guest_is_seen_and_its_block_repeated() {
    worker_is_stopped("uml", "linux.uml");
}

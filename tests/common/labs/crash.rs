//! kill -9, of the conductor and of what it started, in the middle of a phase: nothing is left behind, nothing that was
//! measured is lost, and `resume` carries on where it stopped.

use std::time::Duration;

use rustix::process::Signal;

use fsverdict_lab::lab::ATTEMPTS;

use crate::common::{Journal, Place, Running, kill, tool};

/// Guests take seconds each, so there are fewer of them.
pub fn filesystems(lab: &str) -> &'static [&'static str] {
    if lab == "uml" { &["ext2", "ext4"] } else { &["ext2", "ext3", "ext4"] }
}

/// A plan whose phase `hold` waits while the file `hold` is there.
pub fn plan(place: &Place, lab: &str) -> String {
    let matrix = format!("[matrix]\nfilesystem = {:?}\n", filesystems(lab));
    plan_on(place, lab, "{ image = \"64MiB\" }", &matrix)
}

/// The same on these devices, of these candidates.
pub fn plan_on(place: &Place, lab: &str, device: &str, candidates: &str) -> String {
    format!(
        r#"
title             = "To be interrupted"
lab               = "{lab}"
device            = {device}
protocol          = {{ blocks = 2, order = 11, timeout = "120s" }}
dataset.tree      = {{ profile = "mixed", files = 10, directories = 2, size = "64KiB" }}
phase = [
    {{ name = "write", operation = "tree.write", dataset = "tree" }},
    {{ name = "hold", command = '''while test -e {hold}; do sleep 0.2; done''' }},
]
{candidates}"#,
        hold = place.path().join("hold").display()
    )
}

pub fn hold(place: &Place) {
    std::fs::write(place.path().join("hold"), "").unwrap();
}

pub fn let_go(place: &Place) {
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
pub fn still_held(journal: &Journal) -> bool {
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

/// A plan's phase before the one that waits: a device is lost and made anew meanwhile.
pub fn with_a_rebuild(plan: &str) -> String {
    let rebuild = "{ name = \"rebuild\", operation = \"tree.read\", dataset = \"tree\", cold = true, state = \"rebuilding\" }";
    plan.replacen("{ name = \"hold\"", &format!("{rebuild},\n    {{ name = \"hold\""), 1)
}

/// Runs of a plan are killed again and again, each at another moment from its first steps on: nothing is left, and the last of
/// them is carried on to its end. However fast the machine is, none ends before.
pub fn series_is_killed(plan: &dyn Fn(&Place) -> String, times: u32) {
    let place = Place::new();
    hold(&place);
    for time in 0..times {
        let _ = std::fs::remove_dir_all(place.path().join("run"));
        let mut running = place.start(&plan(&place), &[]);
        running.wait_for("the first trial's beginning", |journal| journal.all("trial_started").count() > 0);
        std::thread::sleep(Duration::from_millis(u64::from(time) * 700));
        running.signal(Signal::KILL);
        place.is_left_clean();
    }
    let_go(&place);
    place.fsverdict(&["resume", "run", "--quiet"]).exits(0);
    assert!(place.journal().all("trial_finished").all(|end| end["status"] == "ok"));
    place.is_left_clean();
}

pub fn conductor_is_ended(lab: &str, signal: Signal) {
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
pub fn kill_worker(running: &mut Running<'_>, worker: &str) {
    let place = running.place;
    let others = |pid: &u32| *pid != running.child.id();
    let victims: Vec<u32> = place.processes().iter().map(|(pid, _)| *pid).filter(others).collect();
    let begun = place.journal().all("trial_started").count();
    kill(place.worker(worker));
    running.wait_for("a new trial", |journal| journal.all("trial_started").count() > begun);
    let processes = place.processes();
    let survivors: Vec<_> = processes.iter().filter(|(pid, _)| victims.contains(pid)).collect();
    assert!(survivors.is_empty(), "{survivors:?}");
    // The run goes on with its next trial, on a device of its own.
    assert!(place.loop_devices().len() <= 1, "{:?}", place.loop_devices());
}

pub fn worker_is_killed_once(lab: &str, worker: &str) {
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

pub fn worker_is_stopped(lab: &str, worker: &str) {
    is_stopped(lab, &|running| running.place.worker(worker), 200);
}

/// What is stopped during the held phase, for so many milliseconds.
pub fn is_stopped(lab: &str, victim: &dyn Fn(&Running<'_>) -> u32, milliseconds: u64) {
    let place = Place::new();
    let mild = "protocol.disturbed={foreign_cpu=1, steal=1, foreign_bytes=1e9, drift=1e9}";
    hold(&place);
    let mut running = place.start(&plan(&place, lab), &["--set", mild, "--blocks", "1"]);
    running.wait_for("the held phase", still_held);
    let pid = victim(&running).to_string();
    tool(&["kill", "-STOP", &pid]);
    // A signal to go on that comes before the process has seen the first one takes that one back: nothing was stopped then.
    let is_stopped = || std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap().contains(") T ");
    while !is_stopped() {
        std::thread::sleep(Duration::from_millis(1));
    }
    std::thread::sleep(Duration::from_millis(milliseconds));
    tool(&["kill", "-CONT", &pid]);
    let_go(&place);
    assert_eq!(running.end(), Some(0));
    let journal = place.journal();
    let ends: Vec<&serde_json::Value> = journal.all("block_finished").collect();
    assert_eq!(ends.len(), 2, "{ends:#?}");
    assert!(ends[0]["invalid"].as_str().unwrap().contains("was stopped"), "{ends:#?}");
    assert!(ends[1]["invalid"].is_null(), "{ends:#?}");
    assert_eq!(journal.all("surroundings").filter(|seen| seen["stopped"] == true).count(), 1);
}

pub fn worker_is_killed_again(lab: &str, worker: &str) {
    let place = Place::new();
    let (mut running, before) = held(&place, lab);
    for _ in 1..ATTEMPTS {
        kill_worker(&mut running, worker);
        running.wait_for("the held phase", still_held);
    }
    kill(place.worker(worker));
    let journal = running.wait_for("the trial's end", |journal| journal.finished() > before.finished());
    let end = journal.all("trial_finished").last().unwrap();
    assert_eq!(end["status"], "failed");
    assert!(end["reason"].as_str().unwrap().starts_with("killed by signal 9 three times"), "{end:#}");
    let_go(&place);
    assert_eq!(running.end(), Some(3));
    let journal = place.journal();
    // The candidate it happened to is not tried again; all others are, in both blocks.
    let (lost, block) = (&end["trial"]["candidate"], end["trial"]["block"].as_u64().unwrap() as usize);
    assert_eq!(journal.finished(), 2 * filesystems(lab).len() - (2 - block));
    for name in filesystems(lab) {
        let expected = if *name == *lost { "skipped" } else { "ok" };
        assert_eq!(place.status(name).0, expected, "{name}");
    }
    assert_eq!(journal.all("trial_finished").filter(|end| end["status"] == "failed").count(), 1);
    assert_eq!(journal.0[..before.0.len()], before.0[..]);
    place.is_left_clean();
}

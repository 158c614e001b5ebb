//! kill -9, of the conductor and of what it started natively: nothing is left behind, on a device of the user's neither.

use std::time::{Duration, Instant};

use fsverdict_lab::lab::ATTEMPTS;
use rustix::process::Signal;

use crate::common::labs::crash::{
    conductor_is_ended, hold, is_stopped, kill_worker, let_go, plan, plan_on, series_is_killed, still_held,
    with_a_rebuild, worker_is_killed_again, worker_is_killed_once, worker_is_stopped,
};
use crate::common::{Disk, Place, Running, kill};

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
fn loop_killed_runs_on_a_mirror_leave_nothing() {
    let mirror = "[[candidate]]\nfilesystem = \"btrfs\"\nmkfs = \"-d raid1 -m raid1\"\n";
    let devices = "{ image = \"256MiB\", count = 2 }";
    series_is_killed(&|place| with_a_rebuild(&plan_on(place, "native", devices, mirror)), 3);
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
fn loop_an_agent_that_is_killed_three_times_fails_no_candidate() {
    worker_is_killed_again("native", "agent");
}

#[test]
fn loop_an_agent_that_is_killed_again_in_the_last_block_is_tried_again_on_resuming() {
    let place = Place::new();
    hold(&place);
    let mut running = place.start(&plan(&place, "native"), &["--blocks", "1", "--fs", "ext2,ext4"]);
    running.wait_for("the held phase", still_held);
    let process = format!("running (process {})", running.child.id());
    place.fsverdict(&["status", "run"]).exits(0).shows(&[&process, "Now"]);
    for _ in 1..ATTEMPTS {
        kill_worker(&mut running, "agent");
        running.wait_for("the held phase", still_held);
    }
    kill(place.worker("agent"));
    let_go(&place);
    assert_eq!(running.end(), Some(3));
    let before = place.journal();
    place.fsverdict(&["report", "run"]).shows(&["fsverdict resume"]);
    place.fsverdict(&["resume", "run", "--quiet"]).exits(0);
    let journal = place.journal();
    assert_eq!(journal.finished(), before.finished() + 1);
    assert!(["ext2", "ext4"].iter().all(|name| place.status(name).0 == "ok"), "{journal:#?}");
    place.fsverdict(&["status", "run"]).exits(0).shows(&["ended: "]);
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
    let seen = seen.says(&["is not empty", "uuid", "also of an interrupted one"]);
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

/// Whatever of a native trial is stopped (SIGSTOP) and goes on, even at once.
#[test]
fn loop_whatever_is_stopped_is_seen_and_its_block_repeated() {
    type Victim = fn(&Running<'_>) -> u32;
    let members: [(&str, Victim, u64); 5] = [
        ("the agent, for a moment", |running| running.place.worker("agent"), 0),
        ("the phase's command", |running| running.place.worker("/bin/sh"), 200),
        ("the phase's command, for a moment", |running| running.place.worker("/bin/sh"), 0),
        ("the conductor", |running| running.child.id(), 200),
        // It is nobody's child that could be told: it is seen when it is looked for, once a second.
        ("a process that the command started", |running| grandchild(running), 2500),
    ];
    for (name, victim, milliseconds) in members {
        eprintln!("{name}");
        is_stopped("native", &victim, milliseconds);
    }
}

/// The `sleep` that the command of the held phase waits for.
fn grandchild(running: &Running<'_>) -> u32 {
    loop {
        let processes = running.place.processes();
        let is_sleep = |line: &[String]| line.len() == 2 && line[0] == "sleep";
        if let Some((process, _)) = processes.iter().find(|(_, line)| is_sleep(line)) {
            return *process;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A device, held in a phase with another scheduler than it had; with the setting's file and its content before.
fn held_with_another_scheduler<'a>(place: &'a Place, disk: &Disk) -> Option<(Running<'a>, String, String)> {
    let (setting, before, other) = disk.another_scheduler()?;
    let candidate = format!("[[candidate]]\nfilesystem = \"ext4\"\nscheduler = \"{other}\"\n");
    let plan =
        plan_on(place, "native", "{ image = \"64MiB\" }", &candidate).replace("blocks = 2", "blocks = 1");
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
    for _ in 1..ATTEMPTS {
        kill_worker(&mut running, "agent");
        running.wait_for("the held phase", still_held);
    }
    kill(place.worker("agent"));
    assert_eq!(running.end(), Some(1), "its only candidate is not judged");
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

//! Whatever process of a native trial is killed: no candidate is blamed.

use std::fs;
use std::path::PathBuf;

use fsverdict_lab::lab::TrialProcess;

use crate::common::labs::attribution::every_process_is_killed;
use crate::common::{PROGRAM, Place, kill, not_run, one_command};

#[test]
fn loop_no_candidate_is_blamed_for_a_process_that_is_killed() {
    let signals = |process: &TrialProcess| if is_short_lived(process) { &[][..] } else { &[9, 15] };
    every_process_is_killed("native", ["agent", "phase command"], signals);
}

/// Whether a trial starts it and ends it again within a step.
fn is_short_lived(process: &TrialProcess) -> bool {
    ["mkfs", "mount", "umount", "fsck", "FUSE server", "staging process"].contains(&process.name)
}

/// The same for processes that live only for a moment.
#[test]
fn loop_no_candidate_is_blamed_for_a_short_lived_process_that_is_killed() {
    let signals = |process: &TrialProcess| if is_short_lived(process) { &[9, 15][..] } else { &[] };
    every_process_is_killed("native", ["mkfs", "staging process"], signals);
}

/// A control group with little memory; removed when it goes out of scope.
struct SmallGroup(PathBuf);

impl SmallGroup {
    /// `None` where this machine has no memory controller that can be used.
    fn new(bytes: u64) -> Option<SmallGroup> {
        let name = format!("fsverdict-it-{}", std::process::id());
        for (root, limit) in
            [("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")]
        {
            let group = SmallGroup(PathBuf::from(root).join(&name));
            if fs::create_dir(&group.0).is_ok() && fs::write(group.0.join(limit), bytes.to_string()).is_ok() {
                return Some(group);
            }
        }
        None
    }
}

impl Drop for SmallGroup {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

/// The kernel kills what takes too much memory: the command does in each try, and its filesystem has no part in it.
#[test]
fn loop_a_command_that_runs_out_of_memory_is_no_failure_of_its_candidate() {
    let Some(group) = SmallGroup::new(300 << 20) else {
        return not_run("there is no control group of memory here");
    };
    let place = Place::new();
    let plan = place.plan("plan", &one_command("native", "head -c 1G /dev/zero | tail -c 1G > /dev/null"));
    let line = format!("echo $$ > {}/cgroup.procs; exec \"$@\"", group.0.display());
    let seen = place.any("sh", &["-c", &line, "sh", PROGRAM, "run", &plan, "--out", "run"]).exits(1);
    let (status, reason) = place.status("ext4");
    assert_eq!(status, "skipped", "{seen:#?}");
    assert!(reason.starts_with("killed by signal 9 because memory ran out three times"), "{reason}");
    place.is_left_clean();
}

/// A phase that waits for a service that is gone is ended when its time is up, which is not its candidate's doing.
#[test]
fn loop_a_phase_that_waits_for_a_killed_service_fails_no_candidate() {
    let place = Place::new();
    let service = "[[service]]\nname = \"db\"\nstart = \"exec sleep 4711\"\nfrom = \"do\"\nto = \"do\"\n";
    let plan = one_command("native", "while :; do sleep 0.2; done").replace("60s", "8s") + service;
    let mut running = place.start(&plan, &[]);
    let mut killed = std::collections::BTreeSet::new();
    while running.child.try_wait().unwrap().is_none() {
        let is_service = |line: &[String]| line.len() == 2 && line[1] == "4711";
        for (process, _) in place.processes().iter().filter(|(_, line)| is_service(line)) {
            // A look at a step that is not this try's does no harm: it is killed at whatever step.
            if place.journal().step() == "do" && killed.insert(*process) {
                kill(*process);
            }
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let (status, reason) = place.status("ext4");
    assert!(
        status == "skipped" && reason.starts_with("killed by signal 9 three times"),
        "{status}: {reason}"
    );
    assert_eq!(killed.len(), 3);
    place.is_left_clean();
}

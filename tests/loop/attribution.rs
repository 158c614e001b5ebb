//! Whatever process of a native trial is killed: no candidate is blamed.

use std::fs;
use std::path::PathBuf;

use crate::common::labs::attribution::every_process_is_killed;
use crate::common::{PROGRAM, Place, not_run, one_command};

#[test]
fn loop_no_candidate_is_blamed_for_a_process_that_is_killed() {
    every_process_is_killed("native");
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

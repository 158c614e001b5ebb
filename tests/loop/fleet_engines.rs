//! Runs at several sites, carried by a real Slurm and a real sshd that the test starts for itself on the loopback. Both daemons
//! want root, so the tests are of the tier that has it.

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::daemons::{LocalSlurm, LocalSshd, until, write_inventory};
use crate::common::{PROGRAM, Place, Seen, kill, one_command, two_disks};

fn inventory(place: &Place, names: [&str; 2], more: impl Fn(&str) -> String) {
    write_inventory(place, names, more);
    fs::write(place.path().join("plan.toml"), two_disks(4, 8)).unwrap();
}

fn seen(mut command: Command) -> Seen {
    Seen::of(&command.output().unwrap())
}

#[test]
fn loop_slurm_carries_a_run_whose_node_and_head_are_killed() {
    let place = Place::new();
    let Some(mut slurm) = LocalSlurm::start(&place) else { return };
    let at = |name: &str| place.path().join(name);
    inventory(&place, ["lab1", "lab2"], |_| String::new());
    let run = ["run", "plan.toml", "--on", "slurm", "--sites", "sites.toml", "--out", "run"];
    let configuration = slurm.configuration.clone();
    let fleet = |arguments: &[&str]| {
        let mut command = place.command(arguments);
        command.env("SLURM_CONF", &configuration);
        command
    };
    let mut head = fleet(&run).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let partial = at("run/sites/lab2/block-0001.partial");
    until("a block under way", || partial.exists() || at("run/sites/lab2/block-0001.jsonl").exists());
    // The head goes, and what does the block; Slurm does it again, and so does whoever comes back.
    head.kill().unwrap();
    head.wait().unwrap();
    slurm.kill_lab2();
    for (pid, line) in place.processes() {
        if line.contains(&"lab2".to_owned()) {
            kill(pid);
        }
    }
    slurm.start_lab2();
    let again = seen(fleet(&["resume", "run"]));
    assert!(again.code == Some(0) && again.stdout.contains("Take "), "{again:#?}");
    let log = fs::read_to_string(at("run/slurm-lab1.log")).unwrap();
    assert!(log.contains("block 1 of site lab1 is done"), "{log}");
    // A job that is cancelled takes a moment to end.
    until("what is settled is cancelled", || slurm.is_idle());
}

#[test]
fn loop_sites_are_reached_over_ssh_and_one_that_does_not_answer_is_said() {
    let place = Place::new();
    let Some(sshd) = LocalSshd::start(&place) else { return };
    let folder = place.path().display().to_string();
    let at = |name: &str| place.path().join(name);
    inventory(&place, ["m1", "m2"], |name| format!("folder = \"{folder}/{name}/run\""));
    let run = |inventory: &str, out: &str| {
        let mut command =
            place.command(&["run", "plan.toml", "--on", "ssh", "--sites", inventory, "--out", out]);
        command.env("PATH", &sshd.path);
        seen(command)
    };
    let done = run("sites.toml", "run");
    assert!(done.code == Some(0) && done.stdout.contains("merged from 2 sites: m1, m2"), "{done:#?}");
    assert!(at("m2/run/sites/m1/block-0001.jsonl").exists(), "each knows what the others found");
    let text = fs::read_to_string(at("sites.toml")).unwrap();
    // In folders of its own: blocks of another run are not taken for this one's.
    let text = text.replace("/run\"", "/other\"");
    fs::write(at("bad.toml"), text.replacen(PROGRAM, "/no/such/fsverdict", 1)).unwrap();
    let bad = run("bad.toml", "other");
    assert_eq!(bad.code, Some(1), "{bad:#?}");
    for words in ["site m1: ", "status 127", "the next round lacks block 1 of site m1", "hint: "] {
        assert!(bad.stderr.contains(words), "{words}: {bad:#?}");
    }
}

#[test]
fn loop_a_block_ends_with_the_connection_of_who_asked_for_it() {
    let place = Place::new();
    let path = place.plan("plan", &one_command("native", "sleep 600"));
    let words = ["block", &path, "--out", "run", "--site", "a", "--block", "1", "--quiet", "--attended"];
    let mut command = place.command(&words);
    let mut child = command.stdin(std::process::Stdio::piped()).spawn().unwrap();
    let partial = place.path().join("run/sites/a/block-0001.partial");
    let patience = Instant::now() + Duration::from_secs(60);
    while !fs::read_to_string(&partial).is_ok_and(|text| text.contains("\"step\":\"do\"")) {
        assert!(
            Instant::now() < patience && child.try_wait().unwrap().is_none(),
            "never came to its command"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(child.stdin.take());
    let patience = Instant::now() + Duration::from_secs(20);
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > patience {
            kill(child.id());
            panic!("it goes on");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    place.is_left_clean();
    assert_eq!(place.fsverdict(&["merge", "run"]).code, Some(1));
}

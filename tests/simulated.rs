//! Trials in simulated time, on a modelled device: the same seed gives the same requests at the same nanosecond, and
//! nothing stays. They want a laboratory kernel in the cache (`fsverdict kernel build`).

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic in its helpers too")]

mod common;

use std::collections::BTreeMap;

use rustix::process::Signal;

use common::Place;

const PLAN: &str = r#"
title = "In simulated time"
lab   = "uml"
[device]
model = "usb-disk-5400"
size  = "1GB"
[protocol]
blocks  = 2
timeout = "120s"
[dataset.tree]
profile     = "mixed"
files       = 60
directories = 8
size        = "1MiB"
[matrix]
filesystem = ["ext2", "ext4", "xfs", "btrfs", "f2fs", "nilfs2", "jfs", "reiserfs", "vfat", "exfat"]
[[phase]]
name      = "write"
operation = "tree.write"
dataset   = "tree"
[[phase]]
name      = "read"
operation = "tree.read"
dataset   = "tree"
cold      = true
[[phase]]
name      = "check"
operation = "fsck"
"#;

/// Block and candidate, and the digest of the trial's trace.
fn digests(place: &Place) -> BTreeMap<(u64, String), String> {
    place
        .journal()
        .all("facts")
        .filter_map(|event| {
            let digest = event["facts"]["device.trace"].as_str()?.to_owned();
            let trial = &event["trial"];
            Some(((trial["block"].as_u64()?, trial["candidate"].as_str()?.to_owned()), digest))
        })
        .collect()
}

#[test]
fn uml_simulated_trials_of_one_seed_are_the_same_and_of_two_blocks_are_not() {
    let (first, second) = (Place::new(), Place::new());
    first.run(PLAN, &[]).exits(0);
    second.run(PLAN, &[]).exits(0);
    let (one, other) = (digests(&first), digests(&second));
    assert_eq!(one.len(), 20);
    assert_eq!(one, other);
    // ext4 spreads its folders by chance, and chance is what a block's seed decides.
    assert_ne!(one[&(1, "ext4".to_owned())], one[&(2, "ext4".to_owned())]);
    let fidelity = first.journal().0[0]["fidelity"].as_str().unwrap().to_owned();
    assert!(fidelity.contains("usb-disk-5400 v1") && fidelity.contains("CPU taken as free"), "{fidelity}");
    first.is_left_clean();
}

/// Two blocks of two candidates, one after the other and two at once, with the machine's other work watched for.
#[test]
fn uml_simulated_trials_side_by_side_are_those_that_were_alone() {
    let watch = ["--fs", "ext4,f2fs", "--set", "protocol.disturbed={foreign_cpu=0.0001}"];
    let (one, two) = (Place::new(), Place::new());
    one.run(PLAN, &[&watch[..], &["--jobs", "1"]].concat()).exits(0);
    let mut under_way = two.start(PLAN, &[&watch[..], &["--jobs", "2"]].concat());
    under_way.wait_for("two guests", |_| {
        let is_guest = |line: &[String]| line.iter().any(|word| word.starts_with("mem="));
        two.processes().iter().filter(|(_, line)| is_guest(line) && line[1] != "launch").count() >= 2
    });
    assert_eq!(under_way.end(), Some(0));
    assert_eq!(digests(&one).len(), 4);
    assert_eq!(digests(&one), digests(&two));
    assert_eq!(one.report()["verdict"]["ranking"], two.report()["verdict"]["ranking"]);
    assert!(two.journal().all("block_finished").all(|end| end["invalid"].is_null()));
    two.is_left_clean();
}

#[test]
fn uml_simulated_trials_side_by_side_leave_nothing_when_the_conductor_is_killed() {
    let place = Place::new();
    let mut running = place.start(PLAN, &["--jobs", "2"]);
    running.wait_for("two trials under way, one done", |journal| {
        journal.finished() > 0 && journal.all("trial_started").count() > journal.finished() + 1
    });
    let before = place.journal();
    running.signal(Signal::KILL);
    place.is_left_clean();
    assert_eq!(place.journal().0[..before.0.len()], before.0[..]);
    place.fsverdict(&["resume", "run", "--jobs", "1", "--quiet"]).exits(0);
    let (resumed, whole) = (digests(&place), Place::new());
    whole.run(PLAN, &["--quiet"]).exits(0);
    assert_eq!(resumed, digests(&whole));
}

/// The matrix's models and memories are those of its candidates' guests.
#[test]
fn uml_simulated_trials_are_on_the_model_and_memory_of_their_candidate() {
    let factors = "[matrix]\nmodel = [\"ideal\", \"usb-stick\"]\nmemory = [\"256MiB\", \"512MiB\"]\n";
    let plan = PLAN.replace("model = \"usb-disk-5400\"\n", "").replace("[matrix]\n", factors);
    let place = Place::new();
    place.run(&plan, &["--fs", "ext4", "--blocks", "1"]).exits(0);
    let told = digests(&place);
    let of = |name: &str| told[&(1, name.to_owned())].clone();
    assert_eq!(told.len(), 4);
    assert_ne!(of("ext4-on-ideal-with-256MiB"), of("ext4-on-usb-stick-with-256MiB"));
    assert_ne!(of("ext4-on-ideal-with-256MiB"), of("ext4-on-ideal-with-512MiB"));
    let begin = place.journal().0[0].clone();
    let fidelity = begin["fidelity"].as_str().unwrap();
    assert!(fidelity.contains("the models ideal v1, usb-stick v1"), "{fidelity}");
    assert!(fidelity.contains("MiB of memory"), "{fidelity}");
    assert_eq!(begin["environment"]["device.kind"], "modelled: ideal, usb-stick");
}

#[test]
fn uml_only_simulated_trials_may_be_side_by_side() {
    let place = Place::new();
    let image = ["--device", "image:512MiB", "--jobs", "2"];
    place.run(PLAN, &image).exits(2).says(&["this machine's clock", "hint:", "--jobs"]);
    place.run(PLAN, &["--jobs", "9999"]).exits(2).says(&["there is room for", "hint: --jobs"]);
    assert!(!place.path().join("run").exists());
}

#[test]
fn uml_simulated_trials_want_a_model_that_there_is() {
    let place = Place::new();
    place
        .run(&PLAN.replace("usb-disk-5400", "usb-disk-5401"), &[])
        .exits(1)
        .says(&["usb-disk-5401", "hint:"]);
}

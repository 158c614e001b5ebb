//! Trials in simulated time, on a modelled device: the same seed gives the same requests at the same nanosecond, and
//! nothing stays. They want a laboratory kernel in the cache (`fsverdict kernel build`).

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic in its helpers too")]

mod common;

use std::collections::BTreeMap;

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

#[test]
fn uml_simulated_trials_want_a_model_that_there_is() {
    let place = Place::new();
    place
        .run(&PLAN.replace("usb-disk-5400", "usb-disk-5401"), &[])
        .exits(1)
        .says(&["usb-disk-5401", "hint:"]);
}

//! `fsverdict compare` on two runs that were just made.

use crate::common::Place;

const PLAN: &str = r#"
title        = "A tiny tree"
lab          = "native"
device.image = "64MiB"
protocol     = { blocks = 5, seed = 1 }
goal.metric  = "device_written"
dataset.tree = { profile = "mixed", files = 40, directories = 5, size = "1MiB" }
phase = [
    { name = "write", operation = "tree.write", dataset = "tree" },
    { name = "remove", operation = "tree.remove", dataset = "tree" },
]
[[candidate]]
filesystem = "ext4"
name       = "ext4"
MKFS
"#;

#[test]
fn loop_compare_finds_what_a_journal_writes() {
    let place = Place::new();
    for (name, mkfs) in [("plain", "mkfs = \"-O ^has_journal\""), ("journal", "")] {
        let plan = place.plan(name, &PLAN.replace("MKFS", mkfs));
        let undisturbed = ["--set", "protocol.disturbed=false"];
        place.fsverdict(&[&["run", &plan, "--quiet", "--out", name], &undisturbed[..]].concat()).exits(0);
    }
    let compare = |one: &str, other: &str| place.compare(&[one, other], "terminal");
    // What is written does not hang on how busy the machine is, as times do.
    compare("plain", "journal").exits(4).shows(&["Regression: worse: ", "mkfs: -O ^has_journal → none"]);
    compare("journal", "plain").exits(0).shows(&["No regression was found: better: "]);
    compare("plain", "plain").exits(2);
    compare("plain", "nowhere").exits(2);
}

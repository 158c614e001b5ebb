//! A run that several machines share: whatever comes when, the same is concluded; what does not belong together is refused.

use std::fs;
use std::path::Path;

use crate::common::Place;
use crate::common::shards::{shard, shared_run};

/// Four blocks of two sites.
fn two_sites(folder: &Path, order: &[(&str, u32)]) {
    shared_run(folder, 4);
    order.iter().for_each(|place| shard(folder, *place, ("", 1.0)));
}

const IN_ORDER: [(&str, u32); 4] = [("a", 1), ("a", 2), ("b", 1), ("b", 2)];

fn changed(path: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.contains(from), "{from}");
    fs::write(path, text.replace(from, to)).unwrap();
}

#[test]
fn in_whatever_order_blocks_arrive_the_same_is_concluded() {
    let (one, other) = (Place::new(), Place::new());
    let merged = |place: &Place, order: &[(&str, u32)]| {
        let folder = place.path().join("run");
        two_sites(&folder, order);
        // One that was under way when its machine went down.
        fs::write(folder.join("sites/a/block-0003.partial"), "{\"at\":").unwrap();
        place.fsverdict(&["merge", "run"]).exits(0).shows(&[
            "At each site",
            "these sites",
            "sites like these",
            "left out: sites/a/block-0003.partial: under way",
        ]);
        ["journal.jsonl", "report.json"].map(|name| fs::read(folder.join(name)).unwrap())
    };
    let first = merged(&one, &IN_ORDER);
    let second = merged(&other, &[("b", 2), ("a", 2), ("b", 1), ("a", 1)]);
    assert!(first == second);
    // Merged again, with what was merged before beside them.
    one.fsverdict(&["merge", "run"]);
    assert!(fs::read(one.path().join("run/journal.jsonl")).unwrap() == first[0]);
    one.fsverdict(&["merge", "run", "--settled"]).exits(0).says(&["settled: recommended after 4 blocks"]);
    one.fsverdict(&["resume", "run"]).exits(1).says(&["by several sites", "hint: `fsverdict block"]);
}

#[test]
fn half_a_block_is_left_out_and_said() {
    let place = Place::new();
    let folder = place.path().join("run");
    two_sites(&folder, &IN_ORDER);
    let torn = folder.join("sites/b/block-0002.jsonl");
    let text = fs::read(&torn).unwrap();
    fs::write(&torn, &text[..text.len() - 30]).unwrap();
    place.fsverdict(&["merge", "run"]).shows_broken(&[
        "left out: sites/b/block-0002.jsonl: its end is missing",
        "1 block is left out, beyond round 1: they wait for block 2 of site b",
    ]);
    place
        .fsverdict(&["merge", "run", "--settled"])
        .exits(1)
        .says(&["complete rounds: 1; the next round lacks block 2 of site b"]);
}

#[test]
fn what_does_not_belong_together_is_refused() {
    for (block, from, to, words) in [
        ("b/block-0001", "6.1.176\"", "6.12.117\"", "not the same kernel: 6.1.176 at a, b; 6.12.117 at b"),
        (
            "b/block-0002",
            "00c0ffee00c0ffee",
            "0badc0de0badc0de",
            "not the same build of fsverdict: 00c0ffee00c0ffee at a, b; 0badc0de0badc0de at b",
        ),
        ("b/block-0002", "disk of b", "disk of c", "site b: another device: it was disk of b"),
        ("a/block-0001", "plan_digest\":\"", "plan_digest\":\"f", "site a has another plan"),
    ] {
        let place = Place::new();
        let folder = place.path().join("run");
        two_sites(&folder, &IN_ORDER);
        changed(&folder.join(format!("sites/{block}.jsonl")), from, to);
        place.fsverdict(&["merge", "run"]).exits(1).says(&[words, "hint: "]);
        let site = &block[..1];
        place.fsverdict(&["merge", "run", "--without", site]);
        assert!(folder.join("journal.jsonl").exists(), "{words}");
    }
}

#[test]
fn a_run_of_its_own_is_not_written_over_and_nothing_is_made_of_nothing() {
    let place = Place::new();
    let folder = place.path().join("run");
    shared_run(&folder, 4);
    place.fsverdict(&["merge", "run"]).exits(1).says(&["no site has a whole block", "hint: "]);
    fs::copy("tests/runs/demo/journal.jsonl", folder.join("journal.jsonl")).unwrap();
    two_sites(&folder, &IN_ORDER);
    place.fsverdict(&["merge", "run"]).exits(2).says(&["there is nothing to merge", "hint: "]);
    place
        .fsverdict(&["block", "run", "--site", "../x", "--block", "1"])
        .exits(2)
        .says(&["cannot be the name of a site"]);
}

#[test]
fn devices_that_disagree_are_said_first() {
    let place = Place::new();
    let folder = place.path().join("run");
    shared_run(&folder, 9);
    for (site, factor) in [("disk", 1.0), ("other-disk", 1.0), ("stick", 0.2)] {
        (1..=3).for_each(|block| shard(&folder, (site, block), ("ext2", factor)));
    }
    let seen = place.fsverdict(&["merge", "run"]);
    let sentence = seen.stdout.lines().nth(1).unwrap();
    let said = "It depends on the device: at ";
    assert!(sentence.starts_with(said) && sentence.contains("disk, btrfs+luks2 takes 0."), "{}", seen.stdout);
}

#[test]
fn a_merge_without_a_complete_round_is_no_run_to_be_resumed() {
    let place = Place::new();
    let folder = place.path().join("run");
    two_sites(&folder, &[("a", 1), ("b", 2)]);
    place.fsverdict(&["merge", "run"]);
    assert!(!fs::read_to_string(folder.join("journal.jsonl")).unwrap().contains("block_started"));
    place.fsverdict(&["resume", "run"]).exits(1).says(&["by several sites", "hint: `fsverdict block"]);
}

#[test]
fn a_block_says_what_must_be_known_of_its_medium_and_one_that_was_disturbed_is_done_again() {
    let place = Place::new();
    for folder in ["one", "other"] {
        fs::create_dir(place.path().join(folder)).unwrap();
    }
    let plan = |name: &str, disturbed: &str| {
        let text = format!(
            r#"
title        = "Two folders"
protocol     = {{ blocks = 4, timeout = "60s", disturbed = {disturbed} }}
dataset.tree = {{ profile = "mixed", files = 40, directories = 6, size = "1MiB" }}
candidate    = [{{ filesystem = "directory", path = "{0}/one" }}, {{ filesystem = "directory", path = "{0}/other" }}]
phase        = [{{ name = "write", operation = "tree.write", dataset = "tree" }}]
"#,
            place.path().display()
        );
        place.plan(name, &text)
    };
    let block = |plan: &str, run: &str, site: &str, block: &str| {
        place.fsverdict(&["block", plan, "--out", run, "--site", site, "--block", block])
    };
    let quiet = plan("quiet", "false");
    for (site, number) in [("a", "1"), ("b", "1"), ("a", "2"), ("b", "2")] {
        block(&quiet, "run", site, number).exits(0);
    }
    let said = place.fsverdict(&["merge", "run"]).exits(0).shows_broken(&[]).stdout;
    for site in ["a", "b"] {
        let words = format!("at {site}: in folders nothing is made");
        assert_eq!(said.matches(&words).count(), 1, "{words}: {said}");
    }

    // Nobody's processor is as quiet as that: this one is busy.
    let busy = plan("busy", "{ foreign_cpu = 0.0 }");
    let mut spinning = std::process::Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
    let seen = block(&busy, "disturbed", "a", "1");
    spinning.kill().unwrap();
    spinning.wait().unwrap();
    seen.exits(1).says(&["block 1 of site a does not count", "hint: run the same command again"]);
    assert!(!place.path().join("disturbed/sites/a/block-0001.jsonl").exists());
    block(&quiet, "disturbed", "a", "1").exits(2).says(&["holds another run"]);
    place.fsverdict(&["merge", "disturbed"]).exits(1).says(&["no site has a whole block"]);
}

#[test]
fn a_round_waits_for_a_block_that_does_not_count() {
    let place = Place::new();
    let folder = place.path().join("run");
    two_sites(&folder, &IN_ORDER);
    let disturbed = folder.join("sites/b/block-0002.jsonl");
    changed(
        &disturbed,
        "\"event\":\"block_finished\"",
        "\"event\":\"block_finished\",\"invalid\":\"too busy\"",
    );
    fs::rename(&disturbed, disturbed.with_extension("partial")).unwrap();
    place.fsverdict(&["merge", "run"]).shows_broken(&[
        "sites/b/block-0002.partial: it does not count, and is to be done again: too busy",
        "they wait for block 2 of site b",
    ]);
}

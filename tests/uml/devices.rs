//! Several devices in simulated time: each its own, under one clock; put together or kept apart; one that fails.

use std::collections::BTreeMap;

use crate::common::labs::crash::{plan_on, series_is_killed};
use crate::common::{Place, not_run, tool};

const PLAN: &str = r#"
title        = "On several devices"
lab          = "uml"
device       = { model = "usb-disk-5400", size = "1GB", count = 3 }
protocol     = { blocks = 1, timeout = "120s" }
dataset.tree = { profile = "mixed", files = 60, directories = 8, size = "1MiB" }
phase = [
    { name = "write", operation = "tree.write", dataset = "tree" },
    { name = "read", operation = "tree.read", dataset = "tree", cold = true },
]
"#;

/// Candidates by name, as they stand in a plan.
fn plan(candidates: &[(&str, &str)]) -> String {
    let each = candidates.iter().map(|(name, says)| format!("[[candidate]]\nname = \"{name}\"\n{says}\n"));
    PLAN.to_owned() + &each.collect::<String>()
}

/// The digests of all traces, by candidate and fact.
fn digests(place: &Place) -> BTreeMap<(String, String), String> {
    let mut found = BTreeMap::new();
    for event in place.journal().all("facts") {
        let Some(facts) = event["facts"].as_object() else { continue };
        let candidate = event["trial"]["candidate"].as_str().unwrap_or_default();
        for (name, value) in facts.iter().filter(|(name, _)| name.ends_with(".trace")) {
            found.insert((candidate.to_owned(), name.clone()), value.as_str().unwrap().to_owned());
        }
    }
    found
}

/// Which of its devices a candidate has written to; looking at them is a kernel's habit.
fn written(place: &Place, candidate: &str) -> Vec<bool> {
    let journal = place.journal();
    let of = |name: &str| {
        let told = journal.all("facts").filter(|event| event["trial"]["candidate"] == candidate);
        let mut told = told.filter_map(|event| event["facts"][name].as_str()?.parse().ok());
        told.next().unwrap_or(0_u64) > 0
    };
    ["device.held", "device.2.held", "device.3.held"].map(of).to_vec()
}

#[test]
fn uml_simulated_each_device_is_one_of_its_own_under_one_clock() {
    let candidates = [
        ("one", "filesystem = \"ext4\""),
        ("btrfs", "filesystem = \"btrfs\"\nmkfs = \"-d raid1 -m raid1\""),
        ("crypt", "filesystem = \"btrfs\"\nlayers = [\"luks2\"]\nmkfs = \"-d raid1 -m raid1\""),
        ("log", "filesystem = \"xfs\"\nmkfs = \"-l logdev={device.2}\""),
        ("journal", "filesystem = \"ext4\"\nmkfs = \"-J device={device.3}\""),
    ];
    let (first, second) = (Place::new(), Place::new());
    for place in [&first, &second] {
        place.run(&plan(&candidates), &["--set", "protocol.circumstances=fixed"]).exits(0);
        place.is_left_clean();
    }
    assert_eq!(digests(&first).len(), 15);
    assert_eq!(digests(&first), digests(&second));
    let used = |candidate: &str| written(&first, candidate);
    assert_eq!(used("one"), [true, false, false]);
    assert_eq!(used("btrfs"), [true, true, true]);
    assert_eq!(used("crypt"), [true, true, true]);
    assert_eq!(used("log"), [true, true, false]);
    assert_eq!(used("journal"), [true, false, true]);
    first.fsverdict(&["trace", "run", "log", "--device", "2"]).exits(0).shows(&["write"]);
    let cautions = first.journal();
    let told: Vec<&str> = cautions.all("caution").filter_map(|event| event["text"].as_str()).collect();
    assert!(
        told.contains(&"one uses 1 of 3 devices") && told.contains(&"log uses 2 of 3 devices"),
        "{told:?}"
    );
}

#[test]
fn uml_simulated_arrays_are_made_used_and_gone() {
    if tool(&["sh", "-c", "command -v mdadm || true"]).is_empty() {
        return not_run("mdadm is not there");
    }
    let candidates = [
        ("mirror", "filesystem = \"ext4\"\nlayers = [\"md:raid1\"]"),
        ("stripes", "filesystem = \"xfs\"\nlayers = [\"md:raid0,chunk=64KiB\", \"luks2\"]"),
        ("parity", "filesystem = \"btrfs\"\nlayers = [\"luks2\", \"md:raid5,chunk=64KiB,bitmap=none\"]"),
        ("far", "filesystem = \"ext4\"\nlayers = [\"md:raid10,layout=f2\"]"),
        ("apart", "filesystem = \"xfs\"\nlayers = [\"md:raid1\"]\nmkfs = \"-l logdev={device.3}\""),
    ];
    let (first, second) = (Place::new(), Place::new());
    for place in [&first, &second] {
        place.run(&plan(&candidates), &["--set", "protocol.circumstances=fixed"]).exits(0);
        place.is_left_clean();
    }
    assert_eq!(digests(&first), digests(&second));
    for (candidate, level) in [("mirror", "raid1"), ("parity", "raid5"), ("far", "raid10")] {
        let journal = first.journal();
        let described = journal
            .all("command")
            .find(|event| event["trial"]["candidate"] == candidate && event["argv"][1] == "--detail");
        let said = described.unwrap()["stdout"].as_str().unwrap().to_owned();
        let has = |line: &str| said.lines().any(|found| found.trim() == line);
        assert!(has(&format!("Raid Level : {level}")), "{said}");
        assert!(!said.contains("resyncing") && !said.contains("degraded"), "{said}");
    }
    assert_eq!(written(&first, "mirror"), [true; 3]);
    assert_eq!(written(&first, "apart"), [true; 3]);
}

/// What a disk's end is to each is the candidate's: the run goes on.
#[test]
fn uml_simulated_a_device_that_fails_is_the_candidates_fate() {
    let place = Place::new();
    let candidates = [
        ("alone", "filesystem = \"xfs\"\nmkfs = \"-l logdev={device.2}\""),
        ("mirror", "filesystem = \"ext4\"\nlayers = [\"md:raid1\"]"),
        ("first", "filesystem = \"ext4\""),
    ];
    let fails = ["--set", "device.fails={ device = 2, after = \"1s\" }", "--set", "device.count=2"];
    let more = ["--set", "protocol.circumstances=fixed", "--blocks", "1"];
    place.run(&plan(&candidates), &[&fails[..], &more].concat()).exits(3);
    assert_eq!(place.status("mirror").0, "ok");
    assert_eq!(place.status("first").0, "ok");
    assert_eq!(place.status("alone").0, "failed");
    assert_eq!(place.journal().0.last().unwrap()["event"], "run_finished");
    place.is_left_clean();
}

#[test]
fn uml_killed_runs_on_arrays_leave_nothing() {
    let layers = ["\"luks2\", \"md:raid1\"", "\"md:raid0\", \"luks2\""];
    let each = layers.map(|layers| format!("[[candidate]]\nfilesystem = \"ext4\"\nlayers = [{layers}]\n"));
    let devices = "{ image = \"64MiB\", count = 2 }";
    series_is_killed(&|place| plan_on(place, "uml", devices, &each.concat()), 4);
}

//! Several devices in simulated time: each its own, under one clock; put together or kept apart; one that fails.

use std::collections::BTreeMap;

use crate::common::labs::arrays::goes_through_its_states;
use crate::common::labs::crash::{plan_on, series_is_killed, with_a_rebuild};
use crate::common::{Place, members, not_run, tool};

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

/// All candidates with `FULL=1`, otherwise these two.
fn tried<'a>(all: &[(&'a str, &'a str)], representatives: [&str; 2]) -> Vec<(&'a str, &'a str)> {
    members(all.iter().copied(), |(name, _)| (*name).to_owned(), representatives)
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
    let candidates = tried(&candidates, ["crypt", "log"]);
    let (first, second) = (Place::new(), Place::new());
    for place in [&first, &second] {
        place.run(&plan(&candidates), &["--set", "protocol.circumstances=fixed"]).exits(0);
        place.is_left_clean();
    }
    assert_eq!(digests(&first).len(), 3 * candidates.len());
    assert_eq!(digests(&first), digests(&second));
    for (name, _) in &candidates {
        let used = match *name {
            "one" => [true, false, false],
            "log" => [true, true, false],
            "journal" => [true, false, true],
            _ => [true; 3],
        };
        assert_eq!(written(&first, name), used, "{name}");
    }
    first.fsverdict(&["trace", "run", "log", "--device", "2"]).exits(0).shows(&["write"]);
    let cautions = first.journal();
    let told: Vec<&str> = cautions.all("caution").filter_map(|event| event["text"].as_str()).collect();
    assert!(told.contains(&"log uses 2 of 3 devices"), "{told:?}");
    assert_eq!(told.contains(&"one uses 1 of 3 devices"), candidates.len() == 5, "{told:?}");
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
    let candidates = tried(&candidates, ["mirror", "apart"]);
    let (first, second) = (Place::new(), Place::new());
    for place in [&first, &second] {
        place.run(&plan(&candidates), &["--set", "protocol.circumstances=fixed"]).exits(0);
        place.is_left_clean();
    }
    assert_eq!(digests(&first), digests(&second));
    let levels = [("mirror", "raid1"), ("parity", "raid5"), ("far", "raid10")];
    for (candidate, level) in
        levels.into_iter().filter(|(name, _)| candidates.iter().any(|(tried, _)| tried == name))
    {
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

#[test]
fn uml_simulated_devices_are_missing_made_anew_and_compared() {
    if tool(&["sh", "-c", "command -v mdadm || true"]).is_empty() {
        return not_run("mdadm is not there");
    }
    let candidates = [
        ("mirror", "filesystem = \"ext4\"\nlayers = [\"md:raid1\"]"),
        ("crypt", "filesystem = \"xfs\"\nlayers = [\"luks2\", \"md:raid10,bitmap=none\", \"luks1\"]"),
        ("btrfs", "filesystem = \"btrfs\"\nlayers = [\"luks2\"]\nmkfs = \"-d raid1 -m raid1\""),
    ];
    goes_through_its_states(
        "uml",
        "model = [\"usb-disk-5400\", \"hdd-7200\"], size = \"512MiB\"",
        &tried(&candidates, ["mirror", "btrfs"]),
    );
}

#[test]
fn uml_simulated_layers_lie_under_every_filesystem() {
    let of = |filesystem: &str, layer: &str| format!("filesystem = \"{filesystem}\"\nlayers = [\"{layer}\"]");
    let candidates = [
        ("ext4-sums", of("ext4", "integrity:none")),
        ("xfs-sums", of("xfs", "integrity:none,sector=4096")),
        // These write when they are taken down.
        ("xfs-journal", of("xfs", "integrity:journal")),
        ("ext4-bitmap", of("ext4", "integrity:bitmap,sector=4096")),
        ("btrfs-sums", of("btrfs", "integrity:none")),
        ("ext4-crypt", of("ext4", "luks2:sector=512,no_read_workqueue,no_write_workqueue")),
        ("xfs-crypt", of("xfs", "luks2:cipher=aes-xts-plain64,key=256,sector=4096,header=detached")),
        ("btrfs-crypt", of("btrfs", "luks1:cipher=aes-cbc-essiv:sha256,key=256")),
    ];
    let each: Vec<(&str, &str)> = candidates.iter().map(|(name, says)| (*name, says.as_str())).collect();
    let each = tried(&each, ["xfs-sums", "btrfs-crypt"]);
    let place = Place::new();
    let small = ["--set", "device.count=1", "--set", "device.size=320MiB"];
    place.run(&plan(&each), &[&small[..], &["--set", "protocol.circumstances=fixed"]].concat()).exits(0);
    let journal = place.journal();
    let described = |candidate: &str, step: &str| {
        let mut all = journal
            .all("command")
            .filter(|event| event["trial"]["candidate"] == candidate && event["step"] == step);
        all.next().unwrap_or_else(|| panic!("{candidate}: no {step}"))["stdout"].as_str().unwrap().to_owned()
    };
    for (candidate, step, wanted) in [
        ("ext4-sums", "describe checksums", "sector size:  512"),
        ("xfs-sums", "describe checksums", "sector size:  4096"),
        ("ext4-crypt", "describe encryption", "no_read_workqueue"),
        ("xfs-crypt", "describe encryption", "256 bits"),
        ("btrfs-crypt", "describe encryption", "aes-cbc-essiv:sha256"),
    ] {
        if !each.iter().any(|(name, _)| *name == candidate) {
            continue;
        }
        let said = described(candidate, step);
        assert!(said.contains(wanted), "{candidate}: {said}");
    }
    place.is_left_clean();
}

/// What a disk's end is to each is the candidate's: the run goes on.
#[test]
fn uml_simulated_a_device_that_fails_is_the_candidates_fate() {
    let place = Place::new();
    let candidates = [
        ("alone", "filesystem = \"xfs\"\nmkfs = \"-l logdev={device.2}\""),
        ("mirror", "filesystem = \"ext4\"\nlayers = [\"md:raid1\"]"),
        ("first", "filesystem = \"ext4\""),
        ("own", "filesystem = \"btrfs\"\nmkfs = \"-d raid1 -m raid1\""),
    ];
    let fails = ["--set", "device.fails={ device = 2, after = \"1s\" }", "--set", "device.count=2"];
    let more = ["--set", "protocol.circumstances=fixed", "--blocks", "1"];
    place.run(&plan(&candidates), &[&fails[..], &more].concat()).exits(3);
    assert_eq!(place.status("mirror").0, "ok");
    assert_eq!(place.status("first").0, "ok");
    // What is mounted anew is mounted without it.
    assert_eq!(place.status("own").0, "ok", "{:?}", place.status("own"));
    assert_eq!(place.status("alone").0, "failed");
    assert_eq!(place.journal().0.last().unwrap()["event"], "run_finished");
    place.is_left_clean();
}

#[test]
fn uml_killed_runs_on_arrays_leave_nothing() {
    let layers = ["\"luks2\", \"md:raid1\"", "\"md:raid10\", \"luks2\""];
    let each = layers.map(|layers| format!("[[candidate]]\nfilesystem = \"ext4\"\nlayers = [{layers}]\n"));
    let devices = "{ image = \"64MiB\", count = 2 }";
    series_is_killed(&|place| with_a_rebuild(&plan_on(place, "uml", devices, &each.concat())), 4);
}

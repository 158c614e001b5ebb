//! Volumes of LVM under a filesystem, and snapshots of these; what is sealed once it is written; and an overlay above one.

use crate::common::labs::crash::{plan_on, series_is_killed};
use crate::common::{Place, not_run, tool};

const PLAN: &str = r#"
title        = "On volumes"
lab          = "uml"
device       = { model = "hdd-7200", size = "512MiB", count = 2 }
protocol     = { blocks = 1, timeout = "120s", circumstances = "fixed" }
dataset.tree = { profile = "mixed", files = 60, directories = 8, size = "2MiB" }
phase = [
    { name = "write", operation = "tree.write", dataset = "tree" },
    { name = "over", operation = "tree.overwrite", dataset = "tree" },
    { name = "keep", operation = "snapshot.create", dataset = "tree" },
    { name = "over-kept", operation = "tree.overwrite", dataset = "tree" },
    { name = "keep-again", operation = "snapshot.create", dataset = "tree" },
    { name = "give-up", operation = "snapshot.delete", dataset = "tree" },
    { name = "read", operation = "tree.read", dataset = "tree", cold = true },
]

[[candidate]]
name       = "linear"
filesystem = "ext4"
layers     = ["lvm:linear,spare=30%"]
[[candidate]]
name       = "striped"
filesystem = "xfs"
layers     = ["luks2", "lvm:striped,chunk=128KiB,spare=30%"]
[[candidate]]
name       = "thin"
filesystem = "ext4"
layers     = ["lvm:thin"]
[[candidate]]
name       = "full"
filesystem = "ext4"
layers     = ["lvm:linear"]
"#;

fn has_lvm() -> bool {
    !tool(&["sh", "-c", "command -v lvcreate || true"]).is_empty()
}

#[test]
fn uml_simulated_volumes_keep_what_is_written_over() {
    if !has_lvm() {
        return not_run("lvcreate is not there");
    }
    let place = Place::new();
    place.run(PLAN, &[]).exits(3).says(&["skipped full:", "any on lvm:thin, or spare=40% behind lvm:linear"]);
    let journal = place.journal();
    let figure = |candidate: &str, phase: &str, metric: &str| {
        let all = journal.all("observation");
        let mut of = all.filter(|seen| seen["trial"]["candidate"] == candidate && seen["phase"] == phase);
        let measured = of.find_map(|seen| {
            let all = seen["measurements"].as_array().unwrap().clone();
            all.into_iter().find(|one| one["metric"] == metric)?["value"].as_f64()
        });
        measured.unwrap_or_else(|| panic!("{candidate}: no {metric} of {phase}"))
    };
    for candidate in ["linear", "striped", "thin"] {
        assert_eq!(place.status(candidate).0, "ok", "{candidate}");
    }
    // What is kept is read and written elsewhere before it is written over; a thin volume writes elsewhere at once.
    for candidate in ["linear", "striped"] {
        let of = |metric: &str, phase: &str| figure(candidate, phase, metric);
        assert!(of("device_read", "over-kept") > of("device_read", "over") + 1e6, "{candidate}");
        assert!(of("device_written", "over-kept") > 1.5 * of("device_written", "over"), "{candidate}");
    }
    let of = |phase: &str| figure("thin", phase, "device_written");
    assert!(of("over-kept") < 1.5 * of("over"), "{} and {}", of("over"), of("over-kept"));
    let made = |candidate: &str, step: &str| {
        let of = journal.all("command").filter(|event| event["trial"]["candidate"] == candidate);
        of.filter(|event| event["step"] == step).count()
    };
    assert_eq!((made("linear", "snapshot.create"), made("thin", "snapshot.delete")), (2, 1));
    place.is_left_clean();
}

#[test]
fn uml_simulated_volumes_go_back_to_what_they_kept() {
    if !has_lvm() {
        return not_run("lvcreate is not there");
    }
    let place = Place::new();
    let give_up = "{ name = \"give-up\", operation = \"snapshot.delete\", dataset = \"tree\" }";
    let back = r#"{ name = "back", operation = "snapshot.rollback", dataset = "tree" },
    { name = "over-again", operation = "tree.overwrite", dataset = "tree" }"#;
    let plan = PLAN.replace(give_up, back).replace("[\"lvm:linear\"]", "[\"lvm:thin\", \"luks2\"]");
    assert!(plan.contains("rollback") && plan.contains("\"luks2\"]"));
    place
        .run(&plan, &[])
        .exits(3)
        .says(&["skipped full:", "going back to a snapshot, which ext4 does not have"]);
    for candidate in ["linear", "striped", "thin"] {
        assert_eq!(place.status(candidate).0, "ok", "{candidate}: {:?}", place.status(candidate));
    }
    place.is_left_clean();
}

const SEALED: &str = r#"
title        = "Sealed"
lab          = "uml"
device       = { model = "hdd-7200", size = "512MiB" }
protocol     = { blocks = 1, timeout = "120s", circumstances = "fixed" }
dataset.tree = { profile = "mixed", files = 60, directories = 8, size = "2MiB" }
phase = [
    { name = "write", operation = "tree.write", dataset = "tree" },
    { name = "over", operation = "tree.overwrite", dataset = "tree" },
    { name = "read", operation = "tree.read", dataset = "tree", cold = true },
    { name = "refused", command = '! touch "$MOUNT/tree/new" 2>/dev/null' },
]
[[candidate]]
filesystem = "ext4"
layers     = ["verity"]
[[candidate]]
filesystem = "xfs"
layers     = ["luks2", "verity:once", "fuse"]
[[candidate]]
filesystem = "btrfs"
layers     = ["verity"]
[[candidate]]
name       = "between"
filesystem = "ext4"
layers     = ["verity", "luks2"]
"#;

#[test]
fn uml_simulated_what_is_sealed_is_read_and_not_written() {
    let place = Place::new();
    place.run(SEALED, &[]).exits(3).says(&["skipped between:", "the last of `layers` below the filesystem"]);
    let journal = place.journal();
    for candidate in ["ext4+verity", "xfs+luks2+verity:once+fuse", "btrfs+verity"] {
        assert_eq!(place.status(candidate).0, "ok", "{candidate}: {:?}", place.status(candidate));
    }
    // What the device says of a phase is an observation of its own.
    let is_timed = |one: &&serde_json::Value| {
        let all = one["measurements"].as_array().unwrap();
        one["phase"] == "seal" && all.iter().any(|one| one["metric"] == "durable")
    };
    assert_eq!(journal.all("observation").filter(is_timed).count(), 3);
    let is_verified = |one: &&serde_json::Value| {
        one["step"] == "describe hashes" && one["stdout"].as_str().unwrap().contains("status:      verified")
    };
    assert_eq!(journal.all("command").filter(is_verified).count(), 3, "{journal:#?}");
    place.is_left_clean();

    let late = SEALED.replace(
        "{ name = \"refused\"",
        "{ name = \"late\", operation = \"tree.overwrite\", dataset = \"tree\" },\n    { name = \"refused\"",
    );
    Place::new().run(&late, &[]).says(&["phase `late` writes, but `verity` is sealed"]);
    Place::new()
        .run(&SEALED.replace(", cold = true", ""), &[])
        .says(&["`verity` is sealed before the first phase that is cold"]);
}

const OVERLAY: &str = r#"
title        = "Through an overlay"
lab          = "uml"
device       = { model = "hdd-7200", size = "512MiB" }
protocol     = { blocks = 1, timeout = "120s", circumstances = "fixed" }
dataset.tree = { profile = "mixed", files = 60, directories = 8, size = "2MiB" }
dataset.big  = { file = "16MiB" }
phase = [
    { name = "write", operation = "tree.write", dataset = "tree" },
    { name = "load", operation = "stream.write", dataset = "big" },
    { name = "read", operation = "tree.read", dataset = "tree", cold = true },
    { name = "change", operation = "stream.rewrite", dataset = "big", cold = true },
    { name = "over", operation = "tree.overwrite", dataset = "tree", cold = true },
    { name = "remove", operation = "tree.remove", dataset = "tree", cold = true },
]
[[candidate]]
filesystem = "ext4"
[[candidate]]
filesystem = "ext4"
layers     = ["overlay"]
[[candidate]]
filesystem = "xfs"
layers     = ["luks2", "overlay:metacopy"]
[[candidate]]
name       = "beneath"
filesystem = "ext4"
layers     = ["overlay", "luks2"]
"#;

#[test]
fn uml_simulated_an_overlay_copies_up_what_is_changed() {
    let place = Place::new();
    place.run(OVERLAY, &[]).exits(3).says(&["it is the last of `layers`"]);
    assert_eq!(place.status("beneath").0, "skipped");
    let journal = place.journal();
    for candidate in ["ext4", "ext4+overlay", "xfs+luks2+overlay:metacopy"] {
        assert_eq!(place.status(candidate).0, "ok", "{candidate}");
    }
    let read = |candidate: &str| {
        let mut of = journal.all("observation").filter(|seen| seen["trial"]["candidate"] == candidate);
        let seen = of.find(|seen| seen["phase"] == "change").unwrap()["measurements"].clone();
        let all = seen.as_array().unwrap().iter();
        let read = all.clone().find(|one| one["metric"] == "device_read").unwrap()["value"].as_f64();
        read.unwrap()
    };
    // The whole file is copied before a byte of it is changed, which nobody else reads.
    assert!(read("ext4") < 8e6 && read("ext4+overlay") > 16e6, "{} {}", read("ext4"), read("ext4+overlay"));
    place.is_left_clean();

    let none_is_cold = OVERLAY.replace(", cold = true", "");
    assert_ne!(none_is_cold, OVERLAY);
    Place::new().run(&none_is_cold, &[]).says(&["`overlay` is laid above what was written"]);
}

#[test]
fn uml_killed_runs_on_volumes_leave_nothing() {
    if !has_lvm() {
        return not_run("lvcreate is not there");
    }
    let layers = [
        "\"luks2\", \"lvm:thin\", \"fuse\"",
        "\"lvm:striped\", \"verity\"",
        "\"lvm:linear\", \"integrity:journal\", \"overlay\"",
    ];
    let each = layers.map(|layers| format!("[[candidate]]\nfilesystem = \"ext4\"\nlayers = [{layers}]\n"));
    let devices = "{ image = \"64MiB\", count = 2 }";
    let cold = |plan: String| {
        let read = "{ name = \"read\", operation = \"tree.read\", dataset = \"tree\", cold = true }";
        let changed = plan.replacen("{ name = \"hold\"", &format!("{read},\n    {{ name = \"hold\""), 1);
        assert_ne!(changed, plan);
        changed
    };
    series_is_killed(&|place| cold(plan_on(place, "uml", devices, &each.concat())), 4);
}

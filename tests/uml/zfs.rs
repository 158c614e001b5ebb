//! ZFS in simulated time, in a kernel that has it: `fsverdict kernel build --with zfs` made it on this machine.

use crate::common::{Place, not_run};

const PLAN: &str = r#"
title        = "Pools"
lab          = "uml"
cpu          = "free"
device       = { model = "sata-ssd", size = "512MiB", count = 2 }
protocol     = { blocks = 1, timeout = "300s", circumstances = "fixed", seed = 3 }
dataset.tree = { profile = "mixed", files = 60, directories = 8, size = "2MiB" }
phase = [
    { name = "write", operation = "tree.write", dataset = "tree" },
    { name = "keep", operation = "snapshot.create", dataset = "tree" },
    { name = "send", operation = "snapshot.send", dataset = "tree", cold = true },
    { name = "receive", operation = "snapshot.receive", dataset = "tree" },
    { name = "over", operation = "tree.overwrite", dataset = "tree" },
    { name = "read", operation = "tree.read", dataset = "tree", cold = true },
    { name = "back", operation = "snapshot.rollback", dataset = "tree" },
    { name = "check", operation = "fsck" },
]

[[candidate]]
name       = "stripe"
filesystem = "zfs"
mkfs       = "-O recordsize=16K -O compression=zstd"
[[candidate]]
name       = "mirror"
filesystem = "zfs"
mkfs       = "-o ashift=12 mirror"
[[candidate]]
name       = "encrypted"
filesystem = "zfs"
mkfs       = "-O encryption=aes-256-gcm"
"#;

fn has_zfs(place: &Place) -> bool {
    place.fsverdict(&["kernel", "list"]).exits(0).stdout.contains("with ZFS")
}

#[test]
fn uml_simulated_pools_are_made_filled_scrubbed_and_exported() {
    let place = Place::new();
    if !has_zfs(&place) {
        return not_run("no kernel with ZFS: fsverdict kernel build --with zfs");
    }
    place.run(PLAN, &[]).exits(0);
    let journal = place.journal();
    let lines = |step: &str| -> Vec<String> {
        let of = journal.all("command").filter(|event| event["step"] == step);
        of.map(|event| {
            let words = event["argv"].as_array().unwrap().iter().map(|word| word.as_str().unwrap());
            words.collect::<Vec<_>>().join(" ")
        })
        .collect()
    };
    // Each mount and each check imports the pool, and what imports it exports it; a new pool is exported, too.
    let (imports, exports, made) = (lines("import the pool"), lines("export the pool"), lines("mkfs"));
    assert_eq!(exports.len(), imports.len() + made.len(), "{imports:?} {exports:?}");
    assert!(
        imports
            .iter()
            .all(|line| line.contains(" -d /dev/fsverdict/vda -d /dev/fsverdict/vdb fsverdict-vda"))
    );
    assert!(
        made.iter().any(|line| line.ends_with("fsverdict-vda mirror /dev/fsverdict/vda /dev/fsverdict/vdb"))
    );
    // One check that the plan asks for, and one at the end of each trial; each after a scrub.
    assert_eq!(lines("scrub the pool").len(), lines("check").len() + lines("fsck").len());
    assert!(
        journal.measured("read", "device_read").iter().all(|bytes| *bytes > 0.0),
        "a cold read came from the ARC"
    );
    // The same seed gives the same requests.
    let again = Place::new();
    again.run(PLAN, &[]).exits(0);
    let traces = |place: &Place| {
        // Trials beside each other end in any order.
        let mut traces = place.journal().fact("device.trace");
        traces.sort();
        traces
    };
    assert_eq!((traces(&place).len(), traces(&again)), (3, traces(&place)));
}

const STATES: &str = r#"
title        = "A device of a pool is lost"
lab          = "uml"
cpu          = "free"
device       = { model = "sata-ssd", size = "512MiB", count = 2 }
protocol     = { blocks = 1, timeout = "300s", circumstances = "fixed", seed = 3 }
dataset.tree = { profile = "mixed", files = 60, directories = 8, size = "8MiB" }
phase = [
    { name = "write", operation = "tree.write", dataset = "tree" },
    { name = "scrubbed", operation = "tree.read", dataset = "tree", cold = true, state = "scrubbing" },
    { name = "lost", operation = "tree.overwrite", dataset = "tree", state = "degraded" },
    { name = "rebuilt", operation = "tree.read", dataset = "tree", cold = true, state = "rebuilding" },
    { name = "check", operation = "fsck" },
]

[[candidate]]
name       = "mirror"
filesystem = "zfs"
mkfs       = "mirror -O compression=off"
[[candidate]]
name       = "stripe"
filesystem = "zfs"
"#;

#[test]
fn uml_simulated_pools_go_on_without_a_device_and_restore_it() {
    let place = Place::new();
    if !has_zfs(&place) {
        return not_run("no kernel with ZFS: fsverdict kernel build --with zfs");
    }
    place.run(STATES, &[]).exits(3);
    let journal = place.journal();
    // A pool without copies cannot lose a device.
    assert!(journal.all("candidate_skipped").any(|event| event["candidate"] == "stripe"));
    for (phase, metric) in [("scrubbed", "scrub"), ("rebuilt", "rebuild")] {
        let measured = journal.measured(phase, metric);
        assert!(measured.len() == 1 && measured[0] > 0.0, "{phase} {measured:?}");
    }
    let argv = |event: &serde_json::Value| event["argv"].to_string();
    let without = journal.all("command").filter(|event| event["step"] == "import the pool");
    let without = without.filter(|event| !argv(event).contains("/dev/fsverdict/vdb")).count();
    assert!(without >= 2, "{without} imports without the device that was lost");
    // The last check is of the restored pool.
    let checks: Vec<_> = journal.all("command").filter(|event| event["step"] == "check").collect();
    let status = checks[0]["stdout"].to_string();
    assert!(
        checks.len() == 1 && status.contains("state: ONLINE") && status.contains("with 0 errors"),
        "{status}"
    );
}

const FAST: &str = r#"
title         = "A scrub that is over within a tick"
lab           = "uml"
cpu           = "free"
device        = { model = "nvme-plp", size = "256MiB", count = 2 }
protocol      = { blocks = 1, timeout = "300s", circumstances = "fixed", seed = 3 }
faults        = { rot = 2, accept_loss = true }
dataset.notes = { flat = 20, file_size = "8KiB" }
candidate     = [{ filesystem = "zfs", mkfs = "mirror" }]
phase = [
    { name = "write", operation = "directory.fill", dataset = "notes" },
    { name = "save", operation = "directory.save", dataset = "notes" },
]
"#;

/// Devices that a scrub has reopened are in use until the kernel's next tick. On a device that has nothing to flush the pool was
/// scrubbed, checked and exported by then, and the next import did not find it ("no such pool available").
#[test]
fn uml_simulated_pools_are_imported_within_the_tick_in_which_they_were_scrubbed() {
    let place = Place::new();
    if !has_zfs(&place) {
        return not_run("no kernel with ZFS: fsverdict kernel build --with zfs");
    }
    place.run(FAST, &[]).exits(0).says(&["rot: zfs:mirror: 2 rotten blocks: "]);
    let held = place.report()["rot"][0]["held"].to_string();
    assert!(!held.contains("unmountable"), "{held}");
}

const FAULTS: &str = r#"
title         = "Pools, rot and power cuts"
lab           = "uml"
cpu           = "free"
device        = { model = "sata-ssd", size = "512MiB", count = 2 }
protocol      = { blocks = 1, timeout = "300s", circumstances = "fixed", seed = 3 }
faults        = { rot = 8, power_cuts = 6, accept_loss = true }
dataset.notes = { flat = 60, file_size = "8KiB" }
phase = [
    { name = "write", operation = "directory.fill", dataset = "notes" },
    { name = "save", operation = "directory.save", dataset = "notes" },
    { name = "again", operation = "directory.save", dataset = "notes", cold = true },
]

[[candidate]]
name       = "mirror"
filesystem = "zfs"
mkfs       = "mirror"
[[candidate]]
name       = "unsynced"
filesystem = "zfs"
mkfs       = "-O sync=disabled"
"#;

#[test]
fn uml_simulated_mirrors_heal_rot_and_pools_that_ignore_fsync_lose_what_was_saved() {
    let place = Place::new();
    if !has_zfs(&place) {
        return not_run("no kernel with ZFS: fsverdict kernel build --with zfs");
    }
    place.run(FAULTS, &[]).says(&["rot: mirror: 8 rotten blocks", "power cuts: unsynced: "]);
    let report = place.report();
    let of = |what: &str, candidate: &str| {
        let all = report[what].as_array().unwrap();
        all.iter().find(|one| one["candidate"] == candidate).unwrap().clone()
    };
    let count = |outcomes: &serde_json::Value, names: &[&str]| -> u64 {
        names.iter().map(|name| outcomes[name].as_u64().unwrap_or(0)).sum()
    };
    const LOSSES: [&str; 4] = ["silent_loss", "loss_found", "loss_reported", "unmountable"];
    // What rots on one device is restored from the other, by the read that finds it or by the scrub.
    let mirror = of("rot", "mirror");
    let held: Vec<_> =
        mirror["held"].as_object().unwrap().values().map(|one| one["outcomes"].clone()).collect();
    let restored: u64 = held.iter().map(|outcomes| count(outcomes, &["healed", "repaired"])).sum();
    let lost: u64 = held.iter().map(|outcomes| count(outcomes, &LOSSES)).sum();
    assert!(restored > 0 && lost == 0, "{mirror}");
    // The control is a pool that returns from fsync at once: it loses what was saved.
    let [mirror, unsynced] = ["mirror", "unsynced"].map(|name| of("power_cuts", name)["outcomes"].clone());
    assert!(count(&mirror, &["unharmed"]) > 0 && count(&mirror, &LOSSES) == 0, "{mirror}");
    assert!(count(&unsynced, &LOSSES) > 0, "{unsynced}");
}

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
    let traces = |place: &Place| place.journal().fact("device.trace");
    assert_eq!((traces(&place).len(), traces(&again)), (3, traces(&place)));
}

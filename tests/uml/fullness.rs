//! A filesystem that is filled on purpose, with those that need room to make room.

use crate::common::{Place, members};

/// What df(1) calls full is another for each; what goes in, is counted, and all of it is found as it was written.
#[test]
fn uml_filesystems_are_filled_until_they_take_no_more_and_freed_again() {
    let place = Place::new();
    let plan = r#"
title        = "Full"
lab          = "uml"
device       = { model = "sata-ssd", size = "340MiB" }
protocol     = { blocks = 1, timeout = "300s", devices = "one" }
dataset.tree = { profile = "mixed", files = 60, directories = 8, size = "6MiB" }
phase = [
    { name = "half", operation = "space.fill", to = 0.5, dataset = "tree" },
    { name = "write", operation = "tree.write", dataset = "tree", into = "beside" },
    { name = "full", operation = "space.fill", to = 1, dataset = "tree" },
    { name = "room", operation = "space.free", to = 0.6, dataset = "tree" },
]
"#;
    let all = ["ext4", "xfs", "btrfs", "f2fs", "jfs"];
    let filesystems = members(all, |name| (*name).to_owned(), ["btrfs", "jfs"]);
    let plan = format!("{plan}matrix.filesystem = {filesystems:?}\n");
    place
        .run(&plan, &["--all"])
        .exits(0)
        .shows_broken(&["each holds when it is full (full): jfs ", "filled in one go"]);
    let journal = place.journal();
    for name in filesystems {
        let held = |phase: &str| {
            let mut found = journal.all("observation");
            let found = found.find(|one| one["phase"] == phase && one["trial"]["candidate"] == name).unwrap();
            let metrics = found["measurements"].as_array().unwrap();
            let held = metrics.iter().find(|one| one["metric"] == "held").unwrap();
            held["value"].as_f64().unwrap() / f64::from(340 << 20)
        };
        let (half, full, room) = (held("half"), held("full"), held("room"));
        assert!(half < 0.55 && half < full && full < 0.99, "{name}: {half} and {full}");
        assert!(room < full && room > 0.2, "{name}: {full} and {room}");
    }
    place.is_left_clean();
}

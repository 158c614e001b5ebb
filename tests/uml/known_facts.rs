//! What everybody knows of filesystems, found again on a modelled device (docs/results/known-facts.md has more, with figures).

use crate::common::Place;

const PLAN: &str = r#"
title         = "Known facts"
lab           = "uml"
cpu           = "free"
device        = { model = "hdd-7200", size = "2GB" }
protocol      = { blocks = 1, timeout = "120s", circumstances = "fixed" }
dataset.big   = { file = "16MB" }
dataset.crowd = { flat = 1000, file_size = "1KiB" }
candidate = [
    { name = "plain", filesystem = "ext4" },
    { name = "journal", filesystem = "ext4", mount = "data=journal" },
    { name = "noatime", filesystem = "ext4", mount = "noatime,barrier=0", mkfs = "-O ^dir_index" },
    { name = "clusters", filesystem = "ext4", mkfs = "-O bigalloc" },
    { name = "btrfs", filesystem = "btrfs" },
    { name = "ext2", filesystem = "ext2" },
]
phase = [
    { name = "write", operation = "stream.write", dataset = "big" },
    { name = "copy", command = 'cp --reflink=auto "$MOUNT/big" "$MOUNT/copy"', cold = true },
    { name = "fsyncs", command = 'for i in 1 2 3 4 5 6 7 8 9; do echo $i >>"$MOUNT/log"; sync "$MOUNT/log"; done' },
    { name = "fill", operation = "directory.fill", dataset = "crowd" },
    { name = "read", command = 'cat "$MOUNT"/crowd/* >/dev/null', cold = true },
    { name = "again", command = 'cat "$MOUNT"/crowd/* >/dev/null', cold = true },
    { name = "fio", adapter = "fio", options = "--name=a --rw=write --bs=64k --size=16m --end_fsync=1" },
]
"#;

#[test]
fn uml_simulated_trials_find_what_is_known() {
    let place = Place::new();
    place.run(PLAN, &[]).exits(0);
    let journal = place.journal();
    let of = |candidate: &str, phase: &str, metric: &str| {
        let is_it =
            |event: &&serde_json::Value| event["phase"] == phase && event["trial"]["candidate"] == candidate;
        let all = journal.all("observation").filter(is_it);
        let mut found = all.flat_map(|event| event["measurements"].as_array().unwrap());
        found.find(|found| found["metric"] == metric).and_then(|found| found["value"].as_f64())
    };
    let written = |candidate: &str, phase: &str| of(candidate, phase, "device_written").unwrap();
    // All data twice (ext4(5), data=journal).
    let twice = written("journal", "write") / written("plain", "write");
    assert!((1.9..2.2).contains(&twice), "{twice}");
    // A copy that shares its blocks.
    assert!(written("plain", "copy") > 15e6 && written("btrfs", "copy") < 1e6);
    assert!(of("btrfs", "copy", "device_read").unwrap() < 1e6);
    // Two flushes for each fsync, before the commit and after it; none without barriers.
    let flushes = |candidate| of(candidate, "fsyncs", "device_flushes").unwrap();
    assert!(flushes("plain") >= 18.0 && flushes("noatime") < 4.0);
    // The driver of ext4 serves ext2, as in distributions: its own writes each of the 1000 inodes by itself in a sync.
    assert!(of("ext2", "fill", "device_writes").unwrap() < 200.0);
    // relatime writes the times of the first access and not of the second (mount(8)); noatime none.
    let [first, second] = ["read", "again"].map(|phase| written("plain", phase));
    assert!(first > 4.0 * second && second <= 2.0 * written("noatime", "read"), "{first} {second}");
    // fio goes by the guest's clock: no disk writes 1 GB/s. And what CPU takes is not known there.
    assert!(of("plain", "fio", "fio_write_bandwidth").unwrap() < 1e9);
    assert!(["cpu", "cpu_kernel", "fio_cpu_user"].iter().all(|metric| of("plain", "fio", metric).is_none()));
    let about = |event: &&serde_json::Value| event["text"].as_str().unwrap().contains("without an index");
    assert!(journal.all("caution").filter(about).all(|event| event["trial"]["candidate"] == "noatime"));
    assert_eq!(journal.all("caution").filter(about).count(), 1);
    place.is_left_clean();
}

#[test]
fn uml_simulated_time_has_no_goal_that_is_cpu_time() {
    let place = Place::new();
    place.run(PLAN, &["--set", "goal.metric=cpu"]).exits(1).says(&["`cpu`", "simulated time", "hint:"]);
}

//! Snapshots and clones of a filesystem's own, natively.

use crate::common::Place;

/// A tree that is kept as it was before it was written over, and before it was removed.
const KEPT: &str = r#"
title             = "What is kept"
lab               = "native"
device.image      = "384MiB"
protocol          = { blocks = 1, seed = 5, timeout = "60s" }
dataset.tree      = { profile = "mixed", files = 40, directories = 6, size = "1MiB" }
matrix.filesystem = ["btrfs", "ext4"]
phase = [
    { name = "write", operation = "tree.write", dataset = "tree" },
    { name = "keep", operation = "snapshot.create", dataset = "tree" },
    { name = "overwrite", operation = "tree.overwrite", dataset = "tree" },
    { name = "keep-again", operation = "snapshot.create", dataset = "tree" },
    { name = "remove", operation = "tree.remove", dataset = "tree" },
    { name = "give-up", operation = "snapshot.delete", dataset = "tree" },
]
"#;

#[test]
fn loop_snapshots_hold_what_was_there_and_who_has_none_is_skipped() {
    let place = Place::new();
    place.run(KEPT, &[]).exits(3).shows(&["btrfs"]);
    let journal = place.journal();
    let of = |step: &str| -> Vec<String> {
        let commands = journal.all("command").filter(|command| command["step"] == step);
        commands.map(|command| command["argv"].to_string()).collect()
    };
    assert_eq!(of("snapshot.create").len(), 2, "{journal:#?}");
    assert!(of("snapshot.create")[1].contains("/.snapshot-2"), "{journal:#?}");
    // The oldest goes; the other was compared with the tree as it was written over, at the end of the trial.
    assert!(of("snapshot.delete").concat().contains("/.snapshot-1"), "{journal:#?}");
    for phase in ["keep", "keep-again", "give-up"] {
        assert_eq!(journal.measured(phase, "durable").len(), 1, "{phase}");
    }
    assert_eq!(place.status("btrfs").0, "ok");
    let (status, reason) = place.status("ext4");
    assert_eq!(status, "skipped");
    assert!(reason.contains("snapshots of the whole filesystem, which ext4 does not have"), "{reason}");
    place.is_left_clean();
}

#[test]
fn loop_giving_up_a_snapshot_that_nobody_made_is_refused_with_the_way_out() {
    let place = Place::new();
    let (head, _) = KEPT.split_once("    { name = \"keep\"").unwrap();
    let plan = format!(
        "{head}    {{ name = \"give-up\", operation = \"snapshot.delete\", dataset = \"tree\" }},\n]\n"
    );
    let seen = place.run(&plan, &["--set", "matrix.filesystem=[\"btrfs\"]"]).exits(2);
    seen.says(&["`snapshot.delete` needs", "put a phase before it: operation = \"snapshot.create\""]);
    place.is_left_clean();
}

/// What came after it is gone, and what it kept is there, and is gone on with.
#[test]
fn loop_going_back_to_a_snapshot_brings_back_what_it_kept() {
    let (head, _) = KEPT.split_once("    { name = \"keep-again\"").unwrap();
    let plan = format!(
        "{head}{}",
        r#"    { name = "later", operation = "tree.write", dataset = "tree", into = "later" },
    { name = "back", operation = "snapshot.rollback", dataset = "tree" },
    { name = "gone", command = '[ ! -e "$MOUNT/later" ]' },
    { name = "keep-again", operation = "snapshot.create", dataset = "tree" },
    { name = "remove", operation = "tree.remove", dataset = "tree" },
    { name = "back-again", operation = "snapshot.rollback", dataset = "tree" },
    { name = "read", operation = "tree.read", dataset = "tree", cold = true },
]
"#
    );
    let place = Place::new();
    place.run(&plan, &[]).exits(3);
    assert_eq!(place.status("btrfs").0, "ok", "{:?}", place.status("btrfs"));
    assert_eq!(place.journal().measured("back", "durable").len(), 1);
    let (status, reason) = place.status("ext4");
    assert!(status == "skipped" && reason.contains("snapshots of the whole"), "{reason}");
    place.is_left_clean();
    // None is left that could be gone back to.
    let twice =
        plan.replace("{ name = \"keep-again\", operation = \"snapshot.create\", dataset = \"tree\" },", "");
    assert_ne!(twice, plan);
    let place = Place::new();
    place.run(&twice, &["--fs", "btrfs"]).exits(2).says(&["`snapshot.rollback` needs"]);
    place.is_left_clean();
}

/// The second stream has what changed since the first, and what was received is compared with what was sent.
#[test]
fn loop_snapshots_are_sent_and_received_and_who_sends_none_is_skipped() {
    let (head, _) = KEPT.split_once("    { name = \"overwrite\"").unwrap();
    let plan = format!(
        "{head}{}",
        r#"    { name = "send", operation = "snapshot.send", dataset = "tree", cold = true },
    { name = "receive", operation = "snapshot.receive", dataset = "tree", cold = true },
    { name = "later", operation = "tree.write", dataset = "few", into = "later" },
    { name = "keep-again", operation = "snapshot.create", dataset = "tree" },
    { name = "send-again", operation = "snapshot.send", dataset = "tree" },
    { name = "receive-again", operation = "snapshot.receive", dataset = "tree" },
    { name = "there", command = '[ -d "$MOUNT/.received/.snapshot-2/later" ]' },
]
"#
    );
    let few =
        "dataset.few = { profile = \"mixed\", files = 4, directories = 2, size = \"16KiB\" }\ndataset.tree ";
    let plan = plan.replace("dataset.tree ", few);
    let place = Place::new();
    place.run(&plan, &[]).exits(3);
    assert_eq!(place.status("btrfs").0, "ok", "{:?}", place.status("btrfs"));
    let journal = place.journal();
    let bytes = |phase: &str| journal.measured(phase, "logical_bytes").iter().sum::<f64>();
    assert!(bytes("send") > 1e6 && bytes("send") == bytes("receive"), "{journal:#?}");
    assert!(bytes("send-again") > 0.0 && bytes("send-again") * 10.0 < bytes("send"), "{journal:#?}");
    let (status, reason) = place.status("ext4");
    assert!(status == "skipped" && reason.contains("ext4 does not have"), "{reason}");
    place.is_left_clean();
    // Nothing was sent that could be received.
    let unsent = plan.replace(
        "    { name = \"send\", operation = \"snapshot.send\", dataset = \"tree\", cold = true },\n",
        "",
    );
    assert_ne!(unsent, plan);
    let place = Place::new();
    place.run(&unsent, &["--fs", "btrfs"]).exits(2).says(&["`snapshot.receive` needs"]);
    place.is_left_clean();
}

/// Generations that share blocks, and then also names.
const CLONED: &str = r#"
title             = "Clones"
lab               = "native"
device.image      = "384MiB"
protocol          = { blocks = 1, seed = 5, timeout = "60s" }
dataset.tree      = { profile = "mixed", files = 60, directories = 6, size = "8MiB", hard_links = 0.1 }
matrix.filesystem = ["btrfs", "xfs", "ext4"]
phase = [
    { name = "create", operation = "rotation.create", dataset = "tree" },
    { name = "clone", operation = "rotation.clone", dataset = "tree", changed = 0.1 },
    { name = "clone-all", operation = "rotation.clone", dataset = "tree" },
    { name = "next", operation = "rotation.next", dataset = "tree", changed = 0.1 },
    { name = "drop", operation = "rotation.drop", dataset = "tree" },
]
"#;

#[test]
fn loop_clones_take_no_room_until_they_are_written() {
    let place = Place::new();
    place.run(CLONED, &[]).exits(3);
    let journal = place.journal();
    for filesystem in ["btrfs", "xfs"] {
        assert_eq!(place.status(filesystem).0, "ok", "{filesystem}");
        let written = |phase: &str| -> f64 {
            let of = |event: &&serde_json::Value| {
                event["trial"]["candidate"] == filesystem && event["phase"] == phase
            };
            let observation = journal.all("observation").find(of).unwrap();
            let all = observation["measurements"].as_array().unwrap();
            let found = all.iter().find(|one| one["metric"] == "device_written").unwrap();
            found["value"].as_f64().unwrap()
        };
        assert!(written("clone-all") * 4.0 < written("create"), "{filesystem}");
    }
    let (status, reason) = place.status("ext4");
    assert_eq!(status, "skipped");
    assert!(reason.contains("clones of files, which ext4 does not have"), "{reason}");
}

/// A copy without its bytes, by one thread and by several, and what writing on either costs then.
const COPIED: &str = r#"
title             = "Copies that share their blocks"
lab               = "native"
device.image      = "384MiB"
protocol          = { blocks = 1, seed = 5, timeout = "60s", disturbed = false }
dataset.tree      = { profile = "mixed", files = 200, directories = 20, size = "16MiB", hard_links = 0.1 }
matrix.filesystem = ["btrfs", "xfs", "ext4"]
phase = [
    { name = "write", operation = "tree.write", dataset = "tree" },
    { name = "copy", operation = "copy.reflink", dataset = "tree" },
    { name = "change", operation = "tree.overwrite", dataset = "tree" },
    { name = "old", operation = "tree.read", dataset = "tree", into = "tree-clone", cold = true },
    { name = "by-four", operation = "copy.reflink", dataset = "tree", into = "new/one", threads = 4 },
    { name = "new", operation = "tree.read", dataset = "tree", into = "new/one", cold = true },
    { name = "remove", operation = "tree.remove", dataset = "tree" },
    { name = "left", operation = "tree.overwrite", dataset = "tree", into = "new/one" },
]
"#;

#[test]
fn loop_a_copy_shares_its_blocks_and_stays_as_it_was() {
    let place = Place::new();
    place.run(COPIED, &[]).exits(3);
    let journal = place.journal();
    for filesystem in ["btrfs", "xfs"] {
        assert_eq!(place.status(filesystem).0, "ok", "{:?}", place.status(filesystem));
    }
    for phase in ["copy", "by-four"] {
        for (copied, written) in
            journal.measured(phase, "device_written").iter().zip(journal.measured("write", "device_written"))
        {
            assert!(copied * 4.0 < written, "{phase}: {copied} of {written}");
        }
        assert_eq!(journal.measured(phase, "files"), [200.0, 200.0]);
    }
    let (status, reason) = place.status("ext4");
    assert_eq!(status, "skipped");
    assert_eq!(reason, "phase `copy` asks for clones of files, which ext4 does not have");
    place.is_left_clean();
}

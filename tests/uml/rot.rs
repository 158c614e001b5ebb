//! Single blocks that rot: content without checksums is handed out wrong and found to be, with checksums it never is; what holds nothing
//! harms nobody; and what blocks are said to hold is what the filesystem's own tool says.

use serde_json::Value;

use crate::common::Place;

const PLAN: &str = r#"
title         = "Saved files"
lab           = "uml"
device        = { model = "sata-ssd", size = "256MiB" }
protocol      = { blocks = 1, timeout = "120s", disturbed = false }
faults        = { rot = 70 }
dataset.notes = { flat = 60, file_size = "8KiB" }
phase = [
    { name = "write", operation = "directory.fill", dataset = "notes" },
    { name = "save", operation = "directory.save", dataset = "notes" },
]
[[candidate]]
filesystem = "ext4"
[[candidate]]
filesystem = "btrfs"
"#;

/// What a candidate's rot came to, and every finding of it.
fn rot_of(place: &Place, name: &str) -> (Value, Vec<Value>) {
    let report = place.report();
    let all = report["rot"].as_array().unwrap();
    let found = all.iter().find(|rot| rot["candidate"] == name).unwrap().clone();
    let path = place.path().join(format!("run/cuts/{name}.rot.json"));
    (found, serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap())
}

#[test]
fn uml_rot_is_handed_out_without_checksums_and_never_with_them() {
    let place = Place::new();
    // One candidate fails by what it handed out.
    place.run(PLAN, &[]).exits(3).says(&["rot: ext4: 70 rotten blocks", "rot: btrfs: 70 rotten blocks"]);
    let (ext4, found) = rot_of(&place, "ext4");
    let state = |one: &Value| one["state"].as_str().unwrap().to_owned();
    let flipped: Vec<&Value> =
        found.iter().filter(|one| one["held"] == "data" && state(one).contains("flip")).collect();
    assert!(!flipped.is_empty(), "{ext4}");
    assert!(flipped.iter().all(|one| one["outcome"] == "silent_loss"), "{flipped:?}");
    let (btrfs, kept) = rot_of(&place, "btrfs");
    let wrong = |one: &&Value| {
        ["silent_loss", "loss_found", "hang", "panic"].contains(&one["outcome"].as_str().unwrap())
    };
    assert_eq!(kept.iter().filter(wrong).count(), 0, "{btrfs}");
    let caught = kept.iter().filter(|one| one["held"] == "data" && one["outcome"] == "loss_reported");
    assert!(caught.count() > 0, "{btrfs}");
    // What holds nothing harms nobody.
    for one in found.iter().chain(&kept).filter(|one| one["held"] == "unused") {
        assert_eq!(one["outcome"], "unharmed", "{one}");
    }
    assert!(found.iter().any(|one| one["held"] == "unused"));
    assert_ne!(place.report()["verdict"]["recommended"], "ext4");
    let page = std::fs::read_to_string(place.path().join("run/report.html")).unwrap();
    assert!(page.contains("When blocks rot") && page.contains("The price of safety"));
    what_blocks_hold_is_what_the_filesystems_own_tool_says(&place, &found);
    place.is_left_clean();
}

/// The numbers in the lines of a tool that begin so.
fn ranges(lines: &str, begins: &str) -> Vec<(u64, u64)> {
    let of = |line: &str| {
        let rest = line.trim().strip_prefix(begins)?.split(['(', ',']).next()?.trim().to_owned();
        let (first, last) = rest.split_once('-').unwrap_or((&rest, &rest));
        Some((first.trim().parse().ok()?, last.trim().parse().ok()?))
    };
    // Two are told in a line of their own or beside one another.
    lines.lines().flat_map(|line| line.split(", ")).filter_map(of).collect()
}

fn what_blocks_hold_is_what_the_filesystems_own_tool_says(place: &Place, found: &[Value]) {
    let data = found.iter().find(|one| one["held"] == "data").unwrap()["state"].as_str().unwrap();
    let image = place.path().join("state.img");
    let arguments = ["crash", "run", "ext4", data, "--image", image.to_str().unwrap()];
    place.fsverdict(&arguments).exits(0).shows(&["which held: data", "the image must contain", "notes/"]);
    place.fsverdict(&arguments).exits(1).says(&["cannot make", "hint: remove it, or name another file"]);
    place
        .fsverdict(&["crash", "run", "ext4", "rot-9999999-zero"])
        .exits(1)
        .says(&["has 65536 blocks of 4096 bytes"]);
    place
        .fsverdict(&["crash", "run", "ext4", "rot-1-melted"])
        .exits(2)
        .says(&["is no name of a rotten block"]);
    let image = image.to_str().unwrap();
    let tool = |program: &str, arguments: &[&str]| {
        let output = std::process::Command::new(program).args(arguments).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let groups = tool("dumpe2fs", &[image]);
    let tables = ranges(&groups, "Inode table at");
    let maps = [
        ranges(&groups, "Block bitmap at"),
        ranges(&groups, "Inode bitmap at"),
        ranges(&groups, "Group descriptors at"),
    ]
    .concat();
    assert!(!tables.is_empty() && !maps.is_empty(), "{groups}");
    let block =
        |one: &Value| -> u64 { one["state"].as_str().unwrap().split('-').nth(1).unwrap().parse().unwrap() };
    let within =
        |all: &[(u64, u64)], block: u64| all.iter().any(|(first, last)| (*first..=*last).contains(&block));
    let owner = |block: u64| tool("debugfs", &["-R", &format!("icheck {block}"), image]);
    for one in found {
        let (at, held) = (block(one), one["held"].as_str().unwrap());
        let is_inode_table = within(&tables, at);
        assert_eq!(held == "inode", is_inode_table, "{one}");
        match held {
            "journal" => assert!(owner(at).contains(&format!("{at}\t8")), "{one}: {}", owner(at)),
            "data" | "directory" => assert!(!owner(at).contains("not found") && !within(&maps, at), "{one}"),
            "map" => assert!(within(&maps, at) || !owner(at).contains("not found"), "{one}"),
            "unused" => assert!(!within(&maps, at), "{one}"),
            _ => {}
        }
    }
}

#[test]
fn uml_rot_of_one_copy_below_an_array_is_handed_out_by_chance_and_below_checksums_never() {
    let place = Place::new();
    let plan = PLAN
        .replace(r#""256MiB" }"#, r#""256MiB", count = 2 }"#)
        .replace("rot = 70", "rot = 40")
        .replace(
            "[[candidate]]\nfilesystem = \"ext4\"",
            "[[candidate]]\nfilesystem = \"ext4\"\nlayers = [\"md:raid1\"]\nname = \"md\"",
        )
        .replace(
            "[[candidate]]\nfilesystem = \"btrfs\"",
            "[[candidate]]\nfilesystem = \"btrfs\"\nmkfs = \"-d raid1 -m raid1\"\nname = \"raid1\"",
        );
    place.run(&plan, &[]).exits(3);
    let (md, found) = rot_of(&place, "md");
    let data: Vec<&Value> = found.iter().filter(|one| one["held"] == "data").collect();
    let silent = data.iter().filter(|one| one["outcome"] == "silent_loss").count();
    assert!(silent > 0 && silent < data.len(), "{md}");
    let (raid1, kept) = rot_of(&place, "raid1");
    let lost = |one: &&Value| {
        !["unharmed", "healed", "repaired", "impaired"].contains(&one["outcome"].as_str().unwrap())
    };
    assert_eq!(kept.iter().filter(lost).count(), 0, "{raid1}");
    place.is_left_clean();
}

#[test]
fn uml_a_loss_that_is_accepted_is_taken() {
    let place = Place::new();
    let plan = PLAN.replace("rot = 70", "rot = 20, accept_loss = true");
    place.run(&plan, &["--fs", "ext4"]).exits(0);
    let report = place.report();
    assert_eq!(report["rot"][0]["accepted"], true);
    assert!(report["safety"][0]["rot_unsaid"]["lost"].as_u64().unwrap() > 0, "{}", report["safety"]);
}

#[test]
fn uml_a_second_fsync_says_of_a_failed_write_what_is_not_so() {
    // In place and without a log: the write fails at once, and Linux tells of it once (Rebello et al., ATC '20).
    let plan = PLAN
        .replace("rot = 70", "rot = 30, refuses_writes = true, accept_loss = true")
        .replace("btrfs", "ext2");
    let place = Place::new();
    place.run(&plan, &[]).exits(0);
    for name in ["ext4", "ext2"] {
        let (rot, found) = rot_of(&place, name);
        let of_data = &rot["held"]["data"]["syncs"];
        let untrue =
            of_data["told_once_and_shown"].as_u64().unwrap_or(0) + of_data["told_once"].as_u64().unwrap_or(0);
        assert!(
            untrue > 0
                && untrue == of_data.as_object().unwrap().values().filter_map(Value::as_u64).sum::<u64>(),
            "{rot}"
        );
        // Nobody says at once that all is done where it is not; what holds nothing is not asked for.
        assert!(found.iter().all(|one| one["sync"] != "never_told"), "{rot}");
        assert!(
            found
                .iter()
                .all(|one| one["held"] == "unused" || one["state"].as_str().unwrap().ends_with("unwritable"))
        );
    }
    let page = std::fs::read_to_string(place.path().join("run/report.html")).unwrap();
    assert!(page.contains("blocks that took no writes"));
    place.is_left_clean();
}

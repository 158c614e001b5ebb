//! The example in `examples/record-and-replay` and its guide: a program is recorded with strace, and replayed in two folders.

use std::path::Path;
use std::process::Command;

use fsverdict_recordings::STRACE_COMMAND;

use crate::common::{PROGRAM, Place, not_run};

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/record-and-replay");

#[test]
fn a_program_is_recorded_and_replayed_as_the_guide_says() {
    if !Command::new("strace").arg("true").output().is_ok_and(|output| output.status.success()) {
        return not_run("strace is not installed, or may not trace");
    }
    let place = Place::new();
    let notes = place.path().join("notes");
    std::fs::create_dir(&notes).unwrap();
    let notes = notes.to_str().unwrap();
    let program = format!("FSVERDICT={PROGRAM}");
    let script = format!("{EXAMPLE}/record-and-replay");
    let save = format!("{EXAMPLE}/save-notes");
    let words = [&program, "BLOCKS=1", &script, notes, &save, notes];
    let seen = place.any("env", &words).exits(0);
    let account = seen.stdout.lines().find(|line| line.starts_with("# Account: ")).unwrap();
    assert!(account.contains(" + 0 unread."), "{account}");
    assert!(seen.stdout.contains("# Lines: ") && seen.stdout.contains("What was recorded, done again"));
    // Twenty notes are written, synced and renamed, and nine of them removed.
    let plan = std::fs::read_to_string(place.path().join("recorded/plan.toml")).unwrap();
    let count = |word: &str| plan.lines().filter(|line| line.split(' ').any(|part| part == word)).count();
    let counts = ["fsync", "rename", "fsyncdir", "unlink"].map(count);
    assert_eq!(counts, [20, 20, 1, 9], "{plan}");
    // cat copies within the kernel, if it can.
    assert_eq!(count("write") + count("copy"), 40, "{plan}");
    assert!(!plan.contains("notes"), "{plan}");
    // What the replays left is removed again.
    for folder in ["one", "other"] {
        let left = std::fs::read_dir(place.path().join("recorded").join(folder)).unwrap();
        assert_eq!(left.count(), 0, "{folder}");
    }
}

#[test]
fn the_example_and_the_guide_have_the_documented_command() {
    let guide = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/guides/recording-a-program.md");
    let command = STRACE_COMMAND.strip_suffix("calls.txt").unwrap();
    for file in [Path::new(EXAMPLE).join("record-and-replay").as_path(), Path::new(guide)] {
        let text = std::fs::read_to_string(file).unwrap().replace("\\\n", "");
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(command.trim()), "{}: {command}", file.display());
    }
}

//! `fsverdict compare` on two real runs, as a user would do it.

#![expect(clippy::unwrap_used, reason = "a test may panic in its helpers too")]

use std::path::Path;

use assert_cmd::Command;

const PLAN: &str = r#"
title        = "A tiny tree"
lab          = "native"
device.image = "64MiB"
protocol     = { blocks = 5, seed = 1 }
goal.metric  = "device_written"
dataset.tree = { profile = "mixed", files = 40, directories = 5, size = "1MiB" }
phase = [
    { name = "write", operation = "tree.write", dataset = "tree" },
    { name = "remove", operation = "tree.remove", dataset = "tree" },
]
[[candidate]]
filesystem = "ext4"
name       = "ext4"
MKFS
"#;

fn fsverdict(folder: &Path) -> Command {
    // By its path: with a runner that cargo is told of, assert_cmd would look for that below the folder of the test.
    let mut command = Command::from_std(std::process::Command::new(env!("CARGO_BIN_EXE_fsverdict")));
    command.current_dir(folder).env("LC_ALL", "C.UTF-8");
    command
}

fn run(folder: &Path, name: &str, mkfs: &str) {
    let plan = format!("{name}.toml");
    std::fs::write(folder.join(&plan), PLAN.replace("MKFS", mkfs)).unwrap();
    let undisturbed = ["--set", "protocol.disturbed=false"];
    let arguments = ["run", &plan, "--quiet", "--out", name];
    fsverdict(folder).args(arguments).args(undisturbed).assert().code(0);
}

#[test]
fn loop_compare_finds_what_a_journal_writes() {
    let folder = tempfile::tempdir().unwrap();
    run(folder.path(), "plain", "mkfs = \"-O ^has_journal\"");
    run(folder.path(), "journal", "");
    let compare = |one: &str, other: &str| {
        let done = fsverdict(folder.path()).args(["compare", one, other]).assert();
        let output = done.get_output();
        (output.status.code().unwrap(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    // What is written does not hang on how busy the machine is, as times do.
    let (code, page) = compare("plain", "journal");
    assert_eq!(code, 4, "{page}");
    assert!(page.contains("Regression: worse: ") && page.contains("mkfs: -O ^has_journal → none"), "{page}");
    let (code, page) = compare("journal", "plain");
    assert_eq!(code, 0, "{page}");
    assert!(page.contains("No regression was found: better: "), "{page}");
    assert_eq!(compare("plain", "plain").0, 2);
    assert_eq!(compare("plain", "nowhere").0, 2);
}

/// Four real runs on a modelled disk, without what their commands printed; from the third on ext4 was mounted with
/// data=journal.
fn night(number: u32) -> String {
    format!("{}/tests/runs/nights/{number}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn a_history_rings_while_the_last_run_is_worse() {
    let folder = tempfile::tempdir().unwrap();
    let compare = |nights: &[u32], format: &str| {
        let runs = nights.iter().map(|number| night(*number));
        let done = fsverdict(folder.path()).arg("compare").args(runs).args(["--format", format]).assert();
        let output = done.get_output();
        (output.status.code().unwrap(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let cases: [(&[u32], i32); 5] =
        [(&[1, 2], 0), (&[1, 2, 3], 4), (&[1, 2, 3, 4], 4), (&[1, 3, 2], 0), (&[3, 4, 1], 0)];
    for (nights, code) in cases {
        assert_eq!(compare(nights, "terminal").0, code, "{nights:?}");
    }
    let page = compare(&[1, 2, 3, 4], "terminal").1;
    assert!(
        page.contains("worse    ▁▁██   same") && page.contains("sm-b → sm-c: worse: ext4 goal +41.0%"),
        "{page}"
    );
    assert!(page.contains("ext4: mount: none → data=journal"), "{page}");
    assert!(compare(&[1, 3, 2], "terminal").1.contains("not that of their dates"));
    for (format, begins) in
        [("html", "<!DOCTYPE html>"), ("csv", "from,to,"), ("json", "{"), ("markdown", "## ")]
    {
        let (code, shown) = compare(&[1, 2, 3, 4], format);
        assert!(
            code == 4 && shown.starts_with(begins) && shown.contains("data=journal") != (format == "csv"),
            "{shown}"
        );
    }
}

#[test]
fn what_is_no_run_is_a_wrong_command_line() {
    let folder = tempfile::tempdir().unwrap();
    fsverdict(folder.path()).args(["compare", "a"]).assert().code(2);
    let done = fsverdict(folder.path()).args(["compare", "a", "b"]).assert().code(2);
    assert!(String::from_utf8_lossy(&done.get_output().stderr).contains("is not the folder of a run"));
}

//! What a command may not write although its words lead there: a file of a run that it is to read, and what lies behind
//! a link that another user put in the place of a folder or page that nobody named.

use std::fs;
use std::os::unix::fs::{chown, symlink};
use std::path::Path;
use std::process::Command;

use fsverdict::cli::RunFile;

use crate::common::{PROGRAM, Place, attacks, is_full, is_root, members, two_folders};

const CANDIDATE: &str = "ext4";
const SITE: &str = "here";

/// Every command with an option for a file that it writes, and whether it replaces one that is there. `OUT` stands for
/// the file.
const OUTPUTS: &[(&str, &[&str])] = &[
    ("ask", &["ask", "mail", "--dry-run", "--plan", "OUT"]),
    ("bundle", &["bundle", "run", "--output", "OUT"]),
    ("calibrate", &["calibrate", "--like", "hdd-7200", "--force", "--output", "OUT", "image"]),
    ("compare", &["compare", "run", "other", "--output", "OUT"]),
    ("crash", &["crash", "run", "ext4", "--state", "1-none", "--image", "OUT"]),
    ("crash", &["crash", "run", "ext4", "--state", "1-none", "--script", "OUT"]),
    ("crash", &["crash", "run", "ext4", "--export", "OUT"]),
    ("merge", &["merge", "run", "other", "--output", "OUT"]),
    ("report", &["report", "run", "--output", "OUT"]),
    ("report", &["report", "run", "--format", "html", "--output", "OUT"]),
    ("trace", &["trace", "run", "ext4", "--output", "OUT"]),
];
/// Options of a file or a folder that is read, or of a folder that is made for a run or a build.
const NO_OUTPUTS: &[&str] =
    &["--patch", "--trace", "--below", "--out", "--on", "--work", "--against", "--fit", "--unpatched"];

/// The words of `--help` of a command.
fn help(words: &[&str]) -> String {
    let output = Command::new(PROGRAM).args(words).arg("--help").output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn every_option_for_an_output_is_tried() {
    let mut tried = 0;
    for line in help(&[]).lines() {
        let Some(command) = line.strip_prefix("  ").and_then(|line| line.split_whitespace().next()) else {
            continue;
        };
        if !command.starts_with(|first: char| first.is_ascii_lowercase()) || command == "help" {
            continue;
        }
        for option in help(&[command]).lines().filter(|line| line.contains("<FILE>")) {
            let name = option.split_whitespace().find(|word| word.starts_with("--")).unwrap_or_default();
            let name = name.split('[').next().unwrap_or_default();
            let known = OUTPUTS.iter().any(|(of, words)| *of == command && words.contains(&name));
            assert!(known || NO_OUTPUTS.contains(&name), "{command}: {option}");
            tried += usize::from(known);
        }
    }
    assert!(tried >= 8, "{tried}");
}

#[test]
fn no_output_replaces_a_file_that_a_run_needs() {
    let place = Place::new();
    place.recorded_as("run");
    place.recorded_as("other");
    fs::write(place.path().join("image"), vec![0; 1 << 20]).unwrap();
    let content = b"what the run needs";
    let mut tried = 0;
    let journal_and_trace = ["journal.jsonl", "traces/1-ext4-1.trace"];
    for file in members(attacks::files(CANDIDATE, SITE), RunFile::path, journal_and_trace) {
        let path = place.path().join("run").join(file.path());
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        if !path.exists() {
            fs::write(&path, content).unwrap();
        }
        let before = fs::read(&path).unwrap();
        let is_report = file.folders.is_empty() && file.name.starts_with("report.");
        fs::hard_link(&path, place.path().join("hard")).unwrap();
        symlink(&path, place.path().join("soft")).unwrap();
        for out in [path.to_str().unwrap(), "hard", "soft"] {
            // What has two names is no file of the run any more, unless the command reads it.
            if is_report || out == "hard" && !["plan.json", "journal.jsonl"].contains(&file.name.as_str()) {
                continue;
            }
            for (_, words) in OUTPUTS {
                let words: Vec<&str> =
                    words.iter().map(|word| if *word == "OUT" { out } else { word }).collect();
                let seen = place.fsverdict(&words);
                assert!(fs::read(&path).unwrap() == before, "{words:?}: {}", seen.stderr);
                assert!(seen.code != Some(0), "{words:?}");
                tried += 1;
            }
        }
        for link in ["hard", "soft"] {
            fs::remove_file(place.path().join(link)).unwrap();
        }
    }
    assert!(tried > if is_full() { 100 } else { 20 }, "{tried}");
    let journal = place.path().join("run/journal.jsonl");
    place.fsverdict(&["report", "run", "--output", journal.to_str().unwrap()]).exits(2).says(&[
        "journal.jsonl is not replaced: it is a file of what is read here",
        "hint: name another file",
    ]);
    // A report may be made again, and a bundle is not replaced by its own report.
    place.fsverdict(&["report", "run", "--format", "html", "--output", "run/report.html"]).exits(0);
    fs::remove_dir_all(place.path().join("run/traces")).unwrap();
    place.fsverdict(&["bundle", "other", "--output", "b.tar.gz"]).exits(0);
    place.fsverdict(&["report", "b.tar.gz", "--output", "b.tar.gz"]).exits(2).says(&["is not replaced"]);
    place.fsverdict(&["report", "b.tar.gz"]).exits(0);
}

/// Begins a run of two folders with no folder named for it, in `here`.
fn run_in(place: &Place, here: &Path, plan: &str) -> std::process::Output {
    let _ = place;
    Command::new(PROGRAM).args(["run", plan, "--quiet", "--yes"]).current_dir(here).output().unwrap()
}

#[test]
fn the_folder_of_runs_is_no_link_of_another_users() {
    let place = Place::new();
    let folder = |name: &str| {
        let folder = place.path().join(name);
        fs::create_dir(&folder).unwrap();
        folder
    };
    let [one, other, here, elsewhere] = ["one", "other", "here", "elsewhere"].map(folder);
    let plan = place.plan("plan", &two_folders(&one, &other, "cp -a $TREE copy"));
    let plan = place.path().join(plan).display().to_string();
    symlink(&elsewhere, here.join("runs")).unwrap();
    let entries = || fs::read_dir(&elsewhere).unwrap().count();
    // One's own link is followed: runs may lie on another disk.
    let output = run_in(&place, &here, &plan);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(entries(), 1);
    if !is_root() {
        return;
    }
    let stranger = Some(12_345);
    for (of_folder, of_link) in [(true, false), (false, true), (true, true)] {
        chown(&here, if of_folder { stranger } else { Some(0) }, None).unwrap();
        std::os::unix::fs::lchown(here.join("runs"), if of_link { stranger } else { Some(0) }, None).unwrap();
        let output = run_in(&place, &here, &plan);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("is a link that user 12345 may have made") && said.contains("--out"), "{said}");
        assert!(!output.status.success());
        assert_eq!(entries(), 1);
    }
    // A folder of the stranger's own in the stranger's folder is used.
    fs::remove_file(here.join("runs")).unwrap();
    let output = run_in(&place, &here, &plan);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(fs::read_dir(here.join("runs")).unwrap().count(), 1);
}

#[test]
fn a_page_that_nobody_named_is_written_through_no_link() {
    let place = Place::new();
    place.recorded_as("run");
    place.fsverdict(&["bundle", "run", "--output", "b.tar.gz"]).exits(0);
    fs::write(place.path().join("victim"), "words").unwrap();
    // The page lies beside the bundle: `b.tar` with another ending.
    for name in ["b.tar.html", "b.html"] {
        symlink("victim", place.path().join(name)).unwrap();
    }
    place.fsverdict(&["report", "b.tar.gz", "--open"]).exits(2).says(&["is a link, or no plain file"]);
    assert_eq!(fs::read_to_string(place.path().join("victim")).unwrap(), "words");
}

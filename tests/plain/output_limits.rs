//! What the shell or the disk has no room for is an ordinary error: said, with exit status 1, and without half a file.

use std::fs;
use std::path::Path;

use clap::CommandFactory;
use fsverdict::cli::Cli;

use crate::common::outputs::{WRITERS, inputs, listed};
use crate::common::{PROGRAM, Place, Seen, members};

/// The program in a shell of its own that does this first.
fn in_shell(place: &Place, first: &str, arguments: &[String], last: &str) -> Seen {
    let line = format!("{first} exec \"$0\" \"$@\" {last}");
    let mut words = vec!["-c", line.as_str(), PROGRAM];
    words.extend(arguments.iter().map(String::as_str));
    place.any("sh", &words)
}

#[test]
fn a_limit_on_the_size_of_files_leaves_no_half_a_file() {
    let place = Place::new();
    let out = place.path().join("out");
    inputs(&place, &out);
    // No browser is there to show a page.
    let quiet = "BROWSER=true; export BROWSER;";
    // One writes a file that was named, and one several that belong together.
    let representatives = ["report run --format html -o {}/out", "merge {}/shared"];
    for writer in members(WRITERS, |writer| writer.arguments.join(" "), representatives) {
        let arguments = writer.arguments_below("out");
        let before = listed(&out);
        let limited = format!("{quiet} ulimit -f 0;");
        let seen = in_shell(&place, &limited, &arguments, "");
        assert_eq!(listed(&out), before, "{arguments:?}: {seen:#?}");
        seen.exits(1).says(&["error: ", "File too large", "hint: ", "ulimit -f"]);
        // Without the limit it is written, and once more over itself or not at all, but never in half.
        let seen = in_shell(&place, quiet, &arguments, "");
        for name in writer.writes {
            assert!(
                fs::metadata(out.join(name)).is_ok_and(|file| file.len() > 0),
                "{arguments:?}: {seen:#?}"
            );
        }
        let written = listed(&out);
        let seen = in_shell(&place, &limited, &arguments, "");
        assert_eq!(listed(&out), written, "{arguments:?}: {seen:#?}");
        assert!(matches!(seen.code, Some(1 | 2)), "{arguments:?}: {seen:#?}");
        for name in writer.writes.iter().filter(|name| !name.contains('/')) {
            fs::remove_file(out.join(name)).unwrap();
        }
        fs::read_dir(&out).unwrap().flatten().filter(|entry| entry.path().is_file()).for_each(|entry| {
            fs::remove_file(entry.path()).unwrap();
        });
    }
}

/// Of each command a call that writes to standard output, or why there is none here.
pub(super) fn results(command: &str) -> Result<&'static [&'static [&'static str]], &'static str> {
    Ok(match command {
        "report" => &[
            &["report", "run"],
            &["report", "run", "--format", "html"],
            &["report", "run", "--format", "markdown"],
            &["report", "run", "--format", "csv"],
            &["report", "run", "--format", "json"],
        ],
        "compare" => &[&["compare", "run", "other"], &["compare", "run", "other", "--format", "csv"]],
        "trace" => &[&["trace", "run", "ext3"], &["trace", "run", "ext3", "--format", "csv"]],
        "atlas" => &[&["atlas", "build", "games", "--devices", "nvme-ssd", "--render", "--out", "site"]],
        "status" => &[&["status", "run"], &["status", "run", "--format", "json"]],
        "bundle" => &[&["bundle", "run", "-o", "bundled"]],
        "merge" => &[&["merge", "out/shared"]],
        "run" => &[&["run", "demo", "--dry-run"]],
        "ask" => &[&["ask", "mail", "on", "hdd", "--dry-run"]],
        "list" => &[&["list"], &["list", "presets"], &["list", "models"]],
        "show" => &[&["show", "demo"], &["show", "run"]],
        "doctor" => &[&["doctor"]],
        "calibrate" => &[&["calibrate", "--against", "trace.txt", "--model", "sata-ssd"]],
        "capture" => &[&["capture", "out"]],
        "kernel" => &[&["kernel", "list"]],
        "man" => &[&["man"], &["man", "run"], &["man", "plan"]],
        "completions" => &[&["completions", "bash"]],
        "resume" | "block" | "crash" => {
            return Err("ends with the report of a run, as `report` does");
        }
        "clean" => return Err("says what it finds on standard error"),
        "tools" => return Err("has a result only where something was fetched"),
        other => panic!("`{other}` is in no list of results"),
    })
}

#[test]
fn a_result_that_standard_output_does_not_take_is_an_error() {
    let place = Place::new();
    inputs(&place, &place.path().join("out"));
    let mut calls: Vec<&[&str]> = vec![&["--help"], &["--version"], &["help", "run"], &["report", "--help"]];
    for command in Cli::command().get_subcommands() {
        if let Ok(of_it) = results(command.get_name()) {
            calls.extend(of_it);
        }
    }
    assert!(calls.len() > 25);
    let file = place.path().join("result");
    for arguments in calls {
        let arguments: Vec<String> = arguments.iter().map(|word| (*word).to_owned()).collect();
        in_shell(&place, "", &arguments, ">/dev/full")
            .exits(1)
            .says(&["cannot write the result: No space left", "hint: make room"]);
        let _ = fs::remove_file(place.path().join("bundled"));
        let limited = in_shell(&place, "ulimit -f 0;", &arguments, ">result");
        assert!(matches!(limited.code, Some(1 | 2)), "{limited:#?}");
        // Some look at the limits first, and say so.
        limited.says(&["error: ", "hint: ", "ulimit -f"]);
        assert_eq!(fs::metadata(&file).unwrap().len(), 0, "{arguments:?}");
    }
    assert!(Path::new("/dev/full").exists());
}

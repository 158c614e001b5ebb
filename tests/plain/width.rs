//! Nothing that a command prints for people is wider than their terminal: every command, with its result and its
//! messages, at 80 columns.

use clap::CommandFactory;
use fsverdict::cli::Cli;
use fsverdict_text::display_width;

use super::output_limits::results;
use crate::common::Place;
use crate::common::outputs::inputs;

/// The width of the terminal.
const COLUMNS: usize = 80;
/// Commands whose results are for programs, and are not broken anywhere.
const DATA: [&str; 4] = ["show", "capture", "completions", "man"];
/// Calls beside those of `results`: reports with every table, and of several runs.
const MORE: [&[&str]; 7] = [
    &["report", "demo", "--all"],
    &["report", "demo"],
    &["report", "night", "--all"],
    &["compare", "night", "later"],
    &["compare", "night", "later", "last"],
    &["doctor", "demo"],
    &["doctor", "crash-sequences"],
];

/// Lines that do not fit. A single word, such as a path, cannot be broken.
fn too_wide(text: &str) -> Vec<&str> {
    text.lines().filter(|line| display_width(line) > COLUMNS && line.trim().contains(' ')).collect()
}

#[test]
fn nothing_is_wider_than_the_terminal() {
    let place = Place::new();
    inputs(&place, &place.path().join("out"));
    for (run, name) in [("demo", "demo"), ("nights/1", "night"), ("nights/3", "later"), ("nights/4", "last")]
    {
        place.recorded_from(run, name);
    }
    let mut calls: Vec<Vec<&str>> = MORE.iter().map(|call| call.to_vec()).collect();
    let program = Cli::command();
    for command in program.get_subcommands() {
        let name = command.get_name();
        calls.push(vec![name, "--help"]);
        let of_it = results(name).unwrap_or_default().iter().filter(|call| !call.contains(&"--format"));
        calls.extend(of_it.filter(|_| !DATA.contains(&name)).map(|call| call.to_vec()));
    }
    let lists = program.find_subcommand("list").and_then(|list| list.get_positionals().next()).unwrap();
    let lists = lists.get_possible_values();
    let lists: Vec<String> = lists.iter().map(|value| value.get_name().to_owned()).collect();
    assert!(lists.len() >= 10 && calls.len() > 35, "{lists:?} {calls:?}");
    calls.extend(lists.iter().map(|what| vec!["list", what]));
    let mut broken = Vec::new();
    for arguments in calls {
        let mut command = place.command(&arguments);
        let output = command.env("COLUMNS", COLUMNS.to_string()).env("LC_ALL", "C.UTF-8").output().unwrap();
        let (stdout, stderr) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(!stdout.is_empty() || !stderr.is_empty(), "{arguments:?} printed nothing");
        for line in too_wide(&stdout).into_iter().chain(too_wide(&stderr)) {
            broken.push(format!("{arguments:?}: {line}"));
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

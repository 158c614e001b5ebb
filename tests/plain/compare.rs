//! `fsverdict compare` on real runs, as a user would do it.

use crate::common::Place;

/// Four real runs on a modelled disk, without what their commands printed; from the third on ext4 was mounted with
/// data=journal.
const NIGHTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/runs/nights/");

#[test]
fn a_history_rings_while_the_last_run_is_worse() {
    let place = Place::new();
    let compare = |nights: &[u32], format: &str| {
        let runs: Vec<String> = nights.iter().map(|number| format!("{NIGHTS}{number}")).collect();
        place.compare(&runs.iter().map(String::as_str).collect::<Vec<_>>(), format)
    };
    let cases: [(&[u32], i32); 5] =
        [(&[1, 2], 0), (&[1, 2, 3], 4), (&[1, 2, 3, 4], 4), (&[1, 3, 2], 0), (&[3, 4, 1], 0)];
    for (nights, code) in cases {
        compare(nights, "terminal").exits(code);
    }
    compare(&[1, 2, 3, 4], "terminal").shows(&[
        "worse    ▁▁██   same",
        "sm-b → sm-c: worse: ext4 goal +41.0%",
        "ext4: mount: none → data=journal",
    ]);
    compare(&[1, 3, 2], "terminal").shows(&["not that of their dates"]);
    for (format, begins) in
        [("html", "<!DOCTYPE html>"), ("csv", "from,to,"), ("json", "{"), ("markdown", "## ")]
    {
        let shown = compare(&[1, 2, 3, 4], format).exits(4).stdout;
        assert!(shown.starts_with(begins) && shown.contains("data=journal") != (format == "csv"), "{shown}");
    }
}

#[test]
fn a_bisection_is_told_what_is_known_and_what_is_not() {
    let place = Place::new();
    let bisect = |one: &str, other: &str| {
        let night = |name: &str| format!("{}/tests/runs/{name}", env!("CARGO_MANIFEST_DIR"));
        place.fsverdict(&["compare", &night(one), &night(other), "--bisect"])
    };
    bisect("nights/2", "nights/3").exits(4);
    // Runs of different plans, and what is no run: not a bad commit.
    bisect("nights/1", "demo").exits(125);
    bisect("nights/1", "nowhere").exits(125).says(&["there is no folder"]);
    place.fsverdict(&["compare", "--help"]).shows(&["--bisect"]);
}

#[test]
fn what_is_no_run_is_a_wrong_command_line() {
    let place = Place::new();
    place.fsverdict(&["compare", "a"]).exits(2);
    place.fsverdict(&["compare", "a", "b"]).exits(2).says(&["there is no folder a"]);
}

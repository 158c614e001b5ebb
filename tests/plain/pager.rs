//! Long results go through the user's pager where there is a terminal, and nowhere else; what remains on the screen at
//! the end of a run is its verdict.

use crate::common::outputs::inputs;
use crate::common::{PROGRAM, Place};

/// A pager that marks what it was given.
const PAGER: &str = "sed s/^/paged:/";

/// What a terminal of 20 lines shows of the program, with these variables and arguments.
fn shown(place: &Place, variables: &str, arguments: &str) -> String {
    let line = format!("stty rows 20 cols 80; TERM=xterm {variables} {PROGRAM} {arguments}");
    let seen = place.any("script", &["--quiet", "--return", "--command", &line, "/dev/null"]);
    seen.stdout.replace('\r', "")
}

#[test]
fn a_result_that_is_longer_than_the_screen_goes_through_the_pager() {
    let place = Place::new();
    place.recorded();
    place.recorded_from("nights/1", "night");
    place.recorded_from("nights/4", "later");
    let pager = format!("PAGER='{PAGER}'");
    for call in ["report run", "compare night later", "list", "doctor", "run quick --dry-run"] {
        let all = shown(&place, &pager, call);
        let result = all.lines().filter(|line| line.starts_with("paged:")).count();
        assert!(result >= 20, "{call}: {all}");
        for (variables, call) in [
            (pager.as_str(), format!("{call} --no-pager")),
            ("PAGER=cat", call.to_owned()),
            ("PAGER=/no/such/pager", call.to_owned()),
            ("FSVERDICT_PAGER= PAGER='sed s/^/paged:/'", call.to_owned()),
        ] {
            let whole = shown(&place, variables, &call);
            assert!(!whole.contains("paged:") && whole.lines().count() >= result, "{call}: {whole}");
        }
    }
    // The pager of this program comes before that of all programs.
    let own = shown(&place, &format!("PAGER=cat FSVERDICT_PAGER='{PAGER}'"), "report run");
    assert!(own.contains("paged:"), "{own}");
}

#[test]
fn what_fits_the_screen_or_is_for_a_program_goes_through_no_pager() {
    let place = Place::new();
    place.recorded();
    let pager = format!("PAGER='{PAGER}'");
    for call in ["list labs", "report run --format csv", "report run | cat", "show demo"] {
        let all = shown(&place, &pager, call);
        assert!(!all.contains("paged:") && !all.is_empty(), "{call}: {all}");
    }
}

#[test]
fn a_pager_that_is_closed_early_is_no_failure() {
    let place = Place::new();
    place.recorded();
    let all = shown(&place, "PAGER='head -n 1'", "list; echo ended with $?");
    assert!(all.contains("ended with 0") && all.lines().count() < 5, "{all}");
}

#[test]
fn a_run_that_ends_says_its_verdict_once() {
    let place = Place::new();
    inputs(&place, &place.path().join("out"));
    for call in ["merge out/shared", "merge out/shared | cat"] {
        let all = shown(&place, &format!("PAGER='{PAGER}'"), call);
        assert!(all.matches("leads so far").count() == 1 && !all.contains("paged:"), "{call}: {all}");
    }
}

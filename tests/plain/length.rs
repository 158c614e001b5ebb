//! A report on a terminal is short: the verdict once, one table, drawbacks, recipe, cautions, and its basis.

use std::path::Path;

use crate::common::Place;

/// The lines of a report of four candidates at 80 columns, and the lines for each further candidate.
const LINES: usize = 45;
const CANDIDATES: usize = 4;
/// The recorded runs.
const RUNS: [&str; 6] = ["demo", "recorded", "nights/1", "nights/2", "nights/3", "nights/4"];

fn count_candidates(place: &Place, run: &str) -> usize {
    let plan = std::fs::read_to_string(place.path().join(run).join("plan.json")).unwrap();
    let plan: serde_json::Value = serde_json::from_str(&plan).unwrap();
    plan["candidates"].as_array().unwrap().len()
}

fn report(place: &Place, arguments: &[&str]) -> String {
    let mut command = place.command(&["report"]);
    let output = command.args(arguments).env("COLUMNS", "80").env("LC_ALL", "C.UTF-8").output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_report_of_four_candidates_has_45_lines_and_names_where_the_rest_is() {
    let place = Place::new();
    for run in RUNS {
        let name = run.replace('/', "-");
        place.recorded_from(run, &name);
        let further = count_candidates(&place, &name).saturating_sub(CANDIDATES);
        let (brief, all) = (report(&place, &[&name]), report(&place, &[&name, "--all"]));
        let lines = brief.lines().count();
        assert!(lines <= LINES + further, "{run}: {lines} lines\n{brief}");
        assert!(brief.contains("--all") && !brief.contains("In plain words"), "{brief}");
        for told in ["In plain words", "In detail", "Fidelity", "Lab "] {
            assert!(all.contains(told), "{run}: {told}\n{all}");
        }
    }
}

/// Every recorded run is among them.
#[test]
fn no_recorded_run_is_left_out() {
    let runs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/runs");
    let is_run = |at: &Path| at.join("plan.json").is_file();
    let list =
        |at: &Path| std::fs::read_dir(at).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
    let all = list(&runs).into_iter().flat_map(|at| if is_run(&at) { vec![at] } else { list(&at) });
    assert_eq!(all.filter(|at| is_run(at)).count(), RUNS.len());
}

//! `run --open`: the page is handed to the user's browser before the first trial.

use crate::common::opening::{browser, opened};
use crate::common::{Place, one_command};

#[test]
fn loop_the_page_of_a_run_that_begins_is_opened_before_the_first_trial() {
    let place = Place::new();
    let (browser, seen) = browser(&place);
    let plan = place.plan("plan", &one_command("native", "true"));
    let status =
        place.command(&["run", &plan, "--out", "run", "--open"]).env("BROWSER", &browser).status().unwrap();
    assert!(status.success());
    assert_eq!(opened(&seen), place.path().join("run/report.html").display().to_string());
}

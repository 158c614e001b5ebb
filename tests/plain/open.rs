//! `report --open`: the page is written, and handed to the user's browser.

use std::fs;

use crate::common::Place;
use crate::common::opening::{browser, opened};

#[test]
fn the_page_of_a_run_is_written_into_its_folder_and_opened() {
    let place = Place::new();
    place.recorded();
    let (browser, seen) = browser(&place);
    let status = place.command(&["report", "run", "--open"]).env("BROWSER", &browser).status().unwrap();
    assert!(status.success());
    assert_eq!(opened(&seen), place.path().join("run/report.html").display().to_string());
    let page = fs::read_to_string(place.path().join("run/report.html")).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && !page.contains("http-equiv=\"refresh\""));
}

#[test]
fn only_a_page_can_be_opened_wherever_it_is_written() {
    let place = Place::new();
    place.recorded();
    place
        .fsverdict(&["report", "run", "--open", "--format", "json"])
        .exits(2)
        .says(&["only an HTML page can be opened", "hint: use --open with --format html"]);
    let (browser, seen) = browser(&place);
    let arguments = ["report", "run", "--open", "--output", "page.html"];
    assert!(place.command(&arguments).env("BROWSER", &browser).status().unwrap().success());
    assert_eq!(opened(&seen), place.path().join("page.html").display().to_string());
    assert!(!place.path().join("run/report.html").exists());
}

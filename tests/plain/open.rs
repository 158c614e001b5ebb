//! `--open`: the page is written, and handed to the user's browser.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic in its helpers too")]

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use common::Place;

/// A browser that only notes what it was to open.
fn browser(place: &Place) -> (String, PathBuf) {
    let (program, seen) = (place.path().join("browser"), place.path().join("seen"));
    fs::write(&program, format!("#!/bin/sh\necho \"$1\" >'{0}.new' && mv '{0}.new' '{0}'\n", seen.display()))
        .unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    (format!("/nowhere/browser:{}", program.display()), seen)
}

fn opened(seen: &Path) -> String {
    let patience = Instant::now() + Duration::from_secs(10);
    while !seen.exists() {
        assert!(Instant::now() < patience, "the browser was not started");
        std::thread::sleep(Duration::from_millis(20));
    }
    fs::read_to_string(seen).unwrap().trim_end().to_owned()
}

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
        .says(&["only a page can be opened", "hint: --open goes with --format html"]);
    let (browser, seen) = browser(&place);
    let arguments = ["report", "run", "--open", "--output", "page.html"];
    assert!(place.command(&arguments).env("BROWSER", &browser).status().unwrap().success());
    assert_eq!(opened(&seen), place.path().join("page.html").display().to_string());
    assert!(!place.path().join("run/report.html").exists());
}

#[test]
fn loop_the_page_of_a_run_that_begins_is_opened_before_the_first_trial() {
    let place = Place::new();
    let (browser, seen) = browser(&place);
    let plan = place.plan("plan", &common::one_command("native", "true"));
    let status =
        place.command(&["run", &plan, "--out", "run", "--open"]).env("BROWSER", &browser).status().unwrap();
    assert!(status.success());
    assert_eq!(opened(&seen), place.path().join("run/report.html").display().to_string());
}

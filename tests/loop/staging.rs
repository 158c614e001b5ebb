//! Datasets that commands need as files: staged once for a whole run natively, on disk where they are to be, and gone
//! with the conductor.

use rustix::process::Signal;

use crate::common::Place;
use crate::common::labs::staging::{all_ok, cautions, plan};

fn stagings(place: &Place) -> usize {
    let journal = place.journal();
    journal.all("step_started").filter(|step| step["step"].as_str().unwrap().starts_with("stage")).count()
}

#[test]
fn loop_datasets_are_staged_once_for_all_trials_of_a_run() {
    let place = Place::new();
    let plan = plan(&place, "native", "auto", 2);
    all_ok(place.run(&plan, &[]), &place);
    assert_eq!(place.journal().finished(), 4);
    assert_eq!(stagings(&place), 1);
    // Each trial says what it worked on.
    let held = place.journal().fact("dataset.docs");
    assert!(held.len() == 4 && held.iter().all(|one| one.starts_with("1 files, 7 B (digest ")), "{held:?}");
    assert!(!cautions(&place).contains("staged on disk"));
}

#[test]
fn loop_datasets_can_be_staged_on_disk_and_the_report_says_so() {
    let place = Place::new();
    let plan = plan(&place, "native", "disk", 1);
    all_ok(place.run(&plan, &[]), &place);
    assert_eq!(stagings(&place), 1);
    assert!(cautions(&place).contains("staged on disk"), "{}", cautions(&place));
}

#[test]
fn loop_datasets_that_cannot_be_staged_end_the_run_with_the_reason() {
    let place = Place::new();
    let endless = plan(&place, "native", "disk", 1).replace("2MiB", "900TiB").replace("96MiB", "1000TiB");
    place.run(&endless, &[]).exits(1).says(&["does not fit into", "hint: make room"]);
    place.is_left_clean();
}

#[test]
fn loop_a_conductor_killed_while_it_stages_leaves_nothing() {
    let place = Place::new();
    let large = plan(&place, "native", "memory", 1).replace("2MiB", "60MiB");
    let mut running = place.start(&large, &[]);
    running.wait_for("the staging", |journal| journal.all("step_started").count() > 0);
    running.signal(Signal::KILL);
    std::thread::sleep(std::time::Duration::from_secs(2));
    place.is_left_clean();
}

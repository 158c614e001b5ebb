//! Datasets that commands need as files: staged once for a whole run natively, on disk where they are to be, and gone
//! with the conductor.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic in its helpers too")]

mod common;

use rustix::process::Signal;

use common::{Place, Seen};

/// Copies a folder of the user's and a generated tree, compares both, and fails if what is staged can be changed.
fn plan(place: &Place, lab: &str, staging: &str, blocks: u32) -> String {
    let docs = place.path().join("docs");
    std::fs::create_dir_all(docs.join("more")).unwrap();
    std::fs::write(docs.join("more/page"), "read me").unwrap();
    std::os::unix::fs::symlink("more/page", docs.join("link")).unwrap();
    format!(
        r#"
title             = "Staged"
lab               = "{lab}"
device            = {{ image = "96MiB", staging = "{staging}" }}
protocol          = {{ blocks = {blocks}, timeout = "120s" }}
dataset.docs.path = "{docs}"
dataset.tree      = {{ profile = "mixed", files = 60, directories = 5, size = "2MiB" }}
matrix.filesystem = ["ext2", "ext4"]
[[phase]]
name    = "docs"
command = '! touch "$DOCS/new" 2>&1 && ! rm "$DOCS/more/page" && cp -a "$DOCS" "$MOUNT/docs"'
verify  = {{ dataset = "docs", at = "docs" }}
[[phase]]
name    = "tree"
command = 'cp -a "$TREE" "$MOUNT/tree"'
verify  = {{ dataset = "tree", at = "tree" }}
"#,
        docs = docs.display()
    )
}

fn stagings(place: &Place) -> usize {
    let journal = place.journal();
    journal.all("step_started").filter(|step| step["step"].as_str().unwrap().starts_with("stage")).count()
}

fn cautions(place: &Place) -> String {
    place.report()["verdict"]["cautions"].to_string()
}

fn all_ok(seen: Seen, place: &Place) {
    seen.exits(0);
    for candidate in ["ext2", "ext4"] {
        assert_eq!(place.status(candidate).0, "ok", "{candidate}");
    }
    place.is_left_clean();
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
fn uml_datasets_can_be_staged_on_disk_and_the_report_says_so() {
    let place = Place::new();
    let plan = plan(&place, "uml", "disk", 1);
    all_ok(place.run(&plan, &[]), &place);
    assert!(cautions(&place).contains("staged on disk"), "{}", cautions(&place));
}

#[test]
fn uml_datasets_that_are_most_of_a_guests_memory_are_staged_in_it() {
    let place = Place::new();
    let plan = plan(&place, "uml", "memory", 1).replace("device ", "memory = \"128MiB\"\ndevice ");
    let large = plan.replace(r#""mixed", files = 60, directories = 5, size = "2MiB""#, LARGE);
    let copied = large.replace(r#"cp -a "$TREE" "$MOUNT/tree"'"#, r#"find "$TREE" -name "*9*" | wc -l'"#);
    place.run(&copied.replace(r#"verify  = { dataset = "tree", at = "tree" }"#, ""), &[]).exits(0);
    assert_eq!(place.status("ext4").0, "ok");
}

/// Three times what the guest has for itself.
const LARGE: &str = r#""mixed", files = 400, directories = 5, size = "400MiB""#;

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

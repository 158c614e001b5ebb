//! `fsverdict status`: how far a run has come, while it goes on, after it ended, and after it was killed.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::Stdio;

use rustix::fs::{FlockOperation, flock};
use serde_json::Value;

use crate::common::Place;

const JOURNAL: &str = include_str!("../runs/nights/1/journal.jsonl");

/// A recorded run of three blocks, in the folder `run`.
fn recorded(place: &Place) {
    place.recorded_from("nights/1", "run");
}

/// The recorded run up to the last line for which this holds, that line included; the path of its journal.
fn cut_after(place: &Place, is_last: impl Fn(&Value) -> bool) -> PathBuf {
    recorded(place);
    let lines: Vec<&str> = JOURNAL.lines().collect();
    let last = lines.iter().rposition(|line| is_last(&serde_json::from_str(line).unwrap())).unwrap();
    let path = place.path().join("run/journal.jsonl");
    fs::write(&path, lines[..=last].join("\n") + "\n").unwrap();
    path
}

fn is(record: &Value, event: &str) -> bool {
    record["event"] == event
}

/// The state of a run as JSON.
fn status(place: &Place) -> Value {
    serde_json::from_str(&place.fsverdict(&["status", "run", "--format", "json"]).exits(0).stdout).unwrap()
}

/// The lock that a conductor holds. A watcher holds it for the moment of a look, and so does a process that another test
/// has just forked, so that it is tried for some seconds.
fn locked(path: &PathBuf) -> File {
    let journal = OpenOptions::new().read(true).append(true).open(path).unwrap();
    let is_locked = || flock(&journal, FlockOperation::NonBlockingLockExclusive).is_ok();
    for _ in 0..1000 {
        if is_locked() {
            return journal;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    panic!("somebody holds {} for good", path.display());
}

#[test]
fn a_run_that_ended_says_so_and_leads_to_its_result() {
    let place = Place::new();
    recorded(&place);
    place.fsverdict(&["status", "run"]).exits(0).shows(&["ended: ", "`fsverdict report run`", "Leader"]);
    let status = status(&place);
    assert_eq!((&status["schema"], &status["state"]), (&1.into(), &"ended".into()));
    assert_eq!(status["trials"]["to_come"]["most"], 0);
    assert!(status["underway"].as_array().unwrap().is_empty() && status["process"].is_null());
    assert!(!status["leaders"].as_array().unwrap().is_empty());
    // Watching what has ended ends at once.
    place.fsverdict(&["status", "run", "--watch"]).exits(0).shows(&["ended: "]);
}

#[test]
fn a_run_that_was_killed_is_stopped_and_can_be_resumed() {
    let place = Place::new();
    let path = cut_after(&place, |record| is(record, "step_started"));
    OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"at\":\"2026-\0").unwrap();
    place.fsverdict(&["status", "run", "--watch"]).exits(0).shows(&[
        "stopped before its end",
        "Cut off",
        "`fsverdict resume run`",
    ]);
    let status = status(&place);
    assert_eq!(status["state"], "stopped");
    assert!(status["underway"][0]["candidate"].is_string());
}

#[test]
fn a_folder_without_a_record_is_being_prepared() {
    let place = Place::new();
    recorded(&place);
    fs::remove_file(place.path().join("run/journal.jsonl")).unwrap();
    place.fsverdict(&["status", "run"]).exits(0).shows(&["nothing is recorded yet"]);
    assert_eq!(status(&place)["state"], "preparing");
    place
        .fsverdict(&["status", "nowhere"])
        .exits(2)
        .says(&["there is no folder nowhere", "hint: the latest run there is run"]);
    place
        .fsverdict(&["status", "."])
        .exits(2)
        .says(&["is not the folder of a run", "hint: the latest run there is run"]);
    place.fsverdict(&["status", "run", "--watch", "--format", "json"]).exits(2).says(&["--watch shows text"]);
}

#[test]
fn a_run_is_watched_to_its_end_and_never_kept_from_its_journal() {
    let place = Place::new();
    let path = cut_after(&place, |record| is(record, "trial_started") && record["trial"]["block"] == 2);
    let seen_before = fs::read(&path).unwrap();
    let conductor = locked(&path);
    let now = status(&place);
    assert_eq!((&now["state"], &now["process"]), (&"running".into(), &std::process::id().into()));
    assert!(now["trials"]["to_come"]["least"].as_u64() > Some(0), "{now:#}");
    assert!(now["seconds_to_go"]["least"].as_f64() > Some(0.0), "{now:#}");
    place.fsverdict(&["status", "run"]).exits(0).shows(&["running (process ", "To go", "Simulated", "Now"]);
    assert_eq!(fs::read(&path).unwrap(), seen_before, "nothing is written");

    let mut watch = place.command(&["status", "run", "--watch"]);
    let mut child = watch.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let first = lines.next().unwrap();
    assert!(first.contains("block 2, ") && first.contains(" ended"), "{first}");
    // Between two looks the lock is free for whoever wants it.
    drop(conductor);
    let conductor = locked(&path);
    let rest = &JOURNAL.as_bytes()[seen_before.len()..];
    let (piece, last) = rest.split_at(rest.len() / 2);
    (&conductor).write_all(piece).unwrap();
    let later = lines.next().unwrap();
    assert!(later.contains(" ended") && later != first, "{later}");
    (&conductor).write_all(last).unwrap();
    drop(conductor);
    let text: Vec<String> = lines.collect();
    assert!(child.wait().unwrap().success());
    assert!(text.iter().any(|line| line.starts_with("State") && line.contains("ended: ")), "{text:#?}");
    assert_eq!(fs::read(&path).unwrap(), JOURNAL.as_bytes());
}

/// 200,000 trials that began and did not end were listed one by one, in 8.5 MB.
#[test]
fn of_very_many_trials_under_way_the_last_are_listed_and_the_others_counted() {
    let place = Place::new();
    recorded(&place);
    let mut text = JOURNAL.lines().next().unwrap().to_owned() + "\n";
    for number in 0..5000 {
        text += &format!(
            "{{\"at\":\"2026-11-21T07:00:00Z\",\"trial\":{{\"block\":{},\"candidate\":\"c{}\",\"attempt\":1}},\"event\":\"trial_started\"}}\n",
            number / 2 + 1,
            number % 2
        );
    }
    fs::write(place.path().join("run/journal.jsonl"), text).unwrap();
    let shown = place
        .fsverdict(&["status", "run"])
        .exits(0)
        .shows(&["4980 trials that began earlier are left out"])
        .stdout;
    assert!(shown.len() < 4000 && shown.contains("block 2500"), "{shown}");
    let status = status(&place);
    assert_eq!(
        (status["underway"].as_array().unwrap().len(), &status["underway_left_out"]),
        (20, &4980.into())
    );
}

/// Nobody writes any more to the file that it would go on reading.
#[test]
fn a_watch_ends_when_its_journal_is_replaced() {
    let place = Place::new();
    let path = cut_after(&place, |record| is(record, "trial_started") && record["trial"]["block"] == 2);
    let _conductor = locked(&path);
    let mut watch = place.command(&["status", "run", "--watch"]);
    let mut child = watch.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.next().unwrap().contains("block 2, "));
    let copy = path.with_extension("copy");
    fs::copy(&path, &copy).unwrap();
    fs::rename(&copy, &path).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(1) && said.contains("was removed or replaced"), "{output:?}");
    assert!(said.contains("hint:"), "{said}");
}

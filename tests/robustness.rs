//! What the surroundings do to the program: nobody listens, a folder that goes away, a disk that takes no more.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic in its helpers too")]

mod common;

use std::fs::{self, File};
use std::process::Stdio;

use common::Place;

/// A standard error that takes nothing: a full disk, or a reader who has gone.
fn deaf(full: bool) -> Stdio {
    if full {
        return File::options().write(true).open("/dev/full").unwrap().into();
    }
    std::io::pipe().unwrap().1.into()
}

/// A complete run that was recorded elsewhere, in the folder `run`.
fn recorded(place: &Place) {
    let from = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/runs/demo");
    fs::create_dir(place.path().join("run")).unwrap();
    for name in ["plan.json", "journal.jsonl"] {
        fs::copy(format!("{from}/{name}"), place.path().join("run").join(name)).unwrap();
    }
}

#[test]
fn nobody_need_listen_to_what_is_said() {
    let place = Place::new();
    recorded(&place);
    for full in [true, false] {
        for (arguments, code) in [
            (["resume", "run"], 0),
            (["report", "nowhere"], 2),
            (["run", "nothing"], 2),
            (["report", "--nonsense"], 2),
            (["agent", ""], 2),
            (["stage", ""], 2),
        ] {
            let status = place.command(&arguments).stdout(Stdio::null()).stderr(deaf(full)).status().unwrap();
            assert_eq!(status.code(), Some(code), "{arguments:?}");
        }
    }
}

#[test]
fn who_has_seen_enough_of_a_result_makes_no_failure_and_a_full_disk_does() {
    let place = Place::new();
    recorded(&place);
    for (full, code) in [(false, 0), (true, 1)] {
        for arguments in [["report", "run"], ["resume", "run"], ["list", "presets"], ["show", "demo"]] {
            let status = place.command(&arguments).stdout(deaf(full)).stderr(deaf(true)).status().unwrap();
            assert_eq!(status.code(), Some(code), "{arguments:?}");
        }
    }
}

#[test]
fn an_error_fits_a_screen() {
    let place = Place::new();
    let plan = place.plan("plan", &format!("title = \"{}\" oops\n", "x".repeat(900_000)));
    let word = "y".repeat(100_000);
    for arguments in [["run", plan.as_str()], ["run", "/dev/zero"], ["run", word.as_str()], ["report", &word]]
    {
        let seen = place.fsverdict(&arguments).exits(2);
        assert!(seen.stderr.len() < 4000, "{} bytes of {}", seen.stderr.len(), &seen.stderr[..200]);
    }
}

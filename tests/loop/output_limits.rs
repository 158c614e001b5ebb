//! A filesystem that is full: what is written there by any command is whole or not there, and the command says so and fails.

use std::fs;
use std::path::PathBuf;

use crate::common::outputs::{WRITERS, inputs, listed};
use crate::common::{Place, Seen, tool};

/// A filesystem in memory, for as long as this lives.
struct Small(PathBuf);

impl Small {
    fn new(place: &Place) -> Small {
        let path = place.path().join("out");
        fs::create_dir(&path).unwrap();
        tool(&["mount", "-t", "tmpfs", "-o", "size=16m", "fsverdict-test", path.to_str().unwrap()]);
        Small(path)
    }

    /// Takes all of its room but for so many bytes.
    fn fill(&self, but: u64) {
        let space = rustix::fs::statvfs(&self.0).unwrap();
        let room = (space.f_bavail * space.f_frsize).saturating_sub(but);
        fs::write(self.0.join("filler"), vec![7; room.try_into().unwrap()]).unwrap();
    }

    fn empty(&self) {
        fs::remove_file(self.0.join("filler")).unwrap();
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        tool(&["umount", "--lazy", self.0.to_str().unwrap()]);
    }
}

fn seen(place: &Place, arguments: &[String]) -> Seen {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let output = place.command(&arguments).env("BROWSER", "true").output().unwrap();
    Seen::of(&output)
}

#[test]
fn loop_a_full_filesystem_leaves_no_half_a_file() {
    let place = Place::new();
    let small = Small::new(&place);
    inputs(&place, &small.0);
    for writer in WRITERS {
        let arguments = writer.arguments_below("out");
        // Nothing at all fits, and then only the beginning of what is longer than a page.
        for but in [0, 4096] {
            small.fill(but);
            let before = listed(&small.0);
            let full = seen(&place, &arguments);
            let after = listed(&small.0);
            small.empty();
            if but == 0 {
                assert_eq!(after, before, "{arguments:?}: {full:#?}");
            }
            let done = seen(&place, &arguments);
            let whole = listed(&small.0);
            for name in writer.writes {
                assert!(
                    whole.iter().any(|(known, length, _)| known == name && *length > 0),
                    "{arguments:?}: {done:#?}"
                );
            }
            // What did fit is all that it is to be.
            let is_known = |one| before.contains(one) || whole.contains(one);
            assert!(after.iter().all(is_known), "{arguments:?}, {but}: {full:#?}");
            if after == before {
                let full = full.exits(1).says(&["error: ", "hint: make room"]);
                assert!(
                    ["No space left", "is full"].iter().any(|words| full.stderr.contains(words)),
                    "{full:#?}"
                );
            }
            for name in writer.writes.iter().filter(|name| !name.contains('/')) {
                let _ = fs::remove_file(small.0.join(name));
            }
            for entry in fs::read_dir(&small.0).unwrap().flatten().filter(|entry| entry.path().is_file()) {
                fs::remove_file(entry.path()).unwrap();
            }
        }
    }
}

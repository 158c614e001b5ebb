//! What a site runs into: a disk that is full in mid-block, and whatever makes its block no part of the run. Loop devices and a
//! small filesystem in memory stand for its disks.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::common::{Disk, PROGRAM, Place, Seen, tool};

/// A filesystem in memory of so many MiB, for as long as this lives.
struct Small(PathBuf);

impl Small {
    fn new(place: &Place, name: &str, size: u64) -> Small {
        let path = place.path().join(name);
        fs::create_dir(&path).unwrap();
        tool(&["mount", "-t", "tmpfs", "-o", &format!("size={size}m"), "small", path.to_str().unwrap()]);
        Small(path)
    }

    /// Takes all of its room but for so many KiB; in as many steps as it takes while others write.
    fn fill(&self, but: u64) {
        let space = rustix::fs::statvfs(&self.0).unwrap();
        let room = (space.f_bavail * space.f_frsize).saturating_sub(but << 10);
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

/// Two filesystems on a scratch image, in two blocks.
fn plan(folder: &Path, command: &str) -> String {
    format!(
        r#"
title             = "Full"
lab               = "native"
device            = {{ image = "64MiB", folder = "{}" }}
protocol          = {{ blocks = 2, timeout = "60s", disturbed = false }}
dataset.tree      = {{ profile = "mixed", files = 40, directories = 6, size = "1MiB" }}
matrix.filesystem = ["ext4", "ext2"]
phase             = [{{ name = "write", operation = "tree.write", dataset = "tree" }}, {{ name = "do", command = '''{command}''' }}]
"#,
        folder.display()
    )
}

fn block(place: &Place, run: &str, site: &str, number: &str, more: &[&str]) -> Seen {
    place.fsverdict(&[&["block", run, "--site", site, "--block", number, "--quiet"], more].concat())
}

/// Every event of this kind in a journal.
fn events(path: &Path, kind: &str) -> usize {
    fs::read_to_string(path).unwrap().matches(&format!("\"event\":\"{kind}\"")).count()
}

#[test]
fn loop_a_site_whose_spool_is_full_in_mid_block_loses_nothing_and_does_it_again() {
    let place = Place::new();
    let scratch = place.path().join("scratch");
    fs::create_dir(&scratch).unwrap();
    let path = place.plan("plan", &plan(&scratch, "true"));
    let spool = Small::new(&place, "spool", 8);
    let run = spool.0.join("run").to_str().unwrap().to_owned();
    block(&place, &path, "a", "1", &["--out", &run]).exits(0);
    let first = fs::read(spool.0.join("run/sites/a/block-0001.jsonl")).unwrap();
    // Room for the beginning of a block, not for all of it: what one takes is known now.
    spool.fill(first.len() as u64 / 1024 / 2);
    let partial = spool.0.join("run/sites/a/block-0002.partial");
    let folder = partial.parent().unwrap().display().to_string();
    for _ in 0..2 {
        block(&place, &run, "a", "2", &[]).exits(1).says(&[
            "No space left on device",
            &format!("hint: make room in {folder}"),
            "hint: then the same command does block 2 of site a again",
        ]);
        assert!(events(&partial, "trial_started") > 0 && events(&partial, "block_finished") == 0);
        assert!(!partial.with_extension("jsonl").exists());
    }
    spool.empty();
    block(&place, &run, "a", "2", &[]).exits(0);
    let second = partial.with_extension("jsonl");
    assert!(
        !partial.exists() && events(&second, "block_started") == 1 && events(&second, "trial_finished") == 2
    );
    assert!(fs::read(spool.0.join("run/sites/a/block-0001.jsonl")).unwrap() == first);
    place.fsverdict(&["merge", &run]).exits(0);
    assert_eq!(events(&spool.0.join("run/journal.jsonl"), "block_finished"), 2);
}

#[test]
fn loop_a_scratch_disk_that_others_fill_is_not_held_against_a_candidate() {
    let place = Place::new();
    let scratch = Small::new(&place, "scratch", 160);
    let path = place.plan(
        "plan",
        &plan(&scratch.0, "sleep 3; head -c 30M /dev/urandom > \"$MOUNT/x\" && sync -f \"$MOUNT/x\""),
    );
    let words = ["block", &path, "--out", "run", "--site", "a", "--block", "1", "--quiet"];
    let child = place.command(&words).stderr(std::process::Stdio::piped()).spawn().unwrap();
    let partial = place.path().join("run/sites/a/block-0001.partial");
    let patience = Instant::now() + Duration::from_secs(60);
    let under_way = || fs::read_to_string(&partial).is_ok_and(|text| text.contains("\"step\":\"do\""));
    while !under_way() {
        assert!(Instant::now() < patience, "never came to its command");
        std::thread::sleep(Duration::from_millis(5));
    }
    scratch.fill(64);
    let seen = Seen::of(&child.wait_with_output().unwrap()).exits(1);
    let folder = scratch.0.display().to_string();
    let seen = seen.says(&[
        "failed, and what it needs is not there",
        &folder,
        "hint: make room",
        "hint: then the same command",
    ]);
    assert!(
        seen.stderr.contains("block 1 of site a") && events(&partial, "trial_finished") == 0,
        "{seen:#?}"
    );
    scratch.empty();
    place.fsverdict(&words).exits(0);
    let whole = fs::read_to_string(partial.with_extension("jsonl")).unwrap();
    assert_eq!(whole.matches("\"status\":\"ok\"").count(), 2, "{whole}");
}

#[test]
fn loop_a_block_that_cannot_be_part_of_the_run_is_refused_before_it_is_begun() {
    let place = Place::new();
    let disks = ["one", "other"].map(|name| Disk::new(&place, name, 64 << 20));
    let text = plan(place.path(), "true").replace(
        "device            = { image = \"64MiB\",",
        "device            = { path = \"/dev/nowhere\",",
    );
    let text = text.replace(&format!(", folder = \"{}\"", place.path().display()), "");
    let path = place.plan("plan", &text);
    let devices = [0, 1].map(|at: usize| disks[at].device.as_str());

    // The inventory names another disk than is there: nothing was written, and both are named.
    let refused = block(
        &place,
        &path,
        "a",
        "1",
        &["--out", "run", "--device", devices[0], "--erase", "WD-OTHER-SERIAL"],
    );
    refused.exits(1).says(&["`WD-OTHER-SERIAL` is not the identity of", devices[0], "hint: "]);
    assert!(disks[0].bytes().iter().all(|byte| *byte == 0));
    block(&place, &path, "a", "1", &["--out", "run", "--device", devices[0]]).exits(0);

    // Another disk than the site had before.
    let identity = |at: usize| disks[at].file.display().to_string();
    let seen = block(&place, "run", "a", "2", &["--device", devices[1]]).exits(1);
    seen.says(&["site a: another device: it was ", &identity(0), &identity(1), "hint: put that back"]);
    assert!(disks[1].bytes().iter().all(|byte| *byte == 0), "a refused device was written");

    // Another build of the program: what the first one found is not mixed with what this one would.
    let program = place.path().join("built-otherwise");
    fs::copy(PROGRAM, &program).unwrap();
    fs::OpenOptions::new()
        .append(true)
        .open(&program)
        .and_then(|mut file| std::io::Write::write_all(&mut file, b"\n"))
        .unwrap();
    let words = ["block", "run", "--site", "b", "--block", "1", "--quiet", "--device", devices[1]];
    let seen = place.any(program.to_str().unwrap(), &words).exits(1);
    let said =
        seen.stderr.lines().find(|line| line.contains("site b has another build of fsverdict: ")).unwrap();
    assert!(said.contains(", where it is ") && said.ends_with(" at a"), "{said}");

    // Another kernel: as if the first block had been done before an upgrade.
    let first = place.path().join("run/sites/a/block-0001.jsonl");
    let text = fs::read_to_string(&first).unwrap();
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let now = format!("\"kernel.release\":\"{}\"", release.trim());
    assert!(text.contains(&now));
    fs::write(&first, text.replace(&now, "\"kernel.release\":\"5.10.0-1-amd64\"")).unwrap();
    let seen = block(&place, "run", "b", "1", &["--device", devices[1]]).exits(1);
    seen.says(&[&format!("site b has another kernel: {}, where it is 5.10.0-1-amd64 at a", release.trim())]);
    fs::write(&first, text).unwrap();
    block(&place, "run", "b", "1", &["--device", devices[1]]).exits(0);
    place.fsverdict(&["merge", "run"]).exits(0).shows(&["merged from 2 sites: a, b"]);
}

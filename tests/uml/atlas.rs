//! An atlas of a small plan on two kinds of devices: killed and continued, built again, and stopped by its time.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::common::daemons::{LocalSlurm, LocalSshd, write_inventory};
use crate::common::{Place, Seen};

const PLAN: &str = r#"
title    = "A small work"
lab      = "uml"
device   = { image = "1GiB" }
protocol = { blocks = 3, seed = 1 }
dataset.tree = { profile = "mixed", files = 40, directories = 4, size = "512KiB" }
matrix.filesystem = ["ext4", "xfs"]

[[phase]]
name      = "write"
operation = "tree.write"
dataset   = "tree"

[[phase]]
name      = "read"
operation = "tree.read"
dataset   = "tree"
cold      = true
"#;

fn arguments<'a>(out: &'a str, cells: &'a str, time: &'a str) -> Vec<&'a str> {
    let devices = ["--devices", "hdd-7200,sata-ssd", "--blocks", "3"];
    [&["atlas", "build", "plan.toml", "--out", out, "--cells", cells, "--for", time][..], &devices].concat()
}

/// Every file of a site by its name.
fn files(site: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in std::fs::read_dir(site).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            all.extend(files(&entry));
        } else {
            all.insert(
                entry.display().to_string().split("site").last().unwrap()[1..].to_owned(),
                std::fs::read(&entry).unwrap(),
            );
        }
    }
    all
}

#[test]
fn uml_a_killed_build_continues_and_gives_the_same_pages() {
    let place = Place::new();
    place.plan("plan", PLAN);
    let mut first = place.command(&arguments("site1", "cells", "10m")).stderr(Stdio::null()).spawn().unwrap();
    let began = Instant::now();
    let has_trial = || {
        let cells = std::fs::read_dir(place.path().join("cells")).into_iter().flatten().flatten();
        let journals = cells.map(|cell| std::fs::read_to_string(cell.path().join("journal.jsonl")));
        journals.flatten().any(|text| text.contains("trial_finished"))
    };
    while !has_trial() {
        assert!(began.elapsed() < Duration::from_secs(300), "no trial has ended");
        std::thread::sleep(Duration::from_millis(50));
    }
    first.kill().unwrap();
    first.wait().unwrap();
    assert!(!place.path().join("site1/index.html").exists());
    let told = place.fsverdict(&arguments("site1", "cells", "10m")).exits(0);
    assert!(told.stdout.contains("2 of 2 cells computed"), "{told:?}");
    // Nothing is computed twice, and a build without an interruption has the same pages, but for the day.
    place.fsverdict(&arguments("site1", "cells", "10m")).exits(0).says(&["2 were there, 0 were computed"]);
    place.fsverdict(&arguments("site2", "others", "10m")).exits(0);
    let (one, two) = (files(&place.path().join("site1")), files(&place.path().join("site2")));
    assert!(one.len() > 15 && one.keys().eq(two.keys()), "{:?}", one.keys());
    // The runs themselves hold the time at which they were made.
    for (name, content) in one.iter().filter(|(name, _)| !name.starts_with("/runs/")) {
        assert!(*content == two[name], "{name} differs");
    }
    // Another machine, which has the site and not the cells, continues from the runs in it.
    let elsewhere = arguments("site1", "none", "10m");
    place.fsverdict(&elsewhere).exits(0).says(&["2 were there, 0 were computed"]);
    assert!(files(&place.path().join("site1")) == one);
    // A run of the site that is damaged is computed again.
    let runs: Vec<&String> = one.keys().filter(|name| name.starts_with("/runs/")).collect();
    assert_eq!(runs.len(), 2);
    std::fs::write(format!("{}/site1{}", place.path().display(), runs[0]), "damaged").unwrap();
    let told = place.fsverdict(&elsewhere).exits(0);
    told.says(&["left out", "1 were there, 1 were computed"]);
    // A recommendation that changes without a reason is an error, and the site stays as it is.
    let numbers = place.path().join("site1/atlas.json");
    let told = std::fs::read_to_string(&numbers).unwrap();
    let first = if told.contains("\"first\": \"xfs\"") { "xfs" } else { "ext4" };
    let changed = told
        .replace(&format!("\"first\": \"{first}\""), "\"first\": \"btrfs\"")
        .replace("\"undecided\"", "\"nine_of_ten\"");
    std::fs::write(&numbers, &changed).unwrap();
    let render = [&arguments("site1", "cells", "10m")[..], &["--render"]].concat();
    place.fsverdict(&render).exits(4).says(&["btrfs before", "without a change of plan"]);
    assert_eq!(std::fs::read_to_string(&numbers).unwrap(), changed);
}

#[test]
fn uml_a_cell_that_does_not_end_in_its_time_is_empty_and_says_so() {
    let place = Place::new();
    place.plan("plan", PLAN);
    let told = place.fsverdict(&arguments("site", "cells", "1s")).exits(0);
    assert!(told.stdout.contains("nothing was computed yet"), "{told:?}");
    let index = std::fs::read_to_string(place.path().join("site/index.html")).unwrap();
    assert_eq!(index.matches("its run did not end in 1s").count(), 2, "{index}");
}

/// What the site of a build at two sites must be: the same bytes as that of a build on one machine.
fn check_sites(place: &Place, on: &str, variables: &[(&str, &Path)]) {
    let more = ["--on", on, "--sites", "sites.toml"];
    let words = [&arguments("site2", "shared", "10m")[..], &more].concat();
    let mut command = place.command(&words);
    let told = Seen::of(&command.envs(variables.iter().copied()).output().unwrap());
    assert!(told.code == Some(0) && told.stdout.contains("2 of 2 cells computed"), "{told:#?}");
    for site in ["lab1", "lab2"] {
        assert!(told.stderr.contains(&format!(" at {site} (")), "{site} computed no cell: {told:#?}");
    }
    place.fsverdict(&arguments("site1", "cells", "10m")).exits(0);
    let (one, two) = (files(&place.path().join("site1")), files(&place.path().join("site2")));
    assert!(one.len() > 15 && one.keys().eq(two.keys()), "{:?}", one.keys());
    // The runs themselves hold the time at which they were made.
    for (name, content) in one.iter().filter(|(name, _)| !name.starts_with("/runs/")) {
        assert!(*content == two[name], "{name} differs");
    }
}

#[test]
fn uml_cells_computed_over_ssh_at_two_sites_give_the_same_pages() {
    let place = Place::new();
    place.plan("plan", PLAN);
    let Some(sshd) = LocalSshd::start(&place) else { return };
    let folder = place.path().display().to_string();
    write_inventory(&place, ["lab1", "lab2"], |name| format!("folder = \"{folder}/{name}\""));
    check_sites(&place, "ssh", &[("PATH", sshd.path.as_ref())]);
    // Each cell was carried out at one of the sites, in a folder of its own there.
    let cells = |site: &str| std::fs::read_dir(place.path().join(site)).unwrap().count();
    assert_eq!((cells("lab1"), cells("lab2")), (1, 1));
    // A device of a site is refused, since cells bring their own.
    write_inventory(&place, ["lab1", "lab2"], |_| "device = \"image:1GiB\"".to_owned());
    let words = [&arguments("site3", "third", "10m")[..], &["--on", "ssh", "--sites", "sites.toml"]].concat();
    place.fsverdict(&words).exits(1).says(&["the site lab1 of the inventory names a device", "hint: "]);
}

#[test]
fn uml_cells_computed_by_slurm_give_the_same_pages() {
    let place = Place::new();
    place.plan("plan", PLAN);
    let Some(slurm) = LocalSlurm::start(&place) else { return };
    write_inventory(&place, ["lab1", "lab2"], |_| String::new());
    check_sites(&place, "slurm", &slurm.variables());
}

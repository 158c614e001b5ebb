//! Sites that do blocks in guests, until it is settled.

use std::fs;

use crate::common::{Place, two_disks};

#[test]
fn uml_sites_do_blocks_until_it_is_settled_and_a_killed_one_is_done_again() {
    let place = Place::new();
    fs::write(place.path().join("plan.toml"), two_disks(3, 6)).unwrap();
    let block = |run: &str, site: &str, number: u32| -> Vec<String> {
        let words = ["block", run, "--site", site, "--block", &number.to_string(), "--jobs", "1"];
        words.iter().map(|word| (*word).to_owned()).collect()
    };
    let with = |mut words: Vec<String>| {
        words.extend(["--out", "run"].map(str::to_owned));
        words
    };
    let first = with(block("plan.toml", "a", 1));
    let first: Vec<&str> = first.iter().map(String::as_str).collect();
    let mut child = place.command(&first).spawn().unwrap();
    let partial = place.path().join("run/sites/a/block-0001.partial");
    let under_way = || fs::read_to_string(&partial).is_ok_and(|text| text.contains("trial_started"));
    while !under_way() && child.try_wait().unwrap().is_none() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    place.fsverdict(&["merge", "run"]).exits(1).says(&["no site has a whole block"]);
    place.fsverdict(&first).exits(0).says(&["block 1 of site a is done"]);
    place.fsverdict(&first).exits(0).says(&["was done before"]);
    assert!(!partial.exists());
    let settled = (1..=6).any(|number| {
        for site in ["a", "b"] {
            let words = block("run", site, number);
            place.fsverdict(&words.iter().map(String::as_str).collect::<Vec<_>>()).exits(0);
        }
        place.fsverdict(&["merge", "run", "--settled"]).code == Some(0)
    });
    assert!(settled);
    place
        .fsverdict(&["block", "run", "--site", "c", "--block", "1"])
        .exits(0)
        .says(&["nothing is left to find out"]);
    place.fsverdict(&["merge", "run"]).exits(0).shows(&[
        "Take ",
        "At each site",
        "merged from 2 sites: a, b",
    ]);
    place.is_left_clean();
}

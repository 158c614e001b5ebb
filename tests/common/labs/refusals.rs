//! Why a trial failed, and which options are refused before there is any.

use crate::common::{Place, one_command};

/// What a failed trial says, in the journal.
fn reason(place: &Place) -> String {
    place.journal().all("trial_finished").map(|end| end["reason"].as_str().unwrap().to_owned()).collect()
}

pub fn failures_say_why(lab: &str, doing: &str) {
    let place = Place::new();
    let option = one_command(lab, "true") + "matrix.mount = ['bogus=1']\n";
    place.run(&option, &[]).exits(1).says(&["the kernel: ", "bogus"]);
    let found = &place.report()["candidates"][0];
    let text = found["reason"].as_str().unwrap();
    assert_eq!(found["status"], "skipped");
    assert!(text.contains("-o noinit_itable,bogus=1") && !text.contains("dmesg"), "{text}");
    let place = Place::new();
    let slow = one_command(lab, "sleep 50").replace("timeout = \"60s\"", "timeout = \"5s\"");
    place.run(&slow, &[]).exits(1).says(&["hint: `timeout` in [protocol]", "protocol.timeout=15s"]);
    let text = reason(&place);
    assert!(text.contains("at `do`, which runs: sleep 50") && text.contains(doing), "{text}");
    assert!(!text.contains("console") && text.lines().count() == 1, "{text}");
    assert_eq!(place.journal().0.last().unwrap()["event"], "run_finished");
    place.failed("ext4", &["within the 5s"]);
    place.is_left_clean();
}

/// Four of which two have an option that nobody knows.
fn choosy(lab: &str, device: &str) -> String {
    format!(
        r#"
title        = "Options"
lab          = "{lab}"
device       = {{ {device} }}
protocol     = {{ blocks = 1, disturbed = false }}
dataset.tree = {{ profile = "mixed", files = 20, directories = 3, size = "256KiB" }}
phase        = [{{ name = "write", operation = "tree.write", dataset = "tree" }}]
candidate    = [
    {{ name = "plain", filesystem = "ext2" }},
    {{ name = "taken", filesystem = "ext4", mkfs = "-O ^has_journal", mount = "noatime" }},
    {{ name = "unmade", filesystem = "ext4", mkfs = "-O nosuchfeature" }},
    {{ name = "unmounted", filesystem = "ext4", mount = "nosuchoption" }},
]
"#
    )
}

/// Unknown options, and numbers out of range: the filesystem, its options, and a word of the error.
const REFUSED: [(&str, &str, &str); 5] = [
    ("ext4", "mkfs = \"-O nosuchfeature\"", "nosuchfeature"),
    ("ext4", "mount = \"nosuchoption\"", "nosuchoption"),
    ("ext4", "mount = \"data=nosuchmode\"", "nosuchmode"),
    ("btrfs", "mount = \"compress=zstd:99\"", "zstd:99"),
    ("xfs", "mkfs = \"-m nosuchkey=1\"", "nosuchkey"),
];

/// A run that refused options leave a single candidate does not begin.
pub fn refused_options_end_a_comparison_of_two(lab: &str, device: &str) {
    for (filesystem, options, word) in REFUSED {
        let place = Place::new();
        let two = format!(
            "title = \"Two\"\nlab = \"{lab}\"\ndevice = {{ {device} }}\n\
             dataset.tree = {{ profile = \"mixed\", files = 20, size = \"256KiB\" }}\n\
             phase = [{{ name = \"write\", operation = \"tree.write\", dataset = \"tree\" }}]\n\
             candidate = [{{ filesystem = \"ext2\" }}, {{ filesystem = \"{filesystem}\", {options} }}]\n"
        );
        let plan = place.plan("plan", &two);
        place.fsverdict(&["run", &plan, "--out", "run"]).exits(1).says(&["only ext2", word, "hint: correct"]);
        assert!(!place.path().join("run").exists(), "{options}");
        place.is_left_clean();
    }
}

pub fn options_are_tried_before_the_first_trial(lab: &str, device: &str) {
    let place = Place::new();
    let plan = place.plan("plan", &choosy(lab, device));
    let refused =
        ["unmade: skipped: its options are refused", "nosuchfeature", "unmounted: skipped", "nosuchoption"];
    place.fsverdict(&["run", &plan, "--dry-run"]).exits(3).shows(&refused);
    place.fsverdict(&["doctor", &plan]).exits(3).shows(&[
        "nosuchfeature",
        "nosuchoption",
        "2 of 4 candidates can run",
    ]);
    place.fsverdict(&["run", &plan, "--out", "run", "--quiet"]).exits(3);
    for (candidate, status) in
        [("plain", "ok"), ("taken", "ok"), ("unmade", "skipped"), ("unmounted", "skipped")]
    {
        assert_eq!(place.status(candidate).0, status, "{candidate}");
    }
    let journal = place.journal();
    assert_eq!(journal.all("trial_started").count(), 2, "what is refused has no trial");
    place.is_left_clean();
}

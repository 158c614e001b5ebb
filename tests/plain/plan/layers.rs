//! Layers below a filesystem: the list, its short form, and what is wrong with either.

use std::path::Path;

use fsverdict_judgement::plan;
use fsverdict_judgement::plan::{Candidate, Overrides, Plan, digest};

use super::{names, read, set};

fn text(lines: &str) -> String {
    format!(
        "title = \"Layers\"\ndevice.image = \"1GiB\"\n{lines}\n[[phase]]\nname = \"sync\"\ncommand = \"sync\"\n"
    )
}

fn plan(lines: &str) -> Result<Plan, String> {
    read(&text(lines), "layers.toml").map_err(|error| error.to_string())
}

fn of(candidate: &Candidate) -> Vec<&str> {
    candidate.layers.names().collect()
}

#[test]
fn one_that_has_a_short_form_is_the_same_in_both() {
    for (short, list) in [("none", "[]"), ("luks1", "[\"luks1\"]"), ("luks2", "[\"luks2\"]")] {
        let [one, other] = [format!("encryption = \"{short}\""), format!("layers = {list}")].map(|line| {
            plan(&format!(
                "[[candidate]]\nfilesystem = \"xfs\"\n{line}\n[[candidate]]\nfilesystem = \"ext4\""
            ))
            .unwrap()
        });
        assert_eq!(one, other);
        assert_eq!(digest(&one), digest(&other));
        assert!(serde_json::to_string(&other).unwrap().contains(&format!("\"encryption\":\"{short}\"")));
    }
    let short =
        plan("[matrix]\nfilesystem = [\"ext4\", \"xfs\"]\nencryption = [\"none\", \"luks2\"]").unwrap();
    let list = plan("[matrix]\nfilesystem = [\"ext4\", \"xfs\"]\nlayers = [[], [\"luks2\"]]").unwrap();
    assert_eq!(names(&short), ["ext4", "ext4+luks2", "xfs", "xfs+luks2"]);
    assert_eq!(short, list);
}

#[test]
fn the_order_counts_in_names_in_digests_and_in_what_is_written_out() {
    let matrix =
        "[matrix]\nfilesystem = [\"ext4\"]\nlayers = [[\"luks1\", \"luks2\"], [\"luks2\", \"luks1\"], []]";
    let plan = plan(matrix).unwrap();
    assert_eq!(names(&plan), ["ext4+luks1+luks2", "ext4+luks2+luks1", "ext4"]);
    assert_eq!(of(&plan.candidates[1]), ["luks2", "luks1"]);
    let again = read(&plan::write(&plan), "written.toml").unwrap();
    assert_eq!(again, plan);
    let mut turned = plan.clone();
    turned.candidates[0].layers = plan.candidates[1].layers.clone();
    assert_ne!(digest(&turned), digest(&plan));
    let json = serde_json::to_string(&plan).unwrap();
    assert!(json.contains("\"layers\":[\"luks1\",\"luks2\"]"), "{json}");
    assert_eq!(serde_json::from_str::<Plan>(&json).unwrap(), plan);
}

#[test]
fn what_is_wrong_with_layers_is_told_in_its_place() {
    let candidate = |line: &str| format!("[[candidate]]\nfilesystem = \"ext4\"\n{line}");
    let matrix = |line: &str| format!("[matrix]\nfilesystem = [\"ext4\", \"xfs\"]\n{line}");
    for (lines, told) in [
        // At the word, not at the list.
        (
            candidate("layers = [\"luks2\", \"luks\"]"),
            ["layers.toml:5:20", "there is no layer `luks`", "`luks1` or `luks2`"],
        ),
        (
            candidate("layers = [\"none\"]"),
            ["layers.toml:5:11", "there is no layer `none`", "known: fuse, integrity, luks1, luks2, lvm"],
        ),
        (
            candidate("layers = [\"luks2\", \"luks2\"]"),
            ["layers.toml:5:10", "the layer `luks2` stands there twice", "once"],
        ),
        (
            candidate("layers = \"luks2\""),
            ["layers.toml:5:10", "an array of layers is wanted here, not a string", "[\"luks2\"]"],
        ),
        (candidate("layers = [2]"), ["layers.toml:5:10", "`layers`: a string is wanted here", "quotes"]),
        (
            candidate("encryption = \"luks2\"\nlayers = [\"luks2\"]"),
            ["layers.toml:6:1", "`layers` does not go with `encryption`", "short form"],
        ),
        (
            candidate("encryption = [\"luks2\"]"),
            ["layers.toml:5:14", "`encryption`: a string is wanted here", ""],
        ),
        (candidate("encryption = \"luks3\""), ["layers.toml:5:14", "there is no encryption `luks3`", "luks"]),
        (
            matrix("encryption = [\"none\"]\nlayers = [[]]"),
            ["layers.toml:6:1", "`layers` does not go with `encryption`", "short form"],
        ),
        (
            matrix("layers = [[\"luks2\"], [\"luks2\"]]"),
            ["layers.toml:5:22", "`layers` lists this value twice", ""],
        ),
        (
            matrix("layers = [[\"luks2\"], [\"luks9\"]]"),
            ["layers.toml:5:23", "there is no layer `luks9`", ""],
        ),
        (matrix("layers = [\"luks2\"]"), ["layers.toml:5:11", "`layers`: an array of layers is wanted", ""]),
        (
            "[[candidate]]\nfilesystem = \"directory\"\npath = \"/mnt\"\nlayers = []".to_owned(),
            ["layers.toml:6:1", "`layers` does not go with", "a folder is worked in as it is"],
        ),
    ] {
        let error = plan(&lines).unwrap_err();
        assert!(told.iter().all(|told| error.contains(told)), "{lines}: {error}");
    }
    let text = text(&candidate("layers = [\"luks1\"]"));
    let changed = super::read_with(&text, "p", &set(&["candidate.1.layers=[\"luks2\"]"])).unwrap();
    assert_eq!(of(&changed.candidates[0]), ["luks2"]);
    assert!(super::read_with(&text, "p", &Overrides::default()).is_ok());
}

/// Each recorded run is known by the digest of its plan, which older versions wrote.
#[test]
fn recorded_plans_keep_their_digests() {
    let runs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/runs");
    let mut layered = 0;
    for name in ["demo", "recorded", "nights/1", "nights/2", "nights/3", "nights/4"] {
        let file = |file: &str| std::fs::read_to_string(runs.join(name).join(file)).unwrap();
        let plan: Plan = serde_json::from_str(&file("plan.json")).unwrap();
        let first: serde_json::Value =
            serde_json::from_str(file("journal.jsonl").lines().next().unwrap()).unwrap();
        assert_eq!(digest(&plan), first["plan_digest"].as_str().unwrap(), "{name}");
        layered += plan.candidates.iter().filter(|candidate| !candidate.layers.is_empty()).count();
    }
    assert!(layered > 5, "{layered}");
}

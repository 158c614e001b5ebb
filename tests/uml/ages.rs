//! A filesystem that is aged on purpose, against a fresh copy of what became of it.

use crate::common::{Place, members};

const AGED: &str = r#"
title           = "Aged"
lab             = "uml"
device          = { model = "hdd-7200", size = "340MiB" }
protocol        = { blocks = 1, timeout = "300s", devices = "one" }
dataset.sources = { profile = "source-code", files = 300, directories = 30, size = "3MiB" }
phase = [
    { name = "write", operation = "tree.write", dataset = "sources" },
    { name = "pulls", operation = "age.pull", dataset = "sources", pulls = 40, changed = 0.02 },
    { name = "old", operation = "tree.read", dataset = "sources", cold = true },
    { name = "more", operation = "age.pull", dataset = "sources", pulls = 5, changed = 0.02 },
    { name = "fresh", operation = "tree.read", dataset = "sources", cold = true, remake = "old" },
    { name = "newest", operation = "tree.read", dataset = "sources", cold = true, remake = "more" },
]
"#;

#[test]
fn uml_an_aged_tree_is_held_against_its_fresh_copy() {
    let place = Place::new();
    let all = ["ext4", "btrfs", "nilfs2", "jfs"];
    let filesystems = members(all, |name| (*name).to_owned(), ["nilfs2", "jfs"]);
    place
        .run(&format!("{AGED}matrix.filesystem = {filesystems:?}\n"), &["--all"])
        .exits(0)
        .shows_broken(&["aged in one go"]);
    let journal = place.journal();
    for name in filesystems {
        let measured = |phase: &str, metric: &str| {
            let of = |one: &&serde_json::Value| one["phase"] == phase && one["trial"]["candidate"] == name;
            let all = journal.all("observation").filter(of);
            let mut all = all.flat_map(|one| one["measurements"].as_array().unwrap());
            all.find(|one| one["metric"] == metric)?["value"].as_f64()
        };
        // The same files, the same bytes, and another way to them.
        for metric in ["files", "logical_bytes"] {
            let found = measured("old", metric);
            assert!(found.is_some() && found == measured("fresh", metric), "{name}: {metric}");
        }
        assert!(measured("newest", "files") > measured("fresh", "files"), "{name}");
        // Of so little, most filesystems keep enough together; a log has what changed at its end.
        if name == "nilfs2" {
            assert!(measured("old", "seeks") > measured("fresh", "seeks"), "{name}");
        }
        // jfs does not tell where files lie, and nobody is asked before there is a history.
        for (phase, told) in [("write", false), ("old", name != "jfs"), ("fresh", name != "jfs")] {
            let score = measured(phase, "layout");
            assert_eq!(score.is_some(), told, "{name}: {phase}");
            assert!(score.is_none_or(|score| (0.5..=1.0).contains(&score)), "{name}: {score:?}");
        }
    }
    place.is_left_clean();
}

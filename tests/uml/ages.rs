//! A filesystem that is aged on purpose, against a fresh copy of what became of it.

use crate::common::Place;

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
matrix.filesystem = ["ext4", "xfs", "btrfs", "jfs"]
"#;

#[test]
fn uml_an_aged_tree_is_read_with_more_seeks_than_its_fresh_copy() {
    let place = Place::new();
    place.run(AGED, &[]).exits(0).shows(&["aged in one go"]);
    let journal = place.journal();
    for name in ["ext4", "xfs", "btrfs", "jfs"] {
        let measured = |phase: &str, metric: &str| {
            let mut found = journal.all("observation");
            let found = found.find(|one| one["phase"] == phase && one["trial"]["candidate"] == name)?;
            let all = found["measurements"].as_array()?;
            all.iter().find(|one| one["metric"] == metric)?["value"].as_f64()
        };
        // The same files, the same bytes, and another way to them.
        for metric in ["files", "logical_bytes"] {
            assert_eq!(measured("old", metric), measured("fresh", metric), "{name}: {metric}");
        }
        assert!(measured("newest", "files") > measured("fresh", "files"), "{name}");
        assert!(measured("old", "seeks") > measured("fresh", "seeks"), "{name}");
        // jfs does not tell where files lie, and nobody is asked before there is a history.
        for (phase, told) in [("write", false), ("old", name != "jfs"), ("fresh", name != "jfs")] {
            let score = measured(phase, "layout");
            assert_eq!(score.is_some(), told, "{name}: {phase}");
            assert!(score.is_none_or(|score| (0.5..=1.0).contains(&score)), "{name}: {score:?}");
        }
    }
    place.is_left_clean();
}

//! Snapshots of a filesystem that this machine's kernel may not have.

use crate::common::{Place, has_uml, not_run};

const KEPT: &str = r#"
title             = "What is kept"
lab               = "uml"
device.image      = "384MiB"
protocol          = { blocks = 1, seed = 5, timeout = "60s" }
dataset.tree      = { profile = "mixed", files = 40, directories = 6, size = "1MiB" }
matrix.filesystem = ["nilfs2", "btrfs"]
phase = [
    { name = "write", operation = "tree.write", dataset = "tree" },
    { name = "keep", operation = "snapshot.create", dataset = "tree" },
    { name = "overwrite", operation = "tree.overwrite", dataset = "tree" },
    { name = "keep-again", operation = "snapshot.create", dataset = "tree" },
    { name = "give-up", operation = "snapshot.delete", dataset = "tree" },
    { name = "kept", command = 'if [ -d "$MOUNT/.snapshot-2" ]; then echo shown; fi' },
]
"#;

#[test]
fn uml_snapshots_are_made_and_given_up_by_what_the_filesystem_calls_them() {
    if !has_uml() {
        return not_run("linux.uml is not there");
    }
    let place = Place::new();
    place.run(KEPT, &[]).exits(0);
    let journal = place.journal();
    let of = |filesystem: &str, step: &str| -> Vec<(String, String)> {
        let of =
            |event: &&serde_json::Value| event["trial"]["candidate"] == filesystem && event["step"] == step;
        let told = |event: &serde_json::Value| {
            let words: Vec<&str> =
                event["argv"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
            (words.join(" "), event["stdout"].as_str().unwrap_or_default().trim().to_owned())
        };
        journal.all("command").filter(of).map(told).collect()
    };
    let made = of("nilfs2", "snapshot.create");
    let [(line, first), (_, second)] = &made[..] else { panic!("{made:?}") };
    assert!(line.starts_with("mkcp -s -p /dev/"), "{line}");
    assert!(first.parse::<u64>().unwrap() < second.parse::<u64>().unwrap(), "{made:?}");
    // The oldest is given up: first it is no snapshot any more, and then not kept at all.
    let gone = of("nilfs2", "snapshot.delete");
    let [(unmarked, _), (removed, _)] = &gone[..] else { panic!("{gone:?}") };
    assert!(unmarked.starts_with("chcp cp /dev/") && unmarked.ends_with(&format!(" {first}")), "{unmarked}");
    assert!(removed.starts_with("rmcp /dev/") && removed.ends_with(&format!(" {first}")), "{removed}");
    assert_eq!(of("btrfs", "kept")[0].1, "shown");
}

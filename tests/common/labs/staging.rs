//! Datasets that commands need as files.

use crate::common::{Place, Seen};

/// Copies a folder of the user's and a generated tree, compares both, and fails if what is staged can be changed.
pub fn plan(place: &Place, lab: &str, staging: &str, blocks: u32) -> String {
    let docs = place.path().join("docs");
    std::fs::create_dir_all(docs.join("more")).unwrap();
    std::fs::write(docs.join("more/page"), "read me").unwrap();
    std::os::unix::fs::symlink("more/page", docs.join("link")).unwrap();
    format!(
        r#"
title             = "Staged"
lab               = "{lab}"
device            = {{ image = "96MiB", staging = "{staging}" }}
protocol          = {{ blocks = {blocks}, timeout = "120s" }}
dataset.docs.path = "{docs}"
dataset.tree      = {{ profile = "mixed", files = 60, directories = 5, size = "2MiB" }}
matrix.filesystem = ["ext2", "ext4"]
[[phase]]
name    = "docs"
command = '! touch "$DOCS/new" 2>&1 && ! rm "$DOCS/more/page" && cp -a "$DOCS" "$MOUNT/docs"'
verify  = {{ dataset = "docs", at = "docs" }}
[[phase]]
name    = "tree"
command = 'cp -a "$TREE" "$MOUNT/tree"'
verify  = {{ dataset = "tree", at = "tree" }}
"#,
        docs = docs.display()
    )
}

pub fn cautions(place: &Place) -> String {
    place.report()["verdict"]["cautions"].to_string()
}

pub fn all_ok(seen: Seen, place: &Place) {
    seen.exits(0);
    for candidate in ["ext2", "ext4"] {
        assert_eq!(place.status(candidate).0, "ok", "{candidate}");
    }
    place.is_left_clean();
}

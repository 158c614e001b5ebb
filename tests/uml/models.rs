//! Filesystems on the shipped models of devices: each is made, mounted, written to, checked and mounted again, once.
//!
//! What fails on some models alone depends on what a model shows of itself: whether it has a volatile cache that is flushed, takes
//! discards, turns, or answers at once.

use fsverdict_disk::device::built_in;
use fsverdict_stack::filesystem::filesystem_names;

use crate::common::{Place, is_full, members, not_run};

const PLAN: &str = r#"
title        = "Filesystems on one model"
lab          = "uml"
cpu          = "free"
device       = { model = "MODEL", size = "512MiB" }
protocol     = { blocks = 1, timeout = "300s", circumstances = "fixed", devices = "one", seed = 3 }
dataset.tree = { profile = "mixed", files = 40, directories = 4, size = "1MiB" }
phase        = [{ name = "write", operation = "tree.write", dataset = "tree" }]
[matrix]
filesystem   = [FILESYSTEMS]
"#;

/// What is tried without `FULL=1`: an SSD without a volatile cache, which has nothing to flush; and a stick, which takes no discards.
const REPRESENTATIVE: [&str; 2] = ["nvme-plp", "usb-stick"];

/// Filesystems that need more than `make test` installs: their tools (bcachefs), or a kernel with them. The sources of no kernel
/// have reiser4.
const APART: [&str; 3] = ["bcachefs", "reiser4", "zfs"];

/// Runs these filesystems on two models, or on all. A trial of each must end well.
#[track_caller]
fn work_on_the_models(filesystems: &[&str]) {
    let names: Vec<String> = filesystems.iter().map(|name| format!("\"{name}\"")).collect();
    let plan = PLAN.replace("FILESYSTEMS", &names.join(", "));
    let mut models: Vec<&str> = built_in().iter().map(|model| model.name).collect();
    if !is_full() {
        models.retain(|model| REPRESENTATIVE.contains(model));
        assert_eq!(models.len(), REPRESENTATIVE.len());
    }
    let mut wrong = Vec::new();
    for model in models {
        let place = Place::new();
        let seen = place.run(&plan.replace("MODEL", model), &[]);
        let journal = place.journal();
        let ended: Vec<_> = journal.all("trial_finished").collect();
        for trial in ended.iter().filter(|trial| trial["status"] != "ok") {
            wrong.push(format!("{} on {model}: {}", trial["trial"]["candidate"], trial["reason"]));
        }
        if ended.len() != filesystems.len() {
            wrong.push(format!("{model}: {} trials: {}", ended.len(), seen.stderr));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn uml_simulated_filesystems_work_on_the_models_of_devices() {
    let mut filesystems = filesystem_names();
    filesystems.retain(|name| !APART.contains(name));
    assert_eq!(filesystems.len() + APART.len(), filesystem_names().len());
    // One that writes in place behind a journal, and one that writes elsewhere.
    work_on_the_models(&members(filesystems, |name| (*name).to_owned(), ["ext4", "btrfs"]));
}

#[test]
fn uml_simulated_zfs_works_on_the_models_of_devices() {
    if !Place::new().fsverdict(&["kernel", "list"]).exits(0).stdout.contains("with ZFS") {
        return not_run("no kernel with ZFS: fsverdict kernel build --with zfs");
    }
    work_on_the_models(&["zfs"]);
}

#[test]
fn uml_simulated_bcachefs_works_on_the_models_of_devices() {
    let place = Place::new();
    let installed = place.any("sh", &["-c", "command -v mkfs.bcachefs"]).stdout;
    if installed.is_empty() && place.fsverdict(&["tools", "list"]).exits(0).stdout.is_empty() {
        return not_run("no tools of bcachefs: as root, fsverdict tools bcachefs");
    }
    work_on_the_models(&["bcachefs"]);
}

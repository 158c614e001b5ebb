//! What lies in the folder of a run is reached through the folder's descriptor: nothing that conducts, judges or reports a run opens,
//! makes, replaces, removes or lists files by their paths, but for what is listed here with its reason.

use std::collections::BTreeSet;
use std::path::Path;

use crate::rooms::sources;

/// Where the folder of a run is known.
const ROOMS: [&str; 11] = [
    "src/study/",
    "crates/faults/src/",
    "src/cli/",
    "src/fleet/",
    "src/runner/",
    "crates/lab/src/lab/trace",
    "crates/lab/src/lab/write_log",
    "crates/lab/src/lab/attachment",
    "crates/judgement/src/",
    "crates/report/src/",
    "crates/disk/src/",
];

/// Ways of using a file by its path, or of making a path below a folder that is open.
const WAYS: [&str; 27] = [
    "fs::write(",
    "File::create(",
    "File::create_new(",
    "File::open(",
    "File::options(",
    "OpenOptions",
    "DirBuilder",
    "fs::create_dir",
    "fs::remove_",
    "fs::rename(",
    "fs::read(",
    "fs::read_to_string(",
    "fs::read_dir(",
    "fs::read_link(",
    "fs::copy(",
    "hard_link(",
    "symlink(",
    "set_permissions(",
    "open_regular(",
    "read_regular(",
    "read_beginning(",
    "tempfile",
    "rustix::fs::open(",
    "openat(",
    "unlinkat(",
    ".path().join(",
    ".path().with_",
];

/// Where that is right: the file, what is used there, and why it is nothing in the folder of a run.
const REASONS: [(&str, &str, &str); 32] = [
    ("src/cli/calibrate_cpu.rs", "tempfile", "a folder of this process alone, which is no folder of a run"),
    ("src/cli/calibrate_cpu.rs", "fs::copy(", "the same"),
    ("src/cli/calibrate_cpu.rs", ".path().join(", "the same"),
    ("src/study/cpu_calibration/halves.rs", "tempfile", "the same"),
    ("src/study/cpu_calibration/halves.rs", "fs::write(", "the same"),
    ("src/study/cpu_calibration/halves.rs", "set_permissions(", "the same"),
    ("src/study/cpu_calibration/halves.rs", ".path().join(", "the same"),
    ("src/study/prospect.rs", "fs::read_dir(", "the user's folder that is a dataset"),
    ("src/cli/atlas/strangers.rs", "fs::read_dir(", "a folder of bundles that the user named"),
    ("src/cli/atlas/compute.rs", "read_regular(", "a bundle in the site, which the user named"),
    ("src/cli/atlas/regression.rs", "read_regular(", "the answers of an earlier atlas, which the user named"),
    (
        "crates/faults/src/power_cuts/script.rs",
        "tempfile",
        "an image without a name, in the folder for temporary files",
    ),
    ("src/cli/against.rs", "read_regular(", "a trace that the user named"),
    ("src/cli/calibrate.rs", "fs::read_to_string(", "a file of sysfs"),
    (
        "src/study/time/trial_time.rs",
        "fs::read_dir(",
        "the folder of the user's runs, of which each is opened by itself",
    ),
    ("src/cli/settle_size.rs", "fs::create_dir", "a new folder, in which each size is a run of its own"),
    (
        "src/cli/manual/mod.rs",
        "tempfile",
        "man pages before they are put into the folder that the user named",
    ),
    ("src/cli/manual/mod.rs", "fs::read(", "the same"),
    ("src/cli/manual/mod.rs", "fs::read_dir(", "the same"),
    ("src/cli/vocabulary.rs", "File::open(", "a plan that the user named"),
    ("src/study/time/trial_time.rs", "fs::read(", "a file of the kernel's, for the speed of this machine"),
    ("src/fleet/block.rs", "fs::read(", "this program itself"),
    ("src/study/folder.rs", "fs::read_dir(", "the names of runs beside one that is not there, for a hint"),
    ("src/fleet/inventory.rs", "read_regular(", "an inventory that the user named"),
    ("src/fleet/user_state.rs", "DirBuilder", "the user's own folder of inventories"),
    ("src/fleet/user_state.rs", "fs::remove_", "the user's own folder of inventories"),
    ("src/fleet/user_state.rs", "set_permissions(", "the user's own folder of inventories"),
    ("src/fleet/bundle/archive.rs", "open_regular(", "a bundle that the user named"),
    (
        "crates/judgement/src/journal/reader.rs",
        "open_regular(",
        "a journal that a caller named, for tests and tools",
    ),
    ("crates/disk/src/calibrate/disk.rs", "File::options(", "a device that is measured"),
    ("crates/disk/src/device/model/mod.rs", "read_regular(", "a model that the user named"),
    (
        "src/study/cpu_calibration/halves.rs",
        "symlink(",
        "a temporary folder of this process alone, beside the script that starts a kernel",
    ),
];

/// Without comments, imports and tests.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let is_code =
        |line: &&str| !["//", "use ", "pub use "].iter().any(|start| line.trim_start().starts_with(start));
    text.lines().filter(is_code).collect::<Vec<_>>().join("\n")
}

/// Files that are compiled for tests alone.
fn is_of_tests(path: &str) -> bool {
    path.ends_with("tests.rs") || path.contains("/tests/")
}

fn uses(text: &str) -> Vec<&'static str> {
    // Which is how files that a user names are written.
    let text = code(text).replace("OutputFile::create(", "");
    WAYS.into_iter().chain(["self.path.join("]).filter(|way| text.contains(way)).collect()
}

#[test]
fn nothing_in_the_folder_of_a_run_is_used_by_its_path() {
    let (mut wrong, mut unused): (Vec<String>, BTreeSet<_>) =
        (Vec::new(), REASONS.iter().map(|(file, way, _)| (*file, *way)).collect());
    let mut looked = 0;
    for (path, text) in sources() {
        let path = path.to_string_lossy().into_owned();
        if !ROOMS.iter().any(|room| path.starts_with(room)) || is_of_tests(&path) {
            continue;
        }
        looked += 1;
        for way in uses(&text) {
            match REASONS.iter().find(|(file, known, _)| *file == path && *known == way) {
                Some((file, way, _)) => drop(unused.remove(&(*file, *way))),
                None => wrong.push(format!("{path}: {way}")),
            }
        }
    }
    assert!(looked > 150, "{looked} files were looked at");
    assert!(wrong.is_empty(), "use FolderHandle or OutputFile, or give the reason:\n{}", wrong.join("\n"));
    assert!(unused.is_empty(), "reasons for nothing: {unused:?}");
    // The look itself sees what it is to see.
    assert_eq!(
        uses("fn f() {\n    std::fs::write(folder.path().join(\"x\"), \"\")\n}\n"),
        ["fs::write(", ".path().join("]
    );
    assert!(Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/folders/src/output_file.rs").exists());
}

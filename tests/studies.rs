//! The five studies as presets: do they ask their tools for what the authors asked for?

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic in its helpers too")]

use std::process::Command;

use fsverdict::plan::{Dataset, Overrides, Plan, Vocabulary, Work, measure_variable, preset, read_with};

fn study(name: &str, scale: Option<f64>) -> Plan {
    let filesystems = fsverdict::filesystem::names();
    let encryptions = fsverdict::layer::encryption_names();
    let known = fsverdict::workload::operations().iter();
    let operations: Vec<(&str, &[&str])> = known
        .map(|operation| (operation.name(), &["tree", "file", "flat"][..]))
        .chain([("device.write", &["file"][..]), ("device.read", &["file"]), ("fsck", &[])])
        .collect();
    let profiles: Vec<&str> = fsverdict::dataset::PROFILES.iter().map(|profile| profile.name).collect();
    let adapters = fsverdict::workload::adapters().iter();
    let metrics: Vec<&str> = fsverdict::journal::METRICS
        .iter()
        .chain(adapters.clone().flat_map(|adapter| adapter.metrics()))
        .map(|metric| metric.name)
        .collect();
    let vocabulary = Vocabulary {
        filesystems: &filesystems,
        encryptions: &encryptions,
        operations: &operations,
        adapters: &adapters.map(|adapter| adapter.name()).collect::<Vec<_>>(),
        profiles: &profiles,
        metrics: &metrics,
    };
    let text = preset(name).unwrap().toml;
    read_with(text, name, &Overrides { scale, ..Overrides::default() }, &vocabulary).unwrap()
}

/// The words of a phase's line as the shell makes them, with the sizes of the plan's datasets.
fn words(plan: &Plan, phase: &str) -> String {
    let phase = plan.phases.iter().find(|found| found.name == phase).unwrap();
    let (Work::Command(line) | Work::Adapter { options: line, .. }) = &phase.work else { panic!("no line") };
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("echo {line}")]).env("MOUNT", "/mnt");
    for (name, dataset) in &plan.datasets {
        let (bytes, files) = match dataset {
            Dataset::File { size, .. } => (size.0, 1),
            Dataset::Flat { files, file_size } => (files * file_size.0, *files),
            Dataset::Tree(shape) => (shape.size.0, shape.files),
            Dataset::Folder { .. } => continue,
        };
        for (measure, value) in [("bytes", bytes), ("mib", (bytes >> 20).max(1)), ("files", files)] {
            shell.env(measure_variable(name, measure), value.to_string());
        }
    }
    String::from_utf8(shell.output().unwrap().stdout).unwrap().trim().to_owned()
}

#[test]
fn the_magazine_asks_bonnie_for_what_the_study_did_and_for_less_when_scaled() {
    assert_eq!(words(&study("magazine", None), "bonnie"), "-s 2000:8k:8192 -f20 -n 16 -r 0");
    assert_eq!(words(&study("magazine", Some(0.1)), "bonnie"), "-s 200:8k:819 -f2 -n 2 -r 0");
    // Less than one MiB byte by byte cannot be asked for: the bare -f leaves it out.
    assert_eq!(words(&study("magazine", Some(0.005)), "bonnie"), "-s 10:8k:41 -f -n 1 -r 0");
}

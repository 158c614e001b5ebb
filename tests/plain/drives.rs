//! Models of published drives against what was measured on them: the figures of docs/results/device-models.md.
//!
//! The drives' files lie beside the repository, in `../shared/drives` or where `FSVERDICT_DRIVES` says, and do not belong to
//! it. A model is written from what was published, fitted to the first fifth of its trace, and scored on the rest.

mod read_platter;

use std::fmt::Write;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::common::{Place, not_run};
use read_platter::model_of;

/// Most that a model may be off: of the mean, and within reads and writes (or the kinds that the trace tells apart).
const MEAN: f64 = 0.04;
const KINDS: f64 = 0.08;
/// How many of five drives must be met.
const MET: usize = 4;

pub(crate) fn folder() -> PathBuf {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/drives");
    std::env::var_os("FSVERDICT_DRIVES").map_or(beside, PathBuf::from)
}

/// Every folder in there with a trace and a geometry.
fn drives() -> Vec<(String, PathBuf)> {
    let entries = std::fs::read_dir(folder()).into_iter().flatten().flatten();
    let mut drives: Vec<(String, PathBuf)> = entries
        .map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path()))
        .filter(|(_, path)| path.join("trace.txt").is_file() && path.join("model.txt").is_file())
        .collect();
    drives.sort();
    drives
}

#[test]
fn published_drives_are_met() {
    let drives = drives();
    if drives.is_empty() {
        return not_run(&format!("there are no measured drives in {}", folder().display()));
    }
    let place = Place::new();
    let (mut met, mut table) = (0, String::new());
    for (name, path) in &drives {
        let file = format!("{name}.toml");
        std::fs::write(place.path().join(&file), model_of(path, &name.replace('_', "-"))).unwrap();
        let trace = path.join("trace.txt");
        let (trace, model) = (trace.to_str().unwrap(), format!("./{file}"));
        let seen = place
            .fsverdict(&["calibrate", "--against", trace, "--model", &model, "--fit", "--format", "json"])
            .exits(0);
        let found: Value = serde_json::from_str(&seen.stdout).unwrap();
        let figure = |part: usize, key: &str| found["parts"][part][key].as_f64().unwrap();
        assert_eq!(found["parts"][3]["of"], "the rest, fitted", "{found}");
        let operations = figure(3, "operations");
        met += usize::from(figure(3, "demerit") <= MEAN && operations <= KINDS);
        write!(table, "{name}").unwrap();
        for part in 0..4 {
            let keys =
                ["demerit", "operations", "within"].map(|key| format!("{:.1}", figure(part, key) * 100.0));
            write!(table, " | {}", keys.join(" ")).unwrap();
        }
        for row in found["fitted"].as_array().unwrap() {
            write!(table, "\n    {}: {} -> {}", row["number"], row["before"], row["fitted"]).unwrap();
        }
        table.push('\n');
    }
    println!(
        "of the mean, within reads and writes, within kinds (%): first fifth, rest; the same fitted\n{table}"
    );
    assert!(met * 5 >= drives.len() * MET, "{met} of {} are met:\n{table}", drives.len());
}

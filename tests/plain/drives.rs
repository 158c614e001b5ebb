//! Models of published drives against what was measured on them: the figures of docs/results/device-models.md.
//!
//! The drives' files lie beside the repository, in `../shared/drives` or where `FSVERDICT_DRIVES` says, and do not belong to
//! it. A model is written from what was published, fitted to the first fifth of its trace, and scored on the rest.

mod read_platter;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use fsverdict_disk::device::{AccessKind, Model};
use serde_json::Value;

use crate::common::{Place, is_full, members, not_run};
use crate::tables::write_table;
use read_platter::model_of;

/// Most that a model may be off: of the mean, and within reads and writes (or the kinds that the trace tells apart).
const MEAN: f64 = 0.04;
const KINDS: f64 = 0.08;
/// How many of five drives must be met.
const MET: usize = 4;

/// Keys of the overheads in `[platter]`.
const OVERHEADS_MS: [&str; 6] =
    ["hit_ms", "hit_after_write_ms", "miss_ms", "miss_after_write_ms", "write_ms", "write_after_write_ms"];

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

/// Fits a model to the first fifth of a drive's trace; returns the report.
fn fit(place: &Place, drive: &Path, model: &str) -> Value {
    std::fs::write(place.path().join("drive.toml"), model).unwrap();
    let trace = drive.join("trace.txt");
    let arguments = ["calibrate", "--against", trace.to_str().unwrap(), "--model", "./drive.toml", "--fit"];
    let seen = place.fsverdict(&[&arguments[..], &["--format", "json"]].concat()).exits(0);
    let found: Value = serde_json::from_str(&seen.stdout).unwrap();
    assert_eq!(found["parts"][3]["of"], "the rest, fitted", "{found}");
    found
}

/// Overheads that are three times too long, and none at all, lead to the same model as published ones.
#[test]
fn a_fit_finds_overheads_wherever_it_starts() {
    let path = folder().join("hp_c2247a");
    if !path.join("trace.txt").is_file() {
        return not_run(&format!("there is no measured drive in {}", path.display()));
    }
    let place = Place::new();
    let published = model_of(&path, "hp");
    for factor in [3.0, 0.0] {
        let scaled = |line: &str| match line.split_once(" = ") {
            Some((key, value)) if key.ends_with("_us") || OVERHEADS_MS.contains(&key) => {
                format!("{key} = {}\n", value.parse::<f64>().unwrap() * factor)
            }
            _ => format!("{line}\n"),
        };
        let found = fit(&place, &path, &published.lines().map(scaled).collect::<String>());
        let figure = |part: usize, key: &str| found["parts"][part][key].as_f64().unwrap();
        // The file by itself is off by 12 to 28 % within kinds.
        assert!(figure(1, "within") > 0.10, "{found}");
        assert!(figure(3, "demerit") <= 0.025 && figure(3, "within") <= 0.08, "times {factor}: {found}");
    }
}

#[test]
fn published_drives_are_met() {
    let drives = drives();
    if drives.is_empty() {
        return not_run(&format!("there are no measured drives in {}", folder().display()));
    }
    let drives = members(drives, |(name, _)| name.clone(), ["hp_c2247a", "cheetah9LP"]);
    let place = Place::new();
    let mut biases = BTreeMap::<&str, Vec<(&str, f64)>>::new();
    let (mut met, mut details) = (0, String::new());
    let mut table =
        "| drive | as published | fitted to the first fifth | what the first fifth shows, besides times |\n\
                     |---|---|---|---|\n"
            .to_owned();
    for (name, path) in &drives {
        let found = fit(&place, path, &model_of(path, &name.replace('_', "-")));
        let figure = |part: usize, key: &str| found["parts"][part][key].as_f64().unwrap();
        let operations = figure(3, "operations");
        for kind in found["parts"][1]["kinds"].as_array().unwrap() {
            let access = access_kind(kind["kind"].as_str().unwrap()).name();
            biases.entry(access).or_default().push((name, kind["bias"].as_f64().unwrap()));
        }
        met += usize::from(figure(3, "demerit") <= MEAN && operations <= KINDS);
        let shares = |part: usize| {
            let keys =
                ["demerit", "operations", "within"].map(|key| format!("{:.1}", figure(part, key) * 100.0));
            keys.join(" / ")
        };
        let fitted = found["fitted"].as_array().unwrap();
        let word = |row: &Value, key: &str| row[key].as_str().unwrap().replace('"', "");
        let policies = fitted.iter().filter(|row| {
            let number = word(row, "number");
            !["_ms", "_us", "mb_s"].iter().any(|end| number.ends_with(end))
        });
        let policies: Vec<String> = policies
            .map(|row| {
                let number = word(row, "number");
                format!("`{}` {}", number.rsplit(' ').next().unwrap(), word(row, "fitted"))
            })
            .collect();
        writeln!(table, "| {name} | {} | {} | {} |", shares(1), shares(3), policies.join(", ")).unwrap();
        for row in fitted {
            writeln!(details, "{name} {}: {} -> {}", row["number"], row["before"], row["fitted"]).unwrap();
        }
        writeln!(details, "{name} {}", found["warnings"]).unwrap();
    }
    println!("{details}");
    if is_full() {
        write_table("drives", &table);
        check_access_errors(&biases);
    }
    assert!(met * 5 >= drives.len() * MET, "{met} of {} are met:\n{table}", drives.len());
}

/// The kind of access that a kind of request belongs to. Kinds that a trace's own words tell apart are reads from the
/// drive's buffer and others, and writes.
fn access_kind(kind: &str) -> AccessKind {
    match kind {
        "read onwards" | "read hit" => AccessKind::ReadOnwards,
        "write onwards" => AccessKind::WriteOnwards,
        read if read.starts_with("read") => AccessKind::ReadElsewhere,
        _ => AccessKind::WriteElsewhere,
    }
}

/// How many further disks no part of the models was fitted to, and how far these were off in reads and writes onwards: root
/// mean squares (docs/results/device-models.md). Their files are not here.
const UNFITTED_DISKS: f64 = 6.0;
const UNFITTED_ERRORS: [(AccessKind, f64); 2] =
    [(AccessKind::ReadOnwards, 0.62), (AccessKind::WriteOnwards, 0.20)];

/// The error of a kind over the published drives and the disks that no part of the models was fitted to.
fn pool_with_unfitted(kind: AccessKind, squares: f64, drives: f64) -> f64 {
    let unfitted = UNFITTED_ERRORS.iter().find(|(other, _)| *other == kind);
    let (squares, drives) = unfitted.map_or((squares, drives), |(_, error)| {
        (squares + UNFITTED_DISKS * error.powi(2), drives + UNFITTED_DISKS)
    });
    (squares / drives).sqrt()
}

/// The errors that models of disks state are those of the published drives, and of the disks that no part of the models was
/// fitted to: the root mean square, over the drives, of how far the mean of a kind is off.
fn check_access_errors(biases: &BTreeMap<&str, Vec<(&str, f64)>>) {
    let stated = Model::named("hdd-7200").unwrap().errors;
    let mut table = "| kind of access | off by, drive by drive | root mean square | with six more | `[errors]` of disks |\n\
                     |---|---|--:|--:|--:|\n"
        .to_owned();
    let mut wrong = Vec::new();
    for kind in AccessKind::ALL {
        let Some(found) = biases.get(kind.name()) else { continue };
        let each: Vec<String> =
            found.iter().map(|(drive, bias)| format!("{drive} {:+.1} %", bias * 100.0)).collect();
        let squares: f64 = found.iter().map(|(_, bias)| (1.0 + bias).ln().powi(2)).sum();
        let fitted = (squares / found.len() as f64).sqrt();
        let error = pool_with_unfitted(kind, squares, found.len() as f64);
        let stated = stated.of(kind);
        writeln!(table, "| `{}` | {} | {fitted:.3} | {error:.3} | {stated} |", kind.name(), each.join(", "))
            .unwrap();
        // Of a few drives no error is known to 2 %.
        if stated < 0.8 * error || stated > 1.3 * error + 0.02 {
            wrong.push(format!("{}: {error:.3} found, {stated} stated", kind.name()));
        }
    }
    write_table("access-errors", &table);
    assert!(wrong.is_empty(), "{wrong:#?}");
}

//! Calibrations that users contribute, one file each as `fsverdict calibrate DEVICE -o FILE` writes it, compared with the
//! class that they were made like: which of the measured numbers lie within it.
//!
//! The files lie beside the repository, in `../shared/calibrations` or where `FSVERDICT_CALIBRATIONS` says.

use std::path::{Path, PathBuf};

use fsverdict_disk::device::Model;

use crate::common::not_run;
use crate::tables::write_table;

const HEADER: &str = "| device | class | measured | outside of the class | error on the half that was not fitted |\n\
                      |---|---|---|---|---|\n";

fn folder() -> PathBuf {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/calibrations");
    std::env::var_os("FSVERDICT_CALIBRATIONS").map_or(beside, PathBuf::from)
}

/// Section, key and value of each line of a model.
fn lines(text: &str) -> Vec<(String, &str, &str)> {
    let mut section = String::new();
    let mut found = Vec::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix('[') {
            section = name.split(']').next().unwrap_or_default().to_owned();
        } else if let Some((key, value)) = line.split_once('=').filter(|_| !line.starts_with('#')) {
            found.push((section.clone(), key.trim(), value.trim()));
        }
    }
    found
}

/// The number after a word in a range.
fn number(text: &str, word: &str) -> Option<f64> {
    let rest = text.split_once(word)?.1.trim_start_matches([' ', '=']);
    rest.split([',', '}', ' ']).next()?.replace('_', "").parse().ok()
}

/// Whether a measured value lies in what the class has there: a range, a choice or one value, which others are within a
/// tenth of.
fn is_inside(class: &str, measured: &str) -> bool {
    let class = class.split('#').next().unwrap_or_default().trim();
    let Ok(value) = measured.parse::<f64>() else {
        return class.trim_matches(['[', ']']).split(',').any(|choice| choice.trim() == measured);
    };
    if let (Some(from), Some(to)) = (number(class, "from"), number(class, "to")) {
        return (from..=to).contains(&value);
    }
    let choices = class.trim_matches(['[', ']']).split(',');
    let mut choices = choices.filter_map(|choice| choice.trim().replace('_', "").parse::<f64>().ok());
    choices.any(|choice| (value - choice).abs() <= 0.1 * choice.abs())
}

/// A row of the table.
fn row(text: &str) -> Result<String, String> {
    let model = Model::read(text, "a calibration", None).map_err(|error| error.to_string())?;
    let first = text.lines().next().unwrap_or_default();
    let like = first.rsplit_once("is of the model ").map(|(_, name)| name.trim_end_matches('.'));
    let like = like.ok_or("its first line does not say of which model it is")?;
    let (class, _) = Model::file(like).map_err(|error| error.to_string())?;
    let class = lines(&class);
    let measured: Vec<(String, &str, &str)> =
        lines(text).into_iter().filter(|(.., value)| value.ends_with("# measured")).collect();
    let outside = measured.iter().filter_map(|(section, key, value)| {
        let value = value.trim_end_matches("# measured").trim();
        let known = class.iter().find(|(known, name, _)| known == section && name == key)?.2;
        (!is_inside(known, value)).then(|| format!("`{key}` {value}"))
    });
    let outside: Vec<String> = outside.collect();
    let errors = text.lines().filter_map(|line| line.split_once("fitted to, ")?.1.split_once(": "));
    let errors: Vec<String> = errors.map(|(kind, error)| format!("{kind} {error}")).collect();
    let none = || "none".to_owned();
    Ok(format!(
        "| {} | `{like}` | {} | {} | {} |\n",
        model.summary.trim_start_matches("measured on "),
        measured.len(),
        if outside.is_empty() { none() } else { outside.join(", ") },
        errors.join(", ")
    ))
}

#[test]
fn contributed_calibrations_are_held_against_their_class() {
    let entries = std::fs::read_dir(folder()).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|end| end == "toml"));
    files.sort();
    if files.is_empty() {
        return not_run(&format!("there are no calibrations in {}", folder().display()));
    }
    let rows = files.iter().map(|path| {
        let text = std::fs::read_to_string(path).unwrap();
        row(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    });
    let rows: String = rows.collect();
    write_table("calibrations", &(HEADER.to_owned() + &rows));
}

#[test]
fn a_calibration_says_what_lies_outside_of_its_class() {
    let (class, _) = Model::file("usb-disk-5400").unwrap();
    let class = class.split_once("[ask]").unwrap();
    let rest = class.1.split_once("[device]").unwrap().1;
    let text = format!(
        "# /dev/sdx, measured by `fsverdict calibrate` on 2026-01-01. What reading does not show is of the model usb-disk-5400.\n\
         # Error on the half of the grid it was not fitted to, reads anywhere: 1.5 %\n\
         name = \"mine\"\nversion = 1\nsummary = \"measured on /dev/sdx, 2026-01-01\"\n[device]{rest}"
    );
    let set = |text: &str, key: &str, value: &str| -> String {
        let line = |line: &str| {
            if line.starts_with(key) { format!("{key} = {value}  # measured\n") } else { format!("{line}\n") }
        };
        text.lines().map(line).collect()
    };
    let text = set(&set(&set(&text, "average_ms", "11.5"), "outer_mb_s", "210"), "through", "false");
    let text = set(&set(&text, "rpm", "7200"), "command_us", "260");
    assert_eq!(
        row(&text).unwrap(),
        "| /dev/sdx, 2026-01-01 | `usb-disk-5400` | 5 | `rpm` 7200, `outer_mb_s` 210 | reads anywhere 1.5 % |\n"
    );
    assert!(row("name = 3").is_err());
}

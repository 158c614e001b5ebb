//! How many measured points lie inside the class that a model describes: the rates of members drawn from the class, against
//! curves of drives.
//!
//! The ends of a class come from data sheets, and from what a host adapter changes of them. With ends from the other drives
//! alone, half as far again on either side, 88 of 98 points lie inside, too (docs/results/device-models.md).

use std::collections::BTreeMap;

use fsverdict_disk::device::{Action, Draw, Model};

use crate::common::not_run;
use crate::curves::{measured, rate};
use crate::drives::folder;

/// Bytes of the part of each drive that is used.
const SIZE: u64 = 8 << 30;
/// Writes that are more than the cache of any member holds: the second half of them is counted.
const CACHED_WRITES: u64 = 18_000;
/// Pairs of members that are drawn from a class: a draw and its mirror image.
const PAIRS: u64 = 20;
/// The share of the members below and above the range.
const OUTSIDE: f64 = 0.05;

/// The range of nine members of ten, at this depth.
fn class_range(name: &str, action: Action, depth: u64) -> (f64, f64) {
    // Writes have to fill the cache first, if there is one.
    let is_cached = action == Action::Write && !name.ends_with("write-through");
    let count = if is_cached { CACHED_WRITES } else { 400 + 60 * depth };
    let draws = (0..PAIRS).flat_map(|seed| [false, true].map(|mirrored| Draw { seed, mirrored }));
    let mut rates: Vec<f64> = draws
        .map(|draw| {
            let model = Model::find_drawn(name, &draw).unwrap();
            rate(&model, SIZE, action, depth, count)
        })
        .collect();
    rates.sort_by(f64::total_cmp);
    let below = (rates.len() as f64 * OUTSIDE) as usize;
    (rates[below], rates[rates.len() - 1 - below])
}

/// The model whose class a measured drive belongs to.
fn class_of(drive: &str, kind: &str) -> Option<&'static str> {
    match kind {
        "SATA SSD" if drive.contains("write cache off") => Some("sata-ssd:filled+write-through"),
        "SATA SSD" => Some("sata-ssd:filled"),
        "NVMe SSD" => Some("nvme-ssd:filled"),
        _ => None,
    }
}

#[test]
fn measured_points_lie_inside_their_class() {
    let path = folder().join("fio-curves.tsv");
    let Ok(text) = std::fs::read_to_string(&path) else {
        return not_run(&format!("there are no measured curves at {}", path.display()));
    };
    let mut kinds = BTreeMap::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split('\t').collect();
        kinds.insert(fields[0], fields[1]);
    }
    let mut ranges = BTreeMap::new();
    let (mut all, mut inside) = (0, 0);
    for ([drive, host, operation], curve) in measured(&text) {
        let Some(class) = class_of(drive, kinds[drive]) else { continue };
        let action = if operation == "randread" { Action::Read } else { Action::Write };
        let (mut line, mut met) = (String::new(), 0);
        for (depth, seen) in &curve {
            let (low, high) = *ranges
                .entry((class, operation, *depth))
                .or_insert_with(|| class_range(class, action, u64::from(*depth)));
            let is_inside = (low..=high).contains(seen);
            met += usize::from(is_inside);
            let mark = if is_inside { "" } else { " !" };
            line += &format!("  {depth}: {low:.0} {seen:.0} {high:.0}{mark}");
        }
        println!("{class} {operation}, {drive}, {host}: {met} of {}\n{line}", curve.len());
        all += curve.len();
        inside += met;
    }
    println!("{inside} of {all} points lie inside their class");
    assert!(inside * 5 >= all * 4, "{inside} of {all} points lie inside their class");
}

#[test]
fn every_number_that_varies_within_a_class_is_described_in_reports() {
    for built_in in fsverdict_disk::device::built_in() {
        for key in Model::named(built_in.name).unwrap().drawn.keys() {
            assert_ne!(&fsverdict_report::describe_number(key), key, "of {}", built_in.name);
        }
    }
}

//! The rates of built-in models by the number of requests at once, against drives they were held to: the figures of
//! docs/results/device-models.md.
//!
//! The curves lie beside the repository, as those of published disks do (drives.rs).

use std::collections::BTreeMap;

use fsverdict_disk::device::{Action, Device, Model, Request};

use crate::common::not_run;
use crate::drives::folder;

/// A model, in the state in which it is compared; a drive on a host; reading or writing; the share that it may be off at any
/// depth from the given one on.
const HELD: &[(&str, &str, &str, &str, u32, f64)] = &[
    ("sata-ssd:filled", "Samsung 860 PRO", "HBA M1015", "randread", 1, 0.20),
    ("sata-ssd:filled", "Kingston DC500M", "HBA M1015", "randread", 2, 0.20),
    ("sata-ssd:filled", "Kingston DC500M", "HBA M1015", "randwrite", 1, 0.22),
    ("sata-ssd:filled", "Samsung 860 PRO", "HBA M1015", "randwrite", 1, 0.67),
    ("sata-ssd:filled", "Intel D3-S4610", "HBA M1015", "randread", 1, 0.30),
    ("sata-ssd:filled+write-through", "Samsung 860 PRO, write cache off", "P420i", "randwrite", 1, 0.42),
    ("hdd-7200", "Samsung F1 1TB 7200", "AHCI, MicroServer G10", "randread", 1, 0.25),
    ("hdd-7200", "Samsung F1 1TB 7200", "AHCI, MicroServer G10", "randwrite", 1, 0.21),
];

/// Requests of 4 KiB at random places a second, with so many at once: of the second half of them, when caches are full.
pub(crate) fn rate(model: &Model, size_bytes: u64, action: Action, depth: u64, count: u64) -> f64 {
    let mut device = Device::new(model, size_bytes, 1).unwrap();
    let place = |id: u64| {
        let mixed = (id + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) % (size_bytes / 4096) * 8
    };
    let (mut next, mut underway, mut now_ns, mut answered, mut half_ns) = (0, 0, 0, 0, 0);
    let mut done = Vec::new();
    loop {
        while underway < depth && next < count {
            device.submit(now_ns, Request { id: next, operation: action, sector: place(next), sectors: 8 });
            next += 1;
            underway += 1;
        }
        let Some(event_ns) = device.next_event().filter(|_| underway > 0) else { break };
        now_ns = event_ns;
        device.advance(now_ns, &mut done);
        for _ in done.drain(..) {
            underway -= 1;
            answered += 1;
            if answered == count / 2 {
                half_ns = now_ns;
            }
        }
    }
    (count - count / 2) as f64 * 1e9 / (now_ns - half_ns) as f64
}

/// Rates by depth, by drive, host and operation.
pub(crate) fn measured(text: &str) -> BTreeMap<[&str; 3], BTreeMap<u32, f64>> {
    let mut curves: BTreeMap<[&str; 3], BTreeMap<u32, f64>> = BTreeMap::new();
    for line in text.lines().filter(|line| !line.starts_with('#') && !line.starts_with("drive\t")) {
        let fields: Vec<&str> = line.split('\t').collect();
        let curve = curves.entry([fields[0], fields[2], fields[3]]).or_default();
        curve.insert(fields[4].parse().unwrap(), fields[5].parse().unwrap());
    }
    curves
}

#[test]
fn rates_at_each_depth_are_as_far_from_measured_ones_as_is_said() {
    let path = folder().join("fio-curves.tsv");
    let Ok(text) = std::fs::read_to_string(&path) else {
        return not_run(&format!("there are no measured curves at {}", path.display()));
    };
    let curves = measured(&text);
    let mut wrong = Vec::new();
    for (name, drive, host, operation, from, most) in HELD {
        let model = Model::named(name).unwrap();
        let action = if *operation == "randread" { Action::Read } else { Action::Write };
        // The whole of a disk, since the arm's way counts; of flash what fits into little memory.
        let (size, count) =
            if name.starts_with("hdd") { (2_000_000_000_000, 3000) } else { (8 << 30, 30_000) };
        let mut line = format!("{name} {operation}, {drive}:");
        for (depth, seen) in &curves[&[*drive, *host, *operation]] {
            let off = rate(&model, size, action, u64::from(*depth), count) / seen - 1.0;
            line += &format!(" {depth}: {:+.0} %", off * 100.0);
            if depth >= from && off.abs() > *most {
                wrong.push(format!("{name}, {drive}, {operation} at {depth}: {:+.0} %", off * 100.0));
            }
        }
        println!("{line}");
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Fifteen cards on one board: 9.2 MB/s of reads of 4 KiB and 2.4 of writes in the middle. The class (SD Physical Layer
/// specification 5.1, 4.16): 1500 reads, 500 writes, 10 MB/s in sequence.
#[test]
fn a_card_does_what_its_class_promises() {
    let model = Model::named("sd-card-a1:filled").unwrap();
    let near = |action, measured: f64| {
        let rate = rate(&model, 1 << 30, action, 1, 4000);
        assert!((rate / measured - 1.0).abs() < 0.05, "{action:?}: {rate:.0} of {measured:.0} a second");
    };
    near(Action::Read, 9.2e6 / 4096.0);
    near(Action::Write, 2.4e6 / 4096.0);
    // The slowest of the class: every number at its worse end.
    let file = Model::file("sd-card-a1").unwrap().0;
    let slow = file.replace("typical = 205", "typical = 410").replace("typical = 670", "typical = 730");
    let slow = slow.replace("typical = 100", "typical = 200");
    let slow = Model::read(&slow, "slow.toml", Some("filled")).unwrap();
    assert!(rate(&slow, 1 << 30, Action::Read, 1, 4000) >= 1500.0);
    assert!(rate(&slow, 1 << 30, Action::Write, 1, 4000) >= 500.0);
}

//! Holds the models of kinds of flash to the real drive that each of them names: what is written before the fast cells
//! are full, the rates before and after, and reads and writes of 4 KiB.

use super::super::Action;
use super::flash_firmware_forms::{rate, write_onwards, writes_before_cliff};
use super::{carry_out, device, model, places, seconds, sequence, within};

/// Bytes of a drive of the same make that is small enough for a test.
const SMALL: u64 = 8_000_000_000;

/// The file of a model, of a small empty drive of which the host uses all. The part that is always fast shrinks too.
fn small_empty_drive(name: &str, capacity: &str) -> String {
    let shrunk = |line: &str| {
        if line.starts_with("capacity") {
            return format!("capacity = \"{capacity}\"");
        }
        let Some((_, typical)) = line.split_once("typical = \"").filter(|_| line.starts_with("fast_size"))
        else {
            return line.to_owned();
        };
        let gib: f64 = typical.split_once("GiB").and_then(|(gib, _)| gib.parse().ok()).unwrap();
        format!("fast_size = \"{}KiB\"", (gib * 1024.0 * 1024.0 * SMALL as f64 / 1e12 / 4.0).round() * 4.0)
    };
    model(name)
        .lines()
        .filter(|line| !line.starts_with("elsewhere"))
        .map(|line| shrunk(line) + "\n")
        .collect()
}

/// Each drive's rate at first, what it wrote at this rate of 1 TB, and its rate then.
#[test]
fn fast_cells_end_where_those_of_the_named_drives_end() {
    for (name, fast_mb_s, before_gb, slow_mb_s) in [
        ("nvme-tlc", 4500.0, 280.0, 2000.0),
        ("nvme-qlc", 1600.0, 140.0, 150.0),
        ("nvme-dramless", 2800.0, 88.0, 600.0),
    ] {
        let mut drive = device(&small_empty_drive(name, "8GB"), None, SMALL);
        let bytes = (before_gb / 1000.0 * SMALL as f64 * 1.5) as u64;
        let times = write_onwards(&mut drive, 0, bytes, 0);
        let last = times.len() - 1;
        let met = |what: &str, found: f64, published: f64| {
            within(&format!("{name}: {what}"), found, published, 0.06).unwrap();
        };
        met("MB/s at first", rate(&times, 200, last / 3) / 1e6, fast_mb_s);
        let before = writes_before_cliff(&times) * 131_072.0 / SMALL as f64 * 1000.0;
        met("GB of 1 TB before the cliff", before, before_gb);
        met("MB/s then", rate(&times, last * 5 / 6, last) / 1e6, slow_mb_s);
    }
}

/// Requests of 4 KiB a second at this depth, on a device that holds data.
fn per_second(name: &str, state: &str, action: Action, depth: usize) -> f64 {
    let requests = places(7, 4000, 1 << 30, 8).map(|sector| (action, sector, 8));
    4000.0 / seconds(&carry_out(&mut device(model(name), Some(state), 1 << 30), depth, requests))
}

/// MB/s of requests of 128 KiB in order, four at once.
fn in_order_mb_s(name: &str, state: &str, action: Action) -> f64 {
    let requests = sequence(action, 4000, 256);
    4000.0 * 0.131_072 / seconds(&carry_out(&mut device(model(name), Some(state), 1 << 30), 4, requests))
}

#[test]
fn cards_meet_what_their_maker_states_with_a_queue_and_without() {
    for (name, depth, reads, writes) in
        [("sd-card-a2", 16, 5000.0, 2000.0), ("sd-card-a2-no-queue", 1, 3200.0, 1200.0)]
    {
        within(name, per_second(name, "filled", Action::Read, depth), reads, 0.15).unwrap();
        within(name, per_second(name, "filled", Action::Write, depth), writes, 0.2).unwrap();
    }
}

#[test]
fn embedded_flash_and_enclosures_meet_the_named_rates() {
    within("emmc, MB/s written", in_order_mb_s("emmc", "fresh", Action::Write), 52.9 * 1.048_576, 0.1)
        .unwrap();
    // Two drives: 1 703 and 1 811 MB/s read, 388 and 557 written.
    within("ufs, MB/s read", in_order_mb_s("ufs", "filled", Action::Read), 1757.0, 0.1).unwrap();
    within("ufs, MB/s written", in_order_mb_s("ufs", "fresh", Action::Write), 472.0, 0.1).unwrap();
    // An enclosure: 755 MB/s read; 77 µs for a write alone.
    within("usb-nvme, MB/s read", in_order_mb_s("usb-nvme", "filled", Action::Read), 755.0, 0.1).unwrap();
    within("usb-nvme, writes a second", per_second("usb-nvme", "fresh", Action::Write, 1), 12_800.0, 0.1)
        .unwrap();
}

/// The slowest writes of sticks at USB 3 take 141 to 261 ms.
#[test]
fn the_slowest_writes_of_a_stick_copy_a_unit() {
    let writes = places(3, 300, 1 << 33, 8).map(|sector| (Action::Write, sector, 8));
    let done = carry_out(&mut device(model("usb3-stick"), Some("filled"), 1 << 33), 1, writes);
    let slowest =
        done.iter().map(|completion| completion.completed_ns - completion.submitted_ns).max().unwrap() as f64
            / 1e6;
    assert!((141.0..=261.0).contains(&slowest), "{slowest} ms");
}

/// Reading a file of which no two blocks are neighbours costs two to four times as much on SSDs as reading one that lies in
/// order, block after block.
#[test]
fn blocks_that_are_no_neighbours_take_longer_to_read() {
    for name in ["sata-ssd", "nvme-ssd", "nvme-qlc", "nvme-tlc"] {
        let mean = |requests: Vec<(Action, u64, u32)>| {
            seconds(&carry_out(&mut device(model(name), Some("filled"), 1 << 30), 1, requests))
        };
        let in_order = mean(sequence(Action::Read, 4000, 8).collect());
        let apart = mean(places(7, 4000, 1 << 30, 8).map(|sector| (Action::Read, sector, 8)).collect());
        let times = apart / in_order;
        assert!((2.0..4.5).contains(&times), "{name}: {times:.2}");
    }
}

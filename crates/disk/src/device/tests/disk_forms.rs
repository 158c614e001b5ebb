//! Closed forms of disks: rates, seeks, rotation, sweeps, queues, shingles, flushes.

use super::super::Action;
use super::{Checked, carry_out, device, model, places, seconds, sequence, within};

/// This disk has one zone, no useful queue, and an infinitely fast link.
const DISK: &str = r#"
name = "disk"
version = 1
summary = "a disk"
[device]
capacity = "500GB"
rotational = true
logical_block = "512B"
physical_block = "512B"
[link]
mb_s = 1e6
command_us = 20
[queue]
depth = 32
largest = "1MiB"
[cache]
size = "64MiB"
delay_ms = 1000
flush_us = 0
[platter]
rpm = 7200
outer_mb_s = 150
inner_mb_s = 150
zones = 1
heads = 4
head_switch_ms = 0.8
write_settle_ms = 0.5
read_ahead = "2MiB"
segments = 16
seek = { minimum_ms = 0.8, average_ms = 8.5 }
"#;
const DISK_BYTES: u64 = 500_000_000_000;
const TURN: f64 = 60.0 / 7200.0;
const FULL: f64 = 0.8e-3 + (8.5e-3 - 0.8e-3) * 15.0 / 8.0;

/// Sequential reads, one request at a time, reach the disk's rate: read-ahead hides the time between two.
pub(super) fn sequential_reads() -> Checked {
    let count = 2000;
    let bytes = count as f64 * 131_072.0;
    let took =
        seconds(&carry_out(&mut device(DISK, None, DISK_BYTES), 1, sequence(Action::Read, count, 256)));
    within("sequential reads, MB/s", bytes / took / 1e6, 150.0, 0.02)?;
    let hdd = model("hdd-7200");
    let took =
        seconds(&carry_out(&mut device(hdd, None, 2_000_000_000_000), 1, sequence(Action::Read, count, 256)));
    within("sequential reads of hdd-7200, MB/s", bytes / took / 1e6, 168.0, 0.02)?;
    // With USB 2.0 the link is slower than the platter, and takes time for every command.
    let usb = model("usb-disk-5400");
    let took =
        seconds(&carry_out(&mut device(usb, None, 2_000_000_000_000), 1, sequence(Action::Read, count, 240)));
    let each = 250e-6 + 122_880.0 / 33e6;
    within("sequential reads through USB, MB/s", 122_880.0 * count as f64 / took / 1e6, 0.12288 / each, 0.02)
}

pub(super) fn sequential_writes() -> Checked {
    let count = 6000;
    let bytes = count as f64 * 131_072.0;
    for depth in [1, 32] {
        let writes = sequence(Action::Write, count, 256).chain([(Action::Flush, 0, 0)]);
        let took = seconds(&carry_out(&mut device(DISK, None, DISK_BYTES), depth, writes));
        within("sequential writes, MB/s", bytes / took / 1e6, 150.0, 0.02)?;
    }
    Ok(())
}

/// The mean of √|c−c′| over two places drawn uniformly by sector, where rates fall evenly with the cylinder.
fn mean_root_distance(inner_share: f64) -> f64 {
    let steps = 400;
    let cylinder = |share: f64| {
        // With a rate of 1 − f·c over c from 0 to 1, share·(1 − f/2) = c − f·c²/2.
        let f = 1.0 - inner_share;
        if f == 0.0 { share } else { (1.0 - (1.0 - 2.0 * f * share * (1.0 - f / 2.0)).sqrt()) / f }
    };
    let places: Vec<f64> =
        (0..steps).map(|step| cylinder((f64::from(step) + 0.5) / f64::from(steps))).collect();
    let sum: f64 = places.iter().flat_map(|one| places.iter().map(move |two| (one - two).abs().sqrt())).sum();
    sum / f64::from(steps * steps)
}

pub(super) fn random_reads() -> Checked {
    let reads = |count, size| places(3, count, size, 8).map(|sector| (Action::Read, sector, 8));
    let count = 6000;
    let took = seconds(&carry_out(&mut device(DISK, None, DISK_BYTES), 1, reads(count, DISK_BYTES)));
    let seek = 0.8e-3 + (FULL - 0.8e-3) * 8.0 / 15.0;
    let expected = 20e-6 + seek + TURN / 2.0 + 4096.0 / 150e6;
    within("random reads, ms", took / count as f64 * 1e3, expected * 1e3, 0.02)?;
    // The built-in disks have zones.
    let disks = [
        ("hdd-7200", 10.5, 7200.0, 30e-6 + 4096.0 / 550e6),
        ("usb-disk-5400", 12.2, 5400.0, 250e-6 + 4096.0 / 33e6),
    ];
    for (name, average, rpm, link) in disks {
        let size = 2_000_000_000_000;
        let took = seconds(&carry_out(&mut device(model(name), None, size), 1, reads(count, size)));
        let full = 1.0 + (average - 1.0) * 15.0 / 8.0;
        let expected = (1.0 + (full - 1.0) * mean_root_distance(0.5)) * 1e-3 + 30.0 / rpm + link;
        within(&format!("random reads of {name}, ms"), took / count as f64 * 1e3, expected * 1e3, 0.04)?;
    }
    // This disk has a seek curve in two parts: the HP 97560 of Ruemmler and Wilkes, with 1962 cylinders of 19 heads
    // and 72 sectors.
    let hp = DISK
        .replace("500GB", "1374128640B")
        .replace("7200", "4002")
        .replace("= 150", "= 2.2")
        .replace("heads = 4", "heads = 19")
        .replace(
            "{ minimum_ms = 0.8, average_ms = 8.5 }",
            "{ a_ms = 3.24, b_ms = 0.4, knee = 383, c_ms = 8.0, e_ms = 0.008 }",
        );
    let size = 1_374_126_080;
    let took = seconds(&carry_out(&mut device(&hp, None, size), 1, reads(count, size)));
    let turn = 60.0 / 4002.0;
    let track = (turn + 0.8e-3) * 2.2e6;
    let cylinders = 1_374_128_640.0 / (19.0 * track);
    let seeks = (1..=cylinders as u32).map(|distance| {
        let d = f64::from(distance);
        let curve = if d <= 383.0 { 3.24 + 0.4 * d.sqrt() } else { 8.0 + 0.008 * d };
        curve * 2.0 * (cylinders - d) / (cylinders * cylinders)
    });
    let expected = seeks.sum::<f64>() * 1e-3 + turn / 2.0 + 4096.0 / 2.2e6 + 20e-6;
    within("random reads of the HP 97560, ms", took / count as f64 * 1e3, expected * 1e3, 0.04)
}

/// Writes that the cache gathered are written back in one sweep: each seek goes to the next of them.
pub(super) fn elevator() -> Checked {
    let count = 500;
    let writes = places(5, count, DISK_BYTES, 8).map(|sector| (Action::Write, sector, 8));
    let done = carry_out(&mut device(DISK, None, DISK_BYTES), 1, writes.chain([(Action::Flush, 0, 0)]));
    let took = seconds(&done) - done[done.len() - 2].completed_ns as f64 / 1e9;
    // Gaps between sorted random places are exponentially distributed: the mean root is Γ(3/2) times the root of the
    // mean.
    let root = 0.886_227 / (count as f64).sqrt();
    let each = 0.8e-3 + (FULL - 0.8e-3) * root + 0.5e-3 + TURN / 2.0 + 4096.0 / 150e6;
    within("a swept write, ms", took / count as f64 * 1e3, each * 1e3, 0.05)
}

/// A queue lets the disk choose the nearest request: reads at depth 32 take less than half of their time at depth 1.
pub(super) fn queue() -> Checked {
    let reads = || places(3, 4000, DISK_BYTES, 8).map(|sector| (Action::Read, sector, 8));
    let choosing = DISK.replace("depth = 32", "depth = 32\nwindow = 32");
    let one = seconds(&carry_out(&mut device(&choosing, None, DISK_BYTES), 1, reads()));
    let many = seconds(&carry_out(&mut device(&choosing, None, DISK_BYTES), 32, reads()));
    let blind = seconds(&carry_out(&mut device(DISK, None, DISK_BYTES), 32, reads()));
    within("a queue the disk does not look into", blind / one, 1.0, 0.02)?;
    let gain = one / many;
    if (2.0..3.5).contains(&gain) { Ok(()) } else { Err(format!("a queue it chooses from gains {gain:.2}")) }
}

const SHINGLED: &str = r#"
cache = "64MiB"
extents = 1000
band = "4MiB"
idle_ms = 1000
"#;

/// Until the persistent cache is full, random writes are as fast as a log; then each waits for bands to be cleaned.
pub(super) fn shingles() -> Checked {
    let toml = format!("{DISK}\n[shingles]\n{SHINGLED}")
        .replace("500GB", "2GB")
        .replace("[cache]\nsize = \"64MiB\"\n", "[cache]\nsize = \"64KiB\"\n");
    let (size, count) = (1_000_000_000 / 4096 * 4096, 6000);
    let writes = places(9, count, size, 8).map(|sector| (Action::Write, sector, 8));
    let done = carry_out(&mut device(&toml, None, size), 1, writes);
    let rate = |range: std::ops::Range<usize>| {
        let took = done[range.end - 1].completed_ns - done[range.start].completed_ns;
        range.len() as f64 / (took as f64 / 1e9)
    };
    // Each band grows from no extents to n between two cleanings; all bands together hold 1000.
    let bands = (size as f64 / 4_194_304.0).ceil();
    let n = 2.0 * 1000.0 / bands;
    let band = 4_194_304.0 / 150e6;
    // The drive reads the band, writes it elsewhere and in its place, with seeks between them, and reads its n
    // extents in the cache.
    let near = 0.8e-3 + (FULL - 0.8e-3) * (0.25_f64).sqrt() + TURN / 2.0;
    let clean = 3.0 * band + 3.0 * near + n * (0.8e-3 + TURN / 2.0);
    let fast = rate(100..900);
    let slow = rate(3000..6000);
    within("scattered writes a second with a full cache", slow, n / clean, 0.25)?;
    if fast / slow > 20.0 { Ok(()) } else { Err(format!("no collapse: {fast:.0}/s, then {slow:.0}/s")) }
}

/// A flush is answered when everything that was written before it is on the medium, however many requests are in
/// flight.
pub(super) fn flushes() -> Checked {
    for name in ["hdd-7200", "sata-ssd", "nvme-ssd", "usb-disk-5400", "smr-5400"] {
        let mut device = device(model(name), None, 64 << 30);
        let requests = places(4, 3000, 64 << 30, 8).enumerate().map(|(index, sector)| match index % 40 {
            39 => (Action::Flush, 0, 0),
            _ => (Action::Write, sector, 8),
        });
        let done = carry_out(&mut device, 8, requests);
        // Nothing was written since, so that the next flush has nothing to wait for.
        let again = carry_out(&mut device, 1, [(Action::Flush, 0, 0), (Action::Flush, 0, 0)]);
        if again[1].completed_ns - again[1].submitted_ns > 1_000_000 {
            return Err(format!("{name}: a flush of nothing takes its time"));
        }
        let broken = device.engine.broken_flushes;
        if broken > 0 || done.len() != 3000 {
            return Err(format!("{name}: {broken} flushes were answered too early"));
        }
    }
    Ok(())
}

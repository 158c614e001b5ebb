//! Closed forms of flash: open units of sticks, write amplification, dies and channels.

use super::super::{Action, Wear};
use super::{Checked, carry_out, device, model, places, seconds, sequence, within};

const STICK: &str = r#"
name = "stick"
version = 1
summary = "a stick"
[device]
capacity = "8GiB"
rotational = false
logical_block = "512B"
physical_block = "512B"
[link]
mb_s = 1e6
command_us = 0
[queue]
depth = 1
largest = "1MiB"
[units]
unit = "4MiB"
open = 3
page = "16KiB"
read_us = 500
read_mb_s = 30
write_us = 300
write_mb_s = 12
copy_mb_s = 20
erase_ms = 2
"#;

/// As many streams as units can be open have the rate of writing; with one more, each write copies a unit.
pub(super) fn open_units() -> Checked {
    let (unit, chunk) = (4_194_304.0, 262_144.0);
    let rate = |streams: u64| {
        let writes = (0..1600 / streams).flat_map(|step| {
            (0..streams).map(move |stream| (Action::Write, (stream * 64 * 16 + step) * 512, 512))
        });
        let count = (1600 / streams * streams) as f64;
        count * chunk / seconds(&carry_out(&mut device(STICK, Some("filled"), 8 << 30), 1, writes)) / 1e6
    };
    let write = 300e-6 + chunk / 12e6;
    // Each unit is closed once, after its sixteen chunks: there is nothing to copy, and one erase.
    within("three streams, MB/s", rate(3), chunk / (write + 2e-3 / 16.0) / 1e6, 0.02)?;
    let copy = (unit - chunk) / 20e6 + 2e-3;
    within("four streams, MB/s", rate(4), chunk / (write + copy) / 1e6, 0.02)
}

/// The rates that flashbench measured, from the numbers of the built-in stick: 6.27 MB/s with two units, 0.912 with
/// three.
pub(super) fn flashbench() -> Checked {
    for (streams, expected) in [(2_u64, 6.27), (3, 0.912)] {
        // The request of 256 KiB is split as usb-storage does it; its pieces stay together.
        let writes = (0..300).flat_map(|step| {
            (0..streams).flat_map(move |stream| {
                let start = (stream * 300 + step) * 512;
                [(0, 240), (240, 240), (480, 32)].map(|(at, sectors)| (Action::Write, start + at, sectors))
            })
        });
        let bytes = 300.0 * streams as f64 * 262_144.0;
        let took = seconds(&carry_out(&mut device(model("usb-stick"), Some("filled"), 8 << 30), 1, writes));
        within(&format!("{streams} streams, MB/s"), bytes / took / 1e6, expected, 0.03)?;
    }
    Ok(())
}

fn flash(over_provisioning: f64, victim: &str) -> String {
    format!(
        r#"
name = "flash"
version = 1
summary = "flash"
[device]
capacity = "1GiB"
rotational = false
logical_block = "512B"
physical_block = "4KiB"
discard = {{ granularity = "4KiB", maximum = "1GiB" }}
[link]
mb_s = 4000
command_us = 1
full_duplex = true
[queue]
depth = 32
largest = "1MiB"
[cache]
size = "1MiB"
flush_us = 0
[flash]
channels = 2
dies_per_channel = 2
page = "16KiB"
block_pages = 2
read_us = 50
program_us = 200
erase_ms = 3
channel_mb_s = 800
over_provisioning = {over_provisioning}
victim = "{victim}"
"#
    )
}

fn between(before: Wear, after: Wear) -> f64 {
    (after.medium_sectors - before.medium_sectors) as f64 / (after.host_sectors - before.host_sectors) as f64
}

/// Write amplification of random writes, after as many others that clean all of flash several times.
fn amplification(over_provisioning: f64, victim: &str, state: &str, size: u64, writes: u64) -> f64 {
    let mut device = device(&flash(over_provisioning, victim), Some(state), size);
    let random = |seed, count| places(seed, count, size, 8).map(|sector| (Action::Write, sector, 8));
    carry_out(&mut device, 32, random(1, writes));
    let before = device.wear();
    carry_out(&mut device, 32, random(2, writes));
    between(before, device.wear())
}

/// α/(α + W₀(−α·e^−α)), where α is the ratio of all flash to what the host sees (Desnoyers, SYSTOR 2012, for FIFO).
fn fifo(alpha: f64) -> f64 {
    // W₀(z) for z = −α·e^−α is the root w > −α of w·e^w = z.
    let z = -alpha * (-alpha).exp();
    let mut w = 0.0_f64;
    for _ in 0..200 {
        w -= (w * w.exp() - z) / (w.exp() * (w + 1.0));
    }
    alpha / (alpha + w)
}

pub(super) fn write_amplification() -> Checked {
    assert!((fifo(1.07) - 7.82).abs() < 0.01 && (fifo(1.28) - 2.48).abs() < 0.01);
    // Blocks have 128 KiB: there are a thousand of them, so that the few free or open ones do not matter.
    let size = 128 << 20;
    within(
        "write amplification, 7 % more flash",
        amplification(0.07, "fifo", "steady", size, 30_000),
        fifo(1.07),
        0.05,
    )?;
    within(
        "write amplification, 28 % more",
        amplification(0.28, "fifo", "steady", size, 30_000),
        fifo(1.28),
        0.05,
    )?;
    // A fresh device reaches the same value.
    within(
        "write amplification from fresh",
        amplification(0.28, "fifo", "fresh", size / 4, 30_000),
        fifo(1.28),
        0.05,
    )?;
    // With uniform writes, greedy is better than FIFO, but not by much (Desnoyers, the same).
    let gain = fifo(1.28) / amplification(0.28, "greedy", "steady", size, 30_000);
    if (1.0..1.1).contains(&gain) { Ok(()) } else { Err(format!("greedy is better than FIFO by {gain:.3}")) }
}

/// Performs this many random writes; returns the seconds that they take, and the wear.
fn busy(mut device: super::Device, writes: u64) -> (f64, Wear) {
    let writes = places(2, writes, 1 << 28, 8).map(|sector| (Action::Write, sector, 8));
    let took = seconds(&carry_out(&mut device, 32, writes));
    (took, device.wear())
}

/// With the write cache off, a write takes the programming of its own page, and then of a page of the table.
pub(super) fn write_through() -> Checked {
    let one = |depth, state| {
        let writes = places(3, 4000, 1 << 28, 8).map(|sector| (Action::Write, sector, 8));
        let mut device = device(&flash(0.28, "greedy"), Some(state), 1 << 30);
        (seconds(&carry_out(&mut device, depth, writes)) / 4000.0 * 1e6, device.wear())
    };
    let page = 16_384.0 / 800.0;
    let (alone, wear) = one(1, "fresh+write-through");
    within("one write, µs", alone, 1.0 + 4096.0 / 4000.0 + 2.0 * (page + 200.0), 0.01)?;
    within(
        "flash written of what is sent",
        wear.medium_sectors as f64 / wear.host_sectors as f64,
        8.0,
        1e-9,
    )?;
    within(
        "writes at four dies, µs each",
        one(32, "fresh+write-through").0,
        2.0 * (page + 200.0) / 4.0,
        0.12,
    )?;
    let (gathered, _) = one(1, "fresh");
    if gathered < 100.0 { Ok(()) } else { Err(format!("with its cache a write takes {gathered:.0} µs")) }
}

pub(super) fn solid_state_rates() -> Checked {
    let one = |toml: &str, depth, requests: Vec<_>| {
        seconds(&carry_out(&mut device(toml, None, 1 << 30), depth, requests))
    };
    let toml = flash(0.28, "greedy");
    let writes: Vec<_> = sequence(Action::Write, 4000, 256).collect();
    let took = one(&toml, 8, writes.clone());
    within("sequential writes, MB/s", 4000.0 * 0.131_072 / took, 4.0 * 0.016_384 / 200e-6, 0.02)?;
    // Where cleaning moves as much as it ever will, this remains of that rate: a move takes the programming of a page
    // and most of its reading.
    let steady = device(&toml, Some("steady"), 1 << 28);
    let (took, wear) = busy(steady, 40_000);
    let pages = |sectors: u64| sectors as f64 * 512.0 / 16_384.0;
    let (written, host) = (pages(wear.medium_sectors), pages(wear.host_sectors));
    let erases = wear.erases as f64 * 3e-3;
    let each = (written * (200e-6) + (written - host) / 0.6 * 50e-6) / 4.0 + erases;
    within("random writes of a steady device, s", took, each, 0.1)?;
    // Reads at queue depth 1 take the time of command, cells, channel and link.
    let reads: Vec<_> = writes
        .into_iter()
        .chain(places(7, 4000, 512_000_000, 8).map(|sector| (Action::Read, sector, 8)))
        .collect();
    let more = one(&toml, 1, reads) - one(&toml, 1, sequence(Action::Write, 4000, 256).collect());
    within("random reads, µs", more / 4000.0 * 1e6, 1.0 + 50.0 + 4096.0 / 800.0 + 4096.0 / 4000.0, 0.04)
}

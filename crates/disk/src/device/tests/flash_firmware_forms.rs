//! Closed forms of what the firmware of flash does besides mapping pages: fast cells, a part of the mapping table at
//! hand, page registers, reading ahead, and a drive of which the host uses a part.

use super::super::{Action, Device, Request};
use super::{Checked, carry_out, device, places, seconds, sequence, within};

/// Two channels with two dies each, whose pages of 16 KiB are programmed in 200 µs, and these lines.
fn flash(size: &str, lines: &str) -> String {
    format!(
        r#"
name = "flash"
version = 1
summary = "flash"
[device]
capacity = "{size}"
rotational = false
logical_block = "512B"
physical_block = "4KiB"
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
channel_mb_s = 1600
over_provisioning = 0.28
{lines}
"#
    )
}

const PAGE: f64 = 16_384.0;
const DIES: f64 = 4.0;
/// A read of 4 KiB takes command, cells, channel and link.
const READ_US: f64 = 1.0 + 50.0 + 4096.0 / 1600.0 + 4096.0 / 4000.0;
/// Bytes of the writes below.
const WRITE: u64 = 131_072;

/// Writes so many bytes from one end to the other, from this place and time on; returns the time at which each of
/// its 128 KiB was answered.
pub(super) fn write_onwards(device: &mut Device, from: u64, bytes: u64, start_ns: u64) -> Vec<u64> {
    let (mut times, mut done, mut next, mut now_ns) = (Vec::new(), Vec::new(), 0, start_ns);
    let count = bytes / WRITE;
    while (times.len() as u64) < count {
        while next < count && next - (times.len() as u64) < 8 {
            let sector = (from + next * WRITE) / 512;
            device.submit(now_ns, Request { id: next, operation: Action::Write, sector, sectors: 256 });
            next += 1;
        }
        now_ns = device.next_event().expect("writes are underway");
        device.advance(now_ns, &mut done);
        times.extend(done.drain(..).map(|completion| completion.completed_ns));
    }
    times
}

/// Bytes a second between two of the writes.
pub(super) fn rate(times: &[u64], from: usize, to: usize) -> f64 {
    ((to - from) as u64 * WRITE) as f64 / ((times[to] - times[from]) as f64 / 1e9)
}

/// Number of writes before the rate falls to half of that at the start.
pub(super) fn writes_before_cliff(times: &[u64]) -> f64 {
    let fast_ns = (times[200] - times[100]) as f64 / 100.0;
    let step = 32;
    let slow = times
        .windows(step + 1)
        .position(|window| (window[step] - window[0]) as f64 / step as f64 > 2.0 * fast_ns);
    slow.map_or(times.len() as f64, |index| (index + step / 2) as f64)
}

const FAST: &str = "fast_read_us = 25\nfast_program_us = 50\n";

/// Pages go to fast cells until these are full, and to slow ones then, each as fast as all dies together program.
pub(super) fn fast_cells() -> Checked {
    let lines = format!("{FAST}fast_share = 0.2\nfast_size = \"32MiB\"");
    let times = write_onwards(&mut device(&flash("1GiB", &lines), None, 1 << 30), 0, 900 << 20, 0);
    let fast = DIES * PAGE / 50e-6;
    within("fast cells, bytes/s", rate(&times, 100, 1000), fast, 0.03)?;
    let capacity = 0.2 * 1.28 * f64::from(1 << 30) + f64::from(32 << 20);
    within("bytes before the cliff", writes_before_cliff(&times) * WRITE as f64, capacity, 0.03)?;
    within("slow cells, bytes/s", rate(&times, 4000, 7000), DIES * PAGE / 200e-6, 0.03)?;
    // A drive that folds first reads fast pages and programs slow ones for each that it takes: 1.25, since each that is
    // folded leaves a fifth of a page less to be fast.
    let lines = format!("{lines}\nfold_first = true");
    let mut folding = device(&flash("1GiB", &lines), None, 1 << 30);
    let times = write_onwards(&mut folding, 0, 900 << 20, 0);
    within("folding, bytes/s", rate(&times, 4000, 7000), DIES * PAGE / (50e-6 + 1.25 * 225e-6), 0.03)?;
    let wear = folding.wear();
    let folded = (wear.medium_sectors - wear.host_sectors) as f64 * 512.0;
    // The more is in slow cells, the less of the flash can be fast.
    let remain = f64::from(900 << 20) - folded;
    let expected = 0.2 * (1.28 * f64::from(1 << 30) - folded) + f64::from(32 << 20);
    within("bytes that are left in fast cells", remain, expected, 0.03)
}

/// While the device is idle, all dies fold together.
pub(super) fn folding_when_idle() -> Checked {
    let lines = format!("{FAST}fast_size = \"256MiB\"\nfold_delay_ms = 100");
    let mut device = device(&flash("1GiB", &lines), None, 1 << 30);
    let filled = write_onwards(&mut device, 0, 300 << 20, 0);
    let last_ns = filled[filled.len() - 1];
    let idle_s = 0.4;
    let again = write_onwards(&mut device, 300 << 20, 400 << 20, last_ns + 500_000_000);
    let folded = idle_s * DIES / 225e-6 * PAGE;
    within("bytes folded when idle", writes_before_cliff(&again) * WRITE as f64, folded, 0.05)
}

/// A read of a place whose part of the table is not at hand reads that part first.
pub(super) fn map_cache() -> Checked {
    // 16 segments of 4 KiB, for 64 MiB of 1 GiB.
    let mean_us = |lines: &str, size: u64| {
        let reads = places(7, 4000, size, 8).map(|sector| (Action::Read, sector, 8));
        seconds(&carry_out(&mut device(&flash("1GiB", lines), Some("filled"), 1 << 30), 1, reads)) / 4000.0
            * 1e6
    };
    let lines = "map_cache = \"64KiB\"";
    let miss_us = 50.0 + 4096.0 / 1600.0;
    within("reads of all of it, µs", mean_us(lines, 1 << 30), READ_US + miss_us * 15.0 / 16.0, 0.01)?;
    within("reads of what is at hand, µs", mean_us(lines, 64 << 20), READ_US, 0.01)?;
    // Each change that is dropped is written. The cache is written back in a sweep over all places, which meets no
    // segment again in time.
    let mut written = device(&flash("1GiB", lines), None, 1 << 30);
    carry_out(&mut written, 1, places(3, 4000, 1 << 30, 8).map(|sector| (Action::Write, sector, 8)));
    let wear = written.wear();
    let amplification = wear.medium_sectors as f64 / wear.host_sectors as f64;
    within("flash written of what is sent", amplification, 2.0, 0.01)
}

/// Reads that share a page read its cells once.
pub(super) fn page_registers() -> Checked {
    let mean_us = |lines: &str| {
        let reads = sequence(Action::Read, 4000, 8);
        seconds(&carry_out(&mut device(&flash("1GiB", lines), Some("filled"), 1 << 30), 1, reads)) / 4000.0
            * 1e6
    };
    within("reads in order, µs", mean_us("page_registers = true"), READ_US - 50.0 * 3.0 / 4.0, 0.01)?;
    within("reads in order without registers, µs", mean_us(""), READ_US, 0.01)
}

/// Reads in order arrive as fast as all dies together read; reads in another order as before.
pub(super) fn read_ahead() -> Checked {
    let mean_us = |reads: Vec<(Action, u64, u32)>| {
        let mut device = device(&flash("1GiB", "read_ahead = \"512KiB\""), Some("filled"), 1 << 30);
        let count = reads.len() as f64;
        seconds(&carry_out(&mut device, 1, reads)) / count * 1e6
    };
    let in_order = mean_us(sequence(Action::Read, 8000, 8).collect());
    within("reads in order, µs", in_order, 50.0 / DIES / (PAGE / 4096.0), 0.05)?;
    let random = mean_us(places(7, 4000, 1 << 30, 8).map(|sector| (Action::Read, sector, 8)).collect());
    within("reads at random, µs", random, READ_US, 0.01)
}

/// Writing all of a part of a drive three times uses up what the drive has free: nothing has to be moved.
pub(super) fn part_of_a_drive() -> Checked {
    let text = flash("1GiB", "elsewhere = 0.5");
    let mut part = device(&text, None, 128 << 20);
    let writes = places(5, 3 * 32_768, 128 << 20, 8).map(|sector| (Action::Write, sector, 8));
    carry_out(&mut part, 32, writes);
    let wear = part.wear();
    within("flash written of what is sent", wear.medium_sectors as f64 / wear.host_sectors as f64, 1.0, 0.001)
}

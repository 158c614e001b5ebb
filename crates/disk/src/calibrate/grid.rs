//! Measures the grid of calibration: selects the reads and writes that are timed, and measures them.

use super::disk::TimedDisk;
use super::grid_cell::{Grid, GridFindings, GridKind};
use crate::device::random::uniform_below;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
/// Samples of each cell, and of each distance of jumps, where the rotational latency hides the seek time.
const SAMPLES: u64 = 32;
const JUMP_SAMPLES: u64 = 96;
/// Lengths of reads: 4, 12 … 116 KiB, which no device splits.
const LENGTHS: u64 = 15;
/// Places along the device that are read sequentially, because outer and inner tracks differ.
const PLACES: u64 = 16;
/// Bytes that are read at each place.
const PLACE: u64 = 8 * MIB;
/// Range by which the distance of jumps varies, in bytes: several tracks.
const DISTANCE_VARIATION: u64 = 8 * MIB;
/// Number of distances of jumps; their square roots are evenly spaced.
const JUMPS: u64 = 24;
/// Bytes between two reads, of which those in the middle are read next: less than a track of any disk, and more than
/// passes under its head while a host thinks.
const GAPS: [u64; 2] = [192 * KIB, 224 * KIB];
/// Bytes by which a read is behind the one before.
const DISTANCES_BEHIND: [u64; 2] = [16 * KIB, 24 * KIB];
const POLICY_SAMPLES: u64 = 48;
/// Largest number of sequential writes before a flush, in steps of 2 MiB, and of random writes before one.
const BURSTS: u64 = 16;
const BURST_SAMPLES: u64 = 2;
/// Random writes for each number of writes before a flush. Small numbers get more samples, because they show the time
/// of the flush.
const SCATTERED_WRITES: u64 = 96;
/// Streams that are written in turn, each within a unit of its own: 4 MiB, as most sticks and cards have them.
const STREAMS: u64 = 12;
const UNIT: u64 = 4 * MIB;
/// Bytes of each write to a stream, which no device splits.
pub(super) const STREAMED: u64 = 64 * KIB;
const ROUNDS: u64 = 8;

/// Measures one half of the grid on a disk: about 6200 reads, which take a minute or two on a slow one; or about 5000
/// writes of 700 MiB in all, which take up to ten minutes on a slow one.
///
/// # Errors
/// When the disk is smaller than 512 MiB, or a read or write fails.
pub fn measure_grid(disk: &mut dyn TimedDisk, grid: Grid) -> std::io::Result<GridFindings> {
    let size = disk.size_bytes() / 4096 * 4096;
    if size < 4 * PLACES * PLACE {
        let message = format!("it holds {} MiB, and {} are wanted", size / MIB, 4 * PLACES * PLACE / MIB);
        return Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, message));
    }
    let mut findings = GridFindings::default();
    match grid {
        Grid::Reading => measure_reads(disk, size, &mut findings)?,
        Grid::Writing => measure_writes(disk, size, &mut findings)?,
    }
    Ok(findings)
}

/// Returns a generator of random offsets, the same for every disk of a size: each is a multiple of `step`.
fn random_offsets(seed: u64) -> impl FnMut(u64, u64) -> u64 {
    let mut drawn = 0;
    move |limit, step| {
        drawn += 1;
        uniform_below(seed, drawn, limit / step) * step
    }
}

fn cell_lengths() -> impl Iterator<Item = u64> {
    (0..LENGTHS).map(|number| (8 * number + 4) * KIB)
}

fn measure_reads(disk: &mut dyn TimedDisk, size: u64, findings: &mut GridFindings) -> std::io::Result<()> {
    let mut random_offset = random_offsets(0);
    let middle = size / 2 / MIB * MIB;
    for _ in 0..4 {
        disk.time_read(middle, 128 * KIB)?;
    }
    for length in cell_lengths() {
        let mut times_ns = Vec::new();
        for _ in 0..SAMPLES {
            times_ns.push(disk.time_read(middle, length)? as f64);
        }
        findings.add_cell(GridKind::Again, length as f64, times_ns);
    }
    for length in cell_lengths() {
        let mut times_ns = Vec::new();
        for _ in 0..SAMPLES {
            times_ns.push(disk.time_read(random_offset(size - length, 4096), length)? as f64);
        }
        findings.add_cell(GridKind::Anywhere, length as f64, times_ns);
    }
    for place in 0..PLACES {
        let from = (size - PLACE) / (PLACES - 1) * place / MIB * MIB;
        let mut times_ns = Vec::new();
        for offset in (from..from + PLACE).step_by(MIB as usize) {
            times_ns.push(disk.time_read(offset, MIB)? as f64);
        }
        // The first read includes a seek.
        times_ns.remove(0);
        findings.add_cell(GridKind::Onwards, from as f64 / size as f64, times_ns);
    }
    for jump in 1..=JUMPS {
        let root = jump as f64 / (JUMPS + 1) as f64;
        let distance = (root * root * size as f64) as u64 / 4096 * 4096;
        let mut times_ns = Vec::new();
        for sample in 0..JUMP_SAMPLES {
            // The distance varies by some tracks, because otherwise every jump of a distance would end at the same
            // angle.
            let distance = distance + random_offset(DISTANCE_VARIATION, 4096);
            let near = random_offset(size - distance - 4096, 4096);
            let (from, to) = if sample % 2 == 0 { (near, near + distance) } else { (near + distance, near) };
            disk.time_read(from, 4096)?;
            times_ns.push(disk.time_read(to, 4096)? as f64);
        }
        findings.add_cell(GridKind::Jumps, root, times_ns);
    }
    for gap in GAPS {
        let mut times_ns = Vec::new();
        for _ in 0..POLICY_SAMPLES {
            let from = random_offset(size - 2 * gap, 4096);
            disk.time_read(from, 4096)?;
            disk.time_read(from + gap, 4096)?;
            times_ns.push(disk.time_read(from + gap / 2, 4096)? as f64);
        }
        findings.add_cell(GridKind::Gap, gap as f64, times_ns);
    }
    for distance in DISTANCES_BEHIND {
        let mut times_ns = Vec::new();
        for _ in 0..POLICY_SAMPLES {
            let from = distance + random_offset(size - 2 * distance, 4096);
            disk.time_read(from, 4096)?;
            times_ns.push(disk.time_read(from - distance, 4096)? as f64);
        }
        findings.add_cell(GridKind::Behind, distance as f64, times_ns);
    }
    Ok(())
}

fn measure_writes(disk: &mut dyn TimedDisk, size: u64, findings: &mut GridFindings) -> std::io::Result<()> {
    let mut random_offset = random_offsets(1);
    let mut offset = size / 2 / UNIT * UNIT;
    for length in cell_lengths() {
        let mut times_ns = Vec::new();
        for _ in 0..SAMPLES {
            times_ns.push(disk.time_write(offset, length)? as f64);
            offset += length;
        }
        findings.add_cell(GridKind::WritesOn, length as f64, times_ns);
    }
    disk.time_flush()?;
    for burst in (1..=BURSTS).map(|number| 2 * number * MIB) {
        let mut times_ns = Vec::new();
        for _ in 0..BURST_SAMPLES {
            let from = random_offset(size - burst, UNIT);
            let mut write_ns = 0;
            for offset in (from..from + burst).step_by(MIB as usize) {
                write_ns += disk.time_write(offset, MIB)?;
            }
            times_ns.push((write_ns + disk.time_flush()?) as f64);
        }
        findings.add_cell(GridKind::Bursts, burst as f64, times_ns);
    }
    for number in 1..=BURSTS {
        let mut times_ns = Vec::new();
        for _ in 0..SCATTERED_WRITES / number {
            let mut write_ns = 0;
            for _ in 0..number {
                write_ns += disk.time_write(random_offset(size - 4096, 4096), 4096)?;
            }
            times_ns.push((write_ns + disk.time_flush()?) as f64);
        }
        findings.add_cell(GridKind::Scattered, number as f64, times_ns);
    }
    // Once every unit holds data, a stream beyond the number of open units makes the device copy the rest of a unit
    // for each write.
    for offset in (0..STREAMS * UNIT).step_by(MIB as usize) {
        disk.time_write(offset, MIB)?;
    }
    for streams in 1..=STREAMS {
        // Each number of streams is measured twice: once to fit to, and once to compare with.
        for _ in 0..2 {
            let mut times_ns = Vec::new();
            for round in 0..ROUNDS {
                for stream in 0..streams {
                    times_ns.push(disk.time_write(stream * UNIT + round * STREAMED, STREAMED)? as f64);
                }
            }
            // The first write to each stream closes the units that were open before.
            let settled = times_ns.split_off(streams as usize);
            findings.add_cell(GridKind::Streams, streams as f64, settled);
        }
    }
    disk.time_flush()?;
    Ok(())
}

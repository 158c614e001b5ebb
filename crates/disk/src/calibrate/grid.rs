//! The grid: which reads and writes are timed.

use super::disk::TimedDisk;
use crate::device::random::below;
use fsverdict_text::{Grid, GridFindings, GridKind};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
/// Reads of each cell, and after jumps of each distance, where the wait for the platter hides the arm's time.
const SAMPLES: u64 = 32;
const JUMP_SAMPLES: u64 = 96;
/// Lengths of reads: 4, 12 … 116 KiB, which no device splits.
const LENGTHS: u64 = 15;
/// Places along the device that are read from for a while: outer and inner tracks differ.
const PLACES: u64 = 16;
const PLACE: u64 = 8 * MIB;
/// Several tracks.
const ANGLES: u64 = 8 * MIB;
/// Distances of jumps; their roots are spread evenly.
const JUMPS: u64 = 24;
/// Writes in a row before a flush, in steps of 2 MiB, and writes anywhere before one.
const BURSTS: u64 = 16;
const BURST_SAMPLES: u64 = 2;
/// Of few before a flush more samples: they show what the flush takes.
const SCATTERED: u64 = 96;
/// Streams that are written in turn, each within a unit of its own: 4 MiB, as most sticks and cards have them.
const STREAMS: u64 = 12;
const UNIT: u64 = 4 * MIB;
/// Bytes of each write to a stream: one that no device splits.
pub(super) const STREAMED: u64 = 64 * KIB;
const ROUNDS: u64 = 8;

/// Does a half of the grid on a disk: some 5700 reads, a minute or two on a slow one; or some 5000 writes of
/// 700 MiB in all, up to ten minutes on a slow one.
///
/// # Errors
/// When the disk is too small, or a read or write fails.
pub fn measure(disk: &mut dyn TimedDisk, grid: Grid) -> std::io::Result<GridFindings> {
    let size = disk.size_bytes() / 4096 * 4096;
    if size < 4 * PLACES * PLACE {
        let why = format!("it holds {} MiB, and {} are wanted", size / MIB, 4 * PLACES * PLACE / MIB);
        return Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, why));
    }
    let mut found = GridFindings::default();
    match grid {
        Grid::Reading => read(disk, size, &mut found)?,
        Grid::Writing => write(disk, size, &mut found)?,
    }
    Ok(found)
}

/// Places drawn one after the other, the same for every disk of a size: each a multiple of `step`.
fn places(seed: u64) -> impl FnMut(u64, u64) -> u64 {
    let mut drawn = 0;
    move |limit, step| {
        drawn += 1;
        below(seed, drawn, limit / step) * step
    }
}

fn lengths() -> impl Iterator<Item = u64> {
    (0..LENGTHS).map(|number| (8 * number + 4) * KIB)
}

fn read(disk: &mut dyn TimedDisk, size: u64, found: &mut GridFindings) -> std::io::Result<()> {
    let mut anywhere = places(0);
    let middle = size / 2 / MIB * MIB;
    for _ in 0..4 {
        disk.read(middle, 128 * KIB)?;
    }
    for length in lengths() {
        let mut times_ns = Vec::new();
        for _ in 0..SAMPLES {
            times_ns.push(disk.read(middle, length)? as f64);
        }
        found.add(GridKind::Again, length as f64, times_ns);
    }
    for length in lengths() {
        let mut times_ns = Vec::new();
        for _ in 0..SAMPLES {
            times_ns.push(disk.read(anywhere(size - length, 4096), length)? as f64);
        }
        found.add(GridKind::Anywhere, length as f64, times_ns);
    }
    for place in 0..PLACES {
        let from = (size - PLACE) / (PLACES - 1) * place / MIB * MIB;
        let mut times_ns = Vec::new();
        for offset in (from..from + PLACE).step_by(MIB as usize) {
            times_ns.push(disk.read(offset, MIB)? as f64);
        }
        // The first had to be gone to.
        times_ns.remove(0);
        found.add(GridKind::Onwards, from as f64 / size as f64, times_ns);
    }
    for jump in 1..=JUMPS {
        let root = jump as f64 / (JUMPS + 1) as f64;
        let distance = (root * root * size as f64) as u64 / 4096 * 4096;
        let mut times_ns = Vec::new();
        for sample in 0..JUMP_SAMPLES {
            // Some tracks more or less: else every jump of a distance would end at the same angle to where it began.
            let distance = distance + anywhere(ANGLES, 4096);
            let near = anywhere(size - distance - 4096, 4096);
            let (from, to) = if sample % 2 == 0 { (near, near + distance) } else { (near + distance, near) };
            disk.read(from, 4096)?;
            times_ns.push(disk.read(to, 4096)? as f64);
        }
        found.add(GridKind::Jumps, root, times_ns);
    }
    Ok(())
}

fn write(disk: &mut dyn TimedDisk, size: u64, found: &mut GridFindings) -> std::io::Result<()> {
    let mut anywhere = places(1);
    let mut offset = size / 2 / UNIT * UNIT;
    for length in lengths() {
        let mut times_ns = Vec::new();
        for _ in 0..SAMPLES {
            times_ns.push(disk.write(offset, length)? as f64);
            offset += length;
        }
        found.add(GridKind::WritesOn, length as f64, times_ns);
    }
    disk.flush()?;
    for burst in (1..=BURSTS).map(|number| 2 * number * MIB) {
        let mut times_ns = Vec::new();
        for _ in 0..BURST_SAMPLES {
            let from = anywhere(size - burst, UNIT);
            let mut took = 0;
            for offset in (from..from + burst).step_by(MIB as usize) {
                took += disk.write(offset, MIB)?;
            }
            times_ns.push((took + disk.flush()?) as f64);
        }
        found.add(GridKind::Bursts, burst as f64, times_ns);
    }
    for number in 1..=BURSTS {
        let mut times_ns = Vec::new();
        for _ in 0..SCATTERED / number {
            let mut took = 0;
            for _ in 0..number {
                took += disk.write(anywhere(size - 4096, 4096), 4096)?;
            }
            times_ns.push((took + disk.flush()?) as f64);
        }
        found.add(GridKind::Scattered, number as f64, times_ns);
    }
    // Where every unit holds data, one more than can be open has the rest of another copied for each write.
    for offset in (0..STREAMS * UNIT).step_by(MIB as usize) {
        disk.write(offset, MIB)?;
    }
    for streams in 1..=STREAMS {
        // Twice: once to fit to, and once to compare with.
        for _ in 0..2 {
            let mut times_ns = Vec::new();
            for round in 0..ROUNDS {
                for stream in 0..streams {
                    times_ns.push(disk.write(stream * UNIT + round * STREAMED, STREAMED)? as f64);
                }
            }
            // The first write to each closes what was open before.
            let settled = times_ns.split_off(streams as usize);
            found.add(GridKind::Streams, streams as f64, settled);
        }
    }
    disk.flush()?;
    Ok(())
}

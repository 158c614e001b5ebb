//! The grid: which reads are timed.

use super::disk::Disk;
use crate::device::random::below;

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

/// One kind of read, done several times.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Cell {
    /// What it varies in: bytes, share of the device, or the root of a share.
    pub(super) at: f64,
    /// How long each took.
    pub(super) times_ns: Vec<f64>,
}

impl Cell {
    /// What one in twenty stays below: the very least may have been in the device's memory.
    pub(super) fn low_ns(&self) -> f64 {
        let mut times = self.times_ns.clone();
        times.sort_by(f64::total_cmp);
        times.get(times.len() / 20).copied().unwrap_or_default()
    }

    pub(super) fn mean_ns(&self) -> f64 {
        self.times_ns.iter().sum::<f64>() / self.times_ns.len().max(1) as f64
    }
}

/// What the grid found.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// Reads of what was just read, by length.
    pub(super) again: Vec<Cell>,
    /// Reads anywhere, by length.
    pub(super) anywhere: Vec<Cell>,
    /// Reads of 1 MiB that go on, by place.
    pub(super) onwards: Vec<Cell>,
    /// Reads of 4 KiB after a jump, by the root of its distance.
    pub(super) jumps: Vec<Cell>,
}

/// Does the grid on a disk: some 5700 reads, a minute or two on a slow one.
///
/// # Errors
/// When the disk is too small, or a read fails.
pub fn measure(disk: &mut dyn Disk) -> std::io::Result<Found> {
    let size = disk.size_bytes() / 4096 * 4096;
    if size < 4 * PLACES * PLACE {
        let why = format!("it holds {} MiB, and {} are wanted", size / MIB, 4 * PLACES * PLACE / MIB);
        return Err(std::io::Error::other(why));
    }
    let mut drawn = 0;
    let mut anywhere_below = |limit: u64| {
        drawn += 1;
        below(0, drawn, limit / 4096) * 4096
    };
    let mut found = Found { again: Vec::new(), anywhere: Vec::new(), onwards: Vec::new(), jumps: Vec::new() };
    let middle = size / 2 / MIB * MIB;
    for _ in 0..4 {
        disk.read(middle, 128 * KIB)?;
    }
    for length in (0..LENGTHS).map(|number| (8 * number + 4) * KIB) {
        let mut times_ns = Vec::new();
        for _ in 0..SAMPLES {
            times_ns.push(disk.read(middle, length)? as f64);
        }
        found.again.push(Cell { at: length as f64, times_ns });
    }
    for length in (0..LENGTHS).map(|number| (8 * number + 4) * KIB) {
        let mut times_ns = Vec::new();
        for _ in 0..SAMPLES {
            times_ns.push(disk.read(anywhere_below(size - length), length)? as f64);
        }
        found.anywhere.push(Cell { at: length as f64, times_ns });
    }
    for place in 0..PLACES {
        let from = (size - PLACE) / (PLACES - 1) * place / MIB * MIB;
        let mut times_ns = Vec::new();
        for offset in (from..from + PLACE).step_by(MIB as usize) {
            times_ns.push(disk.read(offset, MIB)? as f64);
        }
        // The first had to be gone to.
        times_ns.remove(0);
        found.onwards.push(Cell { at: from as f64 / size as f64, times_ns });
    }
    for jump in 1..=JUMPS {
        let root = jump as f64 / (JUMPS + 1) as f64;
        let distance = (root * root * size as f64) as u64 / 4096 * 4096;
        let mut times_ns = Vec::new();
        for sample in 0..JUMP_SAMPLES {
            // Some tracks more or less: else every jump of a distance would end at the same angle to where it began.
            let distance = distance + anywhere_below(ANGLES);
            let near = anywhere_below(size - distance - 4096);
            let (from, to) = if sample % 2 == 0 { (near, near + distance) } else { (near + distance, near) };
            disk.read(from, 4096)?;
            times_ns.push(disk.read(to, 4096)? as f64);
        }
        found.jumps.push(Cell { at: root, times_ns });
    }
    Ok(found)
}

//! Times of reads and writes that calibration measured on a device: a grid of kinds of access and their settings.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The two halves of the grid. Only the reading half leaves the device's contents intact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Grid {
    Reading,
    /// Writes and flushes. They destroy the contents of the device.
    Writing,
}

/// Kind of access that the grid measures, and the quantity in which its cells differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GridKind {
    /// Reads of data that was just read; cells differ in length (bytes).
    Again,
    /// Reads at random positions; cells differ in length (bytes).
    Anywhere,
    /// Sequential reads of 1 MiB; cells differ in position (share of the device).
    Onwards,
    /// Reads of 4 KiB after a seek; cells differ in the square root of the distance (share of the device).
    Jumps,
    /// Reads of 4 KiB within a gap that a drive has just read across; cells differ in the gap (bytes).
    Gap,
    /// Reads of 4 KiB a little behind the one before, which was anywhere; cells differ in the distance (bytes).
    Behind,
    /// Sequential writes; cells differ in length (bytes).
    WritesOn,
    /// Sequential writes of 1 MiB followed by a flush; cells differ in total length (bytes).
    Bursts,
    /// Writes of 4 KiB at random positions followed by a flush; cells differ in the number of writes.
    Scattered,
    /// Writes to several streams in turn; cells differ in the number of streams.
    Streams,
}

impl GridKind {
    pub fn title(self) -> &'static str {
        match self {
            GridKind::Again => "reads of what was just read",
            GridKind::Anywhere => "reads anywhere",
            GridKind::Onwards => "reads that go on",
            GridKind::Jumps => "reads after a jump",
            GridKind::Gap => "reads within a gap",
            GridKind::Behind => "reads a little behind",
            GridKind::WritesOn => "writes that go on",
            GridKind::Bursts => "writes in a row and a flush",
            GridKind::Scattered => "writes anywhere and a flush",
            GridKind::Streams => "writes to several streams",
        }
    }
}

/// Times of one kind of access at one setting, measured several times.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GridCell {
    /// Setting in which the cells of a kind differ: bytes, a share of the device, the square root of a share, or a
    /// number.
    pub at: f64,
    /// Time of each access, in nanoseconds.
    pub times_ns: Vec<f64>,
}

impl GridCell {
    /// Returns the 5th percentile of the times, in nanoseconds. The minimum may come from the device's cache.
    pub fn low_ns(&self) -> f64 {
        let mut times = self.times_ns.clone();
        times.sort_by(f64::total_cmp);
        times.get(times.len() / 20).copied().unwrap_or_default()
    }

    /// Returns the mean of the times, in nanoseconds.
    pub fn mean_ns(&self) -> f64 {
        self.times_ns.iter().sum::<f64>() / self.times_ns.len().max(1) as f64
    }
}

/// Measured cells by kind of access.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct GridFindings(pub BTreeMap<GridKind, Vec<GridCell>>);

impl GridFindings {
    /// Combines two halves of the grid.
    pub fn combine_with(mut self, other: GridFindings) -> GridFindings {
        self.0.extend(other.0);
        self
    }

    /// Whether this half of the grid was measured.
    pub fn has_half(&self, grid: Grid) -> bool {
        self.0.contains_key(if grid == Grid::Reading { &GridKind::Again } else { &GridKind::WritesOn })
    }

    /// Returns the cells of a kind, which are empty where its half of the grid was not measured.
    pub fn cells_of(&self, kind: GridKind) -> &[GridCell] {
        self.0.get(&kind).map_or(&[], Vec::as_slice)
    }

    pub fn add_cell(&mut self, kind: GridKind, at: f64, times_ns: Vec<f64>) {
        self.0.entry(kind).or_default().push(GridCell { at, times_ns });
    }
}

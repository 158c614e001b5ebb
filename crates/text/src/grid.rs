//! What a device was found to take, by the grid of reads and writes that calibration does on it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Which half of the grid: what a device has to be erased for is apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Grid {
    Reading,
    /// Writes and flushes, on a device whose content nobody needs.
    Writing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GridKind {
    /// Reads of what was just read, by length.
    Again,
    /// Reads anywhere, by length.
    Anywhere,
    /// Reads of 1 MiB that go on, by place.
    Onwards,
    /// Reads of 4 KiB after a jump, by the root of its distance.
    Jumps,
    /// Writes that go on, by length.
    WritesOn,
    /// Writes of 1 MiB that go on, and a flush: by their bytes.
    Bursts,
    /// Writes of 4 KiB anywhere, and a flush: by their number.
    Scattered,
    /// Writes to several streams in turn, by their number.
    Streams,
}

impl GridKind {
    pub fn title(self) -> &'static str {
        match self {
            GridKind::Again => "reads of what was just read",
            GridKind::Anywhere => "reads anywhere",
            GridKind::Onwards => "reads that go on",
            GridKind::Jumps => "reads after a jump",
            GridKind::WritesOn => "writes that go on",
            GridKind::Bursts => "writes in a row and a flush",
            GridKind::Scattered => "writes anywhere and a flush",
            GridKind::Streams => "writes to several streams",
        }
    }
}

/// One kind of access, done several times.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GridCell {
    /// What it varies in: bytes, share of the device, the root of a share, or a number.
    pub at: f64,
    pub times_ns: Vec<f64>,
}

impl GridCell {
    /// What one in twenty stays below: the very least may have been in the device's memory.
    pub fn low_ns(&self) -> f64 {
        let mut times = self.times_ns.clone();
        times.sort_by(f64::total_cmp);
        times.get(times.len() / 20).copied().unwrap_or_default()
    }

    pub fn mean_ns(&self) -> f64 {
        self.times_ns.iter().sum::<f64>() / self.times_ns.len().max(1) as f64
    }
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct GridFindings(pub BTreeMap<GridKind, Vec<GridCell>>);

impl GridFindings {
    pub fn and(mut self, other: GridFindings) -> GridFindings {
        self.0.extend(other.0);
        self
    }

    /// Whether this half was done.
    pub fn has(&self, grid: Grid) -> bool {
        self.0.contains_key(if grid == Grid::Reading { &GridKind::Again } else { &GridKind::WritesOn })
    }

    /// The cells of a kind; none where its half of the grid was not done.
    pub fn of(&self, kind: GridKind) -> &[GridCell] {
        self.0.get(&kind).map_or(&[], Vec::as_slice)
    }

    pub fn add(&mut self, kind: GridKind, at: f64, times_ns: Vec<f64>) {
        self.0.entry(kind).or_default().push(GridCell { at, times_ns });
    }
}

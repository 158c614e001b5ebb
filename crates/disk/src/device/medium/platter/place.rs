//! Position of a sector on a platter, and the bounds of its track and cylinder.

#[derive(Debug, Clone, Copy)]
pub(super) struct SectorPosition {
    /// Time that reading from the first sector to this one takes; modulo one rotation, the sector's angle.
    pub(super) along_ns: f64,
    pub(super) cylinder: f64,
    pub(super) track: f64,
}

/// Sectors that are read without moving the arm or switching heads (`track`), and without moving the arm (to
/// `cylinder_end`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TrackBounds {
    pub(super) track: (u64, u64),
    pub(super) cylinder_end: u64,
}

//! A place on a platter, and what lies beside it.

#[derive(Debug, Clone, Copy)]
pub(super) struct SectorPosition {
    pub(super) along_ns: f64,
    pub(super) cylinder: f64,
    pub(super) track: f64,
}

/// The stretch that is read without moving the arm or changing heads, and the one without moving the arm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TrackBounds {
    pub(super) track: (u64, u64),
    pub(super) cylinder_end: u64,
}

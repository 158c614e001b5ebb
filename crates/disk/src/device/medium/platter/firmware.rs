//! The firmware of a drive, besides moving the arm: how far it reads ahead, the content of its buffer, and its
//! overheads.

use super::super::super::fields::{MS, SECTOR, number_or, read_flag, read_size, whole_or};
use fsverdict_text::Section;

pub(super) const KEYS: &str = "through on_arrival written_stay segment ahead_tracks ahead_after_crossing \
                               stops_at_cylinder ahead_after_hit ahead_from_second breaks_off \
                               turn_ms hit_ms hit_onwards_ms hit_after_write_ms miss_ms miss_after_write_ms write_ms \
                               write_after_write_ms early_arm read_fill write_fill";

/// An absent key means that the drive does nothing of this kind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Firmware {
    /// A read that is less than a rotation ahead of the head, which reads on, waits for it; the sectors between are
    /// kept.
    pub(super) through: bool,
    /// Sectors that pass under the head before the requested one are read as well.
    pub(super) on_arrival: bool,
    /// Written data can be read from the buffer.
    pub(super) written_stay: bool,
    /// Room of one extent in the buffer, counted from the start of the last request.
    pub(super) segment_sectors: Option<u64>,
    /// The number of tracks that the drive reads ahead to the end of, including that of the request; 0 means no limit.
    pub(super) ahead_tracks: u64,
    /// After a request that lies on several tracks, the drive reads ahead over one more track.
    pub(super) ahead_after_crossing: bool,
    pub(super) stops_at_cylinder: bool,
    /// Whether the drive reads farther ahead after a request that the buffer answered.
    pub(super) ahead_after_hit: bool,
    /// Whether the drive reads ahead only from the second sequential read on.
    pub(super) ahead_from_second: bool,
    /// Share of requests after which the drive does not read ahead, because it is busy with other work.
    pub(super) breaks_off: f64,
    /// Shortest time that a write after a read, and a read after a write, waits for its head.
    pub(super) turn_ns: f64,
    /// Time before an answer from the buffer is sent: after a read and after a write; and if the read before it ended
    /// here.
    hit_ns: (f64, f64),
    hit_onwards_ns: f64,
    /// Time before the arm starts for a read: after a read, and after a write.
    miss_ns: (f64, f64),
    /// Time before the arm starts for a write: after a read, and after a write.
    write_ns: (f64, f64),
    /// The arm starts for a write when the command arrives, not when the data has arrived. This applies only without
    /// a write cache.
    pub(super) early_arm: bool,
    /// Share of a read that must be in the buffer before it is sent.
    pub(super) read_fill: f64,
    /// Share of a write that must have arrived before it is written, if the arm starts early.
    pub(super) write_fill: f64,
}

impl Firmware {
    pub(super) fn hit_ns(&self, after_write: bool, onwards: bool) -> f64 {
        if onwards {
            self.hit_onwards_ns
        } else if after_write {
            self.hit_ns.1
        } else {
            self.hit_ns.0
        }
    }

    pub(super) fn miss_ns(&self, after_write: bool) -> f64 {
        if after_write { self.miss_ns.1 } else { self.miss_ns.0 }
    }

    pub(super) fn write_ns(&self, after_write: bool) -> f64 {
        if after_write { self.write_ns.1 } else { self.write_ns.0 }
    }
}

pub(super) fn read_firmware(section: &Section<'_>) -> Option<Firmware> {
    let ms = |key: &str, absent_ns: f64| Some(number_or(section, key, 0.0..=1000.0, absent_ns / MS)? * MS);
    let pair = |plain: &str, after_write: &str| {
        let plain = ms(plain, 0.0)?;
        Some((plain, ms(after_write, plain)?))
    };
    let hit_ns = pair("hit_ms", "hit_after_write_ms")?;
    let segment =
        if section.has_key("segment") { Some(read_size(section, "segment", SECTOR, 1 << 32)?) } else { None };
    Some(Firmware {
        through: read_flag(section, "through"),
        on_arrival: read_flag(section, "on_arrival"),
        written_stay: read_flag(section, "written_stay"),
        segment_sectors: segment.map(|bytes| (bytes / SECTOR).max(1)),
        ahead_tracks: whole_or(section, "ahead_tracks", 0..=1024, 0)?,
        ahead_after_crossing: read_flag(section, "ahead_after_crossing"),
        stops_at_cylinder: read_flag(section, "stops_at_cylinder"),
        ahead_after_hit: !section.has_key("ahead_after_hit") || read_flag(section, "ahead_after_hit"),
        ahead_from_second: read_flag(section, "ahead_from_second"),
        breaks_off: number_or(section, "breaks_off", 0.0..=1.0, 0.0)?,
        turn_ns: ms("turn_ms", 0.0)?,
        hit_ns,
        hit_onwards_ns: ms("hit_onwards_ms", hit_ns.0)?,
        miss_ns: pair("miss_ms", "miss_after_write_ms")?,
        write_ns: pair("write_ms", "write_after_write_ms")?,
        early_arm: read_flag(section, "early_arm"),
        read_fill: number_or(section, "read_fill", 0.0..=1.0, 0.0)?,
        write_fill: number_or(section, "write_fill", 0.0..=1.0, 1.0)?,
    })
}

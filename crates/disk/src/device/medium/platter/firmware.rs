//! What a drive's firmware does besides moving the arm: how far it reads ahead, what it keeps, what it takes time over.

use super::super::super::fields::{MS, SECTOR, bytes, flag, number_or, whole_or};
use fsverdict_text::Section;

pub(super) const KEYS: &str = "through on_arrival written_stay segment ahead_tracks ahead_after_crossing \
                               stops_at_cylinder ahead_after_hit breaks_off \
                               turn_ms hit_ms hit_onwards_ms hit_after_write_ms miss_ms miss_after_write_ms write_ms \
                               write_after_write_ms early_arm read_fill write_fill";

/// Where a key is absent the drive does nothing of the kind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Firmware {
    /// A read less than a rotation ahead of where the head reads on waits for it; what lies between is kept.
    pub(super) through: bool,
    /// What passes under the head before the wanted sector comes is read as well.
    pub(super) on_arrival: bool,
    /// What was written can be read from the buffer.
    pub(super) written_stay: bool,
    /// The room of one stretch in the buffer, counted from where the last request began.
    pub(super) segment_sectors: Option<u64>,
    /// Reads ahead to the end of so many tracks, that of the request the first; 0: over any number of them.
    pub(super) ahead_tracks: u64,
    /// After a request that lies on several tracks, one more of them.
    pub(super) ahead_after_crossing: bool,
    pub(super) stops_at_cylinder: bool,
    /// Whether a request answered from the buffer makes it read farther.
    pub(super) ahead_after_hit: bool,
    /// The share of requests after which it does not read ahead, being at something of its own.
    pub(super) breaks_off: f64,
    /// The least that a write after a read waits for its head, and a read after a write.
    pub(super) turn_ns: f64,
    /// Before an answer from the buffer is sent, after a read and after a write; and where the read before it ended here.
    hit_ns: (f64, f64),
    hit_onwards_ns: f64,
    /// Before the arm starts for a read.
    miss_ns: (f64, f64),
    /// Before the arm starts for a write.
    write_ns: (f64, f64),
    /// The arm of a write starts with the command, not when the data have come. Only without a write cache.
    pub(super) early_arm: bool,
    /// What share of a read must be in the buffer before it is sent.
    pub(super) read_fill: f64,
    /// What share of a write must have come before it is written, where the arm starts early.
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
        if section.has("segment") { Some(bytes(section, "segment", SECTOR, 1 << 32)?) } else { None };
    Some(Firmware {
        through: flag(section, "through"),
        on_arrival: flag(section, "on_arrival"),
        written_stay: flag(section, "written_stay"),
        segment_sectors: segment.map(|bytes| (bytes / SECTOR).max(1)),
        ahead_tracks: whole_or(section, "ahead_tracks", 0..=1024, 0)?,
        ahead_after_crossing: flag(section, "ahead_after_crossing"),
        stops_at_cylinder: flag(section, "stops_at_cylinder"),
        ahead_after_hit: !section.has("ahead_after_hit") || flag(section, "ahead_after_hit"),
        breaks_off: number_or(section, "breaks_off", 0.0..=1.0, 0.0)?,
        turn_ns: ms("turn_ms", 0.0)?,
        hit_ns,
        hit_onwards_ns: ms("hit_onwards_ms", hit_ns.0)?,
        miss_ns: pair("miss_ms", "miss_after_write_ms")?,
        write_ns: pair("write_ms", "write_after_write_ms")?,
        early_arm: flag(section, "early_arm"),
        read_fill: number_or(section, "read_fill", 0.0..=1.0, 0.0)?,
        write_fill: number_or(section, "write_fill", 0.0..=1.0, 1.0)?,
    })
}

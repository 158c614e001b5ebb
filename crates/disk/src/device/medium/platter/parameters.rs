//! Numbers of a platter, and how they are read from a model's file.

use std::sync::Arc;

use super::super::super::fields::{
    MS, RATE, SECTOR, number_or, read_flag, read_number, read_size, read_whole, sector_ns, split_keys,
    whole_or,
};
use super::super::super::knobs::{Effect, Knob, Knobs};
use super::super::{DriveInstance, MediumKind, MediumModel, MediumParameters, ModelSource};
use super::firmware::{Firmware, read_firmware};
use fsverdict_text::Section;
use fsverdict_text::value::pairs;

pub(in super::super) const KIND: MediumKind = MediumKind {
    section: "platter",
    lies_on: None,
    states: &[],
    like: "hdd-7200",
    read: |source| Some(Arc::new(read(source)?)),
    knobs: KNOBS,
};

pub(in super::super) const KNOBS: Knobs = Knobs {
    reading: &[
        &[
            Knob("link", "command_us", |f| f.command, Effect::Moves(1e-3)),
            Knob("link", "mb_s", |f| f.link_byte, Effect::Rate),
        ],
        // The speed comes before the rates: at a wrong speed sequential reads seem to take another time, and a rate
        // that is moved for that does not return if the link is the bottleneck and hides it.
        &[Knob("platter", "rpm", |f| f.spread, Effect::Speed)],
        &[
            Knob("platter", "outer_mb_s", |f| f.first_byte, Effect::Rate),
            Knob("platter", "inner_mb_s", |f| f.last_byte, Effect::Rate),
        ],
        &[
            Knob("platter.seek", "minimum_ms", |f| f.shortest, Effect::Moves(1e-6)),
            Knob("platter.seek", "average_ms", |f| f.mean_jump, Effect::Moves(1e-6)),
        ],
    ],
    writing: &[&[
        Knob("platter", "write_settle_ms", |f| f.scattered, Effect::Moves(1e-6)),
        Knob("cache", "flush_us", |f| f.flush, Effect::Moves(1e-3)),
    ]],
    traced: super::traced::TRACED,
};

/// Keys of every platter, of one given by its rates, of one given by its real layout, and of a zone of that.
const KEYS: &str = "seek rpm heads head_switch_ms write_settle_ms read_ahead segments";
const SMOOTH_KEYS: &str = "outer_mb_s inner_mb_s zones";
const LAID_KEYS: &str = "zone to_and_fro";
const ZONE_KEYS: &str =
    "first cylinders sectors track_skew cylinder_skew offset front track_spares cylinder_spares spares";

/// Longest lists that are accepted.
const MOST_ZONES: usize = 1000;
const MOST_SEEKS: usize = 10_000;

/// The numbers of a platter.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PlatterParameters {
    pub(crate) rotation_ns: f64,
    pub(crate) surface: Surface,
    pub(crate) heads: u32,
    pub(crate) seek: Seek,
    /// Time of the switch to another track of the same cylinder.
    pub(crate) head_switch_ns: f64,
    /// Time by which a write waits longer than a read until the head has settled.
    pub(crate) write_settle_ns: f64,
    /// Sectors that the drive reads ahead when nothing else is requested.
    pub(crate) read_ahead_sectors: u64,
    /// Number of separate extents of read data that the buffer holds.
    pub(crate) segments: usize,
    /// Whether every second cylinder is filled from its last head to its first.
    pub(crate) to_and_fro: bool,
    pub(crate) firmware: Firmware,
}

/// Distribution of sectors over the cylinders.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Surface {
    /// Zones of equal numbers of cylinders, with the sustained rates at the outer and the inner edge, head and track
    /// switches included, in nanoseconds per sector.
    Smooth { outer_sector_ns: f64, inner_sector_ns: f64, zones: u32 },
    /// The zones of the drive's real layout.
    Zoned { zones: Arc<[TrackZone]> },
}

/// A zone of a drive's real layout. Skews and the offset are in its sectors, and may be fractions of them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct TrackZone {
    /// Its first cylinder.
    pub(crate) first: u64,
    pub(crate) cylinders: u64,
    /// Number of sectors that fit on a track.
    pub(crate) track_sectors: u64,
    /// Skew from a track to the next track of the cylinder.
    pub(crate) track_skew: f64,
    /// Skew from a cylinder to the first track of the next cylinder.
    pub(crate) cylinder_skew: f64,
    /// Angle at which the zone's first track begins.
    pub(crate) offset: f64,
    /// Sectors without data: at the start of the zone, and at the end of each track, each cylinder and the zone.
    pub(crate) front_sectors: u64,
    pub(crate) track_spares: u64,
    pub(crate) cylinder_spares: u64,
    pub(crate) spares: u64,
}

impl TrackZone {
    /// Number of sectors that it holds.
    pub(crate) fn sectors(&self, heads: u32) -> u64 {
        let cylinder = u64::from(heads) * (self.track_sectors - self.track_spares) - self.cylinder_spares;
        (self.cylinders * cylinder).saturating_sub(self.front_sectors + self.spares)
    }
}

/// Time of a seek by its distance in cylinders.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Seek {
    /// It grows with the square root of the distance, from the shortest to the longest seek.
    Root { minimum_ns: f64, full_ns: f64 },
    /// `a + b√d` up to `knee` cylinders, `c + e·d` beyond (Ruemmler and Wilkes, IEEE Computer 27(3), 1994).
    Knee { a_ns: f64, b_ns: f64, knee: f64, c_ns: f64, e_ns: f64 },
    /// Pairs of a number of cylinders and a time, with straight lines between them.
    Table(Arc<[(f64, f64)]>),
}

impl MediumParameters for PlatterParameters {
    fn build_medium(&self, drive: &DriveInstance) -> Box<dyn MediumModel> {
        Box::new(super::PlatterMedium::new(self, drive.capacity_sectors, drive.seed))
    }
}

/// Reads the `[platter]` section of a model, which other media may be built on.
pub(in super::super) fn read(source: &ModelSource<'_, '_>) -> Option<PlatterParameters> {
    let known = [KEYS, SMOOTH_KEYS, LAID_KEYS, super::firmware::KEYS].map(split_keys).concat();
    let section = &source.top.inner_table("platter", "[platter]", &known)?;
    let heads = read_whole(section, "heads", 1..=64)? as u32;
    let surface = if section.has_key("zone") {
        section.forbid_keys(
            &split_keys(SMOOTH_KEYS),
            "[[platter.zone]]",
            "zones say where sectors lie, and rates follow",
        );
        Surface::Zoned { zones: read_zones(section, heads, source.capacity_bytes / SECTOR)? }
    } else {
        let outer = read_number(section, "outer_mb_s", RATE)?;
        let inner = read_number(section, "inner_mb_s", 0.001..=outer)?;
        let zones = read_whole(section, "zones", 1..=1000)? as u32;
        Surface::Smooth { outer_sector_ns: sector_ns(outer), inner_sector_ns: sector_ns(inner), zones }
    };
    Some(PlatterParameters {
        rotation_ns: 60e9 / read_number(section, "rpm", 100.0..=100_000.0)?,
        surface,
        heads,
        seek: read_seek(section)?,
        head_switch_ns: read_number(section, "head_switch_ms", 0.0..=100.0)? * MS,
        write_settle_ns: read_number(section, "write_settle_ms", -100.0..=100.0)? * MS,
        read_ahead_sectors: read_size(section, "read_ahead", SECTOR, 1 << 32)? / SECTOR,
        segments: read_whole(section, "segments", 1..=1024)? as usize,
        to_and_fro: read_flag(section, "to_and_fro"),
        firmware: read_firmware(section)?,
    })
}

fn read_zones(section: &Section<'_>, heads: u32, capacity: u64) -> Option<Arc<[TrackZone]>> {
    let tables = section.read_tables("zone", "[[platter.zone]]", &split_keys(ZONE_KEYS), MOST_ZONES)?;
    let mut zones: Vec<TrackZone> = Vec::new();
    for table in &tables {
        let next = zones.last().map_or(0, |last| last.first + last.cylinders);
        let track_sectors = read_whole(table, "sectors", 1..=1 << 16)?;
        let zone = TrackZone {
            first: whole_or(table, "first", next..=1 << 32, next)?,
            cylinders: read_whole(table, "cylinders", 1..=1 << 24)?,
            track_sectors,
            track_skew: number_or(table, "track_skew", 0.0..=1e6, 0.0)?,
            cylinder_skew: number_or(table, "cylinder_skew", 0.0..=1e6, 0.0)?,
            offset: number_or(table, "offset", 0.0..=1e6, 0.0)?,
            front_sectors: whole_or(table, "front", 0..=1 << 32, 0)?,
            track_spares: whole_or(table, "track_spares", 0..=track_sectors - 1, 0)?,
            cylinder_spares: whole_or(table, "cylinder_spares", 0..=track_sectors - 1, 0)?,
            spares: whole_or(table, "spares", 0..=1 << 32, 0)?,
        };
        let cylinder = u64::from(heads) * (zone.track_sectors - zone.track_spares);
        if cylinder <= zone.cylinder_spares || zone.sectors(heads) == 0 {
            table.report_wrong("sectors", "spares leave nothing of the zone", "");
            return None;
        }
        zones.push(zone);
    }
    let zone_sectors: u64 = zones.iter().map(|zone| zone.sectors(heads)).sum();
    if zone_sectors < capacity {
        let message =
            format!("the zones hold {zone_sectors} sectors of 512 bytes, and the device has {capacity}");
        section.report_wrong("zone", &message, "lower `capacity`, or add what is missing");
    }
    Some(zones.into())
}

fn read_seek(section: &Section<'_>) -> Option<Seek> {
    let forms =
        [split_keys("minimum_ms average_ms"), split_keys("a_ms b_ms knee c_ms e_ms"), split_keys("table")];
    let seek = section.need_inner_table("seek", "seek", &forms.concat())?;
    let form = match (seek.has_key("minimum_ms"), seek.has_key("table")) {
        (true, _) => 0,
        (_, true) => 2,
        _ => 1,
    };
    for (_, keys) in forms.iter().enumerate().filter(|(other, _)| *other != form) {
        seek.forbid_keys(keys, "the other way to give the curve", "give it in one way");
    }
    Some(match form {
        0 => {
            let minimum = read_number(&seek, "minimum_ms", 0.0..=1000.0)?;
            let average = read_number(&seek, "average_ms", minimum..=1000.0)?;
            // The distances x between two random places have the density 2(1−x), over which the mean of √x is 8/15.
            let full = minimum + (average - minimum) * 15.0 / 8.0;
            Seek::Root { minimum_ns: minimum * MS, full_ns: full * MS }
        }
        1 => Seek::Knee {
            a_ns: read_number(&seek, "a_ms", 0.0..=1000.0)? * MS,
            b_ns: read_number(&seek, "b_ms", 0.0..=1000.0)? * MS,
            knee: read_number(&seek, "knee", 0.0..=1e7)?,
            c_ns: read_number(&seek, "c_ms", 0.0..=1000.0)? * MS,
            e_ns: read_number(&seek, "e_ms", 0.0..=1000.0)? * MS,
        },
        _ => Seek::Table(read_table(&seek)?),
    })
}

fn read_table(seek: &Section<'_>) -> Option<Arc<[(f64, f64)]>> {
    let table = seek.need("table", "table = [[1, 0.8], [100, 2.5], [5000, 9.0]]", pairs)?;
    let wrong = |message: &str| {
        seek.report_wrong("table", message, "pairs of cylinders and milliseconds, the nearest first");
    };
    if table.is_empty() || table.len() > MOST_SEEKS {
        wrong(&format!("it must have 1 to {MOST_SEEKS} pairs, but has {}", table.len()));
    } else if table
        .iter()
        .any(|(distance, ms)| !(1.0..=1e9).contains(distance) || !(0.0..=1000.0).contains(ms))
    {
        wrong("a distance must be from 1 to 1000000000 cylinders, and a time from 0 to 1000 ms");
    } else if table.windows(2).any(|pair| pair[1].0 <= pair[0].0) {
        wrong("the distances must grow");
    }
    Some(table.into_iter().map(|(distance, ms)| (distance, ms * MS)).collect())
}

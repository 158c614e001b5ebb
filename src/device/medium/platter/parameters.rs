//! The numbers of a platter, and how a model's file gives them.

use std::sync::Arc;

use super::super::super::fields::SECTOR;
use super::super::super::fields::{MS, RATE, bytes, keys, number, sector_ns, whole};
use super::super::super::knobs::{Effect, Knob, Knobs};
use super::super::{MediumKind, MediumModel, MediumParameters, ModelSource, Whole};
use crate::plan::Section;

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
        // Before the rates: at a wrong speed reading on seems to take another time, and a rate that is moved for that does not
        // come back where the link is the narrower place and hides it.
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
};

const KEYS: &str =
    "outer_mb_s inner_mb_s seek rpm zones heads head_switch_ms write_settle_ms read_ahead segments";

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct PlatterParameters {
    pub(crate) rotation_ns: f64,
    /// Sustained, head and track switches included, at the outer and the inner edge: nanoseconds a sector.
    pub(crate) outer_sector_ns: f64,
    pub(crate) inner_sector_ns: f64,
    pub(crate) zones: u32,
    pub(crate) heads: u32,
    pub(crate) seek: Seek,
    /// To another track of the same cylinder.
    pub(crate) head_switch_ns: f64,
    /// What a write waits longer than a read until the head has settled.
    pub(crate) write_settle_ns: f64,
    /// How far it reads on when nothing else is wanted.
    pub(crate) read_ahead_sectors: u64,
    /// How many separate stretches of what it read it remembers.
    pub(crate) segments: usize,
}

/// The time the arm takes over a distance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Seek {
    /// From the shortest, by the root of the distance, to the longest.
    Root { minimum_ns: f64, full_ns: f64 },
    /// `a + b√d` up to `knee` cylinders, `c + e·d` beyond (Ruemmler and Wilkes, IEEE Computer 27(3), 1994).
    Knee { a_ns: f64, b_ns: f64, knee: f64, c_ns: f64, e_ns: f64 },
}

impl MediumParameters for PlatterParameters {
    fn medium(&self, whole: &Whole) -> Box<dyn MediumModel> {
        Box::new(super::PlatterMedium::new(*self, whole.capacity_sectors, whole.seed))
    }
}

/// The numbers of the `[platter]` of a model, which others may lie on.
pub(in super::super) fn read(source: &ModelSource<'_, '_>) -> Option<PlatterParameters> {
    let section = &source.top.inner("platter", "[platter]", &keys(KEYS))?;
    let outer = number(section, "outer_mb_s", RATE)?;
    let inner = number(section, "inner_mb_s", 0.001..=outer)?;
    Some(PlatterParameters {
        rotation_ns: 60e9 / number(section, "rpm", 100.0..=100_000.0)?,
        outer_sector_ns: sector_ns(outer),
        inner_sector_ns: sector_ns(inner),
        zones: whole(section, "zones", 1..=1000)? as u32,
        heads: whole(section, "heads", 1..=64)? as u32,
        seek: read_seek(section)?,
        head_switch_ns: number(section, "head_switch_ms", 0.0..=100.0)? * MS,
        write_settle_ns: number(section, "write_settle_ms", 0.0..=100.0)? * MS,
        read_ahead_sectors: bytes(section, "read_ahead", 4096, 1 << 32)? / SECTOR,
        segments: whole(section, "segments", 1..=1024)? as usize,
    })
}

fn read_seek(section: &Section<'_>) -> Option<Seek> {
    let forms = [keys("minimum_ms average_ms"), keys("a_ms b_ms knee c_ms e_ms")];
    let seek = section.needed_inner("seek", "seek", &forms.concat())?;
    let by_mean = seek.has("minimum_ms");
    seek.forbid(&forms[usize::from(by_mean)], "the other way to give the curve", "give it in one way");
    Some(if by_mean {
        let minimum = number(&seek, "minimum_ms", 0.0..=1000.0)?;
        let average = number(&seek, "average_ms", minimum..=1000.0)?;
        // The mean of √x over the distances between two random places, whose density is 2(1−x), is 8/15.
        let full = minimum + (average - minimum) * 15.0 / 8.0;
        Seek::Root { minimum_ns: minimum * MS, full_ns: full * MS }
    } else {
        Seek::Knee {
            a_ns: number(&seek, "a_ms", 0.0..=1000.0)? * MS,
            b_ns: number(&seek, "b_ms", 0.0..=1000.0)? * MS,
            knee: number(&seek, "knee", 0.0..=1e7)?,
            c_ns: number(&seek, "c_ms", 0.0..=1000.0)? * MS,
            e_ns: number(&seek, "e_ms", 0.0..=1000.0)? * MS,
        }
    })
}

//! Shingled tracks that the drive manages itself.
//!
//! Tracks overlap within a band, so a band can only be written from its start to its end. What does not come that way
//! goes to a persistent cache on the outermost tracks, a log, from where it is brought home band by band: read the band,
//! write the merged band aside so that a loss of power cannot take it, write it in its place. That is done when the
//! drive has nothing else to do, or when the cache is full, and then somebody waits for it. After Aghayev, Shafaei and
//! Desnoyers, "Skylight: a window on shingled disk operation", FAST '15: static map, cleaning in order of age.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use super::super::cache::Extent;
use super::super::fields::{MS, SECTOR, bytes, keys, number, whole};
use super::super::planted::{Bug, planted};
use super::super::random;
use super::super::wear::Wear;
use super::platter::{self, PlatterMedium};
use super::{AccessSpan, MediumKind, MediumModel, MediumParameters, ModelSource, Whole};

/// A stream of writes shorter than this does not count as one: 256 KiB.
const STREAM_SECTORS: u64 = 512;

pub(super) const KIND: MediumKind = MediumKind {
    section: "shingles",
    lies_on: Some("platter"),
    states: &["fresh", "filled"],
    like: "smr-5400",
    read: |source| Some(Arc::new(read(source)?)),
    knobs: platter::parameters::KNOBS,
};

/// Shingled tracks managed by the drive.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ShinglesParameters {
    platter: platter::parameters::PlatterParameters,
    cache_sectors: u64,
    cache_extents: u64,
    band_sectors: u64,
    idle_ns: u64,
    /// How full the persistent cache is at the start, from 0 to 1.
    fill: f64,
}

fn read(source: &ModelSource<'_, '_>) -> Option<ShinglesParameters> {
    let section = &source.top.inner("shingles", "[shingles]", &keys("cache extents band idle_ms"))?;
    Some(ShinglesParameters {
        platter: platter::parameters::read(source)?,
        cache_sectors: bytes(section, "cache", SECTOR, source.capacity_bytes / 2)? / SECTOR,
        cache_extents: whole(section, "extents", 1..=10_000_000)?,
        band_sectors: bytes(section, "band", 1 << 16, 1 << 32)? / SECTOR,
        idle_ns: (number(section, "idle_ms", 0.0..=1e6)? * MS) as u64,
        fill: if source.state == Some("filled") { 1.0 } else { 0.0 },
    })
}

impl MediumParameters for ShinglesParameters {
    fn medium(&self, whole: &Whole) -> Box<dyn MediumModel> {
        Box::new(Shingles::new(self.clone(), whole.capacity_sectors, whole.seed))
    }
}

#[derive(Debug)]
struct Shingles {
    parameters: ShinglesParameters,
    platter: PlatterMedium,
    bands: u64,
    /// Stretches whose newest content is in the persistent cache: from their first sector to their length and place.
    cached: BTreeMap<u64, (u64, u64)>,
    log: u64,
    /// Bands with something in the cache, and how much.
    soiled: HashMap<u64, Soiled>,
    /// The same bands, the longest soiled first.
    order: VecDeque<u64>,
    cached_sectors: u64,
    cached_extents: u64,
    /// The band that is being written from its start, and the sector its writer must go on with.
    stream: Option<(u64, u64)>,
    wear: Wear,
}

#[derive(Debug, Clone, Copy, Default)]
struct Soiled {
    sectors: u64,
    extents: u64,
    /// How many of the extents were there at the start.
    foreign: u64,
}

impl Shingles {
    fn new(parameters: ShinglesParameters, sectors: u64, seed: u64) -> Shingles {
        let mut shingles = Shingles {
            platter: PlatterMedium::new(&parameters.platter, sectors + parameters.cache_sectors, seed),
            bands: sectors.div_ceil(parameters.band_sectors),
            parameters,
            cached: BTreeMap::new(),
            log: 0,
            soiled: HashMap::new(),
            order: VecDeque::new(),
            cached_sectors: 0,
            cached_extents: 0,
            stream: None,
            wear: Wear::default(),
        };
        shingles.fill(seed);
        shingles
    }

    /// Somebody else's writes of 4 KiB, spread evenly over the drive. Where they lie only matters when they are cleaned.
    fn fill(&mut self, seed: u64) {
        let extents = (self.parameters.cache_sectors / 8).min(self.parameters.cache_extents);
        for count in 0..(extents as f64 * self.parameters.fill) as u64 {
            let band = random::below(seed, count, self.bands);
            self.soil(band, 8);
            self.soiled.entry(band).or_default().foreign += 1;
        }
    }

    fn soil(&mut self, band: u64, sectors: u64) {
        let soiled = self.soiled.entry(band).or_insert_with(|| {
            self.order.push_back(band);
            Soiled::default()
        });
        soiled.sectors += sectors;
        soiled.extents += 1;
        self.cached_sectors += sectors;
        self.cached_extents += 1;
    }

    fn is_full(&self, sectors: u64) -> bool {
        (self.cached_sectors + sectors > self.parameters.cache_sectors
            || self.cached_extents >= self.parameters.cache_extents)
            && !planted(Bug::CacheNeverFull)
    }

    /// Where a band lies on the platter.
    fn home(&self, sector: u64) -> u64 {
        self.parameters.cache_sectors + sector
    }

    /// Brings the band home that waits longest; returns when that is done.
    fn clean(&mut self, at_ns: u64) -> u64 {
        let Some(band) = self.order.pop_front() else { return at_ns };
        let soiled = self.soiled.remove(&band).unwrap_or_default();
        self.cached_sectors -= soiled.sectors;
        self.cached_extents -= soiled.extents;
        let (first, sectors) = (band * self.parameters.band_sectors, self.parameters.band_sectors);
        let whole = Extent { sector: self.home(first), sectors };
        let mut now_ns = self.platter.read(at_ns, whole).end_ns;
        // The cache is a log: what belongs to one band lies anywhere in it.
        let mut pieces = self.forget(first, first + sectors);
        let room = self.parameters.cache_sectors.saturating_sub(8).max(1);
        let foreign = (0..soiled.foreign).map(|count| random::below(band, count, room));
        pieces.extend(foreign.map(|sector| Extent { sector, sectors: 8 }));
        pieces.sort_unstable_by_key(|piece| piece.sector);
        for piece in pieces {
            now_ns = self.platter.read(now_ns, piece).end_ns;
        }
        let aside = Extent { sector: 0, sectors: sectors.min(self.parameters.cache_sectors) };
        now_ns = self.platter.put(now_ns, aside).end_ns;
        self.wear.wrote(0, 2 * sectors);
        self.wear.erases += 1;
        self.platter.put(now_ns, whole).end_ns
    }

    /// Drops what the cache holds of these sectors; returns where it lay.
    fn forget(&mut self, start: u64, end: u64) -> Vec<Extent> {
        let mut lay = Vec::new();
        while let Some((&old, &(sectors, log))) = self.cached.range(..end).next_back() {
            let old_end = old + sectors;
            if old_end <= start {
                break;
            }
            self.cached.remove(&old);
            let (from, to) = (old.max(start), old_end.min(end));
            lay.push(Extent { sector: log + (from - old), sectors: to - from });
            if old < start {
                self.cached.insert(old, (start - old, log));
            }
            if old_end > end {
                self.cached.insert(end, (old_end - end, log + (end - old)));
            }
        }
        lay
    }

    /// A write that comes in order, from the start of a band: it goes home at once.
    fn write_home(&mut self, at_ns: u64, extent: Extent) -> AccessSpan {
        let end = extent.sector + extent.sectors;
        self.forget(extent.sector, end);
        self.stream = Some((end / self.parameters.band_sectors, end));
        self.wear.wrote(extent.sectors, extent.sectors);
        self.platter.put(at_ns, Extent { sector: self.home(extent.sector), sectors: extent.sectors })
    }

    /// The writer of the band did not go on: what lay behind in it must be rewritten.
    fn break_stream(&mut self) {
        if let Some((band, next)) = self.stream.take()
            && !next.is_multiple_of(self.parameters.band_sectors)
        {
            self.soil(band, 0);
        }
    }

    fn write_aside(&mut self, at_ns: u64, extent: Extent) -> AccessSpan {
        let mut now_ns = at_ns;
        while self.is_full(extent.sectors) && !self.order.is_empty() {
            now_ns = self.clean(now_ns);
        }
        let sectors = extent.sectors.min(self.parameters.cache_sectors);
        if self.log + sectors > self.parameters.cache_sectors {
            self.log = 0;
        }
        let end = extent.sector + extent.sectors;
        self.forget(extent.sector, end);
        self.cached.insert(extent.sector, (extent.sectors, self.log));
        self.soil(extent.sector / self.parameters.band_sectors, extent.sectors);
        self.wear.wrote(extent.sectors, sectors);
        let span = self.platter.put(now_ns, Extent { sector: self.log, sectors });
        self.log += sectors;
        span
    }
}

impl MediumModel for Shingles {
    /// What is idle for long cleans, one band after the other, and finishes the one it is at.
    fn rouse(&mut self, idle_since_ns: u64, now_ns: u64) -> u64 {
        let mut at_ns = idle_since_ns + self.parameters.idle_ns;
        let mut free_ns = now_ns;
        while at_ns < now_ns && !self.order.is_empty() {
            at_ns = self.clean(at_ns);
            free_ns = at_ns.max(now_ns);
        }
        free_ns
    }

    fn distance(&self, at_ns: u64, write: bool, sector: u64) -> u64 {
        self.platter.distance(at_ns, write, self.home(sector))
    }

    fn head(&self) -> u64 {
        self.stream.map_or(0, |(_, next)| next)
    }

    fn read(&mut self, at_ns: u64, extent: Extent) -> AccessSpan {
        let end = extent.sector + extent.sectors;
        let mut span = AccessSpan { begin_ns: at_ns, end_ns: at_ns };
        let mut sector = extent.sector;
        while sector < end {
            let before = self.cached.range(..=sector).next_back();
            let piece = match before.filter(|(start, (sectors, _))| **start + sectors > sector) {
                Some((start, (sectors, log))) => {
                    Extent { sector: log + (sector - start), sectors: (start + sectors).min(end) - sector }
                }
                None => {
                    let next = self.cached.range(sector..end).next().map_or(end, |(start, _)| *start);
                    Extent { sector: self.home(sector), sectors: next - sector }
                }
            };
            let part = self.platter.read(span.end_ns, piece);
            let begin_ns = if sector == extent.sector { part.begin_ns } else { span.begin_ns };
            span = AccessSpan { begin_ns, end_ns: part.end_ns };
            sector += piece.sectors;
        }
        span
    }

    fn write(&mut self, at_ns: u64, extent: Extent) -> AccessSpan {
        // A write may reach into the next band; each band's share is a write of its own.
        let band = extent.sector / self.parameters.band_sectors;
        let band_end = (band + 1) * self.parameters.band_sectors;
        let sectors = extent.sectors.min(band_end - extent.sector);
        let part = Extent { sector: extent.sector, sectors };
        let goes_on = self.stream.is_some_and(|(_, next)| next == extent.sector);
        let begins = extent.sector == band * self.parameters.band_sectors && sectors >= STREAM_SECTORS;
        let mut span = if goes_on || begins {
            if !goes_on {
                self.break_stream();
            }
            self.write_home(at_ns, part)
        } else {
            self.break_stream();
            self.write_aside(at_ns, part)
        };
        if sectors < extent.sectors {
            let rest = Extent { sector: band_end, sectors: extent.sectors - sectors };
            span.end_ns = self.write(span.end_ns, rest).end_ns;
        }
        span
    }

    fn wear(&self) -> Wear {
        self.wear
    }
}

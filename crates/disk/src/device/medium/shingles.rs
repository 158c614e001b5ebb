//! Shingled tracks that the drive manages itself (drive-managed SMR).
//!
//! Tracks overlap within a band, so that a band can only be written from its start to its end. Other writes go to a
//! persistent cache on the outermost tracks, a log, which is cleaned band by band: the drive reads the band, writes
//! the merged band elsewhere so that a power loss cannot destroy it, and writes it in its place. It does that when it
//! is idle, or when the cache is full, and then requests wait for it. After Aghayev, Shafaei and Desnoyers,
//! "Skylight: a window on shingled disk operation", FAST '15: the map is static, and bands are cleaned in order of age.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use super::super::cache::Extent;
use super::super::fields::{MS, SECTOR, read_number, read_size, read_whole, split_keys};
use super::super::random;
use super::super::wear::Wear;
use super::platter::{self, PlatterMedium};
use super::{AccessSpan, DriveInstance, MediumKind, MediumModel, MediumParameters, ModelSource};

/// A shorter sequential write at the start of a band does not start a stream: 256 KiB.
const MIN_STREAM_SECTORS: u64 = 512;

pub(super) const KIND: MediumKind = MediumKind {
    section: "shingles",
    lies_on: Some("platter"),
    states: &["fresh", "filled"],
    like: "smr-5400",
    read: |source| Some(Arc::new(read_parameters(source)?)),
    knobs: platter::parameters::KNOBS,
};

/// The numbers of shingled tracks that the drive manages.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ShinglesParameters {
    platter: platter::parameters::PlatterParameters,
    cache_sectors: u64,
    cache_extents: u64,
    band_sectors: u64,
    idle_ns: u64,
    /// Fill level of the persistent cache at the start, from 0 to 1.
    fill: f64,
}

fn read_parameters(source: &ModelSource<'_, '_>) -> Option<ShinglesParameters> {
    let section =
        &source.top.inner_table("shingles", "[shingles]", &split_keys("cache extents band idle_ms"))?;
    Some(ShinglesParameters {
        platter: platter::parameters::read(source)?,
        cache_sectors: read_size(section, "cache", SECTOR, source.capacity_bytes / 2)? / SECTOR,
        cache_extents: read_whole(section, "extents", 1..=10_000_000)?,
        band_sectors: read_size(section, "band", 1 << 16, 1 << 32)? / SECTOR,
        idle_ns: (read_number(section, "idle_ms", 0.0..=1e6)? * MS) as u64,
        fill: if source.state == Some("filled") { 1.0 } else { 0.0 },
    })
}

impl MediumParameters for ShinglesParameters {
    fn build_medium(&self, drive: &DriveInstance) -> Box<dyn MediumModel> {
        Box::new(Shingles::new(self.clone(), drive.capacity_sectors, drive.seed))
    }
}

/// A shingled drive.
#[derive(Debug)]
struct Shingles {
    parameters: ShinglesParameters,
    platter: PlatterMedium,
    bands: u64,
    /// Extents with their newest content in the persistent cache: from the first sector to the length and the place in
    /// the cache.
    cached: BTreeMap<u64, (u64, u64)>,
    /// Place in the cache at which the log continues.
    log_end: u64,
    /// Bands with data in the cache, and how much.
    dirty_bands: HashMap<u64, DirtyBand>,
    /// The same bands, the one that is dirty longest first.
    cleaning_order: VecDeque<u64>,
    cached_sectors: u64,
    cached_extents: u64,
    /// The band that is being written from its start, and the sector at which the next write must start.
    stream: Option<(u64, u64)>,
    wear: Wear,
}

/// The data of a band that is in the persistent cache.
#[derive(Debug, Clone, Copy, Default)]
struct DirtyBand {
    sectors: u64,
    extents: u64,
    /// Number of the extents that were there at the start.
    initial_extents: u64,
}

impl Shingles {
    fn new(parameters: ShinglesParameters, sectors: u64, seed: u64) -> Shingles {
        let mut shingles = Shingles {
            platter: PlatterMedium::new(&parameters.platter, sectors + parameters.cache_sectors, seed),
            bands: sectors.div_ceil(parameters.band_sectors),
            parameters,
            cached: BTreeMap::new(),
            log_end: 0,
            dirty_bands: HashMap::new(),
            cleaning_order: VecDeque::new(),
            cached_sectors: 0,
            cached_extents: 0,
            stream: None,
            wear: Wear::default(),
        };
        shingles.fill_cache(seed);
        shingles
    }

    /// Fills the cache with writes of 4 KiB that came before the trial, spread evenly over the drive. Their places
    /// matter only when they are cleaned.
    fn fill_cache(&mut self, seed: u64) {
        let extents = (self.parameters.cache_sectors / 8).min(self.parameters.cache_extents);
        for count in 0..(extents as f64 * self.parameters.fill) as u64 {
            let band = random::uniform_below(seed, count, self.bands);
            self.mark_dirty(band, 8);
            self.dirty_bands.entry(band).or_default().initial_extents += 1;
        }
    }

    /// Records data of a band in the cache.
    fn mark_dirty(&mut self, band: u64, sectors: u64) {
        let dirty_band = self.dirty_bands.entry(band).or_insert_with(|| {
            self.cleaning_order.push_back(band);
            DirtyBand::default()
        });
        dirty_band.sectors += sectors;
        dirty_band.extents += 1;
        self.cached_sectors += sectors;
        self.cached_extents += 1;
    }

    /// Whether the cache has no room for this many sectors.
    fn is_full(&self, sectors: u64) -> bool {
        self.cached_sectors + sectors > self.parameters.cache_sectors
            || self.cached_extents >= self.parameters.cache_extents
    }

    /// Returns the place of a sector on the platter, which is behind the cache.
    fn platter_sector(&self, sector: u64) -> u64 {
        self.parameters.cache_sectors + sector
    }

    /// Cleans the band that is dirty longest; returns the time at which that is done.
    fn clean_oldest_band(&mut self, at_ns: u64) -> u64 {
        let Some(band) = self.cleaning_order.pop_front() else { return at_ns };
        let dirty_band = self.dirty_bands.remove(&band).unwrap_or_default();
        self.cached_sectors -= dirty_band.sectors;
        self.cached_extents -= dirty_band.extents;
        let (first, sectors) = (band * self.parameters.band_sectors, self.parameters.band_sectors);
        let band_extent = Extent { sector: self.platter_sector(first), sectors };
        let mut now_ns = self.platter.read(at_ns, band_extent).end_ns;
        // The cache is a log: the extents of a band lie anywhere in it.
        let mut pieces = self.remove_cached(first, first + sectors);
        let room = self.parameters.cache_sectors.saturating_sub(8).max(1);
        let initial_extents =
            (0..dirty_band.initial_extents).map(|count| random::uniform_below(band, count, room));
        pieces.extend(initial_extents.map(|sector| Extent { sector, sectors: 8 }));
        pieces.sort_unstable_by_key(|piece| piece.sector);
        for piece in pieces {
            now_ns = self.platter.read(now_ns, piece).end_ns;
        }
        let copy = Extent { sector: 0, sectors: sectors.min(self.parameters.cache_sectors) };
        now_ns = self.platter.put(now_ns, copy).end_ns;
        self.wear.add_writes(0, 2 * sectors);
        self.wear.erases += 1;
        self.platter.put(now_ns, band_extent).end_ns
    }

    /// Removes these sectors from the cache; returns their places in it.
    fn remove_cached(&mut self, start: u64, end: u64) -> Vec<Extent> {
        let mut removed = Vec::new();
        while let Some((&old, &(sectors, log))) = self.cached.range(..end).next_back() {
            let old_end = old + sectors;
            if old_end <= start {
                break;
            }
            self.cached.remove(&old);
            let (from, to) = (old.max(start), old_end.min(end));
            removed.push(Extent { sector: log + (from - old), sectors: to - from });
            if old < start {
                self.cached.insert(old, (start - old, log));
            }
            if old_end > end {
                self.cached.insert(end, (old_end - end, log + (end - old)));
            }
        }
        removed
    }

    /// Writes sequential data of a band in its place.
    fn write_in_place(&mut self, at_ns: u64, extent: Extent) -> AccessSpan {
        let end = extent.sector + extent.sectors;
        self.remove_cached(extent.sector, end);
        self.stream = Some((end / self.parameters.band_sectors, end));
        self.wear.add_writes(extent.sectors, extent.sectors);
        self.platter
            .put(at_ns, Extent { sector: self.platter_sector(extent.sector), sectors: extent.sectors })
    }

    /// Ends a stream: the rest of its band must be rewritten.
    fn break_stream(&mut self) {
        if let Some((band, next)) = self.stream.take()
            && !next.is_multiple_of(self.parameters.band_sectors)
        {
            self.mark_dirty(band, 0);
        }
    }

    /// Writes to the persistent cache, and cleans bands before if it is full.
    fn write_to_cache(&mut self, at_ns: u64, extent: Extent) -> AccessSpan {
        let mut now_ns = at_ns;
        while self.is_full(extent.sectors) && !self.cleaning_order.is_empty() {
            now_ns = self.clean_oldest_band(now_ns);
        }
        let sectors = extent.sectors.min(self.parameters.cache_sectors);
        if self.log_end + sectors > self.parameters.cache_sectors {
            self.log_end = 0;
        }
        let end = extent.sector + extent.sectors;
        self.remove_cached(extent.sector, end);
        self.cached.insert(extent.sector, (extent.sectors, self.log_end));
        self.mark_dirty(extent.sector / self.parameters.band_sectors, extent.sectors);
        self.wear.add_writes(extent.sectors, sectors);
        let span = self.platter.put(now_ns, Extent { sector: self.log_end, sectors });
        self.log_end += sectors;
        span
    }
}

impl MediumModel for Shingles {
    /// A drive that is idle for long cleans one band after the other, and finishes the one in progress before the
    /// next access.
    fn wake_time(&mut self, idle_since_ns: u64, now_ns: u64) -> u64 {
        let mut at_ns = idle_since_ns + self.parameters.idle_ns;
        let mut free_ns = now_ns;
        while at_ns < now_ns && !self.cleaning_order.is_empty() {
            at_ns = self.clean_oldest_band(at_ns);
            free_ns = at_ns.max(now_ns);
        }
        free_ns
    }

    fn time_to_reach(&self, at_ns: u64, write: bool, sector: u64) -> u64 {
        self.platter.time_to_reach(at_ns, write, self.platter_sector(sector))
    }

    fn head_sector(&self) -> u64 {
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
                    Extent { sector: self.platter_sector(sector), sectors: next - sector }
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
        // A write may reach into the next band; each band's part is a separate write.
        let band = extent.sector / self.parameters.band_sectors;
        let band_end = (band + 1) * self.parameters.band_sectors;
        let sectors = extent.sectors.min(band_end - extent.sector);
        let part = Extent { sector: extent.sector, sectors };
        let continues = self.stream.is_some_and(|(_, next)| next == extent.sector);
        let starts_stream =
            extent.sector == band * self.parameters.band_sectors && sectors >= MIN_STREAM_SECTORS;
        let mut span = if continues || starts_stream {
            if !continues {
                self.break_stream();
            }
            self.write_in_place(at_ns, part)
        } else {
            self.break_stream();
            self.write_to_cache(at_ns, part)
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

//! Media of modelled devices: the trait by which the engine times accesses, and the kinds that a model's file can
//! choose.

mod flash;
mod ideal;
mod platter;
mod shingles;
mod units;

use std::sync::Arc;

use fsverdict_text::Section;

use super::cache::{Extent, VolatileCache};
use super::knobs::Knobs;
use super::parameters;
use super::wear::Wear;

/// All kinds of medium.
const KINDS: &[MediumKind] =
    &[ideal::KIND, platter::parameters::KIND, units::KIND, flash::parameters::KIND, shingles::KIND];

/// A kind of medium, and how a model's file describes it.
#[derive(Debug)]
pub(super) struct MediumKind {
    /// Name of the section with its numbers.
    pub(super) section: &'static str,
    /// The section of the medium that it is built on; `None` if it is built on none.
    lies_on: Option<&'static str>,
    /// States that it may have before the trial; the first is that of a model without a state.
    pub(super) states: &'static [&'static str],
    /// A built-in model that is representative of the kind.
    pub(super) like: &'static str,
    read: fn(&ModelSource<'_, '_>) -> Option<Arc<dyn MediumParameters>>,
    pub(super) knobs: Knobs,
}

/// The parts of a model's file that a medium needs.
pub(super) struct ModelSource<'a, 'b> {
    pub(super) top: &'a Section<'b>,
    pub(super) capacity_bytes: u64,
    pub(super) cache: Option<&'a parameters::CacheParameters>,
    pub(super) state: Option<&'a str>,
}

/// The numbers of a medium, as its kind reads them.
pub(super) trait MediumParameters: std::fmt::Debug + Send + Sync {
    fn build_medium(&self, drive: &DriveInstance) -> Box<dyn MediumModel>;
}

/// The device that a medium is built for.
#[derive(Debug, Clone, Copy)]
pub(super) struct DriveInstance {
    /// Capacity of the largest device of the model: positions do not depend on the size that is used.
    pub(super) capacity_sectors: u64,
    pub(super) size_bytes: u64,
    pub(super) seed: u64,
}

/// The medium that a model's file chooses.
#[derive(Debug, Clone)]
pub(super) struct ChosenMedium {
    pub(super) kind: &'static MediumKind,
    pub(super) parameters: Arc<dyn MediumParameters>,
}

/// The sections of a model's file that describe media.
pub(super) fn medium_sections() -> impl Iterator<Item = &'static str> {
    KINDS.iter().map(|kind| kind.section)
}

/// Reads the one medium that a model's file must have.
pub(super) fn read_medium(source: &ModelSource<'_, '_>) -> Option<ChosenMedium> {
    let is_given = |kind: &&MediumKind| source.top.has_key(kind.section);
    let independent_kinds = || KINDS.iter().filter(|kind| kind.lies_on.is_none());
    let names = independent_kinds().map(|kind| kind.section).collect::<Vec<_>>().join("], [");
    let mut chosen = independent_kinds().filter(is_given);
    let base = chosen.next();
    match (base, chosen.next()) {
        (None, _) => {
            source.top.report_wrong("name", "the model has no medium", format!("add one of [{names}]"));
        }
        (_, None) => {}
        (_, Some(second)) => {
            let hint = format!("keep one of [{names}]");
            source.top.report_wrong(second.section, "there is another medium already", hint);
        }
    }
    let mut kind = base;
    for (layer, below) in KINDS.iter().filter(is_given).filter_map(|kind| Some((kind, kind.lies_on?))) {
        if !source.top.has_key(below) {
            let message = format!("they lie on a {below}, and there is none");
            source.top.report_wrong(layer.section, &message, format!("add [{below}]"));
        } else if base.is_some_and(|base| base.section == below) {
            kind = Some(layer);
        }
    }
    let kind = kind?;
    Some(ChosenMedium { kind, parameters: (kind.read)(source)? })
}

/// The time in which a medium performs an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AccessSpan {
    /// Time at which data starts to arrive.
    pub(super) begin_ns: u64,
    pub(super) end_ns: u64,
}

/// Largest write-back in one access, so that reads do not wait long: 1 MiB.
const MAX_DESTAGE_SECTORS: u64 = 2048;

/// A medium. The engine asks for one access after the other, at times that never decrease.
pub(super) trait MediumModel: std::fmt::Debug + Send {
    /// Number of accesses that may be in flight at once.
    fn parallel_accesses(&self) -> usize {
        1
    }

    /// Time at which it can start an access, if it was idle from `idle_since_ns` until now: background work may delay
    /// it.
    fn wake_time(&mut self, _idle_since_ns: u64, now_ns: u64) -> u64 {
        now_ns
    }

    /// Time until an access to this sector could start.
    fn time_to_reach(&self, _at_ns: u64, _write: bool, _sector: u64) -> u64 {
        0
    }

    /// The sector after the last one that was written or read.
    fn head_sector(&self) -> u64 {
        0
    }

    /// Whether two sectors lie on the same track.
    fn is_on_track(&self, _one: u64, _other: u64) -> bool {
        false
    }

    /// Reads an extent; returns the time of the access.
    fn read(&mut self, at_ns: u64, extent: Extent) -> AccessSpan;

    /// Writes an extent; returns the time of the access.
    fn write(&mut self, at_ns: u64, extent: Extent) -> AccessSpan;

    /// Whether a write starts before its data has arrived, if there is no cache.
    fn takes_early(&self) -> bool {
        false
    }

    /// As `write`, with data that arrives in the time `data`.
    fn write_early(&mut self, at_ns: u64, data: AccessSpan, extent: Extent) -> AccessSpan {
        self.write(at_ns.max(data.end_ns), extent)
    }

    /// Writes a part of the cache back, which the medium chooses; returns the number of sectors, and the time at
    /// which they are written. With `write_all`, nothing may be left waiting for more data.
    fn destage(&mut self, at_ns: u64, cache: &mut VolatileCache, _write_all: bool) -> Option<(u64, u64)> {
        let nearest = |extent: &Extent| self.time_to_reach(at_ns, true, extent.sector);
        let choice =
            cache.elevator_order(self.head_sector()).take(cache.parameters.window).min_by_key(nearest)?;
        let extent = cache.take_dirty(choice, MAX_DESTAGE_SECTORS);
        Some((extent.sectors, self.write(at_ns, extent).end_ns))
    }

    /// Marks an extent as unused; returns the time at which that is done.
    fn discard(&mut self, at_ns: u64, _extent: Extent) -> u64 {
        at_ns
    }

    /// The amount that was written so far.
    fn wear(&self) -> Wear;
}

//! Where the data is: what an access takes, and what it makes of the state the next one finds.

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
use super::planted::{Bug, planted};
use super::wear::Wear;

/// Every kind of medium there is.
const KINDS: &[MediumKind] =
    &[ideal::KIND, platter::parameters::KIND, units::KIND, flash::parameters::KIND, shingles::KIND];

/// A kind of medium: how a model's file tells of it.
#[derive(Debug)]
pub(super) struct MediumKind {
    /// The section that has its numbers.
    pub(super) section: &'static str,
    /// The medium it lies on, where it is none by itself.
    lies_on: Option<&'static str>,
    /// What may have been done to it before the trial; the first is what a model without a state means.
    pub(super) states: &'static [&'static str],
    /// The built-in model that stands for the kind.
    pub(super) like: &'static str,
    read: fn(&ModelSource<'_, '_>) -> Option<Arc<dyn MediumParameters>>,
    pub(super) knobs: Knobs,
}

/// A model's file, as far as a medium needs to see it.
pub(super) struct ModelSource<'a, 'b> {
    pub(super) top: &'a Section<'b>,
    pub(super) capacity_bytes: u64,
    pub(super) cache: Option<&'a parameters::CacheParameters>,
    pub(super) state: Option<&'a str>,
}

/// The numbers of a medium, as its kind reads them.
pub(super) trait MediumParameters: std::fmt::Debug + Send + Sync {
    fn medium(&self, whole: &Whole) -> Box<dyn MediumModel>;
}

/// The device that a medium is made for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Whole {
    /// Of the largest device of the model: places on it do not depend on how much of it is used.
    pub(super) capacity_sectors: u64,
    pub(super) size_bytes: u64,
    pub(super) seed: u64,
}

/// What a model has for a medium.
#[derive(Debug, Clone)]
pub(super) struct ChosenMedium {
    pub(super) kind: &'static MediumKind,
    pub(super) parameters: Arc<dyn MediumParameters>,
}

/// The sections that media have in a model's file.
pub(super) fn sections() -> impl Iterator<Item = &'static str> {
    KINDS.iter().map(|kind| kind.section)
}

/// Reads the one medium that a model's file must have.
pub(super) fn read(source: &ModelSource<'_, '_>) -> Option<ChosenMedium> {
    let given = |kind: &&MediumKind| source.top.has(kind.section);
    let grounds = || KINDS.iter().filter(|kind| kind.lies_on.is_none());
    let all = grounds().map(|kind| kind.section).collect::<Vec<_>>().join("], [");
    let mut found = grounds().filter(given);
    let ground = found.next();
    match (ground, found.next()) {
        (None, _) => {
            source.top.wrong("name", "the model has no medium", format!("add one of [{all}]"));
        }
        (_, None) => {}
        (_, Some(second)) => {
            let hint = format!("keep one of [{all}]");
            source.top.wrong(second.section, "there is another medium already", hint);
        }
    }
    let mut kind = ground;
    for (layer, below) in KINDS.iter().filter(given).filter_map(|kind| Some((kind, kind.lies_on?))) {
        if !source.top.has(below) {
            let message = format!("they lie on a {below}, and there is none");
            source.top.wrong(layer.section, &message, format!("add [{below}]"));
        } else if ground.is_some_and(|ground| ground.section == below) {
            kind = Some(layer);
        }
    }
    let kind = kind?;
    Some(ChosenMedium { kind, parameters: (kind.read)(source)? })
}

/// From when until when a medium is at an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AccessSpan {
    /// When data begins to come.
    pub(super) begin_ns: u64,
    pub(super) end_ns: u64,
}

/// Most that is written back in one access, so that reads are not kept waiting: 1 MiB.
const DESTAGE_SECTORS: u64 = 2048;

/// A medium. It is asked for one access after the other, at times that never go back.
pub(super) trait MediumModel: std::fmt::Debug + Send {
    /// How many accesses may be underway at once.
    fn parallel(&self) -> usize {
        1
    }

    /// When it can begin, having had nothing to do from `idle_since_ns` until now.
    fn rouse(&mut self, _idle_since_ns: u64, now_ns: u64) -> u64 {
        now_ns
    }

    /// How long it would take to get to this sector.
    fn distance(&self, _at_ns: u64, _write: bool, _sector: u64) -> u64 {
        0
    }

    /// The sector after the last that was written or read.
    fn head(&self) -> u64 {
        0
    }

    fn read(&mut self, at_ns: u64, extent: Extent) -> AccessSpan;

    fn write(&mut self, at_ns: u64, extent: Extent) -> AccessSpan;

    /// Whether a write is begun before its data have come, where there is no cache.
    fn takes_early(&self) -> bool {
        false
    }

    /// As `write`, with data that are still to come.
    fn write_early(&mut self, at_ns: u64, data: AccessSpan, extent: Extent) -> AccessSpan {
        self.write(at_ns.max(data.end_ns), extent)
    }

    /// Writes some of the cache back, whatever is best: how many sectors, and when they are there. With `all`,
    /// nothing may be left waiting for company.
    fn destage(&mut self, at_ns: u64, cache: &mut VolatileCache, _all: bool) -> Option<(u64, u64)> {
        let nearest = |extent: &Extent| self.distance(at_ns, true, extent.sector);
        let anywhere = planted(Bug::NoElevator).then(|| super::random::below(1, at_ns, 1 << 30));
        let from = anywhere.unwrap_or_else(|| self.head());
        let choice = cache.sweep(from).take(cache.parameters.window).min_by_key(nearest)?;
        let extent = cache.take(choice, DESTAGE_SECTORS);
        Some((extent.sectors, self.write(at_ns, extent).end_ns))
    }

    /// The stretch is no longer wanted; returns when that is noted.
    fn discard(&mut self, at_ns: u64, _extent: Extent) -> u64 {
        at_ns
    }

    fn wear(&self) -> Wear;
}

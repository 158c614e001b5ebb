//! Where the data is: what an access takes, and what it makes of the state the next one finds.

mod flash;
mod geometry;
mod ideal;
mod platter;
mod shingles;
mod units;

use super::cache::{Cache, Extent};
use super::model::parameters;
use super::planted::{Bug, planted};
use super::wear::Wear;

/// From when until when a medium is at an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
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

    fn read(&mut self, at_ns: u64, extent: Extent) -> Span;

    fn write(&mut self, at_ns: u64, extent: Extent) -> Span;

    /// Writes some of the cache back, whatever is best: how many sectors, and when they are there. With `all`,
    /// nothing may be left waiting for company.
    fn destage(&mut self, at_ns: u64, cache: &mut Cache, _all: bool) -> Option<(u64, u64)> {
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

pub(super) fn new(parameters: &parameters::Parameters, size_bytes: u64, seed: u64) -> Box<dyn MediumModel> {
    let capacity_sectors = parameters.capacity_bytes / 512;
    match parameters.medium {
        parameters::MediumParameters::Ideal { access_ns } => Box::new(ideal::Ideal::new(access_ns)),
        parameters::MediumParameters::Platter(platter) => {
            Box::new(platter::Platter::new(platter, capacity_sectors, seed))
        }
        parameters::MediumParameters::Shingles(platter, shingles) => {
            Box::new(shingles::Shingles::new(platter, shingles, capacity_sectors, seed))
        }
        parameters::MediumParameters::Units(units) => Box::new(units::Units::new(units)),
        parameters::MediumParameters::Flash(flash) => Box::new(flash::Flash::new(flash, size_bytes, seed)),
    }
}

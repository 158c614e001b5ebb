//! A medium on which every access takes the same, however many are underway: what is left is the filesystem's own doing.

use super::super::cache::Extent;
use super::super::wear::Wear;
use super::{MediumModel, Span};

#[derive(Debug)]
pub(super) struct Ideal {
    access_ns: u64,
    wear: Wear,
}

impl Ideal {
    pub(super) fn new(access_ns: u64) -> Ideal {
        Ideal { access_ns, wear: Wear::default() }
    }
}

impl MediumModel for Ideal {
    fn parallel(&self) -> usize {
        usize::MAX
    }

    fn read(&mut self, at_ns: u64, _extent: Extent) -> Span {
        Span { begin_ns: at_ns, end_ns: at_ns + self.access_ns }
    }

    fn write(&mut self, at_ns: u64, extent: Extent) -> Span {
        self.wear.wrote(extent.sectors, extent.sectors);
        self.read(at_ns, extent)
    }

    fn wear(&self) -> Wear {
        self.wear
    }
}

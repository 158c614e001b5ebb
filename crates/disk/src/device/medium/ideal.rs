//! Models an ideal medium: every access takes the same time, however many are in flight, so that only the
//! filesystem's own behaviour remains.

use std::sync::Arc;

use super::super::cache::Extent;
use super::super::fields::{TIME, US, read_number};
use super::super::knobs::{Effect, Knob, Knobs};
use super::super::wear::Wear;
use super::{AccessSpan, DriveInstance, MediumKind, MediumModel, MediumParameters, ModelSource};

pub(super) const KIND: MediumKind = MediumKind {
    section: "ideal",
    lies_on: None,
    states: &[],
    like: "ideal",
    read: |source| Some(Arc::new(read_parameters(source)?)),
    knobs: Knobs {
        reading: &[&[
            Knob("ideal", "access_us", |f| f.access, Effect::Moves(1e-3)),
            Knob("link", "mb_s", |f| f.access_byte, Effect::Rate),
        ]],
        writing: &[],
        traced: &[],
    },
};

#[derive(Debug)]
struct IdealParameters {
    access_ns: u64,
}

fn read_parameters(source: &ModelSource<'_, '_>) -> Option<IdealParameters> {
    let section = &source.top.inner_table("ideal", "[ideal]", &["access_us"])?;
    Some(IdealParameters { access_ns: (read_number(section, "access_us", TIME)? * US) as u64 })
}

impl MediumParameters for IdealParameters {
    fn build_medium(&self, _: &DriveInstance) -> Box<dyn MediumModel> {
        Box::new(Ideal { access_ns: self.access_ns, wear: Wear::default() })
    }
}

#[derive(Debug)]
struct Ideal {
    access_ns: u64,
    wear: Wear,
}

impl MediumModel for Ideal {
    fn parallel_accesses(&self) -> usize {
        usize::MAX
    }

    fn read(&mut self, at_ns: u64, _extent: Extent) -> AccessSpan {
        AccessSpan { begin_ns: at_ns, end_ns: at_ns + self.access_ns }
    }

    fn write(&mut self, at_ns: u64, extent: Extent) -> AccessSpan {
        self.wear.add_writes(extent.sectors, extent.sectors);
        self.read(at_ns, extent)
    }

    fn wear(&self) -> Wear {
        self.wear
    }
}

//! Rotating platters: arm, rotation, and the buffer of what was read ahead.

mod geometry;
pub(super) mod parameters;

use std::collections::VecDeque;

use super::super::cache::Extent;
use super::super::planted::{Bug, planted};
use super::super::wear::Wear;
use super::{AccessSpan, MediumModel};
use geometry::Geometry;

#[derive(Debug)]
pub(super) struct PlatterMedium {
    parameters: parameters::PlatterParameters,
    geometry: Geometry,
    /// Where the platter stood at the start, as a time.
    phase_ns: f64,
    head: u64,
    /// Reading on since the last read, until something else is wanted.
    stream: Option<Prefetch>,
    /// Stretches in the buffer, start to end, the newest last.
    segments: VecDeque<(u64, u64)>,
    wear: Wear,
}

/// The head reads on by itself.
#[derive(Debug, Clone, Copy)]
struct Prefetch {
    /// The first sector in the buffer.
    from: u64,
    /// The head was at this point of the spiral …
    along_ns: f64,
    /// … at this time.
    at_ns: f64,
    limit: u64,
}

impl PlatterMedium {
    pub(super) fn new(parameters: parameters::PlatterParameters, sectors: u64, seed: u64) -> PlatterMedium {
        let turn = super::super::random::unit(seed, 0);
        PlatterMedium {
            parameters,
            geometry: Geometry::new(&parameters, sectors),
            phase_ns: turn * parameters.rotation_ns,
            head: 0,
            stream: None,
            segments: VecDeque::new(),
            wear: Wear::default(),
        }
    }

    /// From `at_ns` until the sector is under the head.
    fn positioning_ns(&self, at_ns: f64, write: bool, sector: u64) -> f64 {
        let to = self.geometry.place(sector);
        let mut arm_ns = self.geometry.arm_ns(self.geometry.place(self.head_at(at_ns)), to);
        if planted(Bug::SeeksAlwaysFull) && arm_ns > 0.0 {
            arm_ns = self.geometry.full_seek_ns();
        }
        if write && arm_ns > 0.0 {
            arm_ns += self.parameters.write_settle_ns;
        }
        if planted(Bug::RotationForgotten) {
            return arm_ns;
        }
        arm_ns + self.geometry.wait_ns(at_ns + arm_ns + self.phase_ns, to)
    }

    /// Where the head is, having read on.
    fn head_at(&self, at_ns: f64) -> u64 {
        self.stream.map_or(self.head, |stream| self.reached(&stream, at_ns))
    }

    /// How far a stream has come.
    fn reached(&self, stream: &Prefetch, at_ns: f64) -> u64 {
        self.geometry.sector_at(stream.along_ns + (at_ns - stream.at_ns).max(0.0)).min(stream.limit)
    }

    /// The head leaves; what it read stays in the buffer.
    fn leave(&mut self, at_ns: f64) {
        let Some(stream) = self.stream.take() else { return };
        let reached = self.reached(&stream, at_ns);
        self.head = reached;
        self.segments.push_back((stream.from, reached));
        if self.segments.len() > self.parameters.segments {
            self.segments.pop_front();
        }
    }

    fn is_buffered(&self, extent: Extent) -> bool {
        let end = extent.sector + extent.sectors;
        self.segments.iter().any(|(from, to)| *from <= extent.sector && end <= *to)
    }

    /// Reads on from a sector that is under the head at `start_ns`; returns when `end` is read.
    fn stream_from(&mut self, from: u64, sector: u64, start_ns: f64, end: u64) -> f64 {
        let (begin, finish) = (self.geometry.place(sector).along_ns, self.geometry.place(end).along_ns);
        let ahead = if planted(Bug::NoReadAhead) { 0 } else { self.parameters.read_ahead_sectors };
        // The buffer has its size: what is far behind is overwritten.
        let from = from.max(end.saturating_sub(self.parameters.read_ahead_sectors));
        self.stream = Some(Prefetch { from, along_ns: begin, at_ns: start_ns, limit: end + ahead });
        start_ns + (finish - begin)
    }

    /// Writes without counting: whoever stands above counts.
    pub(super) fn put(&mut self, at_ns: u64, extent: Extent) -> AccessSpan {
        let at = at_ns as f64;
        let end = extent.sector + extent.sectors;
        let start = at + self.positioning_ns(at, true, extent.sector);
        self.leave(at);
        self.segments.retain(|(from, to)| end <= *from || *to <= extent.sector);
        self.head = end;
        let (begin, finish) =
            (self.geometry.place(extent.sector).along_ns, self.geometry.place(end).along_ns);
        AccessSpan { begin_ns: start.max(at) as u64, end_ns: (start + finish - begin).ceil() as u64 }
    }
}

impl MediumModel for PlatterMedium {
    fn distance(&self, at_ns: u64, write: bool, sector: u64) -> u64 {
        self.positioning_ns(at_ns as f64, write, sector).max(0.0) as u64
    }

    fn head(&self) -> u64 {
        self.head
    }

    fn read(&mut self, at_ns: u64, extent: Extent) -> AccessSpan {
        let at = at_ns as f64;
        let end = extent.sector + extent.sectors;
        if self.is_buffered(extent) {
            return AccessSpan { begin_ns: at_ns, end_ns: at_ns };
        }
        if let Some(stream) = self.stream {
            let reached = self.reached(&stream, at);
            if (stream.from..=reached).contains(&extent.sector) {
                // The buffer has its size: what is far behind is overwritten.
                let from = stream.from.max(end.saturating_sub(self.parameters.read_ahead_sectors));
                let limit = end + self.parameters.read_ahead_sectors;
                let end_ns = if reached < stream.limit {
                    // It is being read, and goes on so much farther.
                    self.stream = Some(Prefetch { from, limit: limit.max(stream.limit), ..stream });
                    stream.at_ns + (self.geometry.place(end).along_ns - stream.along_ns)
                } else if end <= reached {
                    // It had stopped with a full buffer; once half of that is used up it reads on from there.
                    if reached - end < self.parameters.read_ahead_sectors / 2 {
                        let start = at + self.positioning_ns(at, false, reached);
                        self.stream_from(from, reached, start, reached);
                    }
                    at
                } else {
                    let start = at + self.positioning_ns(at, false, reached);
                    self.stream_from(from, reached, start, end)
                };
                self.head = end;
                return AccessSpan { begin_ns: at_ns, end_ns: end_ns.max(at).ceil() as u64 };
            }
        }
        let start = at + self.positioning_ns(at, false, extent.sector);
        self.leave(at);
        self.head = end;
        let end_ns = self.stream_from(extent.sector, extent.sector, start, end);
        AccessSpan { begin_ns: start.max(at) as u64, end_ns: end_ns.ceil() as u64 }
    }

    fn write(&mut self, at_ns: u64, extent: Extent) -> AccessSpan {
        self.wear.wrote(extent.sectors, extent.sectors);
        self.put(at_ns, extent)
    }

    fn wear(&self) -> Wear {
        self.wear
    }
}

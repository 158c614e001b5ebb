//! Rotating platters: arm, rotation, and the buffer of what was read ahead.

mod buffer;
mod firmware;
mod geometry;
mod laid;
pub(super) mod parameters;
mod place;
mod traced;

use super::super::cache::Extent;
use super::super::planted::{Bug, planted};
use super::super::wear::Wear;
use super::{AccessSpan, MediumModel};
use buffer::DriveBuffer;
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
    buffer: DriveBuffer,
    /// Whether the last access was a write.
    wrote: bool,
    /// Reads that were not in the buffer.
    misses: u64,
    seed: u64,
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
    pub(super) fn new(parameters: &parameters::PlatterParameters, sectors: u64, seed: u64) -> PlatterMedium {
        let turn = super::super::random::unit(seed, 0);
        PlatterMedium {
            parameters: parameters.clone(),
            geometry: Geometry::new(parameters, sectors),
            phase_ns: turn * parameters.rotation_ns,
            head: 0,
            stream: None,
            buffer: DriveBuffer::new(parameters.segments),
            wrote: false,
            misses: 0,
            seed,
            wear: Wear::default(),
        }
    }

    /// From `at_ns` until the sector is under the head.
    fn positioning_ns(&self, at_ns: f64, write: bool, sector: u64) -> f64 {
        let arm_ns = self.arm_ns(at_ns, write, sector);
        arm_ns + self.rotation_ns(at_ns + arm_ns, sector)
    }

    /// From `at_ns` until the head is on the track and can read, or write.
    fn arm_ns(&self, at_ns: f64, write: bool, sector: u64) -> f64 {
        let to = self.geometry.place(sector);
        let mut arm_ns = self.geometry.arm_ns(self.geometry.place(self.head_at(at_ns)), to);
        if planted(Bug::SeeksAlwaysFull) && arm_ns > 0.0 {
            arm_ns = self.geometry.full_seek_ns();
        }
        if write && arm_ns > 0.0 {
            arm_ns = (arm_ns + self.parameters.write_settle_ns).max(0.0);
        }
        // Reading and writing parts of a head lie beside one another.
        if write != self.wrote && !planted(Bug::TurnForgotten) {
            arm_ns = arm_ns.max(self.parameters.firmware.turn_ns);
        }
        arm_ns
    }

    /// From when the head is ready until the sector comes.
    fn rotation_ns(&self, ready_ns: f64, sector: u64) -> f64 {
        if planted(Bug::RotationForgotten) {
            return 0.0;
        }
        self.geometry.wait_ns(ready_ns + self.phase_ns, self.geometry.place(sector))
    }

    /// Where the head is, having read on.
    fn head_at(&self, at_ns: f64) -> u64 {
        self.stream.map_or(self.head, |stream| self.reached(&stream, at_ns))
    }

    /// How far a stream has come.
    fn reached(&self, stream: &Prefetch, at_ns: f64) -> u64 {
        self.geometry.sector_at(stream.along_ns + (at_ns - stream.at_ns).max(0.0)).min(stream.limit)
    }

    /// The first sector of a stream that is still in the buffer: what is far behind is overwritten.
    fn kept_from(&self, stream: &Prefetch, reached: u64) -> u64 {
        let segment = self.parameters.firmware.segment_sectors;
        segment.map_or(stream.from, |segment| stream.from.max(reached.saturating_sub(segment)))
    }

    /// The head leaves; what it read stays in the buffer.
    fn leave(&mut self, at_ns: f64) {
        let Some(stream) = self.stream.take() else { return };
        let reached = self.reached(&stream, at_ns);
        self.head = reached;
        self.buffer.keep(self.kept_from(&stream, reached), reached);
    }

    /// How far it reads on after a request.
    fn limit(&self, begin: u64, end: u64) -> u64 {
        let firmware = &self.parameters.firmware;
        let ahead = if planted(Bug::NoReadAhead) { 0 } else { self.parameters.read_ahead_sectors };
        let mut limit = end + ahead;
        if let Some(segment) = firmware.segment_sectors {
            limit = limit.min(begin + segment);
        }
        if firmware.ahead_tracks > 0 && !planted(Bug::TracksForgotten) {
            // What ends with its track goes on with the next.
            let bounds = self.geometry.bounds(end);
            let mut track_end = bounds.track.1;
            let crossed = firmware.ahead_after_crossing && begin < bounds.track.0;
            for _ in 1..firmware.ahead_tracks + u64::from(crossed) {
                track_end = self.geometry.bounds(track_end).track.1;
            }
            limit = limit.min(track_end);
        }
        if firmware.stops_at_cylinder && !planted(Bug::TracksForgotten) {
            limit = limit.min(self.geometry.bounds(end.saturating_sub(1)).cylinder_end);
        }
        limit.max(end)
    }

    /// Reads on from a sector that is under the head at `start_ns`, after a request from `begin` on; returns when `end` is read.
    fn stream_from(&mut self, from: u64, sector: u64, start_ns: f64, begin: u64, end: u64) -> f64 {
        let along_ns = self.geometry.place(sector).along_ns;
        // Where nothing is to be read yet, it ends where it begins.
        let finish_ns = if end > sector { self.geometry.finish_ns(end) } else { along_ns };
        let from = self.not_overwritten(from, end);
        self.stream = Some(Prefetch { from, along_ns, at_ns: start_ns, limit: self.limit(begin, end) });
        start_ns + (finish_ns - along_ns)
    }

    /// The buffer has its size: what is far behind is overwritten. (A segment's size is heeded when it is asked what is in it.)
    fn not_overwritten(&self, from: u64, end: u64) -> u64 {
        match self.parameters.firmware.segment_sectors {
            Some(_) => from,
            None => from.max(end.saturating_sub(self.parameters.read_ahead_sectors)),
        }
    }

    /// Writes without counting: whoever stands above counts.
    pub(super) fn put(&mut self, at_ns: u64, extent: Extent) -> AccessSpan {
        self.put_early(at_ns, at_ns, extent)
    }

    /// Writes what is there at `ready_ns`, with an arm that starts before.
    fn put_early(&mut self, at_ns: u64, ready_ns: u64, extent: Extent) -> AccessSpan {
        let firmware = self.parameters.firmware;
        let at = at_ns as f64 + firmware.write_ns(self.wrote);
        let end = extent.sector + extent.sectors;
        let on_track = at + self.arm_ns(at, true, extent.sector);
        let ready = if planted(Bug::ArmWaits) { ready_ns as f64 + (on_track - at) } else { ready_ns as f64 };
        let begins = on_track.max(ready);
        let start = begins + self.rotation_ns(begins, extent.sector);
        self.leave(at);
        self.buffer.forget(extent);
        if firmware.written_stay && !planted(Bug::WrittenDropped) {
            self.buffer.keep(extent.sector, end);
        }
        (self.head, self.wrote) = (end, true);
        let (begin, finish) = (self.geometry.place(extent.sector).along_ns, self.geometry.finish_ns(end));
        let finish = finish.max(begin);
        AccessSpan { begin_ns: start.max(at) as u64, end_ns: (start + finish - begin).ceil() as u64 }
    }

    /// Whether what is wanted is in the stream's buffer, or begins where it is reading, or soon will be.
    fn is_in_stream(&self, stream: &Prefetch, at_ns: f64, sector: u64) -> bool {
        let reached = self.reached(stream, at_ns);
        if (self.kept_from(stream, reached)..=reached).contains(&sector) {
            return true;
        }
        let ahead_ns = self.geometry.place(sector).along_ns - self.geometry.place(reached).along_ns;
        self.parameters.firmware.through
            && !planted(Bug::StartsAgain)
            && reached < stream.limit
            && (0.0..self.parameters.rotation_ns).contains(&ahead_ns)
    }

    /// A read from the stream's buffer, or from where it is reading; returns when it is there.
    fn read_on(&mut self, stream: Prefetch, at: f64, miss_ns: f64, begin: u64, end: u64) -> f64 {
        let firmware = self.parameters.firmware;
        let reached = self.reached(&stream, at);
        let from = self.not_overwritten(self.kept_from(&stream, reached), end);
        let limit = if firmware.ahead_after_hit { self.limit(begin, end) } else { end };
        if reached < stream.limit {
            // It is being read, and goes on so much farther.
            self.stream = Some(Prefetch { from, limit: limit.max(stream.limit), ..stream });
            return stream.at_ns + (self.geometry.finish_ns(end) - stream.along_ns);
        }
        if end > reached {
            let at = at + miss_ns;
            let start = at + self.positioning_ns(at, false, reached);
            return self.stream_from(from, reached, start, begin, end);
        }
        // It had stopped with a full buffer; once half of that is used up it reads on from there.
        let half_used = match firmware.segment_sectors {
            Some(segment) => reached < limit && reached - end < segment / 2,
            None => reached - end < self.parameters.read_ahead_sectors / 2,
        };
        if half_used && firmware.ahead_after_hit {
            let start = at + self.positioning_ns(at, false, reached);
            self.stream_from(from, reached, start, begin.max(from), reached);
        }
        at
    }
}

impl MediumModel for PlatterMedium {
    fn distance(&self, at_ns: u64, write: bool, sector: u64) -> u64 {
        self.positioning_ns(at_ns as f64, write, sector).max(0.0) as u64
    }

    fn head(&self) -> u64 {
        self.head
    }

    fn takes_early(&self) -> bool {
        self.parameters.firmware.early_arm
    }

    fn read(&mut self, at_ns: u64, extent: Extent) -> AccessSpan {
        let firmware = self.parameters.firmware;
        let end = extent.sector + extent.sectors;
        let after_write = self.wrote && !planted(Bug::OverheadsAlike);
        let onwards = !self.wrote && self.head == extent.sector;
        let (hit_ns, mut miss_ns) = (firmware.hit_ns(after_write, onwards), firmware.miss_ns(after_write));
        if planted(Bug::OverheadsAlike) {
            miss_ns = hit_ns;
        }
        let at = at_ns as f64;
        let sent = at + hit_ns;
        if self.buffer.holds(extent) {
            self.wrote = false;
            return AccessSpan { begin_ns: sent as u64, end_ns: sent as u64 };
        }
        if let Some(stream) = self.stream
            && self.is_in_stream(&stream, at, extent.sector)
        {
            let there = self.read_on(stream, at, miss_ns, extent.sector, end);
            (self.head, self.wrote) = (end, false);
            return AccessSpan { begin_ns: sent as u64, end_ns: there.max(sent).ceil() as u64 };
        }
        let at = at + miss_ns;
        let on_track = at + self.arm_ns(at, false, extent.sector);
        let start = on_track + self.rotation_ns(on_track, extent.sector);
        self.leave(at);
        (self.head, self.wrote) = (end, false);
        let from = if firmware.on_arrival && !planted(Bug::ArrivalForgotten) {
            let under_head = self.geometry.place(extent.sector).along_ns - (start - on_track);
            let track = self.geometry.bounds(extent.sector).track.0;
            // What is half under the head when it arrives is not read.
            (self.geometry.sector_at(under_head.max(0.0)) + 1).clamp(track, extent.sector.max(track))
        } else {
            extent.sector
        };
        let there = self.stream_from(from, extent.sector, start, extent.sector, end);
        self.misses += 1;
        let broken_off = super::super::random::unit(self.seed, self.misses) < firmware.breaks_off;
        if let Some(stream) = self.stream.as_mut().filter(|_| broken_off && !planted(Bug::NeverBreaksOff)) {
            stream.limit = end;
        }
        let filled =
            if planted(Bug::FillForgotten) { start } else { start + firmware.read_fill * (there - start) };
        AccessSpan { begin_ns: filled.max(at) as u64, end_ns: there.ceil() as u64 }
    }

    fn write_early(&mut self, at_ns: u64, data: AccessSpan, extent: Extent) -> AccessSpan {
        self.wear.wrote(extent.sectors, extent.sectors);
        let share = (data.end_ns - data.begin_ns) as f64 * self.parameters.firmware.write_fill;
        let AccessSpan { begin_ns, end_ns } = self.put_early(at_ns, data.begin_ns + share as u64, extent);
        AccessSpan { begin_ns, end_ns: end_ns.max(data.end_ns) }
    }

    fn write(&mut self, at_ns: u64, extent: Extent) -> AccessSpan {
        self.wear.wrote(extent.sectors, extent.sectors);
        self.put(at_ns, extent)
    }

    fn wear(&self) -> Wear {
        self.wear
    }
}

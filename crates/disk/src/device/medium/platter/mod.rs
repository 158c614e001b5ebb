//! Rotating platters: seek, rotational latency, read-ahead, and the drive's buffer.

mod buffer;
mod firmware;
mod geometry;
pub(super) mod parameters;
mod prefetch;
mod traced;
mod zoned_tracks;

use super::super::cache::Extent;
use super::super::wear::Wear;
use super::{AccessSpan, MediumModel};
use buffer::DriveBuffer;
use geometry::Geometry;
use prefetch::Prefetch;

/// A platter with its arm and its buffer.
#[derive(Debug)]
pub(super) struct PlatterMedium {
    parameters: parameters::PlatterParameters,
    geometry: Geometry,
    /// Angle of the platter at the start, as a time.
    phase_ns: f64,
    head: u64,
    /// The read-ahead since the last read, until another access needs the head.
    stream: Option<Prefetch>,
    buffer: DriveBuffer,
    /// Whether the last access was a write.
    wrote: bool,
    /// Number of reads that were not in the buffer.
    misses: u64,
    seed: u64,
    wear: Wear,
}

impl PlatterMedium {
    pub(super) fn new(parameters: &parameters::PlatterParameters, sectors: u64, seed: u64) -> PlatterMedium {
        let turn = super::super::random::uniform_unit(seed, 0);
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

    /// Time from `at_ns` until the sector is under the head.
    fn positioning_ns(&self, at_ns: f64, write: bool, sector: u64) -> f64 {
        let arm_ns = self.arm_ns(at_ns, write, sector);
        arm_ns + self.rotation_ns(at_ns + arm_ns, sector)
    }

    /// Time from `at_ns` until the head is on the track and can read or write.
    fn arm_ns(&self, at_ns: f64, write: bool, sector: u64) -> f64 {
        let to = self.geometry.place(sector);
        let mut arm_ns = self.geometry.arm_ns(self.geometry.place(self.head_at(at_ns)), to);
        if write && arm_ns > 0.0 {
            arm_ns = (arm_ns + self.parameters.write_settle_ns).max(0.0);
        }
        // The reading and the writing part of a head lie beside one another.
        if write != self.wrote {
            arm_ns = arm_ns.max(self.parameters.firmware.turn_ns);
        }
        arm_ns
    }

    /// Rotational latency of a sector once the head is ready.
    fn rotation_ns(&self, ready_ns: f64, sector: u64) -> f64 {
        self.geometry.wait_ns(ready_ns + self.phase_ns, self.geometry.place(sector))
    }

    /// The sector that the head has reached, with read-ahead.
    fn head_at(&self, at_ns: f64) -> u64 {
        self.stream.map_or(self.head, |stream| self.reached_sector(&stream, at_ns))
    }

    /// Writes without counting wear, for a medium built on the platter that counts it.
    pub(super) fn put(&mut self, at_ns: u64, extent: Extent) -> AccessSpan {
        self.write_with_early_arm(at_ns, at_ns, extent)
    }

    /// Writes data that has arrived at `ready_ns`, with an arm that starts before.
    fn write_with_early_arm(&mut self, at_ns: u64, ready_ns: u64, extent: Extent) -> AccessSpan {
        let firmware = self.parameters.firmware;
        let arm_start = at_ns as f64 + firmware.write_ns(self.wrote);
        let end = extent.sector + extent.sectors;
        let on_track = arm_start + self.arm_ns(arm_start, true, extent.sector);
        let head_ready = on_track.max(ready_ns as f64);
        let start = head_ready + self.rotation_ns(head_ready, extent.sector);
        self.end_prefetch(arm_start);
        self.buffer.forget(extent);
        if firmware.written_stay {
            self.buffer.keep(extent.sector, end);
        }
        (self.head, self.wrote) = (end, true);
        let (begin, finish) = (self.geometry.place(extent.sector).along_ns, self.geometry.finish_ns(end));
        let finish = finish.max(begin);
        AccessSpan { begin_ns: start.max(arm_start) as u64, end_ns: (start + finish - begin).ceil() as u64 }
    }
}

impl MediumModel for PlatterMedium {
    fn time_to_reach(&self, at_ns: u64, write: bool, sector: u64) -> u64 {
        self.positioning_ns(at_ns as f64, write, sector).max(0.0) as u64
    }

    fn head_sector(&self) -> u64 {
        self.head
    }

    fn is_on_track(&self, one: u64, other: u64) -> bool {
        let (from, to) = self.geometry.bounds(one).track;
        (from..to).contains(&other)
    }

    fn takes_early(&self) -> bool {
        self.parameters.firmware.early_arm
    }

    fn read(&mut self, at_ns: u64, extent: Extent) -> AccessSpan {
        let firmware = self.parameters.firmware;
        let end = extent.sector + extent.sectors;
        let after_write = self.wrote;
        let is_sequential = !self.wrote && self.head == extent.sector;
        let (hit_ns, miss_ns) = (firmware.hit_ns(after_write, is_sequential), firmware.miss_ns(after_write));
        let now = at_ns as f64;
        let hit_time = now + hit_ns;
        if self.buffer.holds(extent) {
            self.wrote = false;
            return AccessSpan { begin_ns: hit_time as u64, end_ns: hit_time as u64 };
        }
        if let Some(stream) = self.stream
            && self.is_in_prefetch(&stream, now, extent.sector)
        {
            let finish = self.read_from_prefetch(stream, now, miss_ns, extent.sector, end);
            (self.head, self.wrote) = (end, false);
            return AccessSpan { begin_ns: hit_time as u64, end_ns: finish.max(hit_time).ceil() as u64 };
        }
        let now = now + miss_ns;
        let on_track = now + self.arm_ns(now, false, extent.sector);
        let start = on_track + self.rotation_ns(on_track, extent.sector);
        self.end_prefetch(now);
        (self.head, self.wrote) = (end, false);
        let from = if firmware.on_arrival {
            let under_head = self.geometry.place(extent.sector).along_ns - (start - on_track);
            let track = self.geometry.bounds(extent.sector).track.0;
            // A sector that is half under the head when the head arrives is not read.
            (self.geometry.sector_at(under_head.max(0.0)) + 1).clamp(track, extent.sector.max(track))
        } else {
            extent.sector
        };
        let finish = self.start_prefetch(from, extent.sector, start, extent.sector, end);
        self.misses += 1;
        let is_cut_short = super::super::random::uniform_unit(self.seed, self.misses) < firmware.breaks_off;
        let is_first = firmware.ahead_from_second && !is_sequential;
        if let Some(stream) = self.stream.as_mut().filter(|_| is_cut_short || is_first) {
            stream.limit = end;
        }
        let begin = start + firmware.read_fill * (finish - start);
        AccessSpan { begin_ns: begin.max(now) as u64, end_ns: finish.ceil() as u64 }
    }

    fn write_early(&mut self, at_ns: u64, data: AccessSpan, extent: Extent) -> AccessSpan {
        self.wear.add_writes(extent.sectors, extent.sectors);
        let share = (data.end_ns - data.begin_ns) as f64 * self.parameters.firmware.write_fill;
        let AccessSpan { begin_ns, end_ns } =
            self.write_with_early_arm(at_ns, data.begin_ns + share as u64, extent);
        AccessSpan { begin_ns, end_ns: end_ns.max(data.end_ns) }
    }

    fn write(&mut self, at_ns: u64, extent: Extent) -> AccessSpan {
        self.wear.add_writes(extent.sectors, extent.sectors);
        self.put(at_ns, extent)
    }

    fn wear(&self) -> Wear {
        self.wear
    }
}

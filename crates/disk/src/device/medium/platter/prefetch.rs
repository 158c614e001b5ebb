//! Read-ahead of a platter: how far the head reads on after a request, and what of that the buffer still holds.

use super::PlatterMedium;

/// A read-ahead in progress.
#[derive(Debug, Clone, Copy)]
pub(super) struct Prefetch {
    /// The first sector in the buffer.
    pub(super) from: u64,
    /// Position of the head at the time `at_ns`.
    pub(super) along_ns: f64,
    /// Time of that position, in nanoseconds.
    pub(super) at_ns: f64,
    /// The sector at which it stops.
    pub(super) limit: u64,
}

impl PlatterMedium {
    /// The sector that a read-ahead has reached.
    pub(super) fn reached_sector(&self, stream: &Prefetch, at_ns: f64) -> u64 {
        self.geometry.sector_at(stream.along_ns + (at_ns - stream.at_ns).max(0.0)).min(stream.limit)
    }

    /// The first sector of a read-ahead that is still in the buffer: older ones are overwritten.
    pub(super) fn first_buffered(&self, stream: &Prefetch, reached: u64) -> u64 {
        let segment = self.parameters.firmware.segment_sectors;
        segment.map_or(stream.from, |segment| stream.from.max(reached.saturating_sub(segment)))
    }

    /// Ends the read-ahead; the sectors that it read stay in the buffer.
    pub(super) fn end_prefetch(&mut self, at_ns: f64) {
        let Some(stream) = self.stream.take() else { return };
        let reached = self.reached_sector(&stream, at_ns);
        self.head = reached;
        self.buffer.keep(self.first_buffered(&stream, reached), reached);
    }

    /// Computes the sector at which read-ahead stops after a request.
    pub(super) fn prefetch_limit(&self, begin: u64, end: u64) -> u64 {
        let firmware = &self.parameters.firmware;
        let mut limit = end + self.parameters.read_ahead_sectors;
        if let Some(segment) = firmware.segment_sectors {
            limit = limit.min(begin + segment);
        }
        if firmware.ahead_tracks > 0 {
            // After a request that ends with its track, the next track counts.
            let bounds = self.geometry.bounds(end);
            let mut track_end = bounds.track.1;
            let crossed = firmware.ahead_after_crossing && begin < bounds.track.0;
            for _ in 1..firmware.ahead_tracks + u64::from(crossed) {
                track_end = self.geometry.bounds(track_end).track.1;
            }
            limit = limit.min(track_end);
        }
        if firmware.stops_at_cylinder {
            limit = limit.min(self.geometry.bounds(end.saturating_sub(1)).cylinder_end);
        }
        limit.max(end)
    }

    /// Starts to read on from `sector`, which is under the head at `start_ns`, after a request that starts at
    /// `begin`; returns the time at which `end` is read.
    pub(super) fn start_prefetch(
        &mut self,
        from: u64,
        sector: u64,
        start_ns: f64,
        begin: u64,
        end: u64,
    ) -> f64 {
        let along_ns = self.geometry.place(sector).along_ns;
        // If there is nothing to read yet, it ends where it begins.
        let finish_ns = if end > sector { self.geometry.finish_ns(end) } else { along_ns };
        let from = self.first_that_fits(from, end);
        self.stream =
            Some(Prefetch { from, along_ns, at_ns: start_ns, limit: self.prefetch_limit(begin, end) });
        start_ns + (finish_ns - along_ns)
    }

    /// The first sector that the size of the buffer leaves in it. The size of a segment is applied when the buffer is
    /// searched.
    pub(super) fn first_that_fits(&self, from: u64, end: u64) -> u64 {
        match self.parameters.firmware.segment_sectors {
            Some(_) => from,
            None => from.max(end.saturating_sub(self.parameters.read_ahead_sectors)),
        }
    }

    /// Whether a sector is in the buffer of the read-ahead, or where it is reading, or where it soon will be.
    pub(super) fn is_in_prefetch(&self, stream: &Prefetch, at_ns: f64, sector: u64) -> bool {
        let reached = self.reached_sector(stream, at_ns);
        if (self.first_buffered(stream, reached)..=reached).contains(&sector) {
            return true;
        }
        let ahead_ns = self.geometry.place(sector).along_ns - self.geometry.place(reached).along_ns;
        self.parameters.firmware.through
            && reached < stream.limit
            && (0.0..self.parameters.rotation_ns).contains(&ahead_ns)
    }

    /// Reads from the buffer of the read-ahead, or from where it is reading; returns the time at which the data is
    /// there.
    pub(super) fn read_from_prefetch(
        &mut self,
        stream: Prefetch,
        now: f64,
        miss_ns: f64,
        begin: u64,
        end: u64,
    ) -> f64 {
        let firmware = self.parameters.firmware;
        let reached = self.reached_sector(&stream, now);
        let from = self.first_that_fits(self.first_buffered(&stream, reached), end);
        let limit = if firmware.ahead_after_hit { self.prefetch_limit(begin, end) } else { end };
        if reached < stream.limit {
            // The data is being read, and the read-ahead is extended.
            self.stream = Some(Prefetch { from, limit: limit.max(stream.limit), ..stream });
            return stream.at_ns + (self.geometry.finish_ns(end) - stream.along_ns);
        }
        if end > reached {
            let now = now + miss_ns;
            let start = now + self.positioning_ns(now, false, reached);
            return self.start_prefetch(from, reached, start, begin, end);
        }
        // The read-ahead had stopped with a full buffer; once half of that is consumed, it reads on from there.
        let half_used = match firmware.segment_sectors {
            Some(segment) => reached < limit && reached - end < segment / 2,
            None => reached - end < self.parameters.read_ahead_sectors / 2,
        };
        if half_used && firmware.ahead_after_hit {
            let start = now + self.positioning_ns(now, false, reached);
            self.start_prefetch(from, reached, start, begin.max(from), reached);
        }
        now
    }
}

//! The way of a request into a modelled device: through the queue and over the link, to the cache or to the medium.

use super::super::jobs::DeviceJob;
use super::super::medium::AccessSpan;
use super::super::request::Action;
use super::{DeviceEngine, EngineEvent};

impl DeviceEngine {
    /// Moves waiting requests into the queue as far as it has room.
    pub(super) fn admit_requests(&mut self) {
        while self.admitted < self.queue.depth
            && !self.blocked_by_flush
            && let Some((submitted_ns, request)) = self.waiting.front().copied()
        {
            if request.operation == Action::Flush && !self.queue.flush_queued {
                if self.admitted > 0 {
                    break;
                }
                self.blocked_by_flush = true;
            }
            self.waiting.pop_front();
            self.admitted += 1;
            let slot = self.jobs.add_job(request, submitted_ns, self.sectors);
            let write = request.operation == Action::Write;
            let sectors_out = if write { self.jobs[slot].extent.sectors } else { 0 };
            let (command_ns, all_ns) = self.link.send_command(self.now_ns, sectors_out);
            let mut received_ns = all_ns + self.link.latency_ns(write);
            if write && self.cache.is_none() && self.medium.takes_early() {
                let latency_ns = received_ns - all_ns;
                self.jobs[slot].data =
                    Some(AccessSpan { begin_ns: command_ns + latency_ns, end_ns: received_ns });
                received_ns = command_ns + latency_ns;
            } else if let Some(cache) = &mut self.cache {
                let is_on_track = |one, other| self.medium.is_on_track(one, other);
                received_ns += cache.taking_ns(request.operation, self.jobs[slot].extent, is_on_track);
            }
            self.schedule_event(received_ns, EngineEvent::Received(slot));
        }
    }

    /// Handles a request that the device has received.
    pub(super) fn receive_job(&mut self, slot: usize) {
        let DeviceJob { request, extent, .. } = self.jobs[slot];
        match request.operation {
            Action::Read => match &self.cache {
                Some(cache) if cache.is_dirty(extent) => self.send_answer(slot, self.now_ns),
                _ => self.pending.push(slot),
            },
            Action::Write => self.accept_write(slot),
            Action::WriteZeroes if !self.write_zeroes => self.accept_write(slot),
            Action::Discard | Action::WriteZeroes => {
                if let Some(cache) = &mut self.cache {
                    cache.remove(extent);
                }
                let end_ns = self.medium.discard(self.now_ns, extent);
                self.schedule_event(end_ns, EngineEvent::Finished(slot));
            }
            Action::Flush => self.flushes.push(slot),
        }
    }

    /// Passes a write to the cache, or to the medium where there is no cache.
    pub(super) fn accept_write(&mut self, slot: usize) {
        if self.cache.is_some() {
            self.stalled.push_back(slot);
            self.fill_cache();
        } else {
            self.pending.push(slot);
        }
    }
}

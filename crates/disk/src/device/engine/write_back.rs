//! The volatile cache of a modelled device: takes writes in, writes them back to the medium, and closes flushes.

use super::super::cache::Extent;
use super::{DeviceEngine, EngineEvent};

impl DeviceEngine {
    /// Accepts stalled writes into the cache as far as it has room, in their order; a larger write is accepted in
    /// pieces.
    pub(super) fn fill_cache(&mut self) {
        // Writes that arrive during a flush wait for its end, because otherwise the flush might never find the cache
        // empty.
        if !self.flushes.is_empty() || self.closing_flushes > 0 {
            return;
        }
        while let (Some(cache), Some(&slot)) = (&mut self.cache, self.stalled.front()) {
            let job = &mut self.jobs[slot];
            let wanted = job.extent.sectors - job.taken;
            let sectors = wanted.min(cache.free_sectors());
            if sectors > 0 {
                cache.insert(self.now_ns, Extent { sector: job.extent.sector + job.taken, sectors });
                job.taken += sectors;
            }
            if sectors < wanted {
                break;
            }
            self.stalled.pop_front();
            self.schedule_event(self.now_ns, EngineEvent::Finished(slot));
        }
    }

    /// Whether the cache is to be written back now; otherwise a wake-up is scheduled.
    pub(super) fn wants_destaging(&mut self, must_make_room: bool) -> bool {
        let Some(cache) = &self.cache else { return false };
        if cache.dirty_sectors == 0 {
            self.draining = false;
            return false;
        }
        let due_ns = cache.dirty_since_ns + cache.parameters.delay_ns;
        self.draining |= must_make_room || cache.is_half_full() || due_ns <= self.now_ns;
        if !self.draining && self.wake_ns != due_ns {
            self.wake_ns = due_ns;
            self.schedule_event(due_ns, EngineEvent::Wake);
        }
        self.draining
    }

    /// Starts to write back a part of the cache; returns whether there is a part that the medium accepts.
    pub(super) fn start_destaging(&mut self, must_make_room: bool) -> bool {
        let at_ns = self.access_start_ns();
        let Some(cache) = &mut self.cache else { return false };
        let write_all = !self.flushes.is_empty() || (must_make_room && cache.is_stuck());
        let Some((sectors, end_ns)) = self.medium.destage(at_ns, cache, write_all) else { return false };
        self.active_accesses += 1;
        self.served_request_last = false;
        self.schedule_event(end_ns, EngineEvent::Destaged(sectors));
        true
    }

    /// Starts the last step of the waiting flushes once the cache is clean.
    pub(super) fn close_flushes(&mut self) {
        if self.flushes.is_empty() {
            return;
        }
        let mut end_ns = self.now_ns;
        if let Some(cache) = &mut self.cache {
            if !(cache.is_clean() || cache.parameters.protected) {
                return;
            }
            if std::mem::take(&mut cache.flush_is_due) {
                end_ns += cache.parameters.flush_ns;
            }
        }
        for slot in std::mem::take(&mut self.flushes) {
            self.closing_flushes += 1;
            self.schedule_event(end_ns, EngineEvent::Finished(slot));
        }
    }
}

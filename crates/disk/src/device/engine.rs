//! How requests go through a device: queue, link, cache, medium, and back. Events in the order of their time.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use super::cache::{Extent, VolatileCache};
use super::jobs::{DeviceJob, Jobs};
use super::link::HostLink;
use super::medium::{AccessSpan, MediumModel};
use super::model::ModelParameters;
use super::parameters;
use super::planted::{Bug, planted};
use super::request::{Action, Completion, Request};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum EngineEvent {
    /// The device has the command, and what it writes.
    Received(usize),
    /// The medium has done what was asked of it.
    Accessed(usize),
    /// This many sectors of the cache are on the medium.
    Destaged(u64),
    Finished(usize),
    /// The cache may begin to write back.
    Wake,
}

/// Queue, link, cache and medium at work.
#[derive(Debug)]
pub(super) struct DeviceEngine {
    sectors: u64,
    queue: parameters::Queue,
    write_zeroes: bool,
    link: HostLink,
    cache: Option<VolatileCache>,
    medium: Box<dyn MediumModel>,
    now_ns: u64,
    /// Submitted, and not yet taken into the queue.
    waiting: VecDeque<(u64, Request)>,
    jobs: Jobs,
    admitted: u32,
    /// A flush that goes through no queue is inside: nothing else may enter.
    barred: bool,
    /// Inside, and wanting the medium, in order of arrival.
    pending: Vec<usize>,
    /// Writes the cache has no room for, in order of arrival.
    stalled: VecDeque<usize>,
    /// Flushes that wait until the cache is clean.
    flushes: Vec<usize>,
    /// Flushes whose last step is underway; what is written meanwhile waits.
    closing: u32,
    /// Accesses the medium is at.
    busy: usize,
    idle_since_ns: u64,
    /// Whether the cache is being written back until nothing is left.
    draining: bool,
    /// When that may begin, where it is known.
    wake_ns: u64,
    /// Whether the last access was for somebody who waits, rather than for the cache.
    served_last: bool,
    events: BinaryHeap<Reverse<(u64, u64, EngineEvent)>>,
    sequence: u64,
    done: VecDeque<Completion>,
    /// Flushes that were answered with something not yet on the medium: there must be none.
    #[cfg(test)]
    pub(super) broken_flushes: u64,
}

/// Longest a waiting request is passed over for nearer ones.
const PATIENCE_NS: u64 = 1_000_000_000;

impl DeviceEngine {
    pub(super) fn new(
        parameters: &ModelParameters,
        sectors: u64,
        medium: Box<dyn MediumModel>,
    ) -> DeviceEngine {
        DeviceEngine {
            sectors,
            queue: parameters.queue,
            write_zeroes: parameters.write_zeroes,
            link: HostLink::new(parameters.link),
            cache: parameters.cache.map(VolatileCache::new),
            medium,
            now_ns: 0,
            waiting: VecDeque::new(),
            jobs: Jobs::default(),
            admitted: 0,
            barred: false,
            pending: Vec::new(),
            stalled: VecDeque::new(),
            flushes: Vec::new(),
            closing: 0,
            busy: 0,
            idle_since_ns: 0,
            draining: false,
            wake_ns: 0,
            served_last: false,
            events: BinaryHeap::new(),
            sequence: 0,
            done: VecDeque::new(),
            #[cfg(test)]
            broken_flushes: 0,
        }
    }

    pub(super) fn medium(&self) -> &dyn MediumModel {
        &*self.medium
    }

    pub(super) fn submit(&mut self, now_ns: u64, request: Request) {
        self.run_until(now_ns);
        self.waiting.push_back((self.now_ns, request));
        self.admit();
    }

    /// When something happens that a request waits for.
    pub(super) fn next_event(&self) -> Option<u64> {
        if !self.done.is_empty() {
            return Some(self.now_ns);
        }
        if self.admitted == 0 && self.waiting.is_empty() {
            return None;
        }
        self.events.peek().map(|Reverse((at_ns, ..))| *at_ns)
    }

    pub(super) fn advance(&mut self, now_ns: u64, completions: &mut Vec<Completion>) {
        self.run_until(now_ns);
        completions.extend(self.done.drain(..));
    }

    pub(super) fn underway(&self) -> impl Iterator<Item = (u64, &Request)> {
        let waiting = self.waiting.iter().map(|(submitted_ns, request)| (*submitted_ns, request));
        let inside = self.jobs.iter().map(|job| (job.submitted_ns, &job.request));
        inside.chain(waiting)
    }

    fn run_until(&mut self, now_ns: u64) {
        while let Some(Reverse((at_ns, ..))) = self.events.peek()
            && *at_ns <= now_ns
        {
            let Some(Reverse((at_ns, _, event))) = self.events.pop() else { break };
            self.now_ns = self.now_ns.max(at_ns);
            self.handle(event);
        }
        self.now_ns = self.now_ns.max(now_ns);
    }

    fn schedule(&mut self, at_ns: u64, event: EngineEvent) {
        self.sequence += 1;
        self.events.push(Reverse((at_ns.max(self.now_ns), self.sequence, event)));
    }

    fn admit(&mut self) {
        while self.admitted < self.queue.depth
            && !self.barred
            && let Some((submitted_ns, request)) = self.waiting.front().copied()
        {
            if request.operation == Action::Flush && !self.queue.flush_queued {
                if self.admitted > 0 {
                    break;
                }
                self.barred = true;
            }
            self.waiting.pop_front();
            self.admitted += 1;
            let slot = self.jobs.enter(request, submitted_ns, self.sectors);
            let write = request.operation == Action::Write;
            let sectors_out = if write { self.jobs[slot].extent.sectors } else { 0 };
            let (command_ns, all_ns) = self.link.command(self.now_ns, sectors_out);
            let mut received_ns = all_ns + self.link.latency_ns(write);
            if write && self.cache.is_none() && self.medium.takes_early() {
                let latency_ns = received_ns - all_ns;
                self.jobs[slot].data =
                    Some(AccessSpan { begin_ns: command_ns + latency_ns, end_ns: received_ns });
                received_ns = command_ns + latency_ns;
            } else if let Some(cache) = &mut self.cache {
                received_ns += cache.taking_ns(request.operation, self.jobs[slot].extent);
            }
            self.schedule(received_ns, EngineEvent::Received(slot));
        }
    }

    fn handle(&mut self, event: EngineEvent) {
        match event {
            EngineEvent::Received(slot) => self.received(slot),
            EngineEvent::Accessed(slot) => {
                self.released();
                let job = self.jobs[slot];
                if job.request.operation == Action::Read {
                    self.answer(slot, job.begin_ns);
                } else {
                    self.schedule(self.now_ns, EngineEvent::Finished(slot));
                }
            }
            EngineEvent::Destaged(sectors) => {
                self.released();
                if let Some(cache) = &mut self.cache {
                    cache.arrived(sectors);
                }
                self.unstall();
            }
            EngineEvent::Finished(slot) => self.finished(slot),
            // What was due is seen to below.
            EngineEvent::Wake => {}
        }
        self.pump();
    }

    fn released(&mut self) {
        self.busy -= 1;
        self.idle_since_ns = self.now_ns;
    }

    fn received(&mut self, slot: usize) {
        let DeviceJob { request, extent, .. } = self.jobs[slot];
        match request.operation {
            Action::Read => match &self.cache {
                Some(cache) if cache.holds(extent) => self.answer(slot, self.now_ns),
                _ => self.pending.push(slot),
            },
            Action::Write => self.write(slot),
            Action::WriteZeroes if !self.write_zeroes => self.write(slot),
            Action::Discard | Action::WriteZeroes => {
                if let Some(cache) = &mut self.cache {
                    cache.remove(extent);
                }
                let end_ns = self.medium.discard(self.now_ns, extent);
                self.schedule(end_ns, EngineEvent::Finished(slot));
            }
            Action::Flush => self.flushes.push(slot),
        }
    }

    fn write(&mut self, slot: usize) {
        if self.cache.is_some() {
            self.stalled.push_back(slot);
            self.unstall();
        } else {
            self.pending.push(slot);
        }
    }

    /// The answer to a read goes over the link.
    fn answer(&mut self, slot: usize, begin_ns: u64) {
        let sectors = self.jobs[slot].extent.sectors;
        let end_ns = self.link.answer(begin_ns, self.now_ns, sectors);
        self.schedule(end_ns, EngineEvent::Finished(slot));
    }

    /// Lets writes into the cache as far as there is room, in order, piece by piece where one is larger than that.
    fn unstall(&mut self) {
        // What comes during a flush waits for its end, or the flush might never find the cache empty.
        if !self.flushes.is_empty() || self.closing > 0 {
            return;
        }
        while let (Some(cache), Some(&slot)) = (&mut self.cache, self.stalled.front()) {
            let job = &mut self.jobs[slot];
            let wanted = job.extent.sectors - job.taken;
            let sectors = wanted.min(cache.room());
            if sectors > 0 {
                cache.insert(self.now_ns, Extent { sector: job.extent.sector + job.taken, sectors });
                job.taken += sectors;
            }
            if sectors < wanted {
                break;
            }
            self.stalled.pop_front();
            self.schedule(self.now_ns, EngineEvent::Finished(slot));
        }
    }

    fn finished(&mut self, slot: usize) {
        let DeviceJob { request, submitted_ns, .. } = self.jobs.leave(slot);
        self.done.push_back(Completion { request, submitted_ns, completed_ns: self.now_ns });
        self.admitted -= 1;
        if request.operation == Action::Flush {
            #[cfg(test)]
            if self.cache.as_ref().is_some_and(|cache| !cache.is_clean() && !cache.parameters.protected) {
                self.broken_flushes += 1;
            }
            self.barred = false;
            self.closing -= 1;
            self.unstall();
        }
        self.admit();
    }

    /// Gives the medium what it can do now.
    fn pump(&mut self) {
        while self.busy < self.medium.parallel() {
            let pressed = !self.flushes.is_empty() || !self.stalled.is_empty();
            let destage = self.wants_destaging(pressed);
            // Who waits for an answer goes first, but those who wait for room in the cache get every other turn.
            let cache_first = destage && (self.pending.is_empty() || (pressed && self.served_last));
            if cache_first && self.destage(pressed) {
                continue;
            }
            if self.pending.is_empty() {
                break;
            }
            self.serve();
        }
        self.close_flushes();
    }

    fn wants_destaging(&mut self, pressed: bool) -> bool {
        let Some(cache) = &self.cache else { return false };
        if cache.dirty_sectors == 0 {
            self.draining = false;
            return false;
        }
        let due_ns = cache.dirty_since_ns + cache.parameters.delay_ns;
        self.draining |= pressed || cache.is_half_full() || due_ns <= self.now_ns;
        if !self.draining && self.wake_ns != due_ns {
            self.wake_ns = due_ns;
            self.schedule(due_ns, EngineEvent::Wake);
        }
        self.draining
    }

    /// When the medium can begin: at once, unless it was at something of its own.
    fn rouse(&mut self) -> u64 {
        if self.busy == 0 { self.medium.rouse(self.idle_since_ns, self.now_ns) } else { self.now_ns }
    }

    fn serve(&mut self) {
        let at_ns = self.rouse();
        let oldest = self.jobs[self.pending[0]].submitted_ns;
        let choice = if self.queue.window <= 1 || oldest + PATIENCE_NS < self.now_ns {
            0
        } else {
            let distance = |slot: usize| {
                let DeviceJob { request, extent, .. } = &self.jobs[slot];
                self.medium.distance(at_ns, request.operation != Action::Read, extent.sector)
            };
            let window = self.pending.iter().take(self.queue.window).enumerate();
            window.min_by_key(|(_, slot)| distance(**slot)).map_or(0, |(index, _)| index)
        };
        let slot = self.pending.remove(choice);
        let DeviceJob { request, extent, data, .. } = self.jobs[slot];
        let AccessSpan { begin_ns, end_ns } = match (request.operation, data) {
            (Action::Read, _) => self.medium.read(at_ns, extent),
            (_, Some(data)) => self.medium.write_early(at_ns, data, extent),
            _ => self.medium.write(at_ns, extent),
        };
        self.jobs[slot].begin_ns = begin_ns;
        self.busy += 1;
        self.served_last = true;
        self.schedule(end_ns, EngineEvent::Accessed(slot));
    }

    /// Writes some of the cache back; whether there was something the medium would take.
    fn destage(&mut self, pressed: bool) -> bool {
        let at_ns = self.rouse();
        let Some(cache) = &mut self.cache else { return false };
        let all = !self.flushes.is_empty() || (pressed && cache.is_stuck());
        let Some((sectors, end_ns)) = self.medium.destage(at_ns, cache, all) else { return false };
        self.busy += 1;
        self.served_last = false;
        self.schedule(end_ns, EngineEvent::Destaged(sectors));
        true
    }

    fn close_flushes(&mut self) {
        if self.flushes.is_empty() {
            return;
        }
        let mut end_ns = self.now_ns;
        if let Some(cache) = &mut self.cache {
            let clean = if planted(Bug::FlushesLie) { cache.dirty_sectors == 0 } else { cache.is_clean() };
            let clean = clean || cache.parameters.protected;
            if !clean {
                return;
            }
            if std::mem::take(&mut cache.flush_is_due) {
                end_ns += cache.parameters.flush_ns;
            }
        }
        for slot in std::mem::take(&mut self.flushes) {
            self.closing += 1;
            self.schedule(end_ns, EngineEvent::Finished(slot));
        }
    }
}

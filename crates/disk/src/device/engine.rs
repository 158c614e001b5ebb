//! Runs a modelled device: moves requests through queue, link, cache and medium and back, as events in the order of
//! time.

mod admission;
mod write_back;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use super::cache::VolatileCache;
use super::jobs::{DeviceJob, Jobs};
use super::link::HostLink;
use super::medium::{AccessSpan, MediumModel};
use super::model::ModelParameters;
use super::parameters;
use super::request::{Action, Completion, Request};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum EngineEvent {
    /// The device has the command and the data of a write.
    Received(usize),
    /// The medium has finished the access of a job.
    Accessed(usize),
    /// This many sectors of the cache have reached the medium.
    Destaged(u64),
    /// The request is complete.
    Finished(usize),
    /// The cache may start to write back.
    Wake,
}

/// The parts of a device, its requests and its pending events.
#[derive(Debug)]
pub(super) struct DeviceEngine {
    sectors: u64,
    queue: parameters::Queue,
    write_zeroes: bool,
    link: HostLink,
    cache: Option<VolatileCache>,
    medium: Box<dyn MediumModel>,
    now_ns: u64,
    /// Submitted requests that are not yet in the queue.
    waiting: VecDeque<(u64, Request)>,
    jobs: Jobs,
    /// Number of requests in the queue.
    admitted: u32,
    /// Whether a flush that cannot be queued is inside: no other request may enter.
    blocked_by_flush: bool,
    /// Jobs that wait for the medium, in order of arrival.
    pending: Vec<usize>,
    /// Writes that wait for room in the cache, in order of arrival.
    stalled: VecDeque<usize>,
    /// Flushes that wait until the cache is clean.
    flushes: Vec<usize>,
    /// Flushes in their last step; writes that arrive meanwhile wait.
    closing_flushes: u32,
    /// Accesses that the medium performs at present.
    active_accesses: usize,
    /// Time since which the medium has no access to perform.
    idle_since_ns: u64,
    /// Whether the cache is being written back until it is clean.
    draining: bool,
    /// Time at which that may start, if it is known.
    wake_ns: u64,
    /// Whether the last access was for a waiting request, rather than for the cache.
    served_request_last: bool,
    events: BinaryHeap<Reverse<(u64, u64, EngineEvent)>>,
    sequence: u64,
    done: VecDeque<Completion>,
    /// Flushes that were answered while data was not yet on the medium. There must be none.
    #[cfg(test)]
    pub(super) broken_flushes: u64,
}

/// Longest time for which a waiting request is passed over for nearer ones.
const MAX_PASSED_OVER_NS: u64 = 1_000_000_000;

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
            blocked_by_flush: false,
            pending: Vec::new(),
            stalled: VecDeque::new(),
            flushes: Vec::new(),
            closing_flushes: 0,
            active_accesses: 0,
            idle_since_ns: 0,
            draining: false,
            wake_ns: 0,
            served_request_last: false,
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

    /// Accepts a request at this time.
    pub(super) fn submit(&mut self, now_ns: u64, request: Request) {
        self.run_until(now_ns);
        self.waiting.push_back((self.now_ns, request));
        self.admit_requests();
    }

    /// Time of the next event that a request waits for.
    pub(super) fn next_event(&self) -> Option<u64> {
        if !self.done.is_empty() {
            return Some(self.now_ns);
        }
        if self.admitted == 0 && self.waiting.is_empty() {
            return None;
        }
        self.events.peek().map(|Reverse((at_ns, ..))| *at_ns)
    }

    /// Advances to this time, and adds the requests that are complete by then.
    pub(super) fn advance(&mut self, now_ns: u64, completions: &mut Vec<Completion>) {
        self.run_until(now_ns);
        completions.extend(self.done.drain(..));
    }

    /// Requests that are not complete, with the times of their submission.
    pub(super) fn pending_requests(&self) -> impl Iterator<Item = (u64, &Request)> {
        let waiting = self.waiting.iter().map(|(submitted_ns, request)| (*submitted_ns, request));
        let inside = self.jobs.iter().map(|job| (job.submitted_ns, &job.request));
        inside.chain(waiting)
    }

    /// Handles all events up to this time.
    fn run_until(&mut self, now_ns: u64) {
        while let Some(Reverse((at_ns, ..))) = self.events.peek()
            && *at_ns <= now_ns
        {
            let Some(Reverse((at_ns, _, event))) = self.events.pop() else { break };
            self.now_ns = self.now_ns.max(at_ns);
            self.handle_event(event);
        }
        self.now_ns = self.now_ns.max(now_ns);
    }

    fn schedule_event(&mut self, at_ns: u64, event: EngineEvent) {
        self.sequence += 1;
        self.events.push(Reverse((at_ns.max(self.now_ns), self.sequence, event)));
    }

    fn handle_event(&mut self, event: EngineEvent) {
        match event {
            EngineEvent::Received(slot) => self.receive_job(slot),
            EngineEvent::Accessed(slot) => {
                self.finish_access();
                let job = self.jobs[slot];
                if job.request.operation == Action::Read {
                    self.send_answer(slot, job.begin_ns);
                } else {
                    self.schedule_event(self.now_ns, EngineEvent::Finished(slot));
                }
            }
            EngineEvent::Destaged(sectors) => {
                self.finish_access();
                if let Some(cache) = &mut self.cache {
                    cache.release_sectors(sectors);
                }
                self.fill_cache();
            }
            EngineEvent::Finished(slot) => self.finish_job(slot),
            // The work that is due is started below.
            EngineEvent::Wake => {}
        }
        self.start_accesses();
    }

    fn finish_access(&mut self) {
        self.active_accesses -= 1;
        self.idle_since_ns = self.now_ns;
    }

    /// Sends the answer to a read over the link.
    fn send_answer(&mut self, slot: usize, begin_ns: u64) {
        let sectors = self.jobs[slot].extent.sectors;
        let end_ns = self.link.send_answer(begin_ns, self.now_ns, sectors);
        self.schedule_event(end_ns, EngineEvent::Finished(slot));
    }

    /// Completes a request.
    fn finish_job(&mut self, slot: usize) {
        let DeviceJob { request, submitted_ns, .. } = self.jobs.remove_job(slot);
        self.done.push_back(Completion { request, submitted_ns, completed_ns: self.now_ns });
        self.admitted -= 1;
        if request.operation == Action::Flush {
            #[cfg(test)]
            if self.cache.as_ref().is_some_and(|cache| !cache.is_clean() && !cache.parameters.protected) {
                self.broken_flushes += 1;
            }
            self.blocked_by_flush = false;
            self.closing_flushes -= 1;
            self.fill_cache();
        }
        self.admit_requests();
    }

    /// Starts every access that the medium can begin now.
    fn start_accesses(&mut self) {
        while self.active_accesses < self.medium.parallel_accesses() {
            let must_make_room = !self.flushes.is_empty() || !self.stalled.is_empty();
            let destage = self.wants_destaging(must_make_room);
            // Requests that wait for an answer come first, but those that wait for room in the cache get every other
            // turn.
            let cache_first =
                destage && (self.pending.is_empty() || (must_make_room && self.served_request_last));
            if cache_first && self.start_destaging(must_make_room) {
                continue;
            }
            if self.pending.is_empty() {
                break;
            }
            self.start_access();
        }
        self.close_flushes();
    }

    /// Time at which the medium can begin: now, unless it is busy with background work.
    fn access_start_ns(&mut self) -> u64 {
        if self.active_accesses == 0 {
            self.medium.wake_time(self.idle_since_ns, self.now_ns)
        } else {
            self.now_ns
        }
    }

    /// Starts the access of the next pending job.
    fn start_access(&mut self) {
        let at_ns = self.access_start_ns();
        let oldest = self.jobs[self.pending[0]].submitted_ns;
        let choice = if self.queue.window <= 1 || oldest + MAX_PASSED_OVER_NS < self.now_ns {
            0
        } else {
            let distance = |slot: usize| {
                let DeviceJob { request, extent, .. } = &self.jobs[slot];
                self.medium.time_to_reach(at_ns, request.operation != Action::Read, extent.sector)
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
        self.active_accesses += 1;
        self.served_request_last = true;
        self.schedule_event(end_ns, EngineEvent::Accessed(slot));
    }
}

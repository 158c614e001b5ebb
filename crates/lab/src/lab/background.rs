//! Attributes device time in a phase to the filesystem's own background work, by the thread that submitted each
//! request.

use std::collections::BTreeSet;
use std::ops::Range;

use fsverdict_disk::device::trace::{Submitter, Traced};

use fsverdict_stack::filesystem::BackgroundJob;

/// Device time of requests that no work of the phase caused, over all devices.
#[derive(Debug, Default, PartialEq)]
pub(super) struct BackgroundFigures {
    /// Whether the guest's kernel reports the submitter of each request.
    pub(super) told: bool,
    /// Those submitted in the phase, and their sectors.
    pub(super) requests: u64,
    pub(super) sectors: u64,
    /// Of the phase, in which a device had such a request; where it had others as well, their part of it by number. Summed over devices.
    pub(super) busy_ns: f64,
    /// Which of the filesystem's jobs they were, by their places in its list.
    pub(super) jobs: BTreeSet<usize>,
}

impl BackgroundFigures {
    /// Adds the requests that one device served in this interval, in nanoseconds; `records` are sorted by submission.
    pub(super) fn add_device(&mut self, phase: Range<u64>, records: &[Traced], jobs: &[BackgroundJob]) {
        let Range { start: began, end: ended } = phase;
        self.told |= records.iter().any(|record| record.by.is_some());
        let mut edges = Vec::new();
        for record in records.iter().take_while(|record| record.submitted_ns < ended) {
            let completed_ns = record.completed_ns.unwrap_or(ended).min(ended);
            if completed_ns <= began {
                continue;
            }
            let job = job_of(record, jobs);
            edges.push((record.submitted_ns.max(began), 1, job.is_some()));
            edges.push((completed_ns, -1, job.is_some()));
            let Some(job) = job else { continue };
            self.jobs.insert(job);
            if record.submitted_ns >= began {
                self.requests += 1;
                self.sectors += u64::from(record.sectors);
            }
        }
        edges.sort_unstable();
        // Requests underway of the phase's own, and of these.
        let mut underway = [0_i64; 2];
        let mut since = began;
        for (at, change, background) in edges {
            let all = underway[0] + underway[1];
            if underway[1] > 0 {
                self.busy_ns += (at - since) as f64 * underway[1] as f64 / all as f64;
            }
            since = at;
            underway[usize::from(background)] += change;
        }
    }
}

/// The job that this request is of, by its place in the list.
fn job_of(record: &Traced, jobs: &[BackgroundJob]) -> Option<usize> {
    let by = record.by?;
    let is_of = |job: &BackgroundJob| {
        let of = if job.is_kernel { Submitter::kernel_thread } else { Submitter::process };
        by == of(job.thread) && job.actions.contains(&record.operation)
    };
    jobs.iter().position(is_of)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use fsverdict_disk::device::Action;
    use fsverdict_disk::device::trace::{Flags, Submitter, Traced};

    use super::BackgroundFigures;

    fn request(by: Option<Submitter>, operation: Action, [submitted_ns, completed_ns]: [u64; 2]) -> Traced {
        let completed_ns = Some(completed_ns);
        Traced { submitted_ns, completed_ns, operation, sector: 0, sectors: 8, flags: Flags::default(), by }
    }

    #[test]
    fn a_phase_is_charged_with_what_its_threads_had_the_device_do_and_no_more() {
        let jobs = fsverdict_stack::filesystem::find_filesystem("ext4").unwrap().background;
        let (lazy, rsync) = (Submitter::kernel_thread("ext4lazyinit"), Submitter::process("rsync"));
        let records = [
            // Begun before the phase, and after it.
            request(Some(lazy), Action::Read, [50, 120]),
            // Alone for 10, then two of them beside one of the phase's.
            request(Some(lazy), Action::Read, [200, 240]),
            request(Some(lazy), Action::Read, [210, 240]),
            request(Some(rsync), Action::Read, [210, 270]),
            // A program of the thread's name is not the thread, and what it flushes is none of the job.
            request(Some(Submitter::process("ext4lazyinit")), Action::Read, [300, 310]),
            request(Some(lazy), Action::Flush, [320, 330]),
            request(None, Action::Write, [330, 340]),
            request(Some(lazy), Action::Read, [390, 420]),
            request(Some(lazy), Action::Write, [500, 510]),
        ];
        let mut found = BackgroundFigures::default();
        found.add_device(100..400, &records, jobs);
        let expected = BackgroundFigures {
            told: true,
            requests: 3,
            sectors: 24,
            busy_ns: 20.0 + 10.0 + 30.0 * 2.0 / 3.0 + 10.0,
            jobs: BTreeSet::from([0]),
        };
        assert_eq!(found, expected);
        // Of another device, beside it.
        found.add_device(100..400, &records, jobs);
        assert!((found.busy_ns - 2.0 * expected.busy_ns).abs() < 1e-9 && found.requests == 6, "{found:?}");
        let mut untold = BackgroundFigures::default();
        untold.add_device(100..400, &records.map(|record| Traced { by: None, ..record }), jobs);
        assert_eq!(untold, BackgroundFigures::default());
    }
}

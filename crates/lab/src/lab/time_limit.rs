//! The limit of a trial's time: by the clock, and in simulated time by what its processes have computed, so that a busy machine does
//! not make a candidate fail.

use std::time::{Duration, Instant};

/// A trial in simulated time may take this many times its limit by the clock.
const MOST_TIMES: u32 = 4;
/// The limit counts as reached with this share of it computed: guest and device process also wait for each other.
const SHARE: f64 = 0.8;
/// An extension is at least this long.
const SHORTEST: Duration = Duration::from_secs(1);

/// The limit of one trial, from its start on.
#[derive(Debug, Clone, Copy)]
pub(super) struct TimeLimit {
    started: Instant,
    limit: Duration,
    end: Instant,
}

impl TimeLimit {
    pub(super) fn new(started: Instant, limit: Duration) -> Self {
        TimeLimit { started, limit, end: started + limit }
    }

    /// When it is reached.
    pub(super) fn end(&self) -> Instant {
        self.end
    }

    /// When it is reached, or the time of the run is up if that is earlier.
    pub(super) fn end_within(&self, run: Option<Instant>) -> Instant {
        run.map_or(self.end, |of_run| of_run.min(self.end))
    }

    /// Moves the end by what the trial's processes were kept from computing until `now`; `computed` is their processor time.
    pub(super) fn extend(&mut self, now: Instant, computed: Duration) {
        let missing = self.limit.mul_f64(SHARE).saturating_sub(computed);
        if !missing.is_zero() {
            self.end = (now + missing.max(SHORTEST)).min(self.started + self.limit * MOST_TIMES);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::TimeLimit;

    #[test]
    fn a_trial_that_was_kept_from_computing_has_longer_by_the_clock() {
        let started = Instant::now();
        let seconds = Duration::from_secs;
        let end_after = |computed: u64, at: u64| {
            let mut limit = TimeLimit::new(started, seconds(100));
            limit.extend(started + seconds(at), seconds(computed));
            limit.end() - started
        };
        assert_eq!(end_after(95, 100), seconds(100), "it computed nearly all the time");
        assert_eq!(end_after(25, 100), seconds(155));
        assert_eq!(end_after(0, 399), seconds(400), "it hangs without computing");
    }
}

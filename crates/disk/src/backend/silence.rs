//! How long a guest has computed without asking for anything, on a machine that other programs may use, too.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// The limit is reached after this many periods on a machine without other load.
const PERIODS: u32 = 8;
/// How long a measurement of the processor's load takes.
const MEASUREMENT: Duration = Duration::from_millis(400);

/// Adds up the processor time that a silent guest had, and compares it with a limit.
#[derive(Debug)]
pub(super) struct Silence {
    limit: Duration,
    computed: Duration,
}

impl Silence {
    pub(super) fn new(limit: Duration) -> Silence {
        Silence { limit, computed: Duration::ZERO }
    }

    /// How long to wait for the guest before [`Silence::add_period`] is called.
    pub(super) fn period(&self) -> Duration {
        self.limit / PERIODS
    }

    /// Adds a period of silence, in which the guest had a share of a processor (0 to 1). Returns whether it has computed
    /// for as long as the limit.
    pub(super) fn add_period(&mut self, share: f64) -> bool {
        self.computed += self.period().mul_f64(share.clamp(0.0, 1.0));
        // A share of 1 may be measured a little too low.
        self.computed >= self.limit.mul_f64(0.9)
    }
}

/// Measures the share of a processor (0 to 1) that a guest of this process gets, by computing for a moment beside it.
///
/// Guest and device are bound to the same processor, where each gets as much as the other while both compute. So the guest
/// alone gets `s / (1 - s)` where this process gets `s`.
pub(super) fn measure_guest_share() -> f64 {
    let (began, before) = (Instant::now(), computed_time());
    while began.elapsed() < MEASUREMENT {
        std::hint::spin_loop();
    }
    let share = (computed_time() - before).as_secs_f64() / began.elapsed().as_secs_f64();
    (share / (1.0 - share).max(0.01)).min(1.0)
}

/// The processor time of this thread so far.
fn computed_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Silence, measure_guest_share};

    #[test]
    fn a_guest_that_gets_a_quarter_of_a_processor_may_be_silent_for_four_times_as_long() {
        let periods_until_limit = |share: f64| {
            let mut silence = Silence::new(Duration::from_secs(120));
            (1..).find(|_| silence.add_period(share)).unwrap()
        };
        assert_eq!((periods_until_limit(1.0), periods_until_limit(0.25)), (8, 29));
        // Each silence is counted by itself.
        for _ in 0..100 {
            let mut silence = Silence::new(Duration::from_secs(120));
            assert_eq!(silence.period(), Duration::from_secs(15));
            assert!(!silence.add_period(1.0));
        }
        let share = measure_guest_share();
        assert!(share > 0.0 && share <= 1.0, "{share}");
    }
}

//! Measures how much later than the model's times requests were answered in real time, and refuses trials that were
//! too late.

use hdrhistogram::Histogram;

use crate::device::Completion;
use fsverdict_text::Reason;

/// Largest mean lateness that is accepted, as a share of the time that the model gives.
const MAX_LATENESS_SHARE: f64 = 0.2;

/// Lateness of answers in nanoseconds.
#[derive(Debug)]
pub(super) struct Lateness {
    histogram: Histogram<u64>,
    sum_ns: u64,
    modelled_ns: u64,
}

impl Lateness {
    /// Starts without requests. `None` would mean an invalid precision of the histogram, which two digits are not.
    pub(super) fn new() -> Option<Self> {
        Some(Lateness { histogram: Histogram::new(2).ok()?, sum_ns: 0, modelled_ns: 0 })
    }

    pub(super) fn record_completion(&mut self, completion: &Completion, now: u64) {
        let late = now.saturating_sub(completion.completed_ns);
        // The histogram grows as wide as it must, so that this does not fail.
        let _ = self.histogram.record(late);
        self.sum_ns = self.sum_ns.saturating_add(late);
        let modelled_ns = completion.completed_ns.saturating_sub(completion.submitted_ns);
        self.modelled_ns = self.modelled_ns.saturating_add(modelled_ns);
    }

    /// The sum of the lateness as a share of the time that the model gives.
    pub(super) fn lateness_share(&self) -> f64 {
        self.sum_ns as f64 / self.modelled_ns.max(1) as f64
    }

    /// Median, 99th percentile and maximum, in nanoseconds.
    pub(super) fn quantiles_ns(&self) -> [u64; 3] {
        [self.histogram.value_at_quantile(0.5), self.histogram.value_at_quantile(0.99), self.histogram.max()]
    }

    /// Why the times of a trial differ too much from those of the model, if they do.
    pub(super) fn find_trouble(&self) -> Option<Reason> {
        let share = self.lateness_share();
        (share > MAX_LATENESS_SHARE).then(|| {
            let reason = format!(
                "the device did not keep its pace in real time: requests took {:.0} % longer than its model says \
                 ({:.0} % is borne), one in a hundred by {} µs or more",
                share * 100.0,
                MAX_LATENESS_SHARE * 100.0,
                self.quantiles_ns()[1] / 1000
            );
            Reason::new(reason, "a quieter machine, a slower model, or clock = \"simulated\"")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Lateness;
    use crate::device::{Action, Completion, Request};

    #[test]
    fn a_device_that_is_late_by_more_than_a_fifth_is_refused() {
        let mut lateness = Lateness::new().unwrap();
        let request = Request { id: 0, operation: Action::Read, sector: 0, sectors: 8 };
        let mut answer = |late: u64| {
            lateness.record_completion(
                &Completion { request, submitted_ns: 5, completed_ns: 1_000_005 },
                1_000_005 + late,
            );
            (lateness.find_trouble(), lateness.lateness_share(), lateness.quantiles_ns()[2])
        };
        assert_eq!(answer(0), (None, 0.0, 0));
        assert_eq!(answer(390_000).0, None);
        let (trouble, share, worst) = answer(300_000);
        assert!((share - 0.23).abs() < 1e-9 && worst >= 390_000);
        assert!(trouble.unwrap().what.contains("23 % longer than its model says (20 % is borne)"));
    }
}

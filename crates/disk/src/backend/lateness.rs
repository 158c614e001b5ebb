//! How much later than the model gave requests were answered in real time, and how much of that is borne.

use hdrhistogram::Histogram;

use crate::device::Completion;
use fsverdict_text::Reason;

/// Requests may be answered so much later on average, as a share of the time the model gave.
const BORNE: f64 = 0.2;

/// Nanoseconds by which requests were late.
#[derive(Debug)]
pub(super) struct Lateness {
    by: Histogram<u64>,
    sum: u64,
    modelled: u64,
}

impl Lateness {
    /// Of no request so far; `None` never.
    pub(super) fn new() -> Option<Self> {
        Some(Lateness { by: Histogram::new(2).ok()?, sum: 0, modelled: 0 })
    }

    pub(super) fn record(&mut self, completion: &Completion, now: u64) {
        let late = now.saturating_sub(completion.completed_ns);
        // It grows as wide as it must.
        let _ = self.by.record(late);
        self.sum = self.sum.saturating_add(late);
        let modelled = completion.completed_ns.saturating_sub(completion.submitted_ns);
        self.modelled = self.modelled.saturating_add(modelled);
    }

    /// All of it as a share of the time the model gave.
    pub(super) fn share(&self) -> f64 {
        self.sum as f64 / self.modelled.max(1) as f64
    }

    /// Median, 99th percentile, worst.
    pub(super) fn quantiles_ns(&self) -> [u64; 3] {
        [self.by.value_at_quantile(0.5), self.by.value_at_quantile(0.99), self.by.max()]
    }

    /// Why the times of a trial cannot be those of the model, if so.
    pub(super) fn trouble(&self) -> Option<Reason> {
        let share = self.share();
        (share > BORNE).then(|| {
            let reason = format!(
                "the device did not keep its pace in real time: requests took {:.0} % longer than its model says \
                 ({:.0} % is borne), one in a hundred by {} µs or more",
                share * 100.0,
                BORNE * 100.0,
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
            lateness
                .record(&Completion { request, submitted_ns: 5, completed_ns: 1_000_005 }, 1_000_005 + late);
            (lateness.trouble(), lateness.share(), lateness.quantiles_ns()[2])
        };
        assert_eq!(answer(0), (None, 0.0, 0));
        assert_eq!(answer(390_000).0, None);
        let (trouble, share, worst) = answer(300_000);
        assert!((share - 0.23).abs() < 1e-9 && worst >= 390_000);
        assert!(trouble.unwrap().what.contains("23 % longer than its model says (20 % is borne)"));
    }
}

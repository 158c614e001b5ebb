//! How much got done in each tenth of a second of a phase, counted while it goes on: a division and an addition for each call.

use std::time::Duration;

use fsverdict_judgement::journal::WorkCourse;
use fsverdict_judgement::plan::Unit;

/// The time that is counted together.
const SLOT: Duration = Duration::from_millis(100);

/// The maximum number of seconds that are counted separately: a day. Later work is counted with the last second.
const SLOTS: usize = 864_000;

/// How much was done when.
#[derive(Debug, Clone, Default)]
pub(crate) struct CourseCounter {
    slots: Vec<u64>,
}

impl CourseCounter {
    /// So much was done at this time after the beginning.
    #[inline]
    pub(crate) fn add_amount(&mut self, after: Duration, amount: u64) {
        let at = (after.as_nanos() as u64 / SLOT.as_nanos() as u64) as usize;
        let at = at.min(SLOTS - 1);
        if at >= self.slots.len() {
            self.slots.resize(at + 1, 0);
        }
        if let Some(slot) = self.slots.get_mut(at) {
            *slot = slot.saturating_add(amount);
        }
    }

    /// Adds the counts of another counter that began at the same time.
    pub(crate) fn merge_with(&mut self, other: &CourseCounter) {
        if other.slots.len() > self.slots.len() {
            self.slots.resize(other.slots.len(), 0);
        }
        for (own, more) in self.slots.iter_mut().zip(&other.slots) {
            *own = own.saturating_add(*more);
        }
    }

    /// The rates, in bytes or times a second. The last slot is not over when the work is, and is left out; nothing where no more is
    /// left.
    pub(crate) fn to_course(&self, unit: Unit) -> Option<WorkCourse> {
        let whole = self.slots.get(..self.slots.len().checked_sub(1)?)?;
        let rates: Vec<f64> = whole.iter().map(|amount| *amount as f64 / SLOT.as_secs_f64()).collect();
        (!rates.is_empty()).then(|| WorkCourse { unit, every: SLOT.as_secs_f64(), rates })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::CourseCounter;
    use fsverdict_judgement::plan::Unit;

    #[test]
    fn what_is_done_is_counted_where_it_was_done() {
        let mut counter = CourseCounter::default();
        assert!(counter.to_course(Unit::PerSecond).is_none());
        for (milliseconds, amount) in [(0, 1), (99, 1), (100, 3), (350, 1)] {
            counter.add_amount(Duration::from_millis(milliseconds), amount);
        }
        let mut other = CourseCounter::default();
        other.add_amount(Duration::from_millis(420), 9);
        other.add_amount(Duration::from_millis(10), 2);
        counter.merge_with(&other);
        let course = counter.to_course(Unit::PerSecond).unwrap();
        assert_eq!((course.every, course.rates), (0.1, vec![40.0, 30.0, 0.0, 10.0]));
        counter.add_amount(Duration::from_secs(10_000_000), 1);
        assert_eq!(counter.slots.len(), super::SLOTS);
    }
}

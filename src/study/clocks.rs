//! Detects whether the machine slept or its time of day was set while a trial ran. Durations are measured by
//! CLOCK_MONOTONIC, which neither changes. But a measurement that a sleep interrupts is not undisturbed, and a
//! program that times itself by the time of day measures the jump.

use rustix::time::{ClockId, clock_gettime};

/// The shortest sleep or step that is reported, in seconds: the clocks are not read at the same moment.
const LEAST: f64 = 0.1;
/// The share of the elapsed time by which the time of day may be slewed: adjtimex(2) allows 500 ppm, and the
/// oscillator's rate may be off by as much.
const MOST_SLEW: f64 = 1e-3;

/// The clocks at one moment, in seconds (clock_gettime(2)).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ClockReadings {
    /// The time of day, which can be set.
    pub(super) realtime: f64,
    /// Does not advance while the machine sleeps.
    pub(super) monotonic: f64,
    /// Advances while the machine sleeps.
    pub(super) boottime: f64,
}

impl ClockReadings {
    pub(super) fn now() -> Self {
        let read = |clock| {
            let time = clock_gettime(clock);
            time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
        };
        ClockReadings {
            realtime: read(ClockId::Realtime),
            monotonic: read(ClockId::Monotonic),
            boottime: read(ClockId::Boottime),
        }
    }

    /// The seconds for which the machine slept since `before`.
    pub(super) fn slept_since(self, before: ClockReadings) -> Option<f64> {
        let slept = (self.boottime - before.boottime) - (self.monotonic - before.monotonic);
        Some(slept).filter(|seconds| *seconds > LEAST)
    }

    /// The seconds by which the time of day was set since `before`, negative if it was set back. Slewing by a time
    /// server is no step.
    pub(super) fn step_since(self, before: ClockReadings) -> Option<f64> {
        let passed = self.boottime - before.boottime;
        let step = (self.realtime - before.realtime) - passed;
        Some(step).filter(|step| step.abs() > LEAST + passed.max(0.0) * MOST_SLEW)
    }
}

/// The clocks from the beginning of a trial to its end.
#[derive(Debug, Clone, Copy)]
pub(super) struct ClockWatch {
    first: ClockReadings,
    last: ClockReadings,
    /// The largest step so far; a step that is undone later still counts.
    step: Option<f64>,
}

impl ClockWatch {
    pub(super) fn from_readings(first: ClockReadings) -> Self {
        ClockWatch { first, last: first, step: None }
    }

    /// Adds the current readings.
    pub(super) fn add_readings(&mut self, now: ClockReadings) {
        // Compares with the last readings and with the first, because slow steps add up.
        let steps = [now.step_since(self.last), now.step_since(self.first), self.step];
        self.step = steps.into_iter().flatten().max_by(|one, other| one.abs().total_cmp(&other.abs()));
        self.last = now;
    }

    pub(super) fn seconds_slept(&self) -> Option<f64> {
        self.last.slept_since(self.first)
    }

    pub(super) fn clock_step(&self) -> Option<f64> {
        self.step
    }
}

/// The shortest jump between two records that is recorded, in seconds. Shorter ones do not matter for a run's time.
const LEAST_JUMP: f64 = 1.0;

/// Detects between two records of a journal that the time of day, by which records are dated, jumped ahead of the time in
/// which the machine was awake, or fell behind it: the clock was set, or the machine slept.
#[derive(Debug, Clone, Copy)]
pub struct JumpWatch {
    last: ClockReadings,
}

impl JumpWatch {
    /// Jumps are counted from now on.
    pub fn start() -> Self {
        Self::from_readings(ClockReadings::now())
    }

    fn from_readings(first: ClockReadings) -> Self {
        JumpWatch { last: first }
    }

    /// The jump since the last record, in milliseconds; `None` if there was none. The next one is counted from here.
    pub(super) fn jump_until(&mut self, now: ClockReadings) -> Option<i64> {
        let awake = now.monotonic - self.last.monotonic;
        let jump = (now.realtime - self.last.realtime) - awake;
        self.last = now;
        (jump.abs() > LEAST_JUMP + awake.max(0.0) * MOST_SLEW).then_some((jump * 1000.0).round() as i64)
    }
}

#[cfg(test)]
mod tests {
    use super::{ClockReadings, ClockWatch, JumpWatch};

    /// The readings after this many seconds, `slept` of which the machine slept, with the time of day moved by
    /// `moved`.
    fn after(seconds: f64, slept: f64, moved: f64) -> ClockReadings {
        let (realtime, monotonic, boottime) = (1.8e9, 5000.0, 6000.0);
        ClockReadings {
            realtime: realtime + seconds + moved,
            monotonic: monotonic + seconds - slept,
            boottime: boottime + seconds,
        }
    }

    #[test]
    fn sleeps_and_steps_are_told_apart_and_slewing_is_neither() {
        for (name, seconds, slept, moved, sleeps, steps) in [
            ("nothing", 60.0, 0.0, 0.0, false, false),
            ("a sleep", 3660.0, 3600.0, 0.0, true, false),
            ("set forward", 60.0, 0.0, 3600.0, false, true),
            ("set back", 60.0, 0.0, -0.5, false, true),
            ("both", 3660.0, 3600.0, -3600.0, true, true),
            ("slewed by 500 ppm for an hour", 3600.0, 0.0, 1.8, false, false),
            ("slewed back for a day", 86400.0, 0.0, -43.2, false, false),
            ("a leap second", 10.0, 0.0, -1.0, false, true),
            ("read at different moments", 1.0, 0.02, 0.02, false, false),
        ] {
            let (before, now) = (after(0.0, 0.0, 0.0), after(seconds, slept, moved));
            assert_eq!(now.slept_since(before).is_some(), sleeps, "{name}");
            assert_eq!(now.step_since(before).is_some(), steps, "{name}");
            if steps {
                assert!((now.step_since(before).unwrap() - moved).abs() < 1e-3, "{name}");
            }
        }
    }

    #[test]
    fn a_jump_between_two_records_is_found_once() {
        let mut watch = JumpWatch::from_readings(after(0.0, 0.0, 0.0));
        let mut next = |seconds, slept, moved| watch.jump_until(after(seconds, slept, moved));
        assert_eq!(next(60.0, 0.0, 0.0), None);
        // Eight hours of sleep; the clock is set an hour back; and from the epoch to today.
        assert_eq!(next(28_920.0, 28_800.0, 0.0), Some(28_800_000));
        assert_eq!(next(28_980.0, 28_800.0, 0.0), None);
        assert_eq!(next(29_000.0, 28_800.0, -3600.0), Some(-3_600_000));
        assert_eq!(next(29_010.0, 28_800.0, 1.7e9), Some(1_700_003_600_000));
        // Slewed by 500 ppm for an hour.
        assert_eq!(next(32_610.0, 28_800.0, 1.7e9 + 1.8), None);
    }

    #[test]
    fn a_step_that_is_undone_before_the_end_is_seen() {
        let mut watch = ClockWatch::from_readings(after(0.0, 0.0, 0.0));
        watch.add_readings(after(5.0, 0.0, 0.0));
        assert_eq!((watch.clock_step(), watch.seconds_slept()), (None, None));
        watch.add_readings(after(6.0, 0.0, -3600.0));
        watch.add_readings(after(9.0, 0.0, 0.0));
        assert!((watch.clock_step().unwrap().abs() - 3600.0).abs() < 1.0, "{watch:?}");
        assert_eq!(watch.seconds_slept(), None);
    }

    #[test]
    fn the_clocks_of_this_machine_agree_with_themselves() {
        let first = ClockReadings::now();
        let mut watch = ClockWatch::from_readings(first);
        watch.add_readings(ClockReadings::now());
        assert!(first.boottime >= first.monotonic - 0.1, "{first:?}");
        assert_eq!((watch.clock_step(), watch.seconds_slept()), (None, None), "{watch:?}");
    }
}

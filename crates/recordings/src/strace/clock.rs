//! The times of strace's lines as nanoseconds that never run backwards: past midnight (-t, -tt), from line to line (-r), and over steps
//! of the clock.

use super::line::{PrintedTime, split_prefix};

const DAY_NS: u64 = 24 * 3600 * 1_000_000_000;
/// A time of day that is this much earlier than the one before is of the next day.
const MIDNIGHT_NS: u64 = DAY_NS / 2;
/// Lines of processes that run side by side may be this much out of order.
const DISORDER_NS: u64 = 1_000_000;
/// Since 1970 far more seconds than this have passed: smaller times may be those since the line before.
const SMALL_NS: u64 = 1_000_000 * 1_000_000_000;
/// The number of lines at the beginning that are examined to determine the kind of times.
const LOOKED_AT: usize = 2000;

/// The kind of times in a recording.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum TimeForm {
    #[default]
    None,
    OfDay,
    Since1970,
    /// -r: since the line before.
    SinceLineBefore,
}

/// Determines the kind of times from the beginning of a recording.
pub(super) fn time_form(beginning: &[u8]) -> TimeForm {
    let mut seconds = Vec::new();
    for line in beginning.split(|byte| *byte == b'\n').take(LOOKED_AT) {
        match split_prefix(line).0.time {
            Some(PrintedTime::OfDay(_)) => return TimeForm::OfDay,
            Some(PrintedTime::Seconds(at)) => seconds.push(at),
            None => {}
        }
    }
    let Some(first) = seconds.first() else { return TimeForm::None };
    let steps_back = seconds.windows(2).filter(|pair| pair[1].saturating_add(DISORDER_NS) < pair[0]).count();
    // strace -r begins with 0; the middle of such a recording goes up and down.
    let relative = seconds.iter().all(|at| *at < SMALL_NS)
        && (*first == 0 || (steps_back >= 3 && steps_back * 4 > seconds.len()));
    if relative { TimeForm::SinceLineBefore } else { TimeForm::Since1970 }
}

/// Follows the times of one file of a recording.
#[derive(Debug, Clone, Default)]
pub(super) struct RecordingClock {
    form: TimeForm,
    /// The offset added to a printed time.
    offset_ns: u64,
    last_printed_ns: u64,
    now_ns: u64,
    begun: bool,
    /// How often the printed time went back.
    pub(super) steps: u64,
}

impl RecordingClock {
    pub(super) fn new(form: TimeForm) -> Self {
        Self { form, ..Self::default() }
    }

    pub(super) fn is_timed(&self) -> bool {
        self.form != TimeForm::None
    }

    /// The time of a line.
    pub(super) fn advance_to(&mut self, time: Option<PrintedTime>) -> u64 {
        let (Some(PrintedTime::OfDay(at)) | Some(PrintedTime::Seconds(at))) = time else {
            return self.now_ns;
        };
        if self.form == TimeForm::SinceLineBefore {
            self.now_ns = self.now_ns.saturating_add(at);
            return self.now_ns;
        }
        let back = if self.begun { self.last_printed_ns.saturating_sub(at) } else { 0 };
        if self.form == TimeForm::OfDay && back > MIDNIGHT_NS {
            self.offset_ns = self.offset_ns.saturating_add(DAY_NS);
        } else if back > DISORDER_NS {
            // The clock was set back: it goes on from where it was.
            self.offset_ns = self.offset_ns.saturating_add(back);
            self.steps += 1;
        }
        (self.last_printed_ns, self.begun) = (at, true);
        self.now_ns = self.now_ns.max(at.saturating_add(self.offset_ns));
        self.now_ns
    }
}

#[cfg(test)]
mod tests {
    use super::{RecordingClock, TimeForm, time_form};
    use crate::strace::line::split_prefix;

    /// Milliseconds from each line to the next.
    fn pauses(lines: &[&str]) -> (TimeForm, Vec<u64>, u64) {
        let form = time_form(lines.join("\n").as_bytes());
        let mut clock = RecordingClock::new(form);
        let times: Vec<u64> =
            lines.iter().map(|line| clock.advance_to(split_prefix(line.as_bytes()).0.time)).collect();
        let pauses = times.windows(2).map(|pair| (pair[1] - pair[0]) / 1_000_000).collect();
        (form, pauses, clock.steps)
    }

    #[test]
    fn every_form_of_time_gives_the_same_pauses() {
        let expected = vec![500, 0, 1500, 2000];
        for (form, times) in [
            (
                TimeForm::Since1970,
                ["1700000000.25", "1700000000.75", "1700000000.75", "1700000002.25", "1700000004.25"],
            ),
            (TimeForm::Since1970, ["100.25", "100.75", "100.75", "102.25", "104.25"]),
            (TimeForm::OfDay, ["12:00:00.25", "12:00:00.75", "12:00:00.75", "12:00:02.25", "12:00:04.25"]),
            (TimeForm::OfDay, ["23:59:59.0", "23:59:59.5", "23:59:59.5", "00:00:01.0", "00:00:03.0"]),
            (TimeForm::SinceLineBefore, ["0.0", "0.5", "0.0", "1.5", "2.0"]),
        ] {
            let lines: Vec<String> = times.iter().map(|time| format!("7 {time} sync() = 0")).collect();
            let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
            assert_eq!(pauses(&lines), (form, expected.clone(), 0), "{times:?}");
        }
    }

    #[test]
    fn a_clock_that_is_set_back_goes_on_from_where_it_was() {
        let lines = ["7 100.0 sync() = 0", "7 101.0 sync() = 0", "7 50.0 sync() = 0", "7 52.0 sync() = 0"];
        assert_eq!(pauses(&lines), (TimeForm::Since1970, vec![1000, 0, 2000], 1));
        assert_eq!(
            pauses(&["12:00:00 sync() = 0", "11:00:00 sync() = 0", "11:00:01 sync() = 0"]).1,
            [0, 1000]
        );
        assert_eq!(pauses(&["sync() = 0", "sync() = 0"]), (TimeForm::None, vec![0], 0));
    }
}

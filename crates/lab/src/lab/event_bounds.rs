//! Bounds on the events of one trial: names and lists as in a journal, the length of each event, and the bytes of all of
//! them. A guest's kernel may be a stranger's, and sends any bytes for as long as its trial lasts.

use fsverdict_judgement::journal::{Event, JournalBounds, check_record_length};
use fsverdict_text::Bytes;

/// Bytes of all events of one trial that are kept. The longest that a benchmark program prints is a mebibyte.
const MOST_BYTES: u64 = 256 << 20;
/// The record of a shorter line is short enough: the replacement of a character or a number takes at most seven times the
/// bytes.
const SURELY_SHORT: usize = 512 << 10;

/// The events of a trial so far.
#[derive(Debug, Default)]
pub(super) struct EventBounds {
    names: JournalBounds,
    bytes: u64,
}

impl EventBounds {
    /// Checks an event that was parsed from a line of so many bytes; the reason to leave it out, if there is one.
    pub(super) fn check_event(&mut self, event: &Event, line_bytes: usize) -> Result<(), String> {
        // Findings after faults are in no journal; the crate faults bounds them.
        if matches!(event, Event::AfterCut(_) | Event::AfterRot(_)) {
            return Ok(());
        }
        if line_bytes > SURELY_SHORT {
            check_record_length(event).map_err(|error| error.to_string())?;
        }
        self.bytes = self.bytes.saturating_add(line_bytes as u64);
        if self.bytes > MOST_BYTES {
            return Err(format!("what came after its first {}", Bytes(MOST_BYTES)));
        }
        self.names.check_event(event).map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{EventBounds, MOST_BYTES, SURELY_SHORT};
    use fsverdict_judgement::journal::{Event, Learnt};

    /// An event with a text of this many bytes.
    fn facts(bytes: usize) -> Event {
        let facts = BTreeMap::from([("fact".to_owned(), "x".repeat(bytes))]);
        Event::Facts { facts, learnt: Learnt::default() }
    }

    #[test]
    fn what_a_trial_reports_is_bounded_one_by_one_and_in_all() {
        let mut bounds = EventBounds::default();
        bounds.check_event(&facts(3 << 20), 3 << 20).unwrap();
        let long = bounds.check_event(&facts(5 << 20), 5 << 20).unwrap_err();
        assert!(long.contains("bytes"), "{long}");
        let step = Event::StepStarted { step: "step".to_owned() };
        let many = (0..).find_map(|_| bounds.check_event(&step, SURELY_SHORT).err()).unwrap();
        assert!(many.contains("256 MiB"), "{many}");
        assert!(bounds.bytes <= MOST_BYTES + SURELY_SHORT as u64);
    }
}

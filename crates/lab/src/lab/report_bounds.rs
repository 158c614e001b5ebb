//! Decides which events of a trial are passed on. A trial's events are not trusted: the kernel of its guest may be a
//! stranger's, and a program in a guest whose kernel works in seccomp mode can write to that kernel's memory and send
//! whatever it likes.

use fsverdict_judgement::journal::{Event, JournalBounds, check_record_length};
use fsverdict_text::Bytes;

/// The maximum number of bytes that the events of one trial may have in the journal. The trials of the largest presets
/// have less than one MiB.
const MOST_BYTES: u64 = 64 << 20;
/// The record of a shorter line is short enough: the replacement of a character or a number takes at most seven times the
/// bytes.
const SURELY_SHORT: usize = 512 << 10;
/// The maximum number of bytes of the reason for a failed trial, and of its hint.
const LONGEST_REASON: usize = 64 << 10;

/// The events of one trial so far.
#[derive(Debug, Default)]
pub(super) struct ReportBounds {
    names: JournalBounds,
    bytes: u64,
    has_told: bool,
}

impl ReportBounds {
    /// Why an event, whose line has this many bytes, is not passed on; `None` if it is.
    pub(super) fn why_left_out(&mut self, event: &Event, bytes: usize) -> Option<String> {
        if let Some(name) = event.conductor_only() {
            return Some(format!("`{name}`, which no trial may report"));
        }
        if is_for_journal(event) {
            if bytes > SURELY_SHORT
                && let Err(error) = check_record_length(event)
            {
                return Some(error.to_string());
            }
            self.bytes = self.bytes.saturating_add(bytes as u64);
            if self.bytes > MOST_BYTES {
                return Some(format!("what came after its first {}", Bytes(MOST_BYTES)));
            }
        }
        self.names.check_event(event).err().map(|error| error.to_string())
    }

    /// The caution that an event was left out for this reason; `None` after the first such event of the trial.
    pub(super) fn first_caution(&mut self, reason: &str) -> Option<String> {
        let has_told = std::mem::replace(&mut self.has_told, true);
        (!has_told).then(|| format!("left out of what the trial reported: {reason}"))
    }
}

/// Whether the journal keeps such an event. Findings and records of writes have bounds of their own.
fn is_for_journal(event: &Event) -> bool {
    !matches!(
        event,
        Event::Saved { .. }
            | Event::Sequences { .. }
            | Event::Promised { .. }
            | Event::AfterCut(_)
            | Event::AfterRot(_)
            | Event::Device(_)
    )
}

/// Shortens the reason for a failed trial, or its hint, to a length that a journal takes.
pub(super) fn shorten_reason(mut reason: String) -> String {
    if let Some(surplus) = reason.len().checked_sub(LONGEST_REASON).filter(|surplus| *surplus > 0) {
        reason.truncate(reason.floor_char_boundary(LONGEST_REASON));
        reason.push_str(&format!(" [not kept: {surplus} more bytes]"));
    }
    reason
}

#[cfg(test)]
mod tests {
    use fsverdict_judgement::journal::{Caution, Event};

    use super::{LONGEST_REASON, MOST_BYTES, ReportBounds, shorten_reason};

    fn event(json: &str) -> Event {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn a_trial_reports_nothing_about_the_run_and_other_candidates() {
        for forged in [
            r#"{"event":"candidate_dropped","candidate":"rival","reason":"so I say"}"#,
            r#"{"event":"candidate_skipped","candidate":"rival","reason":"so I say","hint":""}"#,
            r#"{"event":"block_started","block":1,"attempt":2,"order":["rival"]}"#,
            r#"{"event":"block_finished","block":1,"attempt":1,"invalid":"so I say"}"#,
            r#"{"event":"trial_started"}"#,
            r#"{"event":"run_resumed","more":4294967295}"#,
            r#"{"event":"run_finished","reason":"so I say"}"#,
            r#"{"event":"surroundings","killed":true}"#,
        ] {
            let mut bounds = ReportBounds::default();
            let reason = bounds.why_left_out(&event(forged), forged.len()).unwrap_or_default();
            assert!(reason.ends_with("which no trial may report"), "{forged}: {reason}");
            assert!(bounds.first_caution(&reason).is_some() && bounds.first_caution(&reason).is_none());
        }
        for own in [
            r#"{"event":"step_started","step":"mkfs"}"#,
            r#"{"event":"facts","facts":{"a":"b"}}"#,
            r#"{"event":"caution","text":"slow"}"#,
        ] {
            assert_eq!(ReportBounds::default().why_left_out(&event(own), own.len()), None, "{own}");
        }
    }

    #[test]
    fn what_a_trial_reports_is_bounded_one_by_one_and_in_all() {
        let long = Event::Caution(Caution::new("x".repeat(5 << 20)));
        assert!(ReportBounds::default().why_left_out(&long, 5 << 20).unwrap().contains("bytes"));
        let caution = Event::Caution(Caution::new("x".repeat(1 << 20)));
        let mut bounds = ReportBounds::default();
        let taken = (0..1000).take_while(|_| bounds.why_left_out(&caution, 1 << 20).is_none()).count();
        assert_eq!(taken as u64, MOST_BYTES >> 20);
    }

    #[test]
    fn a_reason_has_a_length_that_a_journal_takes() {
        assert_eq!(shorten_reason("short".to_owned()), "short");
        let reason = shorten_reason("é".repeat(10 << 20));
        assert!(reason.len() < LONGEST_REASON + 100 && reason.ends_with("more bytes]"), "{}", reason.len());
    }
}

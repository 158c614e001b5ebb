//! Accounts for every call or request of a recording: how many there are, how many the trace keeps, and why it omits
//! the others.
//!
//! A reader counts each line once ([`Account::count_line`]), each call once as seen ([`Account::count_seen`]), and records
//! its outcome once ([`Account::count_outcome`]). Every call is therefore kept, not kept for a named reason, or outside the
//! selected folder; a line that was not read counts as a call that may be lost. [`Account::is_balanced`] checks the sum.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use fsverdict_disk::calibrate::{LineAccount, LineOutcome};

use super::record_line::RecordLine;

/// Reasons that are counted apart. A recording cannot make the account grow beyond them.
const MOST_REASONS: usize = 200;
/// The reason under which further reasons are counted together.
const OTHER_REASONS: &str = "other reasons";
/// Shares of bytes, syncs or requests not kept above which a capture warns …
pub const WARNING_SHARE: f64 = 0.01;
/// … and above which it is refused, unless a part is asked for.
pub const REFUSAL_SHARE: f64 = 0.20;
/// The reason for calls that come after the trace is full: the kept part is complete up to there.
pub(super) const BEYOND: &str = "beyond the calls that a plan has room for";

/// The I/O that a call caused, as far as the recording shows it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CallWeight {
    /// Bytes that it read or wrote.
    pub bytes: u64,
    /// Syncs that it asked for.
    pub syncs: u64,
    /// Requests of a size that the recording does not show (io_uring, stores into mapped memory).
    pub unsized_requests: u64,
}

impl CallWeight {
    pub const NONE: Self = Self { bytes: 0, syncs: 0, unsized_requests: 0 };

    pub fn of_bytes(bytes: u64) -> Self {
        Self { bytes, ..Self::NONE }
    }

    pub fn one_sync() -> Self {
        Self { syncs: 1, ..Self::NONE }
    }

    pub(super) fn add_weight(&mut self, other: Self) {
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.syncs = self.syncs.saturating_add(other.syncs);
        self.unsized_requests = self.unsized_requests.saturating_add(other.unsized_requests);
    }

    fn subtract_weight(&mut self, other: Self) {
        self.bytes = self.bytes.saturating_sub(other.bytes);
        self.syncs = self.syncs.saturating_sub(other.syncs);
        self.unsized_requests = self.unsized_requests.saturating_sub(other.unsized_requests);
    }
}

/// The outcome of a recorded call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallOutcome {
    /// The trace makes it again.
    Kept,
    /// The trace does not make it, but the calls after it show its whole effect (lseek, dup, chdir, a file's size).
    Followed,
    /// The trace loses it, for this reason.
    NotKept(String),
    /// It concerns no file of the folder or device that is meant.
    Outside,
}

/// The calls that are not kept for one reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotKept {
    pub count: u64,
    pub weight: CallWeight,
    pub first: RecordLine,
}

/// The numbers of recorded calls by outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// The unit of the recording, in the plural: "calls" or "requests".
    pub unit: &'static str,
    pub seen: u64,
    /// Those that are followed are among them.
    pub kept: u64,
    pub followed: u64,
    pub outside: u64,
    /// By reason.
    pub not_kept: BTreeMap<String, NotKept>,
    pub kept_weight: CallWeight,
    /// Every line of the recording by outcome; those unread are among the calls seen.
    pub lines: LineAccount,
    first_unread: Option<RecordLine>,
}

impl Account {
    pub fn new(unit: &'static str) -> Self {
        Self {
            unit,
            seen: 0,
            kept: 0,
            followed: 0,
            outside: 0,
            not_kept: BTreeMap::new(),
            kept_weight: CallWeight::NONE,
            lines: LineAccount::default(),
            first_unread: None,
        }
    }

    /// Counts a line of the recording. `line` is evaluated for the first one that is not read.
    pub fn count_line(&mut self, number: u64, outcome: LineOutcome, line: impl FnOnce() -> RecordLine) {
        if matches!(outcome, LineOutcome::Unread(_)) {
            self.seen += 1;
            self.first_unread.get_or_insert_with(line);
        }
        self.lines.count_line(number, outcome);
    }

    /// Takes over the lines that another reader counted.
    pub(super) fn set_lines(&mut self, lines: LineAccount, line: impl FnOnce(usize) -> RecordLine) {
        self.seen += lines.unread;
        let first = lines.first_unread.as_ref().and_then(|(number, _)| usize::try_from(*number).ok());
        self.first_unread = first.map(line);
        self.lines = lines;
    }

    /// Counts a call of the recording, before anything is known of it.
    pub fn count_seen(&mut self) {
        self.seen += 1;
    }

    /// Counts the outcome of a recorded call. `line` is evaluated only when a reason occurs for the first time.
    pub fn count_outcome(
        &mut self,
        outcome: CallOutcome,
        weight: CallWeight,
        line: impl FnOnce() -> RecordLine,
    ) {
        match outcome {
            CallOutcome::Kept => {
                self.kept += 1;
                self.kept_weight.add_weight(weight);
            }
            CallOutcome::Followed => {
                self.kept += 1;
                self.followed += 1;
            }
            CallOutcome::Outside => self.outside += 1,
            CallOutcome::NotKept(reason) => self.count_lost(reason, weight, line),
        }
    }

    /// Moves a call from the kept ones to those that are not kept: the trace turned out to have no room or no place for it.
    pub fn drop_kept(&mut self, reason: &str, weight: CallWeight, line: impl FnOnce() -> RecordLine) {
        self.kept = self.kept.saturating_sub(1);
        self.kept_weight.subtract_weight(weight);
        self.count_lost(reason.to_owned(), weight, line);
    }

    /// A call that the trace makes turned out to be only followed.
    pub fn follow_instead_of_make(&mut self) {
        self.followed += 1;
    }

    /// The trace makes a part of a call that it does not keep as a whole.
    pub(super) fn keep_part(&mut self, weight: CallWeight) {
        self.kept_weight.add_weight(weight);
    }

    /// Moves the weight of a part of a call to a reason that is counted already; the rest of the call stays kept or was
    /// moved before.
    pub fn move_weight(&mut self, reason: &str, weight: CallWeight) {
        if let Some(lost) = self.not_kept.get_mut(reason) {
            self.kept_weight.subtract_weight(weight);
            lost.weight.add_weight(weight);
        }
    }

    fn count_lost(&mut self, reason: String, weight: CallWeight, line: impl FnOnce() -> RecordLine) {
        let full = self.not_kept.len() >= MOST_REASONS && !self.not_kept.contains_key(&reason);
        let reason = if full { OTHER_REASONS.to_owned() } else { reason };
        let lost = self.not_kept.entry(reason).or_insert_with(|| NotKept {
            count: 0,
            weight: CallWeight::NONE,
            first: line(),
        });
        lost.count += 1;
        lost.weight.add_weight(weight);
    }

    /// The number of calls that are not kept for any reason.
    pub fn count_not_kept(&self) -> u64 {
        self.not_kept.values().map(|lost| lost.count).sum()
    }

    /// Whether each call has exactly one outcome: seen = kept + not kept + outside + unread.
    pub fn is_balanced(&self) -> bool {
        self.seen == self.kept + self.count_not_kept() + self.outside + self.lines.unread
    }

    /// The largest share that is lost, of bytes, syncs, requests or lines, and which of them it is. Calls beyond a
    /// plan's capacity do not count: the calls before them are complete.
    pub fn largest_loss(&self) -> (f64, &'static str) {
        let mut lost = CallWeight::NONE;
        for (_, reason) in self.not_kept.iter().filter(|(reason, _)| *reason != BEYOND) {
            lost.add_weight(reason.weight);
        }
        let share = |lost: u64, kept: u64| match lost {
            0 => 0.0,
            lost => lost as f64 / (lost as f64 + kept as f64),
        };
        let requests = lost.unsized_requests;
        let shares = [
            (share(lost.bytes, self.kept_weight.bytes), "bytes"),
            (share(lost.syncs, self.kept_weight.syncs), "syncs"),
            // Their bytes are unknown: they count against all calls that the trace makes.
            (share(requests, self.kept.saturating_sub(self.followed)), "requests"),
            (share(self.lines.unread, self.lines.read + self.lines.outside), "lines"),
        ];
        let mut largest = (0.0, "bytes");
        for one in shares {
            if one.0 > largest.0 {
                largest = one;
            }
        }
        largest
    }

    /// Describes the account in one sentence: the sum and the most frequent reasons, with the number of the first line
    /// of each.
    pub fn summary(&self, most_reasons: usize) -> String {
        let reasons = self.frequent_reasons();
        let shown: Vec<String> = reasons
            .iter()
            .take(most_reasons)
            .map(|(reason, lost)| format!("{reason} ({}, first in line {})", lost.count, lost.first.number))
            .collect();
        let more = if reasons.len() > shown.len() { ", and others" } else { "" };
        let unread = match (&self.lines.first_unread, self.lines.unread) {
            (Some((number, reason)), lines) => {
                format!(". {lines} lines are not read, the first is line {number}: {reason}")
            }
            (None, _) => String::new(),
        };
        let colon = if shown.is_empty() { "" } else { ": " };
        format!(
            "Of {} {}, {} are kept, {} concern nothing that is meant, and {} are not kept{colon}{}{more}{unread}",
            self.seen,
            self.unit,
            self.kept,
            self.outside,
            self.count_not_kept(),
            shown.join("; ")
        )
    }

    /// Warnings for a user: lines that were not read, and events that the recording itself lacks.
    pub fn warnings(&self) -> Vec<String> {
        let LineAccount { unread, lost_events, .. } = self.lines;
        let lines = match unread {
            0 => None,
            1 => Some("1 line of the recording was not read.".to_owned()),
            _ => Some(format!("{unread} lines of the recording were not read.")),
        };
        let events = (lost_events > 0).then(|| {
            format!("{lost_events} events were lost while it was recorded: requests are missing from it.")
        });
        lines.into_iter().chain(events).collect()
    }

    /// The reasons, the most frequent first.
    fn frequent_reasons(&self) -> Vec<(&String, &NotKept)> {
        let mut reasons: Vec<(&String, &NotKept)> = self.not_kept.iter().collect();
        reasons.sort_by(|one, other| other.1.count.cmp(&one.1.count).then(one.0.cmp(other.0)));
        reasons
    }

    /// The share of calls that a plan has no room for.
    pub fn shortened_share(&self) -> f64 {
        let beyond = self.not_kept.get(BEYOND).map_or(0, |lost| lost.count);
        beyond as f64 / (beyond + self.kept).max(1) as f64
    }

    /// The account as lines of text: the sum, then each reason with its first line, the most frequent first.
    pub fn to_lines(&self) -> Vec<String> {
        let mut sum = format!(
            "Account: {} {} seen = {} kept + {} not kept + {} outside + {} unread.",
            self.seen,
            self.unit,
            self.kept,
            self.count_not_kept(),
            self.outside,
            self.lines.unread
        );
        if self.followed > 0 {
            // Writing to a string cannot fail.
            let _ = write!(
                sum,
                " {} of the kept are not made again: later {} show their effect.",
                self.followed, self.unit
            );
        }
        let mut lines = vec![sum];
        for (reason, lost) in self.frequent_reasons() {
            let mut line = format!("Not kept: {reason} ({})", lost.count);
            for (amount, what) in [(lost.weight.bytes, "bytes"), (lost.weight.syncs, "syncs")] {
                if amount > 0 {
                    let _ = write!(line, ", {amount} {what}");
                }
            }
            let _ = write!(line, ", first in line {}: {}", lost.first.number, lost.first.text);
            lines.push(line);
        }
        if let Some(first) = &self.first_unread {
            let count = self.lines.unread;
            lines.push(format!("Unread: lines ({count}), first in line {}: {}", first.number, first.text));
        }
        if self.lines.total > 0 {
            lines.extend(self.lines.describe_lines());
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::super::record_line::mask_names;
    use super::{Account, CallOutcome, CallWeight, LineOutcome, RecordLine};

    #[test]
    fn every_call_is_kept_not_kept_or_outside() {
        let mut account = Account::new("calls");
        let outcomes = [
            (CallOutcome::Kept, CallWeight::of_bytes(900)),
            (CallOutcome::Kept, CallWeight::one_sync()),
            (CallOutcome::Followed, CallWeight::NONE),
            (CallOutcome::Outside, CallWeight::of_bytes(5000)),
            (CallOutcome::NotKept("mmap".to_owned()), CallWeight::NONE),
            (CallOutcome::NotKept("splice".to_owned()), CallWeight::of_bytes(100)),
            (CallOutcome::NotKept("mmap".to_owned()), CallWeight::NONE),
        ];
        for (number, (outcome, weight)) in (1..).zip(outcomes) {
            account.count_seen();
            assert!(!account.is_balanced(), "{account:?}");
            account.count_outcome(outcome, weight, || RecordLine::new(number, "mmap(…)"));
            assert!(account.is_balanced(), "{account:?}");
        }
        assert_eq!((account.seen, account.kept, account.count_not_kept(), account.outside), (7, 3, 3, 1));
        assert_eq!(account.largest_loss(), (0.1, "bytes"));
        account.drop_kept("too many", CallWeight::one_sync(), || RecordLine::new(2, "fsync(3)"));
        assert!(account.is_balanced());
        assert_eq!(account.largest_loss(), (1.0, "syncs"));
        let lines = account.to_lines();
        assert!(lines[0].contains("7 calls seen = 2 kept + 4 not kept + 1 outside + 0 unread"), "{lines:?}");
        assert_eq!(lines[1], "Not kept: mmap (2), first in line 5: mmap(…)");
        assert!(
            lines.iter().any(|line| line.contains("splice (1), 100 bytes, first in line 6")),
            "{lines:?}"
        );
    }

    #[test]
    fn a_line_that_is_not_read_is_seen_and_warned_of() {
        let mut account = Account::new("calls");
        for number in 1..=3 {
            account.count_seen();
            account
                .count_outcome(CallOutcome::Kept, CallWeight::of_bytes(9), || RecordLine::new(number, "x"));
            account.count_line(number, LineOutcome::Read, || RecordLine::new(number, "x"));
        }
        let unread = || LineOutcome::Unread("it is cut".to_owned());
        account.count_line(4, unread(), || RecordLine::new(4, "8 …"));
        account.count_line(5, LineOutcome::Lost(7), || RecordLine::new(5, "lost"));
        account.count_line(6, unread(), || RecordLine::new(6, "9 …"));
        assert!(account.is_balanced() && account.seen == 5, "{account:?}");
        assert_eq!(account.largest_loss(), (0.4, "lines"));
        let lines = account.to_lines();
        assert_eq!(lines[1], "Unread: lines (2), first in line 4: 8 …");
        assert!(lines[2].starts_with("Lines: 6 = 3 read + 1 known to hold none + 2 unread"), "{lines:?}");
        assert!(account.summary(1).contains("2 lines are not read, the first is line 4: it is cut"));
        assert!(account.warnings().concat().contains("7 events were lost"));
    }

    #[test]
    fn a_recording_cannot_make_the_account_grow_without_end() {
        let mut account = Account::new("requests");
        for number in 0..1000 {
            account.count_seen();
            let outcome = CallOutcome::NotKept(format!("reason {number}"));
            account.count_outcome(outcome, CallWeight::NONE, || RecordLine::new(number, &"x".repeat(10_000)));
        }
        assert!(account.is_balanced() && account.not_kept.len() <= 201, "{}", account.not_kept.len());
        assert!(account.to_lines().iter().all(|line| line.chars().count() < 300));
    }

    #[test]
    fn a_line_that_is_shown_has_no_names() {
        let line = r#"7<bash> rename("/srv/a\"b>", "c<d") = 3</srv/x<y>z> <0.000010>"#;
        assert_eq!(mask_names(line), r#"7<…> rename("…", "…") = 3<…> <…>"#);
        assert_eq!(
            mask_names("io_submit(0x7f, 1, [{aio_nbytes=4096}]) = 1"),
            "io_submit(0x7f, 1, [{aio_nbytes=4096}]) = 1"
        );
    }
}

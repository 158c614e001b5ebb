//! Accounts for every line of a recording: a reader returns the outcome of each, so that none is passed over in silence.

use std::collections::BTreeMap;

/// The rule of lines without a character.
pub const BLANK_LINES: &str = "blank lines";
/// The rule of lines in which the recording program says whether it lost events.
const LOSS_MARKS: &str = "marks of lost events";

/// The outcome of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LineOutcome {
    /// It shows a request or call, or an event of one, which the account of those has.
    Read,
    /// It shows one of another device than the one that is meant.
    Outside,
    /// It holds none, by this rule.
    Noise(&'static str),
    /// The recording program says that it lost so many events here.
    Lost(u64),
    /// It fits no rule; says why.
    Unread(String),
}

/// The number of lines of a recording by outcome.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LineAccount {
    pub total: u64,
    pub read: u64,
    pub outside: u64,
    /// Lines that are known to hold no request, by rule.
    pub noise: BTreeMap<&'static str, u64>,
    pub unread: u64,
    /// The number of the first unread line, from 1, and why it was not read.
    pub first_unread: Option<(u64, String)>,
    /// Events that the recording program says it lost; a mark without a number counts as one.
    pub lost_events: u64,
}

impl LineAccount {
    /// Counts a line, whose number is from 1.
    pub fn count_line(&mut self, number: u64, outcome: LineOutcome) {
        self.total += 1;
        match outcome {
            LineOutcome::Read => self.read += 1,
            LineOutcome::Outside => self.outside += 1,
            LineOutcome::Noise(rule) => *self.noise.entry(rule).or_default() += 1,
            LineOutcome::Lost(count) => {
                *self.noise.entry(LOSS_MARKS).or_default() += 1;
                self.lost_events = self.lost_events.saturating_add(count);
            }
            LineOutcome::Unread(reason) => {
                self.unread += 1;
                self.first_unread.get_or_insert((number, reason));
            }
        }
    }

    /// Lines that are known to hold no request, by any rule.
    pub fn noise_count(&self) -> u64 {
        self.noise.values().sum()
    }

    /// Sentences for people about the lines: how many are passed by, by which rule, what was not read, and what was lost.
    pub fn describe(&self) -> Vec<String> {
        let mut sentences = Vec::new();
        let rules: Vec<String> = self.noise.iter().map(|(rule, count)| format!("{rule} ({count})")).collect();
        let outside = match self.outside {
            0 => String::new(),
            lines => format!(" + {lines} of other devices"),
        };
        let passed = if rules.is_empty() { String::new() } else { format!(": {}", rules.join(", ")) };
        sentences.push(format!(
            "Lines: {} = {} read{outside} + {} known to hold none + {} unread{passed}.",
            self.total,
            self.read,
            self.noise_count(),
            self.unread
        ));
        if self.lost_events > 0 {
            sentences.push(format!(
                "Lost: the recording program says that {} events were lost while it recorded; use larger buffers.",
                self.lost_events
            ));
        }
        sentences
    }
}

/// How many events a line says were lost: `CPU:2 [LOST 131 EVENTS]` (ftrace), `CPU:2 [131 EVENTS DROPPED]` (trace-cmd),
/// `PERF_RECORD_LOST lost 7` (perf), `Possibly lost 7 samples` (bcc), `lost 7 events on CPU #1` (libbpf), `Lost 7 events`
/// (bpftrace), `You have 7 (0.3%) dropped events` (blktrace), `# entries-in-buffer/entries-written: 93/100` (ftrace).
pub(super) fn lost_events(line: &str) -> Option<u64> {
    if let Some((_, counts)) = line.split_once("entries-in-buffer/entries-written:") {
        let (kept, written) = counts.split_whitespace().next()?.split_once('/')?;
        return Some(written.parse::<u64>().ok()?.saturating_sub(kept.parse().ok()?));
    }
    let mark = line.rsplit_once('[').map_or(line, |(_, mark)| mark);
    let line = if mark.contains("EVENTS") { mark } else { line };
    let cleaned = line.to_lowercase().replace([',', '\u{202f}'], "");
    let words: Vec<&str> =
        cleaned.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '.').collect();
    let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
    let at = words.iter().rposition(|word| ["lost", "dropped", "overrun", "skips"].contains(word))?;
    let is_about_events = |word: &&str| {
        ["events", "event", "samples", "chunks", "chunk", "lost", "skips", "cpu", "overrun"].contains(word)
    };
    if !words.iter().enumerate().any(|(place, word)| place != at && is_about_events(&word))
        && words[at] != "skips"
    {
        return None;
    }
    let number = |word: &&str| word.parse::<u64>().ok();
    if words[at] == "skips" {
        // `Skips: 3 forward (12 - 0.0%)`: three gaps with twelve events in them.
        return words.iter().skip(at + 1).filter_map(number).max();
    }
    let behind = words.get(at + 1).and_then(number);
    let before = words[..at].iter().rev().find_map(number).filter(|_| words[at] == "dropped");
    Some(behind.or(before).unwrap_or(1))
}

#[cfg(test)]
mod tests {
    use super::{LineAccount, LineOutcome, lost_events};

    #[test]
    fn every_line_has_one_outcome() {
        let mut account = LineAccount::default();
        let outcomes = [
            LineOutcome::Read,
            LineOutcome::Noise("headings"),
            LineOutcome::Unread("is torn".to_owned()),
            LineOutcome::Unread("is strange".to_owned()),
            LineOutcome::Lost(7),
            LineOutcome::Outside,
        ];
        for (number, outcome) in (1..).zip(outcomes) {
            account.count_line(number, outcome);
        }
        assert_eq!((account.total, account.read, account.noise_count(), account.unread), (6, 1, 2, 2));
        assert_eq!((account.first_unread.clone(), account.lost_events), (Some((3, "is torn".to_owned())), 7));
        let sentences = account.describe();
        assert_eq!(
            sentences[0],
            "Lines: 6 = 1 read + 1 of other devices + 2 known to hold none + 2 unread: headings (1), marks of lost events (1)."
        );
        assert!(sentences[1].contains("7 events were lost"), "{sentences:?}");
    }

    #[test]
    fn marks_of_lost_events_are_read_in_the_words_of_each_program() {
        for (line, lost) in [
            ("CPU:2 [LOST 131 EVENTS]", Some(131)),
            ("CPU:2 [LOST EVENTS]", Some(1)),
            ("CPU:3 [17 EVENTS DROPPED]", Some(17)),
            ("CPU:3 [EVENTS DROPPED]", Some(1)),
            ("# entries-in-buffer/entries-written: 300/500   #P:4", Some(200)),
            ("# entries-in-buffer/entries-written: 300/300   #P:4", Some(0)),
            ("fio  9 [001] 1.000000: PERF_RECORD_LOST lost 12", Some(12)),
            ("PERF_RECORD_LOST lost=12", Some(12)),
            ("Processed 90 events and lost 3 chunks!", Some(3)),
            ("Possibly lost 12 samples", Some(12)),
            ("lost 12 events on CPU #3", Some(12)),
            ("Lost 12 events", Some(12)),
            ("You have 412 (  0.3%) dropped events", Some(412)),
            ("  Total:                  1000 events (dropped 0),       47 KiB data", Some(0)),
            ("  Total:                  1000 events (dropped 5),       47 KiB data", Some(5)),
            ("Skips: 3 forward (1,204 -   0.0%)", Some(1204)),
            ("Skips: 0 forward (0 -   0.0%)", Some(0)),
            ("the file was lost", None),
            ("1.0 lost 7 sda R 0 4096 1.0", None),
        ] {
            assert_eq!(lost_events(line), lost, "{line}");
        }
    }
}

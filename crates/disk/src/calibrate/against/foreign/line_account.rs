//! Accounts for every line of a recording: a reader returns the outcome of each, so that none is passed over in silence.

use std::collections::BTreeMap;

/// The rule of lines without a character.
pub const BLANK_LINES: &str = "blank lines";
/// The rule of lines in which the recording program says whether it lost events.
const LOSS_MARKS: &str = "marks of lost events";
/// Words before perf's mark of lost events: a program, a process, a processor and a time.
const LONGEST_PREFIX: usize = 8;

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

impl LineOutcome {
    /// The outcome of a mark of lost events.
    pub fn of_loss_mark(line: &str) -> Option<Self> {
        lost_events(line).map(Self::Lost)
    }

    /// The outcome of a line that fits no form: it says that events were lost, or is unread.
    pub fn of_strange_line(line: &str, reason: String) -> Self {
        Self::of_loss_mark(line).unwrap_or(Self::Unread(reason))
    }
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
    /// Counts a line; its number is from 1.
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

    /// Describes the lines in sentences: how many are passed by, by which rule, and how many were not read or lost.
    pub fn describe_lines(&self) -> Vec<String> {
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

/// The marks of lost events of each program, with `#` for a number, and which number is that of the events; without one a
/// mark counts as one.
const LOSS_FORMS: [(&str, Option<usize>); 20] = [
    // ftrace and trace-cmd.
    ("cpu # lost # events", Some(1)),
    ("cpu # lost events", None),
    ("cpu # # events dropped", Some(1)),
    ("cpu # events dropped", None),
    // perf.
    ("perf record lost lost #", Some(0)),
    ("perf record lost samples lost #", Some(0)),
    ("processed # events and lost # chunks", Some(1)),
    ("# samples lost", Some(0)),
    ("# events lost", Some(0)),
    ("# events dropped", Some(0)),
    ("dropped # events", Some(0)),
    ("cpu # # events lost", Some(1)),
    // bcc, libbpf and bpftrace.
    ("possibly lost # samples", Some(0)),
    ("lost # events on cpu #", Some(0)),
    ("lost # events", Some(0)),
    ("lost # samples", Some(0)),
    // blktrace, its sum, and gaps in blkparse's input with the events in them.
    ("you have # # dropped events", Some(0)),
    ("total # events dropped # # kib data", Some(1)),
    ("skips # forward # #", Some(1)),
    // ftrace's heading: events that are in the buffer, and that were written.
    ("entries in buffer entries written # # p #", None),
];

/// How many events a line says were lost. Nothing else may stand in it, so that it hides no request.
fn lost_events(line: &str) -> Option<u64> {
    let cleaned = line.to_lowercase().replace([',', '\u{202f}'], "");
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '.';
    let words: Vec<&str> = cleaned
        .split(|letter| !is_part(letter))
        .map(|word| word.trim_matches('.'))
        .filter(|word| !word.is_empty())
        .collect();
    let is_number = |word: &&&str| word.parse::<f64>().is_ok();
    // perf prints the process and the time before its mark, and others that it is a warning.
    let mark = words.iter().position(|word| *word == "perf").filter(|at| *at <= LONGEST_PREFIX);
    let mark = mark.unwrap_or_else(|| usize::from(words.first() == Some(&"warning")));
    let words = &words[mark..];
    let form: Vec<&str> = words.iter().map(|word| if is_number(&word) { "#" } else { *word }).collect();
    let (known, place) = LOSS_FORMS.iter().find(|(known, _)| *known == form.join(" "))?;
    let numbers: Vec<u64> = words.iter().filter(is_number).map(|word| word.parse().unwrap_or(0)).collect();
    if known.starts_with("entries") {
        return Some(numbers.get(1)?.saturating_sub(*numbers.first()?));
    }
    place.map_or(Some(1), |place| numbers.get(place).copied())
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
        let sentences = account.describe_lines();
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
            ("fio  9 [001] 1.000000: PERF_RECORD_LOST_SAMPLES lost 4", Some(4)),
            ("WARNING: Lost 3 events", Some(3)),
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
            ("CPU:1 [17 EVENTS DROPPED]7 1700000000.02 close(3) = 0", None),
            ("7 wait 500 0 Possibly lost 12 samples", None),
            ("1.0 lost 7 sda R 0 4096 1.0", None),
        ] {
            assert_eq!(lost_events(line), lost, "{line}");
        }
    }
}

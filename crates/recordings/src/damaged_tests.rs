//! The law of accounts: in recordings that are damaged at random, no account balances over a line that was not read.
//!
//! A recording of each form is drawn and damaged: columns and lines are joined, lines are cut, taken out and mixed with messages of
//! other programs, the locale is another, marks of lost events and second headings stand between. Patterns of this file, and not the
//! readers, tell the shape of each line. `FSVERDICT_DAMAGED_RECORDINGS=10000` says how many are tried.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use fsverdict_testutil::Random;
use regex_lite::Regex;

use super::{CapturedCalls, RecordRequest, read_record};

/// How many recordings are damaged, unless the environment says otherwise.
const RECORDINGS: u64 = 400;

/// The shape of a line, by the patterns of this file.
#[derive(Debug, Clone, PartialEq, Eq)]
enum LineShape {
    /// A whole request or call, with its bytes.
    Request {
        bytes: u64,
    },
    /// An event, with whether it begins a request, the place of that, and its bytes.
    Event {
        begins: bool,
        place: String,
        bytes: u64,
    },
    /// A line of the form that is no request: the opening of a file.
    Other,
    /// Columns touch, or a part is damaged that says nothing of a request: a reader may read it, or count it as unread.
    Doubtful,
    Noise,
    Strange,
}

/// A form: how its lines are drawn, and the patterns by which a line of it is told.
struct RecordingForm {
    name: &'static str,
    draw: fn(&mut Random, usize) -> String,
    /// Lines that stand above all others.
    heading: &'static str,
    /// A whole request; the group is its bytes, or sectors.
    request: &'static str,
    /// Groups: letter or name of an event, place, sectors.
    event: &'static str,
    /// Lines that a reader may read, or count as unread.
    doubtful: &'static str,
    other: &'static str,
    noise: &'static str,
}

/// Matches no line.
const NEVER: &str = "^\\b$";

const FORMS: [RecordingForm; 9] = [
    RecordingForm {
        name: "biosnoop of bcc",
        heading: "TIME(s)     COMM           PID     DISK      T SECTOR     BYTES  LAT(ms)\n",
        draw: |random, at| {
            let (bytes, late) = draw_size(random);
            let took = if late { 1000.0 + at as f64 } else { 0.25 * (at % 40) as f64 };
            let name = random.pick(&["tar", "tmux: server", "kworker/u8:2", "?"]);
            format!(
                "{:<11.6} {name:<14} {:<7} {:<9} {} {:<10} {bytes:<7}{took:>7.2}\n",
                at as f64 * 0.01,
                70 + at,
                "sdq",
                random.pick(&["R", "W"]),
                4096 + at * 64
            )
        },
        request: r"^\d+[.,]\d{6} +.{1,16}? +\d+ +sdq +[A-Z]+ +\d+ +(\d+) +\d+[.,]\d\d *$",
        event: NEVER,
        doubtful: r"^\d+[.,]\d{6} +.{0,30} \S+ +[A-Z]+ +\d+ +\d+ *\d+[.,]\d\d$",
        other: NEVER,
        noise: r"^TIME\(s\) .*LAT\(ms\)$",
    },
    RecordingForm {
        name: "biosnoop of libbpf-tools",
        heading: "TIME(s)     COMM           PID     DISK    T    SECTOR     BYTES   QUE(ms) LAT(ms)\n",
        draw: |random, at| {
            let (bytes, _) = draw_size(random);
            let name = random.pick(&["fio", "jbd2/sdq-8", "a b c"]);
            format!(
                "{:<11.6} {name:<14} {:<7} {:<7} {:<4} {:<10} {bytes:<7} {:>7.3} {:>7.3}\n",
                at as f64 * 0.01,
                70 + at,
                "sdq",
                random.pick(&["R", "WS", "WFS", "RA"]),
                4096 + at * 64,
                0.001 * at as f64,
                0.3 + at as f64
            )
        },
        request: r"^\d+[.,]\d{6} +.{1,16}? +\d+ +sdq +[A-Z]+ +\d+ +(\d+) +-?\d+[.,]\d{3} +\d+[.,]\d{3} *$",
        event: NEVER,
        doubtful: r"^\d+[.,]\d{6} +.{0,30} \S+ +[A-Z]+ +\d+ +\d+ *-?\d+[.,]\d{3} +-?\d+[.,]\d{3}$",
        other: NEVER,
        noise: r"^TIME\(s\) .*LAT\(ms\)$",
    },
    RecordingForm {
        name: "blkparse",
        heading: "Input file sdq.blktrace.0 added\n",
        draw: |random, at| {
            draw_events(random, at, |kind, at, place| {
                let (letter, end) = match kind {
                    EventKind::Queued => ("Q", "[tar x]"),
                    EventKind::Issued => ("D", "[tar x]"),
                    EventKind::Completed => ("C", "[0]"),
                };
                format!(
                    "  8,16   1 {:>8} {:>5}.{:09} {:>5}  {letter}   W {place} {end}\n",
                    at,
                    at / 1000,
                    at % 1000 * 1000,
                    700
                )
            })
        },
        request: NEVER,
        event: r"^ *8,16 +\d+ +\d+ +\d+[.,]\d+ +\d+ +([QDC]) +W +(\d+) \+ (\d+) \[(?:tar x|0)\]$",
        doubtful: r"^ *\d+,\d+ +-?\d+ +-?\d+ +\d+[.,]\d+ +-?\d+ +[A-Zm]+ +[A-Z]+ .*\[.{0,16}\] *$",
        other: NEVER,
        noise: r"^ *(?:Input file .*|CPU.*|Total.*|Reads .*|Throughput \(R/W\):.*|Events \(.*)$",
    },
    RecordingForm {
        name: "ftrace",
        heading: "# tracer: nop\n#\n",
        draw: |random, at| {
            draw_events(random, at, |kind, at, place| {
                let stamp = format!(
                    "             tar-1650    [002] d..2. {}.{:06}:",
                    700 + at / 1000,
                    at % 1000 * 1000
                );
                match kind {
                    EventKind::Queued => format!("{stamp} block_bio_queue: 8,16 W {place} [tar]\n"),
                    EventKind::Issued => {
                        format!(
                            "{stamp} block_rq_issue: 8,16 W {} () {place} none,0,0 [tar]\n",
                            bytes_of(place)
                        )
                    }
                    EventKind::Completed => {
                        format!("{stamp} block_rq_complete: 8,16 W () {place} none,0,0 [0]\n")
                    }
                }
            })
        },
        request: NEVER,
        event: r"^ +tar-1650 +\[002\] d\.\.2[.,] \d+[.,]\d+: (block_bio_queue|block_rq_issue|block_rq_complete): 8,16 W (?:\d+ \(\) |\(\) )?(\d+) \+ (\d+) (?:none,0,0 )?\[(?:tar|0)\]$",
        doubtful: r"^(?:.* )?\d+[.,]\d+: (?:block:)?block_[a-z_]+: +\d+,\d+ +[A-Z]+ (?:.* )?\d+ *\+ *\d+ .*\[.{0,16}\] *$",
        other: NEVER,
        noise: r"^#.*$",
    },
    RecordingForm {
        name: "perf script",
        heading: "",
        draw: |random, at| {
            draw_events(random, at, |kind, at, place| {
                let stamp = format!(
                    "             tar  1650 [002]  {}.{:06}: block:",
                    700 + at / 1000,
                    at % 1000 * 1000
                );
                match kind {
                    EventKind::Queued => format!("{stamp}block_bio_queue: 8,16 W {place} [tar]\n"),
                    EventKind::Issued => {
                        format!("{stamp}block_rq_issue: 8,16 W {} () {place} [tar]\n", bytes_of(place))
                    }
                    EventKind::Completed => format!("{stamp}block_rq_complete: 8,16 W () {place} [0]\n"),
                }
            })
        },
        request: NEVER,
        event: r"^ +tar +1650 +\[002\] +\d+[.,]\d+: block:(block_bio_queue|block_rq_issue|block_rq_complete): 8,16 W (?:\d+ \(\) |\(\) )?(\d+) \+ (\d+) \[(?:tar|0)\]$",
        doubtful: r"^(?:.* )?\d+[.,]\d+: (?:block:)?block_[a-z_]+: +\d+,\d+ +[A-Z]+ (?:.* )?\d+ *\+ *\d+ .*\[.{0,16}\] *$",
        other: NEVER,
        noise: r"^#.*$",
    },
    RecordingForm {
        name: "a latency log of fio",
        heading: "",
        draw: |random, at| {
            let (bytes, _) = draw_size(random);
            format!("{}, {}, {}, {bytes}, {}, {}\n", at * 7, 90_000 + at, random.index(2), at * 1_048_576, 0)
        },
        request: r"^\d+, ?\d+, ?[01], ?(\d+), ?\d+, ?\d+$",
        event: NEVER,
        doubtful: r"^ *[\d.]+, *[\d.]+, *[0-5], *\d+, *\d+, *[\da-fx.]+ *$",
        other: NEVER,
        noise: r"^ *#.*$",
    },
    RecordingForm {
        name: "an iolog of fio, version 3",
        heading: "fio version 3 iolog\n1 /d/x add\n2 /d/x open\n",
        draw: |random, at| {
            let (bytes, _) = draw_size(random);
            match random.index(6) {
                0 => format!("{} /d/x sync 0 0\n", at * 900),
                1 => format!("{} /d/x wait 500 0\n", at * 900),
                _ => format!("{} /d/x write {} {bytes}\n", at * 900, at * 1_048_576),
            }
        },
        request: r"^\d+ /d/x (?:write \d+ (\d+)|sync 0 0|wait \d+ 0)$",
        event: NEVER,
        // A name that is added may have blanks.
        doubtful: r"^ *\d+ +(?:\S+ +(?:(?:write|sync|wait) +\d+ +\d+|wait \d+|add|open|close)|\S+ \S+ add) *$",
        other: r"^\d+ /d/x (?:open|close)$",
        noise: r"^(?:fio version 3 iolog|\d+ /d/x add)$",
    },
    RecordingForm {
        name: "lines of single requests",
        heading: "",
        draw: |random, at| {
            let (bytes, _) = draw_size(random);
            format!("W {} {} {} 20\n", at * 4096, bytes / 512, 100 + at)
        },
        request: r"^W \d+ (\d+) \d+ \d+$",
        event: NEVER,
        doubtful: r"^ *[RW]( \S+)? +\d+ +\d+ +[\d.,]+ +[\d.,]+ *$",
        other: NEVER,
        noise: r"^#.*$",
    },
    RecordingForm {
        name: "strace",
        heading: "7 1700000000.000001 openat(AT_FDCWD</>, \"/s/a\", O_RDWR|O_CREAT|O_EXCL, 0600) = 3</s/a> <0.000011>\n",
        draw: |random, at| {
            let (bytes, _) = draw_size(random);
            let stamp = format!("7 17000000{:02}.{:06}", at / 100, at % 100 * 10_000);
            match random.index(7) {
                0 => format!("{stamp} fsync(3</s/a>) = 0 <0.002000>\n"),
                1 => format!("{stamp} --- SIGCHLD {{si_signo=SIGCHLD, si_pid=9}} ---\n"),
                2 => format!(
                    "{stamp} newfstatat(AT_FDCWD</>, \"/etc/x\", 0x7ffd, 0) = -1 ENOENT (No such file or directory) <0.000008>\n"
                ),
                _ => format!(
                    "{stamp} pwrite64(3</s/a>, \"\"..., {bytes}, {}) = {bytes} <0.000{:03}>\n",
                    at * 1_048_576,
                    at
                ),
            }
        },
        request: r#"^\d+ \d+\.\d{6} (?:pwrite64\(3</s/a>, ""\.\.\., \d+, \d+\) = (\d+)|fsync\(3</s/a>\) = 0|openat\(AT_FDCWD</>, "/s/a", O_RDWR\|O_CREAT\|O_EXCL, 0600\) = 3</s/a>|newfstatat\(AT_FDCWD</>, "/etc/x", 0x7ffd, 0\) = -1 ENOENT \(No such file or directory\)) <\d+\.\d{6}>$"#,
        event: NEVER,
        doubtful: r"^ *\d+ +\d+\.\d+ +[a-z\d_]+\([^=]*\) *= *[^=<]*(?:<[^<]*)?[^=<]* *<\d+\.\d+> *$",
        other: NEVER,
        noise: r"^(?:(?:\d+ \d+\.\d{1,6} +)?--- SIG.* ---|strace: .*)$",
    },
];

/// Bytes of a request, and whether it is a large and slow one, so that its columns touch.
fn draw_size(random: &mut Random) -> (u64, bool) {
    match random.index(8) {
        0 => (1_048_576 + 512 * (random.next_number() % 1000), true),
        _ => (512 * (1 + random.next_number() % 200), false),
    }
}

#[derive(Debug, Clone, Copy)]
enum EventKind {
    Queued,
    Issued,
    Completed,
}

/// The events of a request, each request at another place.
fn draw_events(random: &mut Random, at: usize, line: fn(EventKind, usize, &str) -> String) -> String {
    let place = format!("{} + {}", 2048 + at * 4096, 8 * (1 + random.index(30)));
    let mut text = String::new();
    if random.index(3) == 0 {
        text.push_str(&line(EventKind::Queued, at * 10, &place));
    }
    text.push_str(&line(EventKind::Issued, at * 10 + 1, &place));
    text.push_str(&line(EventKind::Completed, at * 10 + 7, &place));
    text
}

/// The bytes of a place, as the kernel prints them beside it.
fn bytes_of(place: &str) -> u64 {
    place
        .rsplit(' ')
        .next()
        .and_then(|sectors| sectors.parse::<u64>().ok())
        .map_or(0, |sectors| sectors * 512)
}

/// Marks of lost events with their numbers, as the programs print them.
const LOSS_MARKS: [(&str, u64); 6] = [
    ("CPU:2 [LOST 131 EVENTS]\n", 131),
    ("CPU:1 [17 EVENTS DROPPED]\n", 17),
    ("Possibly lost 12 samples\n", 12),
    ("lost 5 events on CPU #3\n", 5),
    ("Processed 90 events and lost 3 chunks!\n", 3),
    ("You have 41 (  0.3%) dropped events\n", 41),
];

/// Messages of other programs.
const STRAY_LINES: [&str; 4] = [
    "tar: /x: file changed as we read it\n",
    "  \n",
    "Warning: 3 of 9 are busy\n",
    "Segmentation fault (core dumped)\n",
];

/// Damages a recording in one way.
fn damage(random: &mut Random, form: &RecordingForm, lines: &mut Vec<Vec<u8>>) {
    if lines.is_empty() {
        return;
    }
    let at = random.index(lines.len());
    let line = &mut lines[at];
    let place = random.index(line.len().max(1));
    match random.index(14) {
        // Columns are joined.
        0 | 1 => {
            let blanks: Vec<usize> =
                (1..line.len()).filter(|at| line[*at] == b' ' && line[at - 1] != b' ').collect();
            if !blanks.is_empty() {
                let from = random.pick(&blanks);
                let until = (from..line.len()).find(|at| line[*at] != b' ').unwrap_or(line.len());
                line.drain(from..until);
            }
        }
        // Lines are missing, joined, cut, doubled, or begin in their middle.
        2 => drop(lines.remove(at)),
        3 => drop(line.pop_if(|last| *last == b'\n')),
        4 => {
            line.truncate(place);
            line.push(b'\n');
        }
        5 => {
            let double = line.clone();
            lines.insert(at, double);
        }
        6 => drop(line.drain(..place)),
        // The locale has a decimal comma.
        7 if random.index(4) == 0 => {
            lines.iter_mut().flatten().filter(|byte| **byte == b'.').for_each(|byte| *byte = b',');
        }
        8 => lines.insert(at, random.pick(&LOSS_MARKS).0.as_bytes().to_vec()),
        9 => lines.insert(at, form.heading.as_bytes().to_vec()),
        10 if random.index(3) == 0 => {
            lines.iter_mut().for_each(|line| {
                if line.pop_if(|last| *last == b'\n').is_some() {
                    line.extend_from_slice(b"\r\n");
                }
            });
        }
        // Another program writes to the same file, also within a line.
        11 => lines.insert(at, random.pick(&STRAY_LINES).as_bytes().to_vec()),
        12 => {
            let rest = line.split_off(place);
            line.extend_from_slice(random.pick(&STRAY_LINES).as_bytes());
            line.extend_from_slice(&rest);
        }
        _ => {
            let byte = random.pick(b"x0 ,.\xff[");
            if let Some(changed) = line.get_mut(place).filter(|byte| **byte != b'\n') {
                *changed = byte;
            }
        }
    }
}

/// The patterns of a form, compiled once.
struct Patterns {
    request: Regex,
    event: Regex,
    doubtful: Regex,
    unit: u64,
    other: Regex,
    noise: Regex,
}

static PATTERNS: LazyLock<Vec<Patterns>> = LazyLock::new(|| {
    let compile = |pattern: &str| Regex::new(pattern).unwrap();
    let of_form = |form: &RecordingForm| Patterns {
        request: compile(form.request),
        event: compile(form.event),
        doubtful: compile(form.doubtful),
        unit: if form.name.contains("single") { 512 } else { 1 },
        other: compile(form.other),
        noise: compile(form.noise),
    };
    FORMS.iter().map(of_form).collect()
});

/// The shape of a line: told by the patterns of this file alone.
fn shape_of(patterns: &Patterns, line: &str) -> LineShape {
    if line.trim().is_empty() || marks_of(line) > 0 || patterns.noise.is_match(line) {
        return LineShape::Noise;
    }
    let number = |group: Option<regex_lite::Match<'_>>| {
        group.map_or(Some(0), |group| group.as_str().parse::<u64>().ok())
    };
    if let Some(found) = patterns.request.captures(line) {
        return number(found.get(1))
            .map_or(LineShape::Strange, |bytes| LineShape::Request { bytes: bytes * patterns.unit });
    }
    if let Some(found) = patterns.event.captures(line) {
        let (Some(_), Some(sectors)) = (number(found.get(2)), number(found.get(3))) else {
            return LineShape::Strange;
        };
        let begins = ["D", "block_rq_issue"].contains(&&found[1]);
        if ["Q", "block_bio_queue"].contains(&&found[1]) {
            return LineShape::Other;
        }
        return LineShape::Event {
            begins,
            place: format!("{} {}", &found[2], &found[3]),
            bytes: sectors * 512,
        };
    }
    if patterns.doubtful.is_match(line) {
        return LineShape::Doubtful;
    }
    if patterns.other.is_match(line) { LineShape::Other } else { LineShape::Strange }
}

/// How many events a line says were lost.
fn marks_of(line: &str) -> u64 {
    let is_mark = |mark: &str| mark.trim_end() == line.trim();
    LOSS_MARKS.iter().filter(|(mark, _)| is_mark(mark)).map(|(_, lost)| lost).sum()
}

/// Whether a line may be a mark that is damaged: a reader may still understand it.
fn resembles_mark(line: &str) -> bool {
    ["LOST", "DROPPED", "lost", "dropped"].iter().any(|word| line.contains(word))
}

/// The counts of an undisputed reading.
#[derive(Debug, Default)]
struct IndependentCounts {
    lines: u64,
    requests: u64,
    bytes: u64,
    doubtful: u64,
    noise: u64,
    strange: u64,
    lost: u64,
}

/// Counts the lines of a damaged text by shape. A whole line that is none of the original ones may have a number that was cut, as no
/// reader can tell: it is doubtful.
fn expect(patterns: &Patterns, text: &str, original: &str) -> IndependentCounts {
    let normal = |line: &str| line.trim().replace(',', ".");
    let original: BTreeSet<String> = original.lines().map(normal).collect();
    let mut expected = IndependentCounts::default();
    let mut begun: BTreeMap<String, u64> = BTreeMap::new();
    let mut pieces: Vec<&str> = text.split('\n').collect();
    let torn = pieces.pop().filter(|last| !last.is_empty());
    let whole = pieces.into_iter().map(|line| (line, false));
    for (line, is_torn) in whole.chain(torn.map(|line| (line, true))) {
        let line = line.trim_end_matches('\r');
        expected.lines += 1;
        expected.lost += marks_of(line);
        let shape = match shape_of(patterns, line) {
            LineShape::Strange if resembles_mark(line) => LineShape::Doubtful,
            LineShape::Strange | LineShape::Other => shape_of(patterns, line),
            _ if is_torn => LineShape::Doubtful,
            _ if line.trim().is_empty() || marks_of(line) > 0 || original.contains(&normal(line)) => {
                shape_of(patterns, line)
            }
            _ => LineShape::Doubtful,
        };
        match shape {
            LineShape::Request { bytes } => {
                expected.requests += 1;
                expected.bytes += bytes;
            }
            LineShape::Event { begins: true, place, .. } => {
                *begun.entry(place).or_default() += 1;
                expected.requests += 1;
            }
            LineShape::Event { begins: false, place, bytes } => {
                match begun.get_mut(&place).filter(|count| **count > 0) {
                    Some(count) => {
                        *count -= 1;
                        expected.bytes += bytes;
                    }
                    // It was begun before the recording.
                    None => expected.requests += 1,
                }
            }
            LineShape::Other => {}
            LineShape::Doubtful => expected.doubtful += 1,
            LineShape::Noise => expected.noise += 1,
            LineShape::Strange => expected.strange += 1,
        }
    }
    expected
}

/// Holds an account against the counts of this file; returns the first sentence that does not hold.
fn first_contradiction(captured: &CapturedCalls, expected: &IndependentCounts) -> Option<String> {
    let (account, lines) = (&captured.account, &captured.account.lines);
    // Requests without a beginning or an end have no bytes among those expected.
    let lost = account.not_kept.iter().filter(|(reason, _)| !reason.contains("before the recording"));
    let lost_bytes: u64 = lost.map(|(_, lost)| lost.weight.bytes).sum();
    let bytes = account.kept_weight.bytes + lost_bytes;
    let seen = account.seen - lines.unread;
    let sentences = [
        (account.is_balanced(), "the account is balanced"),
        (lines.total == expected.lines, "every line is counted"),
        (lines.unread >= expected.strange, "every strange line is unread"),
        (lines.unread <= expected.strange + expected.doubtful, "nothing but strange lines is unread"),
        (
            lines.noise_count() <= expected.noise + expected.doubtful,
            "no line of another kind is passed over as noise",
        ),
        (lines.lost_events >= expected.lost, "the lost events of all marks are counted"),
        (seen >= expected.requests, "every request is seen"),
        (seen <= expected.requests + expected.doubtful, "no request is seen that is none"),
        (expected.doubtful > 0 || bytes == expected.bytes, "the bytes are those of the requests"),
        (bytes >= expected.bytes, "no bytes are missing"),
    ];
    sentences.iter().find(|(holds, _)| !holds).map(|(_, sentence)| (*sentence).to_owned())
}

/// The lines that are neither whole requests nor noise.
fn disputed_lines(patterns: &Patterns, text: &str) -> String {
    let shape = |line: &str| shape_of(patterns, line.trim_end_matches('\r'));
    let lines = (1..).zip(text.split('\n')).map(|(number, line)| (number, shape(line), line));
    let disputed = lines.filter(|(_, shape, _)| matches!(shape, LineShape::Doubtful | LineShape::Strange));
    disputed.map(|(number, shape, line)| format!("line {number}, {shape:?}: {line}\n")).collect()
}

/// Files that were read, and those that were refused, of each form.
#[derive(Debug, Default)]
struct Outcomes {
    read: u64,
    refused: u64,
    unread_lines: u64,
    reasons: BTreeSet<String>,
}

#[test]
fn no_account_balances_over_a_line_that_was_not_read() {
    let count = std::env::var("FSVERDICT_DAMAGED_RECORDINGS").ok().and_then(|text| text.parse().ok());
    let wanted = RecordRequest { below: Some("/s".into()), at_most: 1 << 34, device: None };
    let mut outcomes: BTreeMap<&str, Outcomes> = BTreeMap::new();
    let mut wrong: Vec<String> = Vec::new();
    let mut kinds: BTreeMap<String, u64> = BTreeMap::new();
    for seed in 0..count.unwrap_or(RECORDINGS) {
        let mut random = Random::with_seed(seed);
        let number = seed as usize % FORMS.len();
        let form = &FORMS[number];
        let mut text = form.heading.to_owned();
        let requests = 8 + random.index(30);
        (0..requests).for_each(|at| text.push_str(&(form.draw)(&mut random, at)));
        let mut lines: Vec<Vec<u8>> =
            text.split_inclusive('\n').map(|line| line.as_bytes().to_vec()).collect();
        for _ in 0..random.index(5) {
            damage(&mut random, form, &mut lines);
        }
        let bytes = lines.concat();
        let shown = String::from_utf8_lossy(&bytes);
        let outcome = outcomes.entry(form.name).or_default();
        match read_record(&bytes, &wanted) {
            Err(reason) => {
                outcome.refused += 1;
                outcome.reasons.insert(reason.what.chars().take(60).collect());
            }
            Ok(captured) => {
                outcome.read += 1;
                outcome.unread_lines += captured.account.lines.unread;
                let expected = expect(&PATTERNS[number], &shown, &text);
                if let Some(sentence) = first_contradiction(&captured, &expected) {
                    let count = kinds.entry(format!("{}: {sentence}", form.name)).or_default();
                    *count += 1;
                    if *count > 1 {
                        continue;
                    }
                    wrong.push(format!(
                        "seed {seed}, {}: not true: {sentence}\n{expected:?}\n{:?}\n{}",
                        form.name,
                        captured.account,
                        disputed_lines(&PATTERNS[number], &shown)
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} are wrong: {kinds:#?}, the first:\n{}", wrong.len(), wrong.join("\n"));
    for (name, outcome) in &outcomes {
        println!("{name}: {outcome:?}");
        assert!(outcome.read > outcome.refused && outcome.unread_lines > 0, "{name}: {outcome:?}");
    }
}

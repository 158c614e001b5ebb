//! Block events as `perf script` and trace-cmd print them: `name 42 [001] 12.345678: block:block_rq_issue: 8,0 WS 4096 () 2048 + 8 [name]`.

use super::LineFault;
use super::blkparse::{check_end, completion_error, is_device};
use super::block_event::{BlockEvent, BlockEventKind, BlockLine};
use super::block_events::EventSource;
use super::line_account::LineOutcome;
use super::lines::{parse_seconds, parse_stamp, whole_number};

/// The kernel's names of the events that are read.
const EVENTS: [(&str, BlockEventKind); 5] = [
    ("block_bio_queue:", BlockEventKind::Queued),
    ("block_bio_complete:", BlockEventKind::Completed { error: 0 }),
    ("block_rq_issue:", BlockEventKind::Issued),
    ("block_rq_requeue:", BlockEventKind::Requeued),
    ("block_rq_complete:", BlockEventKind::Completed { error: 0 }),
];

/// Whether a line is an event of the block layer, of any kind.
pub(super) fn is_line(line: &str) -> bool {
    split_line(line).is_some_and(|(_, name, details)| {
        name.starts_with("block_") && details.split_whitespace().next().is_some_and(is_device)
    })
}

/// The time, the event's name with its colon, and the rest of the line.
fn split_line(line: &str) -> Option<(&str, &str, &str)> {
    let at = line
        .find(" block:block_")
        .map(|at| at + " block:".len())
        .or_else(|| line.find(" block_").map(|at| at + 1))?;
    let (head, tail) = line.split_at(at);
    let (name, details) = tail.split_once(' ')?;
    let head = head.trim_end().strip_suffix("block:").unwrap_or(head);
    // A period, of perf script -F +period, stands between the time and the event.
    let is_period = |word: &&str| word.bytes().all(|byte| byte.is_ascii_digit());
    let time = head.split_whitespace().rev().find(|word| !is_period(word))?.strip_suffix(':')?;
    name.ends_with(':').then_some((time, name, details))
}

/// Other events of the block layer.
const OTHER_BLOCK_EVENTS: [&str; 17] = [
    "block_plug:",
    "block_unplug:",
    "block_getrq:",
    "block_sleeprq:",
    "block_split:",
    "block_rq_insert:",
    "block_rq_merge:",
    "block_rq_remap:",
    "block_rq_error:",
    "block_bio_remap:",
    "block_bio_backmerge:",
    "block_bio_frontmerge:",
    "block_bio_bounce:",
    "block_touch_buffer:",
    "block_dirty_buffer:",
    "block_io_start:",
    "block_io_done:",
];
/// Events whose names are one word.
const SINGLE_WORDS: [&str; 3] = ["print", "cycles", "instructions"];

pub(super) const SOURCE: EventSource = EventSource {
    parse: parse_event,
    is_line,
    hint: "record issue and completion, too: perf record -a -e 'block:block_rq_*' sleep 60; perf script > FILE",
};

fn parse_event(number: usize, line: &str) -> Result<BlockLine<'_>, LineFault> {
    let Some((at, name, details)) = split_line(line) else { return parse_other_line(line) };
    if OTHER_BLOCK_EVENTS.contains(&name) {
        return Ok(BlockLine::Other(LineOutcome::Noise("other events of the block layer")));
    }
    let Some((_, kind)) = EVENTS.iter().find(|(known, _)| *known == name) else {
        return Err(LineFault::NoEvent);
    };
    let words: Vec<&str> = details.split_whitespace().collect();
    let [device, rwbs, rest @ ..] = words.as_slice() else { return Err(LineFault::CutEvent) };
    if !is_device(device) {
        return Err(LineFault::CutEvent);
    }
    check_end(rwbs, rest)?;
    let plus = rest.iter().position(|word| *word == "+");
    let place = plus.and_then(|at| Some((rest.get(at.checked_sub(1)?)?, rest.get(at + 1)?)));
    let (sector, sectors) = match place {
        Some((sector, sectors)) => (whole_number(sector)?, whole_number(sectors)?),
        None => return Err(LineFault::NoPlace),
    };
    // The bytes stand before the command in brackets; older kernels print 0.
    if let [bytes, command, ..] = rest
        && command.starts_with('(')
        && let Ok(bytes @ 1..) = bytes.parse::<u64>()
        && sectors > 0
        && bytes / 512 != sectors
    {
        return Err(LineFault::SizesDisagree { bytes, sectors });
    }
    // A flush has the place -1, which is printed without a sign.
    let (sector, sectors) = if sectors == 0 { (0, 0) } else { (sector, sectors) };
    let kind = match kind {
        BlockEventKind::Completed { .. } => BlockEventKind::Completed { error: completion_error(rest)? },
        other => *other,
    };
    let (at_ns, decimals) = parse_stamp(at)?;
    let event = BlockEvent { line: number, device, kind, at_ns, decimals, rwbs, sector, sectors };
    Ok(BlockLine::Event(event))
}

/// An event of another subsystem, a stack trace, or a message of trace-cmd or perf.
fn parse_other_line(line: &str) -> Result<BlockLine<'_>, LineFault> {
    let mut words = line.split_whitespace().skip_while(|word| {
        let time = word.strip_suffix(':');
        !time.is_some_and(|time| time.contains('.') && parse_seconds(time).is_ok())
    });
    words.next();
    // A count stands before the name of a sample.
    let mut words = words.skip_while(|word| word.parse::<u64>().is_ok());
    let record = words.next().unwrap_or_default();
    let event = record.strip_suffix(':').unwrap_or_default();
    let details: Vec<&str> = words.collect();
    // A damaged event of the block layer still has a part of its name, its device or its place, or a word of another program
    // in the place of its name.
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_:-/".contains(&byte);
    let is_name = event.contains(['_', ':', '-']) || SINGLE_WORDS.contains(&event);
    let is_of_other = is_name
        && event.bytes().all(is_letter)
        && !event.contains("lock")
        && !details.first().is_some_and(|word| is_device(word))
        && !details.contains(&"+");
    let trimmed = line.trim();
    let first = trimmed.split(' ').next().unwrap_or_default();
    // An address, a symbol and a file in brackets; every event has a colon before a blank.
    let is_frame = line.starts_with(char::is_whitespace)
        && trimmed.ends_with(')')
        && trimmed.contains(" (")
        && !trimmed.contains(": ")
        && !first.is_empty()
        && first.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_record = record.strip_prefix("PERF_RECORD_").is_some_and(|kind| !kind.starts_with("LOST"));
    let is_heading = trimmed.strip_prefix("cpus=").is_some_and(|count| count.parse::<u32>().is_ok());
    let rules = [
        (is_of_other, "events of other subsystems"),
        (is_frame, "stack traces (perf)"),
        (is_record, "records of tasks and memory (perf)"),
        (is_heading, "the number of processors (trace-cmd)"),
        (trimmed.starts_with("[ perf record: "), "messages of perf"),
    ];
    let rule = rules.iter().find(|(holds, _)| *holds).ok_or(LineFault::NoEvent)?;
    Ok(BlockLine::Other(LineOutcome::Noise(rule.1)))
}

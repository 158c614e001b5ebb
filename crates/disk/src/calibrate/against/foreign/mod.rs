//! Reads recordings of requests that other programs wrote. Recognises the form by the structure of the first lines,
//! checks every line, and counts the requests that are not read.

mod account;
mod biosnoop;
mod blkparse;
mod block_event;
mod block_events;
mod fault;
mod fio_log;
mod line_account;
mod lines;
mod perf;
mod serial;
#[cfg(test)]
mod tests;
mod tracker;

use super::measured::{Durability, Measured};
use crate::device::trace::{TraceReader, Traced};

pub use account::{RequestAccount, UnreadRequests};
pub use fault::{LineFault, TraceFault};
pub use line_account::{BLANK_LINES, LineAccount, LineOutcome};

/// The most requests that a trace may have; a longer one would take minutes and memory for nothing.
const MOST_REQUESTS: usize = 4_000_000;
/// Nanoseconds of a whole trace.
const LONGEST_NS: u64 = 100_000_000_000_000_000;
/// Lines among which the form is looked for: perf prints thousands about tasks and memory first.
const MOST_PREAMBLE: usize = 100_000;
/// Lines of any form from which the form of the whole is told.
const LOOKED_AT: usize = 200;
/// Why a last line without its end is not read.
const TORN: &str = "it is the last one and torn: the recording ends without a line end";
/// The reason for requests in our own traces that had not completed at the end.
const UNDERWAY: &str = "issued, but not completed before the recording ended";

/// A form in which requests are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordForm {
    /// A trace of fsverdict's own, in bytes.
    Own,
    /// Lines `R|W [word] sector sectors µs µs`.
    Serial,
    FioLog,
    Blkparse,
    /// Block events of perf script or trace-cmd.
    Perf,
    Biosnoop,
}

impl RecordForm {
    /// The name of the form for display.
    pub fn name(self) -> &'static str {
        match self {
            Self::Own => "a trace of fsverdict's",
            Self::Serial => "lines of single requests",
            Self::FioLog => "a latency log of fio's",
            Self::Blkparse => "blkparse's text",
            Self::Perf => "block events of perf script",
            Self::Biosnoop => "what biosnoop printed",
        }
    }
}

/// A recording of requests, with an account of those that were not read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestRecord {
    pub form: RecordForm,
    /// In the order of their issue, each with its time.
    pub requests: Vec<Measured>,
    pub account: RequestAccount,
    /// Every line of its text by outcome.
    pub lines: LineAccount,
    /// Sentences for people.
    pub notes: Vec<String>,
}

/// The requests in the lines of one form.
struct ReadLines {
    requests: Vec<Measured>,
    account: RequestAccount,
    lines: LineAccount,
    notes: Vec<String>,
}

impl ReadLines {
    /// Requests and their account; the lines are counted by the reader of the whole text.
    fn new(requests: Vec<Measured>, account: RequestAccount) -> Self {
        Self { requests, account, lines: LineAccount::default(), notes: Vec::new() }
    }
}

const FORMS: &str = "known are: lines `R|W [word] sector sectors µs-taken µs-until-the-next`, fio's latency log with \
                     --log_offset=1, blkparse's text, block events of perf script, what biosnoop prints, and a trace of fsverdict's";

/// Binary files of other programs: their first bytes, their name, and how to turn them into text.
const BINARY: [(&[u8], &str, &str); 9] = [
    (&[0x07, 0x74, 0x61, 0x65], "the kernel's binary trace", "blkparse makes it text: blkparse -i NAME"),
    (&[0x65, 0x61, 0x74, 0x07], "the kernel's binary trace", "blkparse makes it text: blkparse -i NAME"),
    (b"PERFILE2", "perf's binary recording", "perf makes it text: perf script -i FILE"),
    (
        &[0x17, 0x08, 0x44, b't', b'r', b'a', b'c', b'i'],
        "trace-cmd's binary recording",
        "trace-cmd makes it text: trace-cmd report -i FILE",
    ),
    (&[0x1f, 0x8b], "compressed by gzip", "unpack it first: gunzip FILE"),
    (&[0x28, 0xb5, 0x2f, 0xfd], "compressed by zstd", "unpack it first: zstd -d FILE"),
    (&[0xfd, b'7', b'z', b'X', b'Z'], "compressed by xz", "unpack it first: xz -d FILE"),
    (&[0x78, 0x9c], "a log that fio compressed", "fio makes it text: fio --inflate-log=NAME > FILE"),
    (b"BZh", "compressed by bzip2", "unpack it first: bunzip2 FILE"),
];

/// Reads a trace: returns the requests in the order of their issue, each with its time. Refuses one with a line that is not
/// read: a model that is held against it would be judged by a part.
///
/// # Errors
/// With the line that is wrong, or why the whole is no trace.
pub fn read_recording(bytes: &[u8]) -> Result<Vec<Measured>, TraceFault> {
    let record = read_record(bytes, None)?;
    if let Some((line, reason)) = record.lines.first_unread {
        return Err(whole_fault(
            &format!("line {line}: {reason}"),
            "take out the lines that are no requests",
        ));
    }
    if record.lines.lost_events > 0 {
        let what = format!("it says itself that {} of its events were lost", record.lines.lost_events);
        return Err(whole_fault(&what, "record again with larger buffers"));
    }
    Ok(record.requests)
}

/// Reads a recording of requests: those of one device, where it has several.
///
/// # Errors
/// With the line that is wrong, or why the whole is no recording of requests that were done.
pub fn read_record(bytes: &[u8], device: Option<&str>) -> Result<RequestRecord, TraceFault> {
    if let Some((_, what, hint)) = BINARY.iter().find(|(start, _, _)| bytes.starts_with(start)) {
        return Err(whole_fault(&format!("it is {what}, and text is wanted"), hint));
    }
    let (form, mut read) = match std::str::from_utf8(bytes) {
        Ok(text) if TraceReader::new(bytes).is_err() => read_text(text, device)?,
        _ => (RecordForm::Own, read_own_trace(bytes)?),
    };
    read.requests.sort_by_key(|request| request.record.submitted_ns);
    let ReadLines { requests, account, lines, notes } = read;
    let Some(first) = requests.first() else {
        return Err(whole_fault("there is no request in it that was done", FORMS));
    };
    let start_ns = first.record.submitted_ns;
    if requests
        .iter()
        .filter_map(|request| request.record.completed_ns)
        .any(|end_ns| end_ns - start_ns > LONGEST_NS)
    {
        return Err(whole_fault(
            "it takes more than three years",
            "its times are in another unit than its form says",
        ));
    }
    Ok(RequestRecord { form, requests, account, lines, notes })
}

fn whole_fault(what: &str, hint: &str) -> TraceFault {
    TraceFault::Whole { what: what.to_owned(), hint: hint.to_owned() }
}

fn too_many() -> TraceFault {
    whole_fault(
        &format!("there are more than {MOST_REQUESTS} requests"),
        "give a part of it: head -n 100000 TRACE",
    )
}

fn read_own_trace(bytes: &[u8]) -> Result<ReadLines, TraceFault> {
    let records = TraceReader::new(bytes)
        .and_then(|reader| reader.take(MOST_REQUESTS).collect::<Result<Vec<Traced>, _>>());
    let records = records.map_err(|_| {
        let hint = format!("the kernel's binary trace is made text by blkparse; {FORMS}");
        whole_fault("it is neither text nor a trace of fsverdict's", &hint)
    })?;
    let mut account = RequestAccount { seen: records.len() as u64, ..RequestAccount::default() };
    let mut requests = Vec::with_capacity(records.len());
    for (at, record) in records.into_iter().enumerate() {
        // A request that never completed has no time.
        if record.completed_ns.is_some() {
            requests.push(Measured {
                record,
                word: String::new(),
                durability: Durability::default(),
                line: 0,
            });
        } else {
            account.leave_out(UNDERWAY, account::UnreadRequest::of_record(at + 1, &record));
        }
    }
    Ok(ReadLines::new(requests, account))
}

/// Tells the form of a line from its structure.
fn form_of_line(line: &str) -> Option<RecordForm> {
    if blkparse::is_line(line) {
        return Some(RecordForm::Blkparse);
    }
    if perf::is_line(line) {
        return Some(RecordForm::Perf);
    }
    if fio_log::is_line(line) {
        return Some(RecordForm::FioLog);
    }
    if serial::is_line(line) {
        return Some(RecordForm::Serial);
    }
    biosnoop::is_line(line).then_some(RecordForm::Biosnoop)
}

/// The form that most of the first lines have; other lines may stand before and between.
fn form_of(text: &str) -> Option<RecordForm> {
    let filled = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut counts: Vec<(RecordForm, usize)> = Vec::new();
    for form in filled.take(MOST_PREAMBLE).filter_map(form_of_line).take(LOOKED_AT) {
        match counts.iter_mut().find(|(known, _)| *known == form) {
            Some((_, count)) => *count += 1,
            None => counts.push((form, 1)),
        }
    }
    let most = counts.iter().map(|(_, count)| *count).max()?;
    counts.into_iter().find(|(_, count)| *count == most).map(|(form, _)| form)
}

fn read_text(text: &str, device: Option<&str>) -> Result<(RecordForm, ReadLines), TraceFault> {
    let first = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'));
    let first = first.ok_or_else(|| whole_fault("it is empty", FORMS))?;
    if first.starts_with("fio version") {
        let hint = "run fio with --write_lat_log=NAME --log_offset=1, which writes the time of each request";
        return Err(whole_fault("fio's iolog has the requests, but not their times", hint));
    }
    if let Some(fault) = text.lines().take(LOOKED_AT).find_map(biosnoop::heading_fault) {
        return Err(fault);
    }
    let form = form_of(text).ok_or_else(|| match text.contains("block_rq_issue: ") {
        true => whole_fault("it has block events without their times", perf::SOURCE.hint),
        false => whole_fault("its format is unknown", FORMS),
    })?;
    let read = match form {
        RecordForm::Serial => read_lines(text, serial::Serial::default())?,
        RecordForm::FioLog => read_lines(text, fio_log::FioLog::new(text))?,
        RecordForm::Blkparse => block_events::read_block_events(text, blkparse::SOURCE, device)?,
        RecordForm::Perf => block_events::read_block_events(text, perf::SOURCE, device)?,
        RecordForm::Biosnoop => biosnoop::read_biosnoop(text, device)?,
        RecordForm::Own => return Err(whole_fault("it is text, and no trace of fsverdict's", FORMS)),
    };
    Ok((form, read))
}

/// One form of lines.
trait LineForm {
    /// Takes in the line of this number, and returns its outcome: the type leaves no line without an outcome. A fault is
    /// that of a line that fits no rule.
    fn read_line(&mut self, number: usize, line: &str) -> Result<LineOutcome, LineFault>;

    fn taken_count(&self) -> usize;

    /// Whether a line that is cut at its end is always told by its shape. Where a number ends a line, it is not.
    fn shows_end(&self) -> bool;

    fn into_lines(self) -> ReadLines;
}

/// Reads every line of a text, and accounts for each.
fn read_lines(text: &str, mut form: impl LineForm) -> Result<ReadLines, TraceFault> {
    let mut account = LineAccount::default();
    let mut first_fault = None;
    let mut lines = (1..).zip(text.lines()).peekable();
    while let Some((number, line)) = lines.next() {
        let trimmed = line.trim();
        let is_torn = lines.peek().is_none() && !text.ends_with('\n');
        let outcome = if trimmed.is_empty() {
            LineOutcome::Noise(BLANK_LINES)
        } else if trimmed.starts_with('#') {
            LineOutcome::of_loss_mark(trimmed).unwrap_or(LineOutcome::Noise("comments"))
        } else if is_torn && !form.shows_end() {
            LineOutcome::of_strange_line(trimmed, TORN.to_owned())
        } else {
            match form.read_line(number, line) {
                Ok(outcome) => outcome,
                Err(fault @ LineFault::NoSingleRequests(_)) => {
                    return Err(TraceFault::Line { line: number, fault });
                }
                Err(fault) => {
                    let reason = if is_torn { TORN.to_owned() } else { fault.to_string() };
                    let outcome = LineOutcome::of_strange_line(trimmed, reason);
                    if matches!(outcome, LineOutcome::Unread(_)) {
                        first_fault.get_or_insert(TraceFault::Line { line: number, fault });
                    }
                    outcome
                }
            }
        };
        account.count_line(number as u64, outcome);
        if form.taken_count() > MOST_REQUESTS {
            return Err(too_many());
        }
    }
    let read = form.into_lines();
    match first_fault {
        Some(fault) if read.requests.is_empty() => Err(fault),
        _ => Ok(ReadLines { lines: account, ..read }),
    }
}

//! Reads traces of other programs, in four forms that are distinguished by their first line. The input is untrusted,
//! and every line is checked.

use std::collections::BTreeMap;

use super::measured::Measured;
use crate::device::Action;
use crate::device::trace::{Flags, TraceReader, Traced};
use fsverdict_text::{Hinted, Reason};

/// Most requests of a trace: a longer one would take minutes and memory without a benefit.
const MAX_REQUESTS: usize = 4_000_000;
/// Largest request, in sectors: 1 GiB.
const MAX_SECTORS: u64 = 1 << 21;
/// Longest duration of a trace, in nanoseconds.
const MAX_DURATION_NS: u64 = 100_000_000_000_000_000;
/// Largest timestamp, in nanoseconds; it may count from the epoch.
const MAX_TIME_NS: u64 = 8_000_000_000_000_000_000;

/// Why a trace cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TraceFault {
    #[error("line {line}: {what}")]
    Line { line: usize, what: String },
    #[error("{what}")]
    Whole { what: String, hint: String },
}

impl Hinted for TraceFault {
    fn hint(&self) -> Option<String> {
        match self {
            TraceFault::Line { .. } => None,
            TraceFault::Whole { hint, .. } => Some(hint.clone()),
        }
    }

    fn reason(&self) -> Reason {
        Reason::new(self, self.hint().unwrap_or_default())
    }
}

const FORMS: &str = "known are: lines `R|W [word] sector sectors µs-taken µs-until-the-next`, fio's latency log with \
                     --log_offset=1, blkparse's text, and a trace of fsverdict's";

/// Reads a trace: requests in the order of their submission, with the time that each took.
///
/// # Errors
/// Names the line that is wrong, or says why the file is no trace.
pub fn read(bytes: &[u8]) -> Result<Vec<Measured>, TraceFault> {
    let mut trace = match std::str::from_utf8(bytes) {
        Ok(text) if TraceReader::new(bytes).is_err() => read_text(text)?,
        _ => read_own_trace(bytes)?,
    };
    // Requests that never completed have no measured time.
    trace.retain(|request| request.record.completed_ns.is_some());
    trace.sort_by_key(|request| request.record.submitted_ns);
    if trace.is_empty() {
        return Err(whole_fault("there is no request in it that was done", FORMS));
    }
    let start_ns = trace[0].record.submitted_ns;
    if trace
        .iter()
        .filter_map(|request| request.record.completed_ns)
        .any(|end_ns| end_ns - start_ns > MAX_DURATION_NS)
    {
        return Err(whole_fault(
            "it takes more than three years",
            "its times are in another unit than its form says",
        ));
    }
    Ok(trace)
}

fn whole_fault(what: &str, hint: &str) -> TraceFault {
    TraceFault::Whole { what: what.to_owned(), hint: hint.to_owned() }
}

/// Reads a trace that fsverdict wrote.
fn read_own_trace(bytes: &[u8]) -> Result<Vec<Measured>, TraceFault> {
    let records = TraceReader::new(bytes)
        .and_then(|reader| reader.take(MAX_REQUESTS).collect::<Result<Vec<Traced>, _>>());
    let records = records.map_err(|_| {
        let hint = format!("the kernel's binary trace is made text by blkparse; {FORMS}");
        whole_fault("it is neither text nor a trace of fsverdict's", &hint)
    })?;
    Ok(records.into_iter().map(|record| Measured { record, word: String::new() }).collect())
}

/// Reads a text trace in the form that its first line shows.
fn read_text(text: &str) -> Result<Vec<Measured>, TraceFault> {
    let first = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'));
    let first = first.ok_or_else(|| whole_fault("it is empty", FORMS))?;
    let words: Vec<&str> = first.split_whitespace().collect();
    if first.starts_with("fio version") {
        let hint = "a job with --write_lat_log=NAME --log_offset=1 writes what each request took";
        return Err(whole_fault("fio's iolog says what was asked for, and not how long it took", hint));
    }
    match words.as_slice() {
        ["R" | "W", ..] => read_lines(text, Serial::default()),
        [device, ..] if is_device(device) => read_lines(text, Blkparse::default()),
        _ if first.contains(',') => read_lines(text, FioLog::default()),
        _ => Err(whole_fault("it is in no form of a trace that is known", FORMS)),
    }
}

/// Parses traces of one form.
trait ForeignTrace {
    /// Parses a line; `Err` says what is wrong with it.
    fn add_line(&mut self, add_line: &str) -> Result<(), String>;

    /// Number of requests that are held.
    fn count(&self) -> usize;

    /// The parsed requests.
    fn finish(self) -> Vec<Measured>;
}

fn read_lines(text: &str, mut parser: impl ForeignTrace) -> Result<Vec<Measured>, TraceFault> {
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        parser.add_line(line).map_err(|what| TraceFault::Line { line: index + 1, what })?;
        if parser.count() > MAX_REQUESTS {
            let message = format!("there are more than {MAX_REQUESTS} requests");
            return Err(whole_fault(&message, "give a part of it: head -n 100000 TRACE"));
        }
    }
    Ok(parser.finish())
}

/// A trace of requests at queue depth 1, each with the time that it took and the time until the next.
#[derive(Default)]
struct Serial {
    now_ns: u64,
    requests: Vec<Measured>,
}

impl ForeignTrace for Serial {
    fn add_line(&mut self, line: &str) -> Result<(), String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (kind, word, rest) = match words.as_slice() {
            [kind, word, rest @ ..] if word.parse::<f64>().is_err() => (*kind, word.to_lowercase(), rest),
            [kind, rest @ ..] => (*kind, String::new(), rest),
            [] => return Ok(()),
        };
        let operation = match kind {
            "R" => Action::Read,
            "W" => Action::Write,
            other => return Err(format!("R or W is wanted first, not {}", quote_word(other))),
        };
        let [sector, sectors, took, think] = rest else {
            let message = "sector, sectors, µs taken and µs until the next are wanted";
            return Err(format!("{message}; there are {} numbers", rest.len()));
        };
        let (sector, sectors) = (parse_whole(sector)?, parse_whole(sectors)?);
        let (took_ns, think_ns) = (parse_time(took, 1e3)?, parse_time(think, 1e3)?);
        let record = build_record(operation, sector, sectors, self.now_ns, took_ns)?;
        self.now_ns = self.now_ns.saturating_add(took_ns.saturating_add(think_ns)).min(MAX_TIME_NS);
        self.requests.push(Measured { record, word });
        Ok(())
    }

    fn count(&self) -> usize {
        self.requests.len()
    }

    fn finish(self) -> Vec<Measured> {
        self.requests
    }
}

/// Parses fio's latency log, `time (ms), latency (ns), direction, bytes, offset, priority[, issue time (ns)]`: one
/// line at each completion (fio(1), "Log file formats").
#[derive(Default)]
struct FioLog {
    requests: Vec<Measured>,
}

impl ForeignTrace for FioLog {
    fn add_line(&mut self, line: &str) -> Result<(), String> {
        let words: Vec<&str> = line.split(',').map(str::trim).collect();
        let [done, took, direction, bytes, offset, rest @ ..] = words.as_slice() else {
            return Err("a log of fio's without offsets: run it with --log_offset=1".to_owned());
        };
        let operation = match *direction {
            "0" => Action::Read,
            "1" => Action::Write,
            "2" => Action::Discard,
            "3" => Action::Flush,
            other => return Err(format!("there is no direction {}", quote_word(other))),
        };
        let took_ns = parse_time(took, 1.0)?;
        let issued_ns = match rest {
            [_, issued] => parse_whole(issued)?,
            _ => parse_time(done, 1e6)?.saturating_sub(took_ns),
        };
        let (offset, bytes) = (parse_whole(offset)?, parse_whole(bytes)?);
        if offset % 512 != 0 || bytes % 512 != 0 {
            return Err("offset and length are wanted in bytes, whole sectors of 512".to_owned());
        }
        let record = build_record(operation, offset / 512, bytes / 512, issued_ns, took_ns)?;
        self.requests.push(Measured { record, word: String::new() });
        Ok(())
    }

    fn count(&self) -> usize {
        self.requests.len()
    }

    fn finish(self) -> Vec<Measured> {
        self.requests
    }
}

/// Parses the output of blkparse: `8,0 1 42 0.001234 777 D R 2048 + 8 [name]`, with D when the request was issued to
/// the driver and C when it completed.
#[derive(Default)]
struct Blkparse {
    pending: BTreeMap<(u64, u64), (Action, u64)>,
    requests: Vec<Measured>,
}

impl ForeignTrace for Blkparse {
    fn add_line(&mut self, line: &str) -> Result<(), String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        // The summary below the events is skipped.
        let [device, _, _, time_s, _, event @ ("D" | "C"), flags, rest @ ..] = words.as_slice() else {
            return Ok(());
        };
        if !is_device(device) {
            return Ok(());
        }
        let at_ns = parse_time(time_s, 1e9)?;
        let (sector, sectors) = match rest {
            [sector, "+", sectors, ..] => (parse_whole(sector)?, parse_whole(sectors)?),
            _ if flags.contains('F') => (0, 0),
            // This is a command that is neither a read nor a write.
            _ => return Ok(()),
        };
        let operation = match flags {
            flags if flags.contains('D') => Action::Discard,
            flags if flags.contains('R') => Action::Read,
            flags if sectors == 0 && flags.contains('F') => Action::Flush,
            flags if flags.contains('W') => Action::Write,
            _ => return Ok(()),
        };
        if *event == "D" {
            self.pending.insert((sector, sectors), (operation, at_ns));
            return Ok(());
        }
        // Requests that were issued before the trace began are skipped.
        let Some((operation, issued_ns)) = self.pending.remove(&(sector, sectors)) else { return Ok(()) };
        let record = build_record(operation, sector, sectors, issued_ns, at_ns.saturating_sub(issued_ns))?;
        self.requests.push(Measured { record, word: String::new() });
        Ok(())
    }

    fn count(&self) -> usize {
        self.requests.len().max(self.pending.len())
    }

    fn finish(self) -> Vec<Measured> {
        self.requests
    }
}

/// Whether a word is a device number, such as `8,0`.
fn is_device(word: &str) -> bool {
    word.split_once(',').is_some_and(|(major, minor)| {
        major.parse::<u16>().is_ok() && minor.parse::<u32>().is_ok() && !minor.is_empty()
    })
}

fn build_record(
    operation: Action,
    sector: u64,
    sectors: u64,
    issued_ns: u64,
    took_ns: u64,
) -> Result<Traced, String> {
    if sectors > MAX_SECTORS || sector > 1 << 50 {
        return Err(format!("no request is of {sectors} sectors from {sector} on"));
    }
    Ok(Traced {
        submitted_ns: issued_ns,
        completed_ns: Some(issued_ns.saturating_add(took_ns)),
        operation,
        sector,
        sectors: sectors as u32,
        flags: Flags::default(),
        by: None,
    })
}

fn parse_whole(word: &str) -> Result<u64, String> {
    word.parse().map_err(|_| format!("{} is no whole number", quote_word(word)))
}

/// Parses a time in a unit of `unit_ns` nanoseconds; returns nanoseconds.
fn parse_time(word: &str, unit_ns: f64) -> Result<u64, String> {
    match word.parse::<f64>().map(|number| number * unit_ns) {
        Ok(ns) if (0.0..=MAX_TIME_NS as f64).contains(&ns) => Ok(ns.round() as u64),
        _ => Err(format!("{} is no time", quote_word(word))),
    }
}

/// Quotes and shortens a word of the input for a message.
fn quote_word(word: &str) -> String {
    let short: String = word.chars().take(40).collect();
    format!("{short:?}")
}

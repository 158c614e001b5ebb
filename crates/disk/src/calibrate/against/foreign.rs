//! Traces as others wrote them, in four forms that are told apart by their first line: a stranger's bytes, of which every line
//! is checked.

use std::collections::BTreeMap;

use super::measured::Measured;
use crate::device::Action;
use crate::device::trace::{Flags, TraceReader, Traced};
use fsverdict_text::{Hinted, Reason};

/// Requests that a trace may have; what is longer would take minutes and memory for nothing.
const MOST_REQUESTS: usize = 4_000_000;
/// Sectors of one request: 1 GiB.
const LARGEST_SECTORS: u64 = 1 << 21;
/// Nanoseconds of a whole trace.
const LONGEST_NS: u64 = 100_000_000_000_000_000;
/// Nanoseconds of a time in it, which may be one of the clock.
const LATEST_NS: u64 = 8_000_000_000_000_000_000;

/// A trace that cannot be read.
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

/// Reads a trace: requests in the order of their issue, with what each took.
///
/// # Errors
/// With the line that is wrong, or why the whole is no trace.
pub fn read(bytes: &[u8]) -> Result<Vec<Measured>, TraceFault> {
    let mut trace = match std::str::from_utf8(bytes) {
        Ok(text) if TraceReader::new(bytes).is_err() => read_text(text)?,
        _ => own(bytes)?,
    };
    // Of what was never done nothing can be said.
    trace.retain(|one| one.record.completed_ns.is_some());
    trace.sort_by_key(|one| one.record.submitted_ns);
    if trace.is_empty() {
        return Err(whole("there is no request in it that was done", FORMS));
    }
    let start_ns = trace[0].record.submitted_ns;
    if trace.iter().filter_map(|one| one.record.completed_ns).any(|end_ns| end_ns - start_ns > LONGEST_NS) {
        return Err(whole(
            "it takes more than three years",
            "its times are in another unit than its form says",
        ));
    }
    Ok(trace)
}

fn whole(what: &str, hint: &str) -> TraceFault {
    TraceFault::Whole { what: what.to_owned(), hint: hint.to_owned() }
}

fn own(bytes: &[u8]) -> Result<Vec<Measured>, TraceFault> {
    let records = TraceReader::new(bytes)
        .and_then(|reader| reader.take(MOST_REQUESTS).collect::<Result<Vec<Traced>, _>>());
    let records = records.map_err(|_| {
        let hint = format!("the kernel's binary trace is made text by blkparse; {FORMS}");
        whole("it is neither text nor a trace of fsverdict's", &hint)
    })?;
    Ok(records.into_iter().map(|record| Measured { record, word: String::new() }).collect())
}

fn read_text(text: &str) -> Result<Vec<Measured>, TraceFault> {
    let first = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'));
    let first = first.ok_or_else(|| whole("it is empty", FORMS))?;
    let words: Vec<&str> = first.split_whitespace().collect();
    if first.starts_with("fio version") {
        let hint = "a job with --write_lat_log=NAME --log_offset=1 writes what each request took";
        return Err(whole("fio's iolog says what was asked for, and not how long it took", hint));
    }
    match words.as_slice() {
        ["R" | "W", ..] => lines(text, Serial::default()),
        [device, ..] if is_device(device) => lines(text, Blkparse::default()),
        _ if first.contains(',') => lines(text, FioLog::default()),
        _ => Err(whole("it is in no form of a trace that is known", FORMS)),
    }
}

/// One form of lines.
trait ForeignTrace {
    /// Takes a line in; `Err` says what is wrong with it.
    fn line(&mut self, line: &str) -> Result<(), String>;

    fn taken(&self) -> usize;

    fn end(self) -> Vec<Measured>;
}

fn lines(text: &str, mut form: impl ForeignTrace) -> Result<Vec<Measured>, TraceFault> {
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        form.line(line).map_err(|what| TraceFault::Line { line: at + 1, what })?;
        if form.taken() > MOST_REQUESTS {
            let what = format!("there are more than {MOST_REQUESTS} requests");
            return Err(whole(&what, "give a part of it: head -n 100000 TRACE"));
        }
    }
    Ok(form.end())
}

/// One request at a time, each with what it took and how long it was until the next.
#[derive(Default)]
struct Serial {
    now_ns: u64,
    taken: Vec<Measured>,
}

impl ForeignTrace for Serial {
    fn line(&mut self, line: &str) -> Result<(), String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (kind, word, rest) = match words.as_slice() {
            [kind, word, rest @ ..] if word.parse::<f64>().is_err() => (*kind, word.to_lowercase(), rest),
            [kind, rest @ ..] => (*kind, String::new(), rest),
            [] => return Ok(()),
        };
        let operation = match kind {
            "R" => Action::Read,
            "W" => Action::Write,
            other => return Err(format!("R or W is wanted first, not {}", shown(other))),
        };
        let [sector, sectors, took, think] = rest else {
            let what = "sector, sectors, µs taken and µs until the next are wanted";
            return Err(format!("{what}; there are {} numbers", rest.len()));
        };
        let (sector, sectors) = (whole_number(sector)?, whole_number(sectors)?);
        let (took_ns, think_ns) = (time(took, 1e3)?, time(think, 1e3)?);
        let record = record(operation, sector, sectors, self.now_ns, took_ns)?;
        self.now_ns = self.now_ns.saturating_add(took_ns.saturating_add(think_ns)).min(LATEST_NS);
        self.taken.push(Measured { record, word });
        Ok(())
    }

    fn taken(&self) -> usize {
        self.taken.len()
    }

    fn end(self) -> Vec<Measured> {
        self.taken
    }
}

/// fio's latency log, `time (ms), latency (ns), direction, bytes, offset, priority[, issue time (ns)]`: a line when a request
/// was done (fio(1), "Log file formats").
#[derive(Default)]
struct FioLog {
    taken: Vec<Measured>,
}

impl ForeignTrace for FioLog {
    fn line(&mut self, line: &str) -> Result<(), String> {
        let words: Vec<&str> = line.split(',').map(str::trim).collect();
        let [done, took, direction, bytes, offset, rest @ ..] = words.as_slice() else {
            return Err("a log of fio's without offsets: run it with --log_offset=1".to_owned());
        };
        let operation = match *direction {
            "0" => Action::Read,
            "1" => Action::Write,
            "2" => Action::Discard,
            "3" => Action::Flush,
            other => return Err(format!("there is no direction {}", shown(other))),
        };
        let took_ns = time(took, 1.0)?;
        let issued_ns = match rest {
            [_, issued] => whole_number(issued)?,
            _ => time(done, 1e6)?.saturating_sub(took_ns),
        };
        let (offset, bytes) = (whole_number(offset)?, whole_number(bytes)?);
        if offset % 512 != 0 || bytes % 512 != 0 {
            return Err("offset and length are wanted in bytes, whole sectors of 512".to_owned());
        }
        let record = record(operation, offset / 512, bytes / 512, issued_ns, took_ns)?;
        self.taken.push(Measured { record, word: String::new() });
        Ok(())
    }

    fn taken(&self) -> usize {
        self.taken.len()
    }

    fn end(self) -> Vec<Measured> {
        self.taken
    }
}

/// What blkparse prints: `8,0 1 42 0.001234 777 D R 2048 + 8 [name]`, D when the driver was given a request and C when it was done.
#[derive(Default)]
struct Blkparse {
    underway: BTreeMap<(u64, u64), (Action, u64)>,
    taken: Vec<Measured>,
}

impl ForeignTrace for Blkparse {
    fn line(&mut self, line: &str) -> Result<(), String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        // Sums stand below the events.
        let [device, _, _, at, _, event @ ("D" | "C"), flags, rest @ ..] = words.as_slice() else {
            return Ok(());
        };
        if !is_device(device) {
            return Ok(());
        }
        let at_ns = time(at, 1e9)?;
        let (sector, sectors) = match rest {
            [sector, "+", sectors, ..] => (whole_number(sector)?, whole_number(sectors)?),
            _ if flags.contains('F') => (0, 0),
            // A command that is neither read nor write.
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
            self.underway.insert((sector, sectors), (operation, at_ns));
            return Ok(());
        }
        // What was given to the driver before the trace began is not known.
        let Some((operation, issued_ns)) = self.underway.remove(&(sector, sectors)) else { return Ok(()) };
        let record = record(operation, sector, sectors, issued_ns, at_ns.saturating_sub(issued_ns))?;
        self.taken.push(Measured { record, word: String::new() });
        Ok(())
    }

    fn taken(&self) -> usize {
        self.taken.len().max(self.underway.len())
    }

    fn end(self) -> Vec<Measured> {
        self.taken
    }
}

/// `8,0`.
fn is_device(word: &str) -> bool {
    word.split_once(',').is_some_and(|(major, minor)| {
        major.parse::<u16>().is_ok() && minor.parse::<u32>().is_ok() && !minor.is_empty()
    })
}

fn record(
    operation: Action,
    sector: u64,
    sectors: u64,
    issued_ns: u64,
    took_ns: u64,
) -> Result<Traced, String> {
    if sectors > LARGEST_SECTORS || sector > 1 << 50 {
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

fn whole_number(word: &str) -> Result<u64, String> {
    word.parse().map_err(|_| format!("{} is no whole number", shown(word)))
}

/// A time in some unit, in nanoseconds.
fn time(word: &str, unit_ns: f64) -> Result<u64, String> {
    match word.parse::<f64>().map(|number| number * unit_ns) {
        Ok(ns) if (0.0..=LATEST_NS as f64).contains(&ns) => Ok(ns.round() as u64),
        _ => Err(format!("{} is no time", shown(word))),
    }
}

/// A stranger's word, in quotes and no longer than a line can do with.
fn shown(word: &str) -> String {
    let short: String = word.chars().take(40).collect();
    format!("{short:?}")
}

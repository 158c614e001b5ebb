//! Converts recordings of other programs into an anonymous trace of calls: fio's latency logs and iologs, blkparse and
//! perf output, strace output. All input is untrusted: every line is validated.

mod account;
mod calls;
#[cfg(test)]
mod damaged_tests;
mod finish;
mod folded;
mod iolog;
mod iolog_lines;
mod known_files;
mod known_sizes;
mod open_calls;
mod other_forms;
mod record_line;
mod request_recorder;
mod requests;
#[cfg(test)]
mod requests_tests;
mod strace;

use std::borrow::Cow;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fsverdict_calls::CallTrace;
use fsverdict_folders::{Links, open_regular, read_beginning, read_regular};
use fsverdict_text::Reason;
use rustix::fs::{CWD, OFlags};

pub use account::{Account, CallOutcome, CallWeight, NotKept, REFUSAL_SHARE, WARNING_SHARE};
pub use record_line::RecordLine;
pub use strace::STRACE_COMMAND;

/// Bytes of text that a trace takes at most: a plan may have 1 MiB, and has more to say.
const MOST_TEXT: usize = 960 << 10;

/// Bytes of a recording by which its form is told.
const BEGINNING: usize = 256 << 10;

/// The mark with which some editors begin a text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Bytes of a recording that are read at most where all of it is in memory.
const LONGEST_RECORD: u64 = 1 << 30;

/// Selects the part of a record to convert.
#[derive(Debug, Clone)]
pub struct RecordRequest {
    /// The folder of which the files are meant, where a record has paths.
    pub below: Option<PathBuf>,
    /// Bytes that the places of a device or file may take which requests are on.
    pub at_most: u64,
    /// The device from which requests are selected, if a record has several: `8,16`, `sda`.
    pub device: Option<String>,
}

/// A trace converted from a record, and an account of the rest.
#[derive(Debug, Clone, PartialEq)]
pub struct CapturedCalls {
    pub trace: CallTrace,
    /// The time that the recorded program spent in the calls of the trace; zero if the record has no durations.
    pub in_calls: Duration,
    /// The format as which the record was read.
    pub form: &'static str,
    /// Sentences for users: how the trace was shortened, and which information it lacks.
    pub notes: Vec<String>,
    /// The outcome of every call or request of the recording.
    pub account: Account,
}

/// Makes a trace of a record.
///
/// # Errors
/// Where it is no record that is known, or nothing in it can be kept.
pub fn read_record(bytes: &[u8], wanted: &RecordRequest) -> Result<CapturedCalls, Reason> {
    // A name may be cut within a letter, and an editor may have put a mark before the text.
    let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
    let beginning = &bytes[..bytes.len().min(BEGINNING)];
    if let Some(form) = other_forms::find_form(beginning) {
        return Err(form.to_reason());
    }
    if strace::is_strace(beginning) {
        strace::check_form(beginning)?;
        return strace::read_strace(Box::new(bytes), wanted.below.as_deref(), beginning);
    }
    let lossy = String::from_utf8_lossy(bytes);
    let is_text = matches!(lossy, Cow::Borrowed(_)) || is_mostly_text(bytes);
    let bytes = if is_text { lossy.as_bytes() } else { bytes };
    if let Some(version) = Some(&lossy).filter(|_| is_text).and_then(|text| iolog_lines::version_of(text)) {
        return iolog::read_iolog(&lossy, version?, wanted.at_most);
    }
    requests::read_requests(bytes, wanted)
}

/// Converts a record in a file: strace output is read line by line at any size, all other formats at once.
///
/// # Errors
/// Where it cannot be read, is no record that is known, or nothing in it can be kept.
pub fn recorded_file(path: &Path, wanted: &RecordRequest) -> Result<CapturedCalls, Reason> {
    if !path.exists() && has_file_of_process(path) {
        return Err(Reason::new(
            "strace wrote a file for each process (-ff), and their calls cannot be put in order",
            format!("record again without -ff: {STRACE_COMMAND} PROGRAM"),
        ));
    }
    let cannot = |error: std::io::Error| {
        Reason::new(format!("it cannot be read: {error}"), "name a file with a recording")
    };
    let beginning = read_beginning(path, BEGINNING as u64).map_err(cannot)?;
    if other_forms::find_form(&beginning).is_none() && strace::is_strace(&beginning) {
        strace::check_form(&beginning)?;
        let file = open_regular(CWD, path, OFlags::RDONLY, Links::Follow).map_err(cannot)?;
        return strace::read_strace(Box::new(BufReader::new(file)), wanted.below.as_deref(), &beginning);
    }
    // fio's logs have the same columns for every quantity; the file name tells which it is.
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    if let Some(what) = requests::other_log(&name) {
        return Err(Reason::new(
            format!("its name says that it is a log of {what}, not of latencies"),
            "give the one that ends in _clat.1.log or _lat.1.log",
        ));
    }
    read_record(&read_regular(path, LONGEST_RECORD).map_err(cannot)?, wanted)
}

/// Whether bytes that are no UTF-8 are a text nevertheless: printable, but for a name that is cut within a letter.
fn is_mostly_text(bytes: &[u8]) -> bool {
    let beginning = &bytes[..bytes.len().min(BEGINNING)];
    let printable =
        beginning.iter().filter(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace()).count();
    !bytes.contains(&0) && printable * 10 >= beginning.len() * 9
}

/// Whether strace -ff wrote files beside this path: it adds the number of the process to the name.
fn has_file_of_process(path: &Path) -> bool {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return false };
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::read_dir(folder).into_iter().flatten().flatten().any(|entry| {
        let entry = entry.file_name();
        let number = entry.to_str().and_then(|entry| entry.strip_prefix(name)?.strip_prefix('.'));
        number.is_some_and(|number| number.parse::<u32>().is_ok())
    })
}

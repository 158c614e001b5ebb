//! Converts recordings of other programs into an anonymous trace of calls: fio's latency logs and iologs, blkparse and
//! perf output, strace output. All input is untrusted: every line is validated.

mod account;
mod calls;
mod finish;
mod folded;
mod iolog;
mod iolog_lines;
mod known_files;
mod known_sizes;
mod open_calls;
mod other_forms;
mod record_line;
mod requests;
#[cfg(test)]
mod requests_tests;
mod strace;

use std::io::BufReader;
use std::path::{Path, PathBuf};

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

/// Bytes of a recording that are read at most where all of it is in memory.
const LONGEST_RECORD: u64 = 1 << 30;
/// Files of strace -ff that are read at most.
const MOST_PROCESS_FILES: usize = 10_000;

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
    let beginning = &bytes[..bytes.len().min(BEGINNING)];
    if strace::looks_like(beginning) {
        return strace::read_strace(Box::new(bytes), beginning, wanted.below.as_deref());
    }
    if let Some(form) = other_forms::find_form(beginning) {
        return Err(form.to_reason());
    }
    let text = std::str::from_utf8(bytes).ok();
    if let Some((text, version)) = text.and_then(|text| Some((text, iolog_lines::version_of(text)?))) {
        return iolog::read_iolog(text, version?, wanted.at_most);
    }
    requests::read_requests(bytes, wanted)
}

/// Converts a record in a file: strace output is read line by line at any size, all other formats at once. If the file
/// does not exist but one file per process does (strace -ff), these are read.
///
/// # Errors
/// Where it cannot be read, is no record that is known, or nothing in it can be kept.
pub fn recorded_file(path: &Path, wanted: &RecordRequest) -> Result<CapturedCalls, Reason> {
    let parts = if path.exists() { Vec::new() } else { files_of_processes(path)? };
    let first = parts.first().map_or(path, |(path, _)| path.as_path());
    let cannot = |error: std::io::Error| {
        Reason::new(format!("it cannot be read: {error}"), "name a file with a recording")
    };
    let beginning = read_beginning(first, BEGINNING as u64).map_err(cannot)?;
    if !parts.is_empty() {
        return strace::read_many(parts, &beginning, wanted.below.as_deref());
    }
    if strace::looks_like(&beginning) {
        let file = open_regular(CWD, path, OFlags::RDONLY, Links::Follow).map_err(cannot)?;
        return strace::read_strace(Box::new(BufReader::new(file)), &beginning, wanted.below.as_deref());
    }
    let captured = read_record(&read_regular(path, LONGEST_RECORD).map_err(cannot)?, wanted)?;
    // fio's logs have the same columns for every quantity; the file name tells which it is.
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    match requests::other_log(&name).filter(|_| captured.form == requests::LATENCY_LOG) {
        Some(what) => Err(Reason::new(
            format!("its name says that it is a log of {what}, not of latencies"),
            "give the one that ends in _clat.1.log or _lat.1.log",
        )),
        None => Ok(captured),
    }
}

/// The suffix that strace -ff adds to a file's name: the number of the process.
fn files_of_processes(path: &Path) -> Result<Vec<(PathBuf, u32)>, Reason> {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return Ok(Vec::new()) };
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<(PathBuf, u32)> = entries
        .filter_map(|entry| {
            let process = entry.file_name().to_str()?.strip_prefix(name)?.strip_prefix('.')?.parse().ok()?;
            Some((entry.path(), process))
        })
        .take(MOST_PROCESS_FILES + 1)
        .collect();
    if files.len() > MOST_PROCESS_FILES {
        return Err(Reason::new(
            format!("it has more than {MOST_PROCESS_FILES} files, one for each process"),
            "record all processes in one file: strace -f -o FILE, without -ff",
        ));
    }
    files.sort_by_key(|(_, process)| *process);
    Ok(files)
}

//! What a workload did, as other programs recorded it, made into a trace of calls that names nobody: fio's logs and iologs, blkparse's
//! text, strace's. All of it is a stranger's bytes, of which every line is looked at and none is believed.

mod account;
mod calls;
mod folded;
mod iolog;
mod iostat;
mod open_files;
mod requests;
#[cfg(test)]
mod requests_tests;
mod strace;
mod strace_line;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use fsverdict_judgement::plan::CallTrace;
use fsverdict_text::Reason;

pub use account::{Account, CallOutcome, CallWeight, NotKept, REFUSAL_SHARE, RecordLine, WARNING_SHARE};

/// Bytes of text that a trace takes at most: a plan may have 1 MiB, and has more to say.
const MOST_TEXT: usize = 960 << 10;

/// What of a record is wanted.
#[derive(Debug, Clone)]
pub struct RecordRequest {
    /// The folder of which the files are meant, where a record has paths.
    pub below: Option<PathBuf>,
    /// Bytes that the places of a device or file may take which requests are on.
    pub at_most: u64,
    /// The device whose requests are meant, where a record has those of several: `8,16`, `sda`.
    pub device: Option<String>,
}

/// A trace that was made of a record, and what of that it does not keep.
#[derive(Debug, Clone, PartialEq)]
pub struct CapturedCalls {
    pub trace: CallTrace,
    /// What it was read as.
    pub form: &'static str,
    /// Sentences for people: what was shortened, and what is known that is not in it.
    pub notes: Vec<String>,
    /// How often something is not kept, by what it is.
    pub left_out: BTreeMap<String, u64>,
    /// What became of every call or request of the recording.
    pub account: Account,
}

/// Makes a trace of a record.
///
/// # Errors
/// Where it is no record that is known, or nothing in it can be kept.
pub fn recorded(bytes: &[u8], wanted: &RecordRequest) -> Result<CapturedCalls, Reason> {
    let text = std::str::from_utf8(bytes).ok();
    if let Some((text, version)) = text.and_then(|text| Some((text, iolog::version_of(text)?))) {
        return iolog::read(text, version?, wanted.at_most);
    }
    if let Some(text) = text.filter(|text| iostat::looks_like(text)) {
        return iostat::read(text, wanted);
    }
    match strace_line::looks_like(bytes) {
        true => strace::read(bytes, wanted.below.as_deref()),
        false => requests::read(bytes, wanted),
    }
}

/// A path below a folder, relative to it.
fn relative<'a>(path: &'a Path, below: &Path) -> Option<&'a Path> {
    path.strip_prefix(below).ok().filter(|rest| !rest.as_os_str().is_empty())
}

//! Tells strace output from other recordings, and the one form of it that is read from others, by the option that is
//! missing or too many.

use fsverdict_text::Reason;

use super::call::{Returned, SystemCall, call_name, parse_call};
use super::line::{LineKind, count_digits, find_bytes, line_kind, split_line, starts_call};
use super::references::{Reference, references_of};
use super::value::{ShownFile, field_value, parse_descriptor, shown_file};

/// The command that records the expected output, without the process or program at its end.
pub const STRACE_COMMAND: &str = "strace -f -ttt -T -y -s 0 -e abbrev=%file,%desc,%process -e trace=%file,%desc,%process,%memory,sync,io_submit -o calls.txt";

/// Lines at the beginning by which strace output is told from other recordings, and by which its options are told.
const LOOKED_AT: usize = 60;
const EXAMINED: usize = 2000;
/// Bytes before a call at most: process, time and all else that options print there.
const LONGEST_PREFIX: usize = 120;
/// Calls that failed, from which it is told that others were left out.
const LEAST_FAILED: usize = 20;
/// Since 1970 far more than these nanoseconds have passed: smaller times may be those since the line before.
const SMALL_NS: u64 = 1_000_000 * 1_000_000_000;

/// An option of strace in a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StraceOption {
    Missing(&'static str),
    TooMany(&'static str),
    /// Each line has something before what strace printed.
    Quoted,
}

impl StraceOption {
    pub(super) fn to_reason(self) -> Reason {
        let (what, remedy, option) = match self {
            StraceOption::Missing(option) => ("lacks", "with", option),
            StraceOption::TooMany(option) => ("has", "without", option),
            StraceOption::Quoted => {
                return Reason::new(
                    "the lines of this recording of strace have something before the process (`> `, a number)",
                    "take it out: give the file as strace wrote it (-o FILE)",
                );
            }
        };
        Reason::new(
            format!("this recording of strace {what} {option}, and cannot be converted into a trace"),
            format!("record again {remedy} {option}: {STRACE_COMMAND} PROGRAM"),
        )
    }
}

/// Which argument of a call is a constant that strace shows by its name, if no option changes that.
const NAMED_CONSTANTS: [(&str, usize); 9] = [
    ("open", 1),
    ("openat", 2),
    ("lseek", 2),
    ("_llseek", 3),
    ("llseek", 3),
    ("fcntl", 1),
    ("fcntl64", 1),
    ("mmap", 2),
    ("mmap2", 2),
];
/// Which argument of a call are flags that may be 0.
const ZERO_FLAGS: [(&str, usize); 9] = [
    ("unlinkat", 2),
    ("renameat2", 4),
    ("linkat", 4),
    ("fallocate", 1),
    ("pwritev2", 4),
    ("preadv2", 4),
    ("dup3", 2),
    ("msync", 2),
    ("newfstatat", 3),
];
/// AT_FDCWD as a number.
const CURRENT_DIRECTORY: [&[u8]; 3] = [b"-100", b"0xffffff9c", b"4294967196"];

/// The option that one call shows: numbers lose their meaning on another architecture, and names hide the arguments.
pub(super) fn option_in_call(call: &SystemCall<'_>) -> Option<StraceOption> {
    let is_named = |argument: &&[u8]| {
        let letters = argument.iter().take_while(|byte| byte.is_ascii_lowercase() || **byte == b'_').count();
        letters > 0 && argument.get(letters) == Some(&b'=')
    };
    // strace itself names the arguments of clone.
    if call.name != "clone" && call.arguments().iter().any(is_named) {
        return Some(StraceOption::TooMany("-N (names of arguments)"));
    }
    let is_number =
        |argument: &[u8]| argument.first().is_some_and(u8::is_ascii_digit) && !argument.contains(&b'*');
    let constants = NAMED_CONSTANTS.iter().filter(|(name, _)| *name == call.name);
    let how = call.argument(2).filter(|_| call.name == "openat2").and_then(|how| field_value(how, "flags"));
    let mut raw = call.value().is_some()
        && constants.filter_map(|(_, at)| call.argument(*at)).chain(how).any(is_number);
    if let [Reference::At(at, _), ..] = references_of(call.name) {
        let folder = call.argument(*at).unwrap_or_default();
        raw |= CURRENT_DIRECTORY.contains(&folder.split(|byte| *byte == b'<').next().unwrap_or_default());
    }
    // Zero is shown as a number where it has no name; a comment says that strace does not know the flag.
    let flags = ZERO_FLAGS.iter().filter(|(name, _)| *name == call.name);
    raw |= flags.filter_map(|(_, at)| call.argument(*at)).any(|flags| is_number(flags) && flags != b"0");
    raw.then_some(StraceOption::TooMany(
        "-X raw or -e raw (numbers in the place of flags: 0x4000 is O_DIRECT on x86, and O_DIRECTORY on arm64)",
    ))
}

/// Whether most calls show how long they took (-T).
pub(super) fn has_durations(beginning: &[u8]) -> bool {
    let lines = beginning.split(|byte| *byte == b'\n').take(EXAMINED);
    let calls = lines.filter_map(|line| parse_call(split_any_prefix(line)?.1));
    let (mut with, mut without) = (0, 0);
    for call in calls.filter(|call| call.returned != Returned::Unknown) {
        if call.took_ns.is_some() { with += 1 } else { without += 1 }
    }
    with > without
}

/// Whether the beginning of a file is strace output of any form: one of its first lines is a call with its result.
pub(crate) fn is_strace(beginning: &[u8]) -> bool {
    beginning.split(|byte| *byte == b'\n').take(LOOKED_AT).any(|line| {
        let Some((_, rest)) = split_any_prefix(line) else { return false };
        match line_kind(rest) {
            LineKind::Whole(text) => parse_call(text).is_some_and(|call| {
                matches!(call.returned, Returned::Value(_) | Returned::Error(_)) || call.name == "exit_group"
            }),
            LineKind::Resumed(..) => true,
            LineKind::Unfinished(text) => text.contains(&b'('),
            _ => false,
        }
    })
}

/// Refuses strace output that [`STRACE_COMMAND`] does not print, by the option that makes the difference.
pub(crate) fn check_form(beginning: &[u8]) -> Result<(), Reason> {
    let lines = beginning.split(|byte| *byte == b'\n').take(EXAMINED);
    let options = option_in_prefixes(lines.clone()).or_else(|| option_in_calls(lines.clone()));
    let options = options.or_else(|| option_in_times(lines.clone())).or_else(|| option_in_results(lines));
    options.map_or(Ok(()), |option| Err(option.to_reason()))
}

/// Where every call failed, those that did not were left out.
fn option_in_results<'a>(lines: impl Iterator<Item = &'a [u8]>) -> Option<StraceOption> {
    let calls = lines.filter_map(|line| parse_call(split_any_prefix(line)?.1));
    let (mut failed, mut others) = (0, 0);
    for call in calls {
        match call.returned {
            // A program that waits may fail so for long.
            Returned::Error("EAGAIN" | "EINTR" | "ETIMEDOUT" | "EINPROGRESS") => {}
            Returned::Error(_) => failed += 1,
            _ => others += 1,
        }
    }
    (failed >= LEAST_FAILED && others == 0)
        .then_some(StraceOption::TooMany("-Z or -e status=failed (no call in it succeeded)"))
}

/// Splits the text before a call, or before the rest of one, from a line of any form; `None` where there is no call.
fn split_any_prefix(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let line = line.trim_ascii_start();
    let is_prefix_word = |word: &[u8]| match word {
        [first, ..] if first.is_ascii_digit() || b"[(".contains(first) => true,
        [.., last] => b"])>".contains(last),
        [] => true,
    };
    let mut at = 0;
    while at < line.len().min(LONGEST_PREFIX) {
        let rest = &line[at..];
        if starts_call(rest) || rest.starts_with(b"<... ") {
            return Some((line[..at].trim_ascii_end(), rest));
        }
        let end = find_bytes(rest, b" ")?;
        // Names of programs (-Y) may hold blanks.
        if !is_prefix_word(&rest[..end]) && find_bytes(&line[..at], b"<").is_none() {
            return None;
        }
        at += end + 1;
    }
    None
}

/// The first option that the texts before calls show, if no more lines are without one: a damaged line shows none.
fn option_in_prefixes<'a>(lines: impl Iterator<Item = &'a [u8]>) -> Option<StraceOption> {
    let (mut first, mut with, mut without) = (None, 0, 0);
    for line in lines {
        match option_in_prefix(line) {
            Some(option) => {
                first.get_or_insert(option);
                with += 1;
            }
            None => without += u32::from(split_line(line).is_some_and(|split| starts_call(split.rest))),
        }
    }
    first.filter(|_| with >= without)
}

/// The option that the text before a call shows.
fn option_in_prefix(line: &[u8]) -> Option<StraceOption> {
    if line.trim_ascii_start().starts_with(b"> ") && line.trim_ascii_end().ends_with(b"]") {
        return Some(StraceOption::TooMany("-k (stack traces)"));
    }
    if is_quoted(line) {
        return Some(StraceOption::Quoted);
    }
    let (prefix, rest) = split_any_prefix(line)?;
    let process = &prefix[count_digits(prefix)..];
    if process.len() == prefix.len() || process.starts_with(b".") || process.starts_with(b":") {
        return Some(StraceOption::Missing(
            "-f and -o FILE (the process of each line, which -ff leaves out, too)",
        ));
    }
    if process.starts_with(b"<") {
        return Some(StraceOption::TooMany("-Y (names of programs)"));
    }
    match split_line(line) {
        Some(split) if split.rest.len() == rest.len() => None,
        Some(split) if split.rest.starts_with(b"(+") => {
            Some(StraceOption::TooMany("-r (the time since the line before)"))
        }
        Some(_) => Some(StraceOption::TooMany(CONTEXTS)),
        None if find_bytes(process, b" [").is_some() => Some(StraceOption::TooMany(CONTEXTS)),
        None => Some(StraceOption::Missing("-ttt (seconds since 1970)")),
    }
}

const CONTEXTS: &str = "-i, -n or --secontext (brackets before the call)";

/// Whether a line of the documented form stands behind something else: `> ` of a mail, or a line's number.
fn is_quoted(line: &[u8]) -> bool {
    let is_whole =
        |text: &[u8]| split_line(text).is_some_and(|split| starts_call(split.rest) && split.at_ns > SMALL_NS);
    let begins = |at: &usize| line[*at].is_ascii_digit() && !line[at - 1].is_ascii_digit();
    !is_whole(line) && (1..line.len().min(LONGEST_PREFIX)).filter(begins).any(|at| is_whole(&line[at..]))
}

/// Times that go up and down are those since the line before (-r); such a recording begins with 0.
fn option_in_times<'a>(lines: impl Iterator<Item = &'a [u8]>) -> Option<StraceOption> {
    let times: Vec<u64> = lines.filter_map(|line| Some(split_line(line)?.at_ns)).collect();
    let steps_back = times.windows(2).filter(|pair| pair[1] < pair[0]).count();
    let is_relative = times.iter().all(|at| *at < SMALL_NS)
        && (times.first() == Some(&0) || (steps_back >= 3 && steps_back * 4 > times.len()));
    is_relative
        .then_some(StraceOption::Missing("-ttt (seconds since 1970; -r prints those since the line before)"))
}

/// The option that the arguments and results of calls show.
fn option_in_calls<'a>(lines: impl Iterator<Item = &'a [u8]>) -> Option<StraceOption> {
    let (mut bare, mut decorated) = (false, false);
    for line in lines {
        let Some((_, text)) = split_any_prefix(line) else { continue };
        let Some(call) = parse_call(text) else { continue };
        if let Some(option) = option_in_call(&call) {
            return Some(option);
        }
        let references = references_of(call_name(text));
        let opens = matches!(call.name, "open" | "openat" | "creat");
        let shown = match (references, call.value()) {
            (_, Some(_)) if opens => shown_file(call.remark),
            ([Reference::Descriptor(at) | Reference::At(at, _), ..], Some(_)) => {
                match call.argument(*at).and_then(parse_descriptor) {
                    Some(descriptor) => descriptor.shown,
                    None => continue,
                }
            }
            _ => continue,
        };
        match shown {
            ShownFile::Nothing => bare = true,
            _ => decorated = true,
        }
    }
    (bare && !decorated).then_some(StraceOption::Missing("-y (the paths of descriptors)"))
}

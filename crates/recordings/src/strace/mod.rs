//! Converts strace output of a program's file calls into a trace of calls.
//!
//! Each line is taken apart (`line`, `call`, `value`), its time followed (`clock`), and its call settled on a model of the processes
//! (`processes`, `descriptors`, `lookup`, `paths`): kept in the trace, followed, not kept for a reason, or outside the folder.

mod call;
mod clock;
mod descriptors;
mod install;
mod line;
mod lookup;
mod paths;
mod processes;
mod reader;
mod references;
mod resolve_path;
mod settle;
mod settle_close;
mod settle_descriptors;
mod settle_memory;
mod settle_names;
mod settle_open;
mod settle_process;
mod settle_sizes;
mod settle_status;
mod settle_submit;
mod settle_transfer;
mod shared_tables;
mod source;
#[cfg(test)]
mod tests;
mod value;
mod work_limit;

use std::io::BufRead;
use std::path::{Path, PathBuf};

use fsverdict_text::Reason;

use super::CapturedCalls;
use call::{Returned, parse_call};
use clock::{TimeForm, time_form};
use line::{LineKind, line_kind, split_prefix};
use reader::{InputLine, StraceReader};
use source::{LineSource, Lookahead, ManyFiles, OneFile};

/// The command that records the expected output, without the process or program at its end.
pub const STRACE_COMMAND: &str = "strace -f -ttt -T -y -s 0 -e abbrev=%file,%desc,%process -e trace=%file,%desc,%process,%memory,sync,io_submit -o calls.txt";

/// Lines that are read ahead to find which call made a process.
const MOST_AHEAD: usize = 4096;
/// Lines at the beginning of a file by which its form is told.
const LOOKED_AT: usize = 60;

/// Whether the beginning of a file is strace output: one of its first lines is a call with its result.
pub(super) fn looks_like(beginning: &[u8]) -> bool {
    beginning.split(|byte| *byte == b'\n').take(LOOKED_AT).any(|line| {
        let (_, rest) = split_prefix(line);
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

/// Reads one file.
pub(super) fn read_strace<'a>(
    input: Box<dyn BufRead + 'a>,
    beginning: &[u8],
    below: Option<&Path>,
) -> Result<CapturedCalls, Reason> {
    let mut source = OneFile::new(input, time_form(beginning));
    read_source(&mut source, below)
}

/// Reads one file for each process (strace -ff).
pub(super) fn read_many(
    files: Vec<(PathBuf, u32)>,
    beginning: &[u8],
    below: Option<&Path>,
) -> Result<CapturedCalls, Reason> {
    let form = time_form(beginning);
    if files.len() > 1 && !matches!(form, TimeForm::OfDay | TimeForm::Since1970) {
        return Err(Reason::new(
            "files of several processes (strace -ff) have no times, so their calls cannot be put in order",
            "record them with -ttt, or all in one file: strace -f -o FILE",
        ));
    }
    let mut source = ManyFiles::new(files, form).map_err(|error| unreadable_reason(&error))?;
    read_source(&mut source, below)
}

fn unreadable_reason(error: &std::io::Error) -> Reason {
    Reason::plain(format!("it cannot be read: {error}"))
}

fn read_source(source: &mut dyn LineSource, below: Option<&Path>) -> Result<CapturedCalls, Reason> {
    let below = below.filter(|below| below.is_absolute()).ok_or_else(|| {
        Reason::new(
            "a strace recording contains every file that the program used",
            "name the folder whose files you mean by its absolute path, as the program used it: --below /srv/data",
        )
    })?;
    let mut reader = StraceReader::new(below);
    let mut lines = Lookahead::new(source);
    while let Some(line) = lines.next_line().map_err(|error| unreadable_reason(&error))? {
        reader.work.begin_line(line.number);
        let input = InputLine { number: line.number, rest: line.rest(), process: line.process };
        let process = reader.process_of(&input);
        if !reader.knows_process(process) {
            find_maker(&mut reader, &mut lines, process).map_err(|error| unreadable_reason(&error))?;
        }
        reader.take_line(&input, process, line.now_ns);
    }
    reader.end_recording();
    let (timed, steps) = (source.is_timed(), source.steps_taken());
    finish_reading(reader, timed, steps)
}

/// Where several calls are under way that make a process, the line that ends one of them says which made this one.
fn find_maker(reader: &mut StraceReader, lines: &mut Lookahead<'_>, process: u32) -> std::io::Result<()> {
    let makers = reader.creating_processes();
    if makers.len() < 2 {
        return Ok(());
    }
    for distance in 0..MOST_AHEAD {
        if !reader.work.take_work(1) {
            break;
        }
        let Some(line) = lines.peek_line(distance)? else { break };
        let LineKind::Resumed(name, rest) = line_kind(line.rest()) else { continue };
        let Some(maker) = line.process.filter(|maker| makers.contains(maker)) else { continue };
        if !settle_process::MAKE_PROCESS.iter().any(|one| one.as_bytes() == name) {
            continue;
        }
        let whole = [name, b"(", rest].concat();
        if parse_call(&whole).as_ref().and_then(settle_process::child_of) == Some(process) {
            reader.meet_child(maker, process);
            break;
        }
    }
    Ok(())
}

fn finish_reading(mut reader: StraceReader, timed: bool, steps: u64) -> Result<CapturedCalls, Reason> {
    let notes = &mut reader.calls.notes;
    notes.push(match timed {
        true => "Pauses are those of a program under strace, which slows it down.".to_owned(),
        false => "Not kept: pauses between calls, for want of times (strace -ttt -T).".to_owned(),
    });
    notes.push(
        "Not kept: which calls of several processes or threads overlapped. All are made by one.".to_owned(),
    );
    if steps > 0 {
        notes.push(format!("The clock was set back {steps} times: there is no pause there."));
    }
    if reader.open_before > 0 {
        notes.push(format!(
            "{} files were open before the record began, taken as at their beginning.",
            reader.open_before
        ));
    }
    if reader.work.exhausted {
        notes.push(
            "So many processes, open files or renames are in it that not all were followed: some files may be taken for others or as opened before."
                .to_owned(),
        );
    }
    if reader.strange_lines > 0 {
        notes.push(format!("{} lines hold no call and no message of strace's.", reader.strange_lines));
    }
    reader.calls.into_captured("calls that strace saw")
}

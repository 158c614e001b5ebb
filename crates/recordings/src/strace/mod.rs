//! Converts strace output of a program's file calls into a trace of calls.
//!
//! One form is read, that of [`STRACE_COMMAND`]; others are refused by the option that is missing or too many (`form`).
//! Each line is taken apart (`line`, `call`, `value`), and its call settled on a model of the processes (`processes`,
//! `descriptors`, `lookup`, `paths`): kept in the trace, followed, not kept for a reason, or outside the folder.

mod call;
mod descriptors;
mod form;
mod line;
mod lookup;
mod paths;
mod processes;
mod reader;
mod references;
mod settle;
mod settle_close;
mod settle_descriptors;
mod settle_memory;
mod settle_names;
mod settle_open;
mod settle_process;
mod settle_sizes;
mod settle_transfer;
mod source;
#[cfg(test)]
mod tests;
mod value;
mod work_limit;

use std::io::BufRead;
use std::path::Path;

use fsverdict_text::Reason;

use super::CapturedCalls;
use super::record_line::{RecordLine, mask_words};
use call::parse_call;
use line::{LineKind, line_kind};
use reader::StraceReader;
use source::LineSource;

pub use form::STRACE_COMMAND;
use form::has_durations;
pub(super) use form::{check_form, is_strace};

/// Lines that are read ahead to find which call made a process.
const MOST_AHEAD: usize = 4096;

/// Reads a recording of the documented form.
pub(super) fn read_strace<'a>(
    input: Box<dyn BufRead + 'a>,
    below: Option<&Path>,
    beginning: &[u8],
) -> Result<CapturedCalls, Reason> {
    let below = below.filter(|below| below.is_absolute()).ok_or_else(|| {
        Reason::new(
            "a strace recording contains every file that the program used",
            "name the folder whose files you mean by its absolute path, as the program used it: --below /srv/data",
        )
    })?;
    let mut reader = StraceReader::new(below, has_durations(beginning));
    let mut lines = LineSource::new(input);
    let unreadable = |error: std::io::Error| Reason::plain(format!("it cannot be read: {error}"));
    while let Some(line) = lines.next_line().map_err(unreadable)? {
        reader.work.begin_line(line.number);
        if let Some(process) = line.process.filter(|process| !reader.knows_process(*process)) {
            find_maker(&mut reader, &mut lines, process).map_err(unreadable)?;
        }
        let outcome = reader.take_line(&line);
        if let Some(option) = reader.wrong_option {
            return Err(option.to_reason());
        }
        let shown = || RecordLine::new(line.number, &mask_words(&String::from_utf8_lossy(line.text())));
        reader.calls.account.count_line(line.number, outcome, shown);
    }
    reader.end_recording();
    let lacking = [
        (
            reader.lacks_processes,
            "how its processes were made, so that their open files cannot be told apart",
            "%process",
        ),
        (reader.lacks_closes(), "when its files were closed, and may lack reads and writes, too", "%desc"),
    ];
    if let Some((_, what, class)) = lacking.into_iter().find(|(is_lacking, _, _)| *is_lacking) {
        return Err(Reason::new(
            format!("the recording lacks {what}"),
            format!("record again with {class} among the traced calls: {STRACE_COMMAND} PROGRAM"),
        ));
    }
    finish_reading(reader, lines.clock_steps())
}

/// Where several calls are under way that make a process, the line that ends one of them says which made this one.
fn find_maker(reader: &mut StraceReader, lines: &mut LineSource<'_>, process: u32) -> std::io::Result<()> {
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
        if !settle_process::MAKE_PROCESS.iter().any(|maker_call| maker_call.as_bytes() == name) {
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

fn finish_reading(mut reader: StraceReader, clock_steps: u64) -> Result<CapturedCalls, Reason> {
    let notes = &mut reader.calls.notes;
    notes.push("Pauses are those of a program under strace, which slows it down.".to_owned());
    notes.push(
        "Not kept: which calls of several processes or threads overlapped. All are made by one.".to_owned(),
    );
    if clock_steps > 0 {
        notes.push(format!("The clock was set back {clock_steps} times: there is no pause there."));
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
    reader.calls.into_captured("calls that strace saw")
}

//! blkparse's text: `8,0 1 42 0.001234 777 D R 2048 + 8 [name]`, device, processor, number, seconds, process, event, letters, place.
//! D is a request given to the driver, C one that was done, Q a bio that came in, R a request put back.

use super::LineFault;
use super::block_event::{BlockEvent, BlockEventKind, BlockLine};
use super::block_events::EventSource;
use super::line_account::LineOutcome;
use super::lines::{parse_seconds, parse_stamp, whole_number};

/// Characters of a program's name in the kernel, or of an error.
const LONGEST_NAME: usize = 16;

/// Whether a line is an event of blkparse's, of any kind.
pub(super) fn is_line(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().take(7).collect();
    let [device, cpu, sequence, at, process, event, ..] = words.as_slice() else { return false };
    is_device(device)
        && [cpu, sequence, process].iter().all(|word| word.parse::<i64>().is_ok())
        && at.split_once(['.', ',']).is_some()
        && parse_seconds(at).is_ok()
        && event.len() <= 2
        && event.bytes().all(|byte| byte.is_ascii_alphabetic())
}

/// Actions of blktrace that say nothing of when a request begins or ends.
const OTHER_ACTIONS: [&str; 12] = ["G", "I", "M", "F", "P", "U", "UT", "X", "A", "S", "T", "B"];
/// The beginnings of lines above and below the events, with the rule of each.
const OTHER_LINES: &[(&str, &[&str])] = &[
    ("names of input files (blkparse)", &["Input file ", "=== "]),
    (
        "sums of blkparse and blktrace",
        &[
            "CPU",
            "Total",
            "Reads ",
            "Read ",
            "PC Read",
            "Writes ",
            "IO unplugs:",
            "Timer unplugs:",
            "Throughput (R/W):",
            "Events (",
        ],
    ),
];

pub(super) const SOURCE: EventSource = EventSource {
    parse: parse_event,
    is_line,
    hint: "record issue and completion, too: blktrace without -a, or with -a issue -a complete",
};

fn parse_event(number: usize, line: &str) -> Result<BlockLine<'_>, LineFault> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [device, cpu, sequence, at, process, event, details @ ..] = words.as_slice() else {
        return parse_other_line(line);
    };
    let are_numbers = [cpu, sequence, process].iter().all(|word| word.parse::<i64>().is_ok());
    if !is_device(device) || !are_numbers {
        return parse_other_line(line);
    }
    if OTHER_ACTIONS.contains(event) || *event == "m" {
        return Ok(BlockLine::Other(LineOutcome::Noise("events other than Q, D, R and C (blkparse)")));
    }
    let [rwbs, rest @ ..] = details else { return Err(LineFault::CutEvent) };
    check_end(rwbs, rest)?;
    let kind = match *event {
        "Q" => BlockEventKind::Queued,
        "D" => BlockEventKind::Issued,
        "R" => BlockEventKind::Requeued,
        "C" => BlockEventKind::Completed { error: completion_error(rest)? },
        _ => return Err(LineFault::NoEvent),
    };
    let (sector, sectors) = match rest {
        [sector, "+", sectors, ..] => (whole_number(sector)?, whole_number(sectors)?),
        // A flush, or a driver's own command, has no place.
        _ if !rest.contains(&"+") => (0, 0),
        _ => return Err(LineFault::NoPlace),
    };
    let (at_ns, decimals) = parse_stamp(at)?;
    let event = BlockEvent { line: number, device, kind, at_ns, decimals, rwbs, sector, sectors };
    Ok(BlockLine::Event(event))
}

/// Sums stand below the events, and names of files before them.
fn parse_other_line(line: &str) -> Result<BlockLine<'_>, LineFault> {
    let line = line.trim();
    if let Some(lost) = LineOutcome::of_loss_mark(line) {
        return Ok(BlockLine::Other(lost));
    }
    let rule = OTHER_LINES.iter().find(|(_, begins)| begins.iter().any(|begin| line.starts_with(begin)));
    rule.map(|(rule, _)| BlockLine::Other(LineOutcome::Noise(rule))).ok_or(LineFault::NoEvent)
}

/// Checks that an event has the kernel's letters, and ends as it should: with one name of a program, or one error, in brackets. Where it does not, the
/// line is cut, or goes on with another one.
pub(super) fn check_end(rwbs: &str, rest: &[&str]) -> Result<(), LineFault> {
    if !rwbs.bytes().all(|byte| byte.is_ascii_uppercase()) {
        return Err(LineFault::CutEvent);
    }
    let from = rest.iter().position(|word| word.starts_with('[')).ok_or(LineFault::CutEvent)?;
    let bracket = rest[from..].join(" ");
    let name =
        bracket.strip_prefix('[').and_then(|text| text.strip_suffix(']')).ok_or(LineFault::CutEvent)?;
    // `+` comes once, before the brackets.
    let pluses = rest[..from].iter().filter(|word| **word == "+").count();
    if name.chars().count() > LONGEST_NAME || pluses > 1 {
        return Err(LineFault::CutEvent);
    }
    Ok(())
}

/// The number between brackets at the end of a completion. The kernel's field is 16 bits wide and blkparse prints it without a sign.
pub(super) fn completion_error(rest: &[&str]) -> Result<i64, LineFault> {
    let Some(word) = rest.last().and_then(|word| word.strip_prefix('[')?.strip_suffix(']')) else {
        return Ok(0);
    };
    word.parse().map_err(|_| LineFault::NoCompletionError((*word).to_owned()))
}

/// `8,0`.
pub(super) fn is_device(word: &str) -> bool {
    word.split_once(',').is_some_and(|(major, minor)| {
        major.parse::<u16>().is_ok() && minor.parse::<u32>().is_ok() && !minor.is_empty()
    })
}

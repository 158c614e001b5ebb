//! blkparse's text: `8,0 1 42 0.001234 777 D R 2048 + 8 [name]`, device, processor, number, seconds, process, event, letters, place.
//! D is a request given to the driver, C one that was done, Q a bio that came in, R a request put back.

use super::LineFault;
use super::block_event::{BlockEvent, BlockEventKind};
use super::lines::{parse_seconds, whole_number};

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

pub(super) fn parse_event(number: usize, line: &str) -> Result<Option<BlockEvent<'_>>, LineFault> {
    let words: Vec<&str> = line.split_whitespace().collect();
    // Sums stand below the events, and names of files before them.
    let [device, _, _, at, _, event, rwbs, rest @ ..] = words.as_slice() else { return Ok(None) };
    if !is_device(device) {
        return Ok(None);
    }
    let kind = match *event {
        "Q" => BlockEventKind::Queued,
        "D" => BlockEventKind::Issued,
        "R" => BlockEventKind::Requeued,
        "C" => BlockEventKind::Completed { error: completion_error(rest)? },
        _ => return Ok(None),
    };
    let (sector, sectors) = match rest {
        [sector, "+", sectors, ..] => (whole_number(sector)?, whole_number(sectors)?),
        // A flush, or a driver's own command, has no place.
        _ => (0, 0),
    };
    Ok(Some(BlockEvent { line: number, device, kind, at_ns: parse_seconds(at)?, rwbs, sector, sectors }))
}

/// The number between brackets at the end of a completion. The kernel's field is 16 bits wide and blkparse prints it without a sign.
fn completion_error(rest: &[&str]) -> Result<i64, LineFault> {
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

//! Block events as `perf script` and trace-cmd print them: `name 42 [001] 12.345678: block:block_rq_issue: 8,0 WS 4096 () 2048 + 8 [name]`.

use super::LineFault;
use super::blkparse::is_device;
use super::block_event::{BlockEvent, BlockEventKind};
use super::lines::{parse_seconds, whole_number};

/// The kernel's names of the events that are read.
const EVENTS: [(&str, BlockEventKind); 5] = [
    ("block_bio_queue:", BlockEventKind::Queued),
    ("block_bio_complete:", BlockEventKind::Completed { error: 0 }),
    ("block_rq_issue:", BlockEventKind::Issued),
    ("block_rq_requeue:", BlockEventKind::Requeued),
    ("block_rq_complete:", BlockEventKind::Completed { error: 0 }),
];

/// Whether a line is an event of the block layer, of any kind.
pub(super) fn is_line(line: &str) -> bool {
    split_line(line).is_some_and(|(_, name, details)| {
        name.starts_with("block_") && details.split_whitespace().next().is_some_and(is_device)
    })
}

/// The time, the event's name with its colon, and the rest of the line.
fn split_line(line: &str) -> Option<(&str, &str, &str)> {
    let at = line
        .find(" block:block_")
        .map(|at| at + " block:".len())
        .or_else(|| line.find(" block_").map(|at| at + 1))?;
    let (head, tail) = line.split_at(at);
    let (name, details) = tail.split_once(' ')?;
    let head = head.trim_end().strip_suffix("block:").unwrap_or(head);
    let time = head.split_whitespace().next_back()?.strip_suffix(':')?;
    name.ends_with(':').then_some((time, name, details))
}

pub(super) fn parse_event(number: usize, line: &str) -> Result<Option<BlockEvent<'_>>, LineFault> {
    let Some((at, name, details)) = split_line(line) else { return Ok(None) };
    let Some((_, kind)) = EVENTS.iter().find(|(known, _)| *known == name) else { return Ok(None) };
    let words: Vec<&str> = details.split_whitespace().collect();
    let [device, rwbs, rest @ ..] = words.as_slice() else { return Ok(None) };
    if !is_device(device) {
        return Ok(None);
    }
    let plus = rest.iter().position(|word| *word == "+");
    let place = plus.and_then(|at| Some((rest.get(at.checked_sub(1)?)?, rest.get(at + 1)?)));
    let (sector, sectors) = match place {
        Some((sector, sectors)) => (whole_number(sector)?, whole_number(sectors)?),
        None => return Err(LineFault::NoPlace),
    };
    // A flush has the place -1, which is printed without a sign.
    let (sector, sectors) = if sectors == 0 { (0, 0) } else { (sector, sectors) };
    let kind = match kind {
        BlockEventKind::Completed { .. } => {
            let error = rest.last().and_then(|word| word.strip_prefix('[')?.strip_suffix(']')?.parse().ok());
            BlockEventKind::Completed { error: error.unwrap_or(0) }
        }
        other => *other,
    };
    Ok(Some(BlockEvent { line: number, device, kind, at_ns: parse_seconds(at)?, rwbs, sector, sectors }))
}

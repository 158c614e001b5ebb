//! Reads the events of the block layer as blkparse or perf print them: which devices there are, and the requests of one of them.

use std::collections::BTreeMap;

use super::block_event::{BlockEvent, BlockEventKind};
use super::tracker::{RequestTracker, follow_event};
use super::{LineFault, MOST_REQUESTS, ReadLines, TraceFault, too_many, whole_fault};

/// Devices that are named in an error.
const MOST_NAMED: usize = 8;

/// How often each kind of event stands in a recording for a device.
#[derive(Debug, Clone, Copy, Default)]
struct EventCounts {
    queued: u64,
    issued: u64,
    completed: u64,
}

/// Reads lines of one form: returns the event of a line, `None` if it has none, or the fault of the line.
pub(super) type EventParser = for<'a> fn(usize, &'a str) -> Result<Option<BlockEvent<'a>>, LineFault>;

/// Reads the requests of a device: the one that is asked for, or the only one.
pub(super) fn read_block_events(
    text: &str,
    parse: EventParser,
    device: Option<&str>,
) -> Result<ReadLines, TraceFault> {
    let mut devices: BTreeMap<&str, EventCounts> = BTreeMap::new();
    let mut last = None;
    for (at, line) in text.lines().enumerate() {
        if let Ok(Some(event)) = parse(at + 1, line) {
            let counts = devices.entry(event.device).or_default();
            match event.kind {
                BlockEventKind::Queued => counts.queued += 1,
                BlockEventKind::Issued => counts.issued += 1,
                BlockEventKind::Completed { .. } => counts.completed += 1,
                BlockEventKind::Requeued => {}
            }
        }
        last = Some(at + 1);
    }
    let (device, counts) = choose_device(&devices, device)?;
    if counts.issued + counts.completed == 0 || counts.completed == 0 {
        let what = format!(
            "no request of {device} was completed: {} queued (Q), {} issued (D), none completed (C)",
            counts.queued, counts.issued
        );
        return Err(whole_fault(
            &what,
            "record issue and completion, too: blktrace without -a, or with -a issue -a complete",
        ));
    }
    let queued = counts.issued == 0;
    let mut tracker = RequestTracker::default();
    let mut notes = Vec::new();
    for (at, line) in text.lines().enumerate() {
        // Events end with a bracket. A recording that is cut off ends within a line.
        if last == Some(at + 1) && !text.ends_with('\n') && !line.trim_end().ends_with(']') {
            notes.push(format!("Line {} is the last one and torn; it is not read.", at + 1));
            continue;
        }
        // `Skips: 3 forward (12 -   0.0%)` counts events that the kernel dropped.
        if let Some(skips) = line.trim().strip_prefix("Skips: ").filter(|skips| !skips.starts_with("0 ")) {
            notes.push(format!(
                "The recording itself lacks events: blkparse says \"Skips: {}\".",
                skips.chars().take(60).collect::<String>()
            ));
        }
        let event = parse(at + 1, line).map_err(|fault| TraceFault::Line { line: at + 1, fault })?;
        let Some(event) = event.filter(|event| event.device == device) else { continue };
        follow_event(&mut tracker, &event, queued)
            .map_err(|fault| TraceFault::Line { line: at + 1, fault })?;
        if tracker.taken_count() > MOST_REQUESTS {
            return Err(too_many());
        }
    }
    let mut read = tracker.into_lines();
    if queued {
        notes.push(format!(
            "{device} issues no requests to a driver (no D); a request is from its arrival (Q) to its completion."
        ));
    }
    notes.append(&mut read.notes);
    if read.requests.is_empty() {
        let what = format!(
            "no request of {device} was both begun and completed: {}",
            read.account.describe_reasons()
        );
        return Err(whole_fault(&what, "record for longer"));
    }
    Ok(ReadLines { notes, ..read })
}

fn choose_device<'a>(
    devices: &BTreeMap<&'a str, EventCounts>,
    wanted: Option<&str>,
) -> Result<(&'a str, EventCounts), TraceFault> {
    let names = || {
        let shown =
            |(name, counts): (&&str, &EventCounts)| format!("{name} ({} completed)", counts.completed);
        let mut names: Vec<String> = devices.iter().take(MOST_NAMED).map(shown).collect();
        if devices.len() > MOST_NAMED {
            names.push(format!("{} more", devices.len() - MOST_NAMED));
        }
        names.join(", ")
    };
    let mut all = devices.iter().map(|(name, counts)| (*name, *counts));
    match wanted {
        Some(wanted) => all.find(|(name, _)| *name == wanted).ok_or_else(|| {
            whole_fault(
                &format!("it has no event of the device {wanted}: there are {}", names()),
                "name one of these",
            )
        }),
        None => match (all.next(), all.next()) {
            (Some(only), None) => Ok(only),
            (Some((first, _)), Some(_)) => {
                let hint = format!(
                    "choose one device: capture --trace FILE --device {first}; or keep only its lines: grep -w '{first}' FILE"
                );
                Err(whole_fault(&format!("it is of several devices: {}", names()), &hint))
            }
            _ => Err(whole_fault("there is no request in it", "record issue and completion of requests")),
        },
    }
}

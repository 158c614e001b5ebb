//! Reads the events of the block layer as blkparse or perf print them: which devices there are, and the requests of one of them.

use std::collections::BTreeMap;

use super::block_event::{BlockEventKind, BlockLine};
use super::line_account::LineOutcome;
use super::tracker::{RequestTracker, follow_event};
use super::{LineFault, LineForm, ReadLines, TraceFault, read_lines, whole_fault};

/// Devices that are named in an error.
const MOST_NAMED: usize = 8;

/// How often each kind of event stands in a recording for a device.
#[derive(Debug, Clone, Copy, Default)]
struct EventCounts {
    queued: u64,
    issued: u64,
    completed: u64,
}

/// Reads lines of one form: returns the event of a line or the outcome of a line without one, or the fault of the line.
pub(super) type EventParser = for<'a> fn(usize, &'a str) -> Result<BlockLine<'a>, LineFault>;

/// The events of one device.
struct DeviceEvents<'a> {
    parse: EventParser,
    device: &'a str,
    /// Whether bios are followed: the device issues no requests.
    queued: bool,
    tracker: RequestTracker,
}

impl LineForm for DeviceEvents<'_> {
    fn read_line(&mut self, number: usize, line: &str) -> Result<LineOutcome, LineFault> {
        let event = match (self.parse)(number, line)? {
            BlockLine::Event(event) => event,
            BlockLine::Other(outcome) => return Ok(outcome),
        };
        if event.device == self.device {
            follow_event(&mut self.tracker, &event, self.queued);
            return Ok(LineOutcome::Read);
        }
        self.tracker.account.outside += u64::from(match event.kind {
            BlockEventKind::Queued => self.queued,
            BlockEventKind::Issued => !self.queued,
            _ => false,
        });
        Ok(LineOutcome::Outside)
    }

    fn taken_count(&self) -> usize {
        self.tracker.taken_count()
    }

    fn into_lines(self) -> ReadLines {
        self.tracker.into_lines()
    }
}

/// Reads the requests of a device: the one that is asked for, or the only one.
pub(super) fn read_block_events(
    text: &str,
    parse: EventParser,
    device: Option<&str>,
) -> Result<ReadLines, TraceFault> {
    let mut devices: BTreeMap<&str, EventCounts> = BTreeMap::new();
    for (at, line) in text.lines().enumerate() {
        if let Ok(BlockLine::Event(event)) = parse(at + 1, line) {
            let counts = devices.entry(event.device).or_default();
            match event.kind {
                BlockEventKind::Queued => counts.queued += 1,
                BlockEventKind::Issued => counts.issued += 1,
                BlockEventKind::Completed { .. } => counts.completed += 1,
                BlockEventKind::Requeued => {}
            }
        }
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
    let events = DeviceEvents { parse, device, queued, tracker: RequestTracker::default() };
    let mut read = read_lines(text, events)?;
    if queued {
        read.notes.insert(0, format!(
            "{device} issues no requests to a driver (no D); a request is from its arrival (Q) to its completion."
        ));
    }
    if read.requests.is_empty() {
        let what = format!(
            "no request of {device} was both begun and completed: {}",
            read.account.describe_reasons()
        );
        return Err(whole_fault(&what, "record for longer"));
    }
    Ok(read)
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

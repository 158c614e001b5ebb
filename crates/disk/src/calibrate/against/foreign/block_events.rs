//! Reads the events of the block layer as blkparse or perf print them: which devices there are, and the requests of one of them.

use std::collections::BTreeMap;

use super::block_event::{BlockEventKind, BlockLine};
use super::line_account::LineOutcome;
use super::tracker::{RequestTracker, follow_event};
use super::{LineFault, LineForm, ReadLines, TraceFault, read_lines, whole_fault};

/// Times that are smaller than the one before, from which it is told that they are differences.
const LEAST_STEPS_BACK: u64 = 3;
/// Devices that are named in an error.
const MOST_NAMED: usize = 8;

/// How often each kind of event stands in a recording for a device.
#[derive(Debug, Clone, Copy, Default)]
struct EventCounts {
    queued: u64,
    issued: u64,
    completed: u64,
}

impl EventCounts {
    /// Whether requests of the device may be whole: some were begun, and some completed.
    fn has_requests(self) -> bool {
        self.queued + self.issued > 0 && self.completed > 0
    }
}

/// Reads lines of one form: returns the event of a line or the outcome of a line without one, or the fault of the line.
pub(super) type EventParser = for<'a> fn(usize, &'a str) -> Result<BlockLine<'a>, LineFault>;

/// A program that prints events of the block layer.
#[derive(Clone, Copy)]
pub(super) struct EventSource {
    pub(super) parse: EventParser,
    pub(super) is_line: fn(&str) -> bool,
    /// How it records issue and completion.
    pub(super) hint: &'static str,
}

/// The events of one device.
struct DeviceEvents<'a> {
    parse: EventParser,
    device: &'a str,
    /// Whether bios are followed: the device issues no requests.
    queued: bool,
    /// Digits behind the point of most times.
    decimals: usize,
    tracker: RequestTracker,
}

impl LineForm for DeviceEvents<'_> {
    fn read_line(&mut self, number: usize, line: &str) -> Result<LineOutcome, LineFault> {
        let event = match (self.parse)(number, line)? {
            BlockLine::Event(event) => event,
            BlockLine::Other(outcome) => return Ok(outcome),
        };
        if event.decimals != self.decimals {
            return Err(LineFault::CutStamp(event.decimals, self.decimals));
        }
        if event.device == self.device {
            follow_event(&mut self.tracker, &event);
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

    fn shows_end(&self) -> bool {
        true
    }

    fn into_lines(self) -> ReadLines {
        self.tracker.into_lines()
    }
}

/// Reads the requests of a device: the one that is asked for, or the only one.
pub(super) fn read_block_events(
    text: &str,
    source: EventSource,
    device: Option<&str>,
) -> Result<ReadLines, TraceFault> {
    let mut devices: BTreeMap<&str, EventCounts> = BTreeMap::new();
    let mut decimals: BTreeMap<usize, u64> = BTreeMap::new();
    let (mut last_ns, mut steps, mut steps_back) = (0, 0, 0);
    for (at, line) in text.lines().enumerate() {
        if let Ok(BlockLine::Event(event)) = (source.parse)(at + 1, line) {
            *decimals.entry(event.decimals).or_default() += 1;
            steps += 1;
            steps_back += u64::from(event.at_ns < last_ns);
            last_ns = event.at_ns;
            let counts = devices.entry(event.device).or_default();
            match event.kind {
                BlockEventKind::Queued => counts.queued += 1,
                BlockEventKind::Issued => counts.issued += 1,
                BlockEventKind::Completed { .. } => counts.completed += 1,
                BlockEventKind::Requeued => {}
            }
        }
    }
    if devices.is_empty() {
        first_fault(text, source)?;
    }
    if steps_back >= LEAST_STEPS_BACK && steps_back * 4 > steps {
        let what = "its times go up and down: they are those since the line before";
        return Err(whole_fault(what, "print the time of each event: perf script without --deltatime"));
    }
    let (device, counts) = choose_device(&devices, device)?;
    if !counts.has_requests() {
        first_fault(text, source)?;
        let EventCounts { queued, issued, completed } = counts;
        let what = format!(
            "no request of {device} has a beginning and an end: {queued} queued (Q), {issued} issued (D), {completed} completed (C)"
        );
        return Err(whole_fault(&what, source.hint));
    }
    let queued = counts.issued == 0;
    let decimals = decimals.into_iter().max_by_key(|(_, lines)| *lines).map_or(0, |(decimals, _)| decimals);
    let events =
        DeviceEvents { parse: source.parse, device, queued, decimals, tracker: RequestTracker::new(queued) };
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

/// The fault of the first event that cannot be read: the cause where no request can.
fn first_fault(text: &str, source: EventSource) -> Result<(), TraceFault> {
    let events = (1..).zip(text.lines()).filter(|(_, line)| (source.is_line)(line));
    let mut faults = events.filter_map(|(line, text)| Some((line, (source.parse)(line, text).err()?)));
    faults.next().map_or(Ok(()), |(line, fault)| Err(TraceFault::Line { line, fault }))
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
    let Some(wanted) = wanted else {
        // A device without a whole request cannot be the one that is meant: a partition, or a number that is damaged.
        let whole: Vec<_> = all.clone().filter(|(_, counts)| counts.has_requests()).collect();
        let busiest = all.clone().max_by_key(|(_, counts)| counts.completed);
        return match (whole.as_slice(), busiest) {
            ([only], _) => Ok(*only),
            (_, Some(only)) if devices.len() == 1 => Ok(only),
            (_, Some((busiest, _))) => {
                let hint = format!(
                    "choose one device: capture --trace FILE --device {busiest}; or keep only its lines: grep -w '{busiest}' FILE"
                );
                Err(whole_fault(&format!("it is of several devices: {}", names()), &hint))
            }
            _ => Err(whole_fault("there is no request in it", "record issue and completion of requests")),
        };
    };
    all.find(|(name, _)| *name == wanted).ok_or_else(|| {
        let what = format!("it has no event of the device {wanted}: there are {}", names());
        whole_fault(&what, "name one of these")
    })
}

//! Generates a load profile from the output of `iostat -x`: the given numbers of reads, writes and flushes of the
//! average size, spread evenly over each interval. iostat does not report offsets: they are drawn at random with a
//! fixed seed.

use std::collections::BTreeMap;

use fsverdict_disk::calibrate::{Durability, Measured, RequestAccount};
use fsverdict_disk::device::Action;
use fsverdict_disk::device::trace::{Flags, Traced};
use fsverdict_text::Reason;

use super::iostat_lines::{IostatReport, RECORD, StreamRate, parse_reports};
use super::requests::RecordedRequests;
use super::{CapturedCalls, RecordRequest};

/// Requests of a profile.
const MOST_REQUESTS: f64 = 2_000_000.0;
/// Bytes of one request at most.
const LARGEST_REQUEST: f64 = (1 << 30) as f64;
/// Seconds between two reports where they have no time.
const USUAL_INTERVAL: f64 = 1.0;
const DAY: f64 = 86_400.0;

pub(super) fn read_iostat(text: &str, wanted: &RecordRequest) -> Result<CapturedCalls, Reason> {
    let reports = parse_reports(text)?;
    let [_, intervals @ ..] = reports.as_slice() else {
        return Err(Reason::new("there is no report of iostat in it", RECORD));
    };
    if intervals.is_empty() {
        return Err(Reason::new("it has only one iostat report, which is an average since boot", RECORD));
    }
    let device = choose_device(intervals, wanted.device.as_deref())?;
    let mut notes = vec![
        "A load profile, not a trace: how many requests, of which size and when, is iostat's; their places are drawn at random.".to_owned(),
        "The first report is not read: it is an average since the machine was started.".to_owned(),
    ];
    if reports.iter().any(|report| report.at.is_none()) {
        notes.push(
            "Reports without a time are taken to be one second apart; `iostat -t` prints when each was."
                .to_owned(),
        );
    }
    let mut drawn = DrawnRequests { requests: Vec::new(), state: 0, room: wanted.at_most };
    let (mut now, mut before, mut total) = (0.0, reports[0].at, 0.0);
    let mut carry = [0.0; 4];
    for report in intervals {
        let interval = match before.zip(report.at) {
            Some((before, at)) => (at - before).rem_euclid(DAY),
            None => USUAL_INTERVAL,
        };
        before = report.at.or(before);
        let rates = report.devices.get(device).copied().unwrap_or_default();
        let streams = [
            (Action::Read, rates.reads),
            (Action::Write, rates.writes),
            (Action::Discard, rates.discards),
            (Action::Flush, rates.flushes),
        ];
        for ((operation, stream), carry) in streams.into_iter().zip(&mut carry) {
            // A fraction of a request is carried over to the next interval.
            let due = stream.per_second * interval + *carry;
            *carry = due.fract();
            total += due.floor();
            if total > MOST_REQUESTS {
                return Err(Reason::new(
                    format!("it has more than {MOST_REQUESTS} requests"),
                    "give a part of it: head -n 1000 FILE",
                ));
            }
            drawn.spread_requests(
                operation,
                stream,
                due.floor(),
                ProfileInterval { from: now, length: interval },
                rates.line,
            );
        }
        now += interval;
    }
    drawn.requests.sort_by_key(|one| one.record.submitted_ns);
    let account = RequestAccount { seen: drawn.requests.len() as u64, ..RequestAccount::default() };
    let requests = RecordedRequests {
        form: "a load profile of iostat: how many requests and how large, not which",
        requests: drawn.requests,
        account,
        notes,
        text: Some(text),
    };
    requests.into_captured(wanted.at_most)
}

/// A time between two reports, in seconds from the first.
#[derive(Debug, Clone, Copy)]
struct ProfileInterval {
    from: f64,
    length: f64,
}

/// Requests with places of their own.
struct DrawnRequests {
    requests: Vec<Measured>,
    state: u64,
    /// Bytes in which they lie.
    room: u64,
}

impl DrawnRequests {
    fn spread_requests(
        &mut self,
        operation: Action,
        stream: StreamRate,
        count: f64,
        interval: ProfileInterval,
        line: usize,
    ) {
        let moves = matches!(operation, Action::Read | Action::Write);
        let sectors = match moves {
            true => (stream.size.clamp(512.0, LARGEST_REQUEST) / 512.0).round() as u32,
            false => 0,
        };
        for number in 0..count as u64 {
            let at = interval.from + interval.length * (number as f64 + 0.5) / count;
            let submitted_ns = (at * 1e9) as u64;
            let record = Traced {
                submitted_ns,
                completed_ns: Some(submitted_ns.saturating_add((stream.took * 1e9) as u64)),
                operation,
                sector: if moves { self.next_offset(sectors) } else { 0 },
                sectors,
                flags: Flags::default(),
                by: None,
            };
            let durability = Durability::default();
            self.requests.push(Measured { record, word: String::new(), durability, line });
        }
    }

    /// Draws a sector at a multiple of 4 KiB by SplitMix64.
    fn next_offset(&mut self, sectors: u32) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        let pages = (self.room / 512).saturating_sub(u64::from(sectors)) / 8;
        (mixed % pages.max(1)) * 8
    }
}

/// The device that is asked for, or the only one that did anything.
fn choose_device<'a>(intervals: &[IostatReport<'a>], wanted: Option<&str>) -> Result<&'a str, Reason> {
    let mut totals: BTreeMap<&str, f64> = BTreeMap::new();
    for (name, rates) in intervals.iter().flat_map(|report| &report.devices) {
        *totals.entry(name).or_default() += rates.reads.per_second + rates.writes.per_second;
    }
    let names = || {
        let busy = totals.iter().filter(|(_, total)| **total > 0.0).map(|(name, _)| *name);
        busy.take(8).collect::<Vec<_>>().join(", ")
    };
    let mut busy = totals.iter().filter(|(_, total)| **total > 0.0).map(|(name, _)| *name);
    match wanted {
        Some(wanted) => totals.keys().copied().find(|name| *name == wanted).ok_or_else(|| {
            Reason::new(
                format!("it has no device {wanted}; active devices: {}", names()),
                "name one of these",
            )
        }),
        None => match (busy.next(), busy.next()) {
            (Some(only), None) => Ok(only),
            (Some(first), Some(_)) => Err(Reason::new(
                format!("it has several devices: {}", names()),
                format!("one device at a time: capture --trace FILE --device {first}"),
            )),
            _ => Err(Reason::plain("nothing is read or written in it")),
        },
    }
}

//! Reads requests of one device or file: fio's latency log, blkparse output, block events of perf, biosnoop output, and
//! traces of fsverdict.

use fsverdict_calls::{CallWork, OpenFlags};
use fsverdict_disk::calibrate::{
    Durability, Measured, RecordForm, RequestAccount, TraceFault, UnreadRequests, read_record,
};
use fsverdict_disk::device::Action;
use fsverdict_text::{Hinted, Reason};

use super::account::{CallOutcome, CallWeight};
use super::folded::FoldedPlaces;
use super::request_recorder::{RecordedRequest, RequestRecorder, too_wide};
use super::{CapturedCalls, RecordRequest, STRACE_COMMAND};

/// Requests that were under way when a recording began or ended are a queue's, and no loss of the recording's, up to so many.
const MOST_AT_AN_EDGE: u64 = 1024;

/// The name of a fio latency log in messages.
pub(super) const LATENCY_LOG: &str = "requests of one device or file, from a latency log of fio's";

/// The quantity that fio counts in a log of this name, `NAME_bw.log` or `NAME_bw.1.log`, if it is not a latency.
pub(super) fn other_log(name: &str) -> Option<&'static str> {
    let name = name.strip_suffix(".log")?.trim_end_matches(|letter: char| letter.is_ascii_digit());
    let name = name.strip_suffix('.').unwrap_or(name);
    let quantities = [
        ("_bw", "bandwidths"),
        ("_iops", "requests per second"),
        ("_slat", "the times of submission alone"),
        ("_clat_hist", "histograms"),
    ];
    quantities.into_iter().find(|(part, _)| name.ends_with(part)).map(|(_, what)| what)
}

pub(super) fn read_requests(bytes: &[u8], wanted: &RecordRequest) -> Result<CapturedCalls, Reason> {
    let record = read_record(bytes, wanted.device.as_deref()).map_err(|fault| match fault {
        // An error in a line of a known format does not list the other formats.
        TraceFault::Line { .. } => fault.reason(),
        TraceFault::Whole { ref hint, .. } if !hint.contains("known are") => fault.reason(),
        TraceFault::Whole { .. } => {
            let known = format!(
                "also supported: fio's iolog (--write_iolog), and strace output: {STRACE_COMMAND} -p PID"
            );
            fault.reason().and_hint(known)
        }
    })?;
    let form = match record.form {
        RecordForm::Own => "requests of one device, from a trace of fsverdict's",
        RecordForm::Serial => "requests of one device or file",
        RecordForm::FioLog => LATENCY_LOG,
        RecordForm::Blkparse => "requests of one device, from blkparse's text",
        RecordForm::Perf => "a load profile: requests of one device, from block events of perf",
        RecordForm::Biosnoop => "a load profile: requests of one device, from what biosnoop printed",
    };
    let text = std::str::from_utf8(bytes).ok().filter(|_| record.form != RecordForm::Own);
    let mut recorder = RequestRecorder::new(text);
    let requests = record.requests;
    let moves = |request: &&Measured| matches!(request.record.operation, Action::Read | Action::Write);
    let spans: Vec<(u64, u64)> = requests
        .iter()
        .filter(moves)
        .filter(|request| request.record.sectors > 0)
        .map(|request| (request.record.sector * 512, request.record.end() * 512))
        .collect();
    let extent = spans.iter().map(|span| span.1).max().unwrap_or(0);
    if extent == 0 {
        return Err(Reason::plain("nothing is read or written in it"));
    }
    let folded =
        FoldedPlaces::from_requests(&spans, wanted.at_most).ok_or_else(|| too_wide(wanted.at_most))?;
    let notes = &mut recorder.calls.notes;
    notes.extend(record.notes);
    notes.extend(folded.describe_folding(extent));
    notes.extend(describe_queue_depth(&requests));
    notes.extend(durability_note(&requests));
    let name = recorder.calls.files.lone_file(folded.size);
    let began = requests.first().map_or(0, |request| request.record.submitted_ns);
    let flags = OpenFlags { direct: true, ..OpenFlags::default() };
    let Ok(file) = recorder.calls.open_file((began, began), name, flags, false) else {
        return Err(Reason::plain("its file cannot be opened"));
    };
    recorder.note_other_call();
    // Where lines are missing, a request without a beginning or an end may be in the middle.
    let is_whole = record.lines.lost_events + record.lines.unread == 0;
    count_unread(&mut recorder, &record.account, is_whole);
    recorder.set_lines(record.lines);
    for request in &requests {
        let submitted_ns = request.record.submitted_ns;
        let times = (submitted_ns, request.record.completed_ns.unwrap_or(submitted_ns));
        let recorded = RecordedRequest { line: request.line, times, weight: weight_of(request) };
        recorder.add_request(recorded, works_of(request, file, &folded));
    }
    recorder.into_captured(form)
}

/// Counts the requests of the recording that the trace does not have.
fn count_unread(recorder: &mut RequestRecorder<'_>, account: &RequestAccount, is_whole: bool) {
    for _ in 0..account.outside {
        recorder.count_outcome(CallOutcome::Outside, CallWeight::NONE, 0);
    }
    for (reason, unread) in &account.unread {
        let UnreadRequests { count, bytes, flushes, first_line } = *unread;
        let at_an_edge = is_whole && reason.contains("recording") && count <= MOST_AT_AN_EDGE;
        // A request that failed moved nothing.
        let weightless = at_an_edge || reason.starts_with("failed");
        for number in 0..count {
            // The whole weight is given to the first.
            let weight = match number {
                0 if !weightless => CallWeight { bytes, syncs: flushes, ..CallWeight::NONE },
                _ => CallWeight::NONE,
            };
            recorder.count_outcome(CallOutcome::NotKept(reason.clone()), weight, first_line);
        }
    }
}

/// The calls equivalent to a request, or its outcome where there are none.
fn works_of(one: &Measured, file: u32, folded: &FoldedPlaces) -> Result<Vec<CallWork>, CallOutcome> {
    let record = &one.record;
    let (offset, length) = (folded.folded_offset(record.sector * 512), u64::from(record.sectors) * 512);
    match record.operation {
        Action::Read | Action::Write if length == 0 => {
            Err(CallOutcome::NotKept("requests of no bytes".to_owned()))
        }
        Action::Read => Ok(vec![CallWork::Read { file, offset, length }]),
        Action::Write => {
            let Durability { preflush, fua } = one.durability;
            let sync = CallWork::Fdatasync { file };
            let write = CallWork::Write { file, offset, length };
            let works = [preflush.then_some(sync), Some(write), fua.then_some(sync)];
            Ok(works.into_iter().flatten().collect())
        }
        Action::Flush => Ok(vec![CallWork::Fdatasync { file }]),
        other => Err(CallOutcome::NotKept(format!("requests to {}", other.name()))),
    }
}

fn weight_of(one: &Measured) -> CallWeight {
    match one.record.operation {
        Action::Read | Action::Write => CallWeight::of_bytes(u64::from(one.record.sectors) * 512),
        Action::Flush => CallWeight::one_sync(),
        // A discard moves no bytes.
        Action::Discard | Action::WriteZeroes => CallWeight::NONE,
    }
}

/// The second call of a write that is durable at once (FUA).
fn durability_note(requests: &[Measured]) -> Option<String> {
    let count =
        |is: fn(&Durability) -> bool| requests.iter().filter(|request| is(&request.durability)).count();
    let (flushed, durable) = (count(|durability| durability.preflush), count(|durability| durability.fua));
    (flushed + durable > 0).then(|| {
        format!(
            "A write that is durable at once (FUA: {durable}) is followed by fdatasync, and one with a pre-flush ({flushed}) comes after one."
        )
    })
}

/// How many requests were under way at once, which calls one after the other do not keep.
fn describe_queue_depth(trace: &[Measured]) -> Option<String> {
    let (mut busy, mut first, mut last) = (0_u64, u64::MAX, 0);
    for one in trace {
        let end = one.record.completed_ns?;
        busy = busy.saturating_add(end - one.record.submitted_ns.min(end));
        (first, last) = (first.min(one.record.submitted_ns), last.max(end));
    }
    let mean = busy as f64 / last.checked_sub(first).filter(|span| *span > 0)? as f64;
    (mean > 1.0).then(|| {
        format!(
            "Not kept: {mean:.1} requests were under way at once on average. A replay makes one after the other; `threads = {:.0}` comes near.",
            mean.ceil().min(64.0)
        )
    })
}

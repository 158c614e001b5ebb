//! Reads requests of one device or file: fio's latency log, blkparse output, block events of perf, biosnoop output, and
//! traces of fsverdict.

use fsverdict_calls::{CallWork, LARGEST_CALL, MOST_CALLS, OpenFlags};
use fsverdict_disk::calibrate::{
    Durability, Measured, RecordForm, RequestAccount, TraceFault, UnreadRequests, read_record,
};
use fsverdict_disk::device::Action;
use fsverdict_text::{Bytes, Hinted, Reason};

use super::account::BEYOND as NO_ROOM;
use super::account::{CallOutcome, CallWeight};
use super::calls::CallRecorder;
use super::folded::FoldedPlaces;
use super::record_line::RecordLine;
use super::{CapturedCalls, RecordRequest, STRACE_COMMAND};

/// Requests that were under way when a recording began or ended are a queue's, and no loss of the recording's, up to so many.
const MOST_AT_AN_EDGE: u64 = 1024;

/// The name of a fio latency log in messages.
pub(super) const LATENCY_LOG: &str = "requests of one device or file, from a latency log of fio's";

/// The quantity that fio counts in a log of this name, if it is not a latency.
pub(super) fn other_log(name: &str) -> Option<&'static str> {
    [("_bw.", "bandwidths"), ("_iops.", "requests per second")]
        .into_iter()
        .find(|(part, _)| name.contains(part) && name.ends_with(".log"))
        .map(|(_, what)| what)
}

/// Requests to be converted into calls, and notes for the reader.
pub(super) struct RecordedRequests<'a> {
    pub(super) form: &'static str,
    /// Sorted by time of issue.
    pub(super) requests: Vec<Measured>,
    pub(super) account: RequestAccount,
    pub(super) notes: Vec<String>,
    /// The text that lines are shown of; none of a recording in bytes.
    pub(super) text: Option<&'a str>,
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
    let requests = RecordedRequests {
        form,
        requests: record.requests,
        account: record.account,
        notes: record.notes,
        text: std::str::from_utf8(bytes).ok().filter(|_| record.form != RecordForm::Own),
    };
    requests.into_captured(wanted.at_most)
}

impl RecordedRequests<'_> {
    /// Makes calls on one file of them, which takes this many bytes at most.
    pub(super) fn into_captured(self, at_most: u64) -> Result<CapturedCalls, Reason> {
        let Self { form, requests, account, notes, text } = self;
        let lines = MaskedLines { lines: text.map(|text| text.lines().collect()).unwrap_or_default() };
        let moves = |one: &&Measured| matches!(one.record.operation, Action::Read | Action::Write);
        let spans: Vec<(u64, u64)> = requests
            .iter()
            .filter(moves)
            .filter(|one| one.record.sectors > 0)
            .map(|one| (one.record.sector * 512, one.record.end() * 512))
            .collect();
        let extent = spans.iter().map(|span| span.1).max().unwrap_or(0);
        if extent == 0 {
            return Err(Reason::plain("nothing is read or written in it"));
        }
        let folded = FoldedPlaces::from_requests(&spans, at_most).ok_or_else(|| too_wide(at_most))?;
        let mut calls = CallRecorder::new("requests");
        calls.notes.extend(notes);
        calls.notes.extend(folded.describe_folding(extent));
        calls.notes.extend(describe_queue_depth(&requests));
        calls.notes.extend(durability_note(&requests));
        let name = calls.lone_file(folded.size);
        let began = requests.first().map_or(0, |one| one.record.submitted_ns);
        let flags = OpenFlags { direct: true, ..OpenFlags::default() };
        let Some(file) = calls.open_file((began, began), name, flags, false) else {
            return Err(Reason::plain("its file cannot be opened"));
        };
        count_unread(&mut calls, &account, &lines);
        // The first call opens the file.
        let (mut pushed, mut kept) = (1, Vec::new());
        for one in &requests {
            calls.account.count_seen();
            let weight = weight_of(one);
            let settled = match works_of(one, file, &folded) {
                Ok(works) => {
                    let count = works.iter().map(|work| pieces_of(*work)).sum::<usize>();
                    if pushed + count > MOST_CALLS {
                        CallOutcome::NotKept(NO_ROOM.to_owned())
                    } else {
                        let record = &one.record;
                        let times = (record.submitted_ns, record.completed_ns.unwrap_or(record.submitted_ns));
                        works.into_iter().for_each(|work| drop(calls.add_file_call(times, work)));
                        pushed += count;
                        kept.push(KeptRequest { calls_until: pushed, weight, line: one.line });
                        CallOutcome::Kept
                    }
                }
                Err(outcome) => outcome,
            };
            calls.account.count_outcome(settled, weight, || lines.line_at(one.line));
        }
        let mut captured = calls.into_captured(form)?;
        drop_what_has_no_room(&mut captured, &kept, |line| lines.line_at(line));
        Ok(captured)
    }
}

/// A request that was made into calls.
#[derive(Debug, Clone, Copy)]
pub(super) struct KeptRequest {
    /// How many calls there are with its last one.
    pub(super) calls_until: usize,
    pub(super) weight: CallWeight,
    pub(super) line: usize,
}

/// Counts the requests for which the trace had no room at its end, unless they are not counted as kept.
pub(super) fn drop_what_has_no_room(
    captured: &mut CapturedCalls,
    kept: &[KeptRequest],
    line: impl Fn(usize) -> RecordLine,
) {
    let calls = captured.trace.calls().len();
    let whole = kept.partition_point(|one| one.calls_until <= calls);
    let counted = usize::try_from(captured.account.kept).unwrap_or(usize::MAX).min(kept.len());
    for one in kept.get(whole..counted).unwrap_or_default() {
        captured.account.drop_kept(NO_ROOM, one.weight, || line(one.line));
    }
}

pub(super) fn too_wide(at_most: u64) -> Reason {
    Reason::new(
        format!("its requests need more than {} even if they are folded together", Bytes(at_most)),
        "give a part of it (head -n 100000), or allow a larger trace: --at-most 8GiB",
    )
}

/// Counts the part of the recording that was not read.
fn count_unread(calls: &mut CallRecorder, account: &RequestAccount, lines: &MaskedLines<'_>) {
    for (reason, unread) in &account.unread {
        let UnreadRequests { count, bytes, flushes, first_line } = *unread;
        let at_an_edge = reason.contains("recording") && count <= MOST_AT_AN_EDGE;
        // A request that failed moved nothing.
        let weightless = at_an_edge || reason.starts_with("failed");
        for number in 0..count {
            calls.account.count_seen();
            // The whole weight is given to the first.
            let weight = match number {
                0 if !weightless => CallWeight { bytes, syncs: flushes, ..CallWeight::NONE },
                _ => CallWeight::NONE,
            };
            calls
                .account
                .count_outcome(CallOutcome::NotKept(reason.clone()), weight, || lines.line_at(first_line));
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

/// In how many calls a trace makes it.
pub(super) fn pieces_of(work: CallWork) -> usize {
    match work {
        CallWork::Read { length, .. } | CallWork::Write { length, .. } => {
            usize::try_from(length.div_ceil(LARGEST_CALL)).unwrap_or(usize::MAX)
        }
        _ => 1,
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

/// Lines of the recording as a plan may show them: numbers, and short words in capitals; other words may be names.
struct MaskedLines<'a> {
    lines: Vec<&'a str>,
}

impl MaskedLines<'_> {
    fn line_at(&self, number: usize) -> RecordLine {
        let line = number.checked_sub(1).and_then(|at| self.lines.get(at)).copied().unwrap_or_default();
        RecordLine::new(number as u64, &mask_words(line))
    }
}

/// Takes words out of a line that may be names.
pub(super) fn mask_words(line: &str) -> String {
    let is_plain = |word: &str| {
        let number = word.bytes().all(|byte| byte.is_ascii_digit() || b",.+-:()[]/".contains(&byte));
        number || (word.len() <= 4 && word.bytes().all(|byte| byte.is_ascii_uppercase()))
    };
    let words = line.split_whitespace().take(20);
    words.map(|word| if is_plain(word) { word } else { "…" }).collect::<Vec<_>>().join(" ")
}

/// The second call of a write that is durable at once (FUA).
fn durability_note(requests: &[Measured]) -> Option<String> {
    let count = |is: fn(&Durability) -> bool| requests.iter().filter(|one| is(&one.durability)).count();
    let (flushed, durable) = (count(|one| one.preflush), count(|one| one.fua));
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

//! Requests of one device or file: fio's latency log, blkparse's text, and traces of our own.

use fsverdict_disk::calibrate::{Measured, read as read_trace};
use fsverdict_disk::device::Action;
use fsverdict_judgement::plan::{CallWork, MOST_CALLS, OpenFlags};
use fsverdict_text::{Bytes, Hinted, Reason};

use super::CapturedCalls;
use super::calls::CallRecorder;
use super::folded::FoldedPlaces;

pub(super) fn read(bytes: &[u8], at_most: u64) -> Result<CapturedCalls, Reason> {
    let mut trace = read_trace(bytes).map_err(|fault| {
        let known = "besides: fio's iolog (--write_iolog), and what strace prints: strace -f -ttt -T -y -s 0 -e trace=file,desc -o FILE -p PID";
        fault.reason().and_hint(known)
    })?;
    let all = trace.len();
    trace.truncate(MOST_CALLS - 1);
    let mut calls = CallRecorder::new("requests");
    if trace.len() < all {
        calls.notes.push(format!("Shortened: {} requests of {all} were looked at.", trace.len()));
    }
    let moves = |one: &&Measured| matches!(one.record.operation, Action::Read | Action::Write);
    let spans: Vec<(u64, u64)> = trace
        .iter()
        .filter(moves)
        .filter(|one| one.record.sectors > 0)
        .map(|one| (one.record.sector * 512, one.record.end() * 512))
        .collect();
    let extent = spans.iter().map(|span| span.1).max().unwrap_or(0);
    if extent == 0 {
        return Err(Reason::plain("nothing is read or written in it"));
    }
    let folded = FoldedPlaces::of(&spans, at_most).ok_or_else(|| {
        Reason::new(
            format!("what it asks for takes more than {} even where it is laid side by side", Bytes(at_most)),
            "give a part of it (head -n 100000), or more room: --at-most 8GiB",
        )
    })?;
    calls.notes.extend(folded.note(extent));
    calls.notes.extend(depth(&trace));
    let name = calls.lone_file(folded.size);
    let began = trace.first().map_or(0, |one| one.record.submitted_ns);
    let flags = OpenFlags { direct: true, ..OpenFlags::default() };
    let Some(file) = calls.open((began, began), name, flags, false) else {
        return Err(Reason::plain("its file cannot be opened"));
    };
    for one in &trace {
        let record = &one.record;
        let times = (record.submitted_ns, record.completed_ns.unwrap_or(record.submitted_ns));
        let (offset, length) = (folded.place(record.sector * 512), u64::from(record.sectors) * 512);
        match record.operation {
            Action::Read => calls.on_file(times, CallWork::Read { file, offset, length }),
            Action::Write => calls.on_file(times, CallWork::Write { file, offset, length }),
            Action::Flush => calls.on_file(times, CallWork::Fdatasync { file }),
            other => calls.leave_out(&format!("requests to {}", other.name())),
        }
    }
    calls.finish("requests of one device or file")
}

/// How many requests were under way at once, which calls one after the other do not keep.
fn depth(trace: &[Measured]) -> Option<String> {
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

//! Makes calls of recorded requests, and accounts for each: one request may become several calls, or none.

use fsverdict_calls::{CallWork, LARGEST_CALL, MOST_CALLS};
use fsverdict_disk::calibrate::LineAccount;
use fsverdict_text::{Bytes, Reason};

use super::CapturedCalls;
use super::account::{BEYOND, CallOutcome, CallWeight};
use super::calls::CallRecorder;
use super::record_line::{RecordLine, mask_words};

/// A request of a recording.
#[derive(Debug, Clone, Copy)]
pub(super) struct RecordedRequest {
    /// Its line, from 1.
    pub(super) line: usize,
    /// When it began and ended, in nanoseconds.
    pub(super) times: (u64, u64),
    pub(super) weight: CallWeight,
}

/// A request that was made into calls.
#[derive(Debug, Clone, Copy)]
struct KeptRequest {
    /// How many calls there are with its last one.
    calls_until: usize,
    weight: CallWeight,
    line: usize,
}

/// Records requests, as long as there is room for their calls.
pub(super) struct RequestRecorder<'a> {
    pub(super) calls: CallRecorder,
    /// The lines of the recording; none of a recording in bytes.
    lines: Vec<&'a str>,
    call_count: usize,
    kept: Vec<KeptRequest>,
}

impl<'a> RequestRecorder<'a> {
    pub(super) fn new(text: Option<&'a str>) -> Self {
        let lines = text.map(|text| text.lines().collect()).unwrap_or_default();
        Self { calls: CallRecorder::new("requests"), lines, call_count: 0, kept: Vec::new() }
    }

    /// Whether there is room for so many calls more.
    pub(super) fn has_room_for(&self, count: usize) -> bool {
        self.call_count + count <= MOST_CALLS
    }

    /// A call that stands for no request, as the opening of a file, was added.
    pub(super) fn note_other_call(&mut self) {
        self.call_count += 1;
    }

    /// Makes calls of a request, if there is room for them all, or says why not.
    pub(super) fn add_request(
        &mut self,
        request: RecordedRequest,
        works: Result<Vec<CallWork>, CallOutcome>,
    ) {
        let RecordedRequest { line, times, weight } = request;
        let outcome = works.map_or_else(
            |outcome| outcome,
            |works| {
                let count = works.iter().map(|work| pieces_of(*work)).sum();
                if !self.has_room_for(count) {
                    return CallOutcome::NotKept(BEYOND.to_owned());
                }
                works.into_iter().for_each(|work| drop(self.calls.add_file_call(times, work)));
                self.call_count += count;
                self.kept.push(KeptRequest { calls_until: self.call_count, weight, line });
                CallOutcome::Kept
            },
        );
        self.count_outcome(outcome, weight, line);
    }

    /// Counts a request without calls.
    pub(super) fn count_outcome(&mut self, outcome: CallOutcome, weight: CallWeight, line: usize) {
        self.calls.account.count_seen();
        self.calls.account.count_outcome(outcome, weight, || masked_line(&self.lines, line));
    }

    /// Takes over the account of the recording's lines.
    pub(super) fn set_lines(&mut self, lines: LineAccount) {
        self.calls.account.set_lines(lines, |number| masked_line(&self.lines, number));
    }

    /// The trace of it all. Requests for which it had no room at its end are counted so, unless they are not counted as kept.
    pub(super) fn into_captured(self, form: &'static str) -> Result<CapturedCalls, Reason> {
        let mut captured = self.calls.into_captured(form)?;
        let calls = captured.trace.calls().len();
        let whole = self.kept.partition_point(|request| request.calls_until <= calls);
        let counted = usize::try_from(captured.account.kept).unwrap_or(usize::MAX).min(self.kept.len());
        for request in self.kept.get(whole..counted).unwrap_or_default() {
            captured.account.drop_kept(BEYOND, request.weight, || masked_line(&self.lines, request.line));
        }
        Ok(captured)
    }
}

/// Why requests that lie too far apart are refused.
pub(super) fn too_wide(at_most: u64) -> Reason {
    Reason::new(
        format!("its requests need more than {} even if they are folded together", Bytes(at_most)),
        "give a part of it (head -n 100000), or allow a larger trace: --at-most 8GiB",
    )
}

/// In how many calls a trace makes it.
fn pieces_of(work: CallWork) -> usize {
    match work {
        CallWork::Read { length, .. } | CallWork::Write { length, .. } => {
            usize::try_from(length.div_ceil(LARGEST_CALL)).unwrap_or(usize::MAX)
        }
        _ => 1,
    }
}

/// A line as a plan may show it.
fn masked_line(lines: &[&str], number: usize) -> RecordLine {
    let line = number.checked_sub(1).and_then(|at| lines.get(at)).copied().unwrap_or_default();
    RecordLine::new(number as u64, &mask_words(line))
}

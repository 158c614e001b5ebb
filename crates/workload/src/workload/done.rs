//! What an operation did.

use fsverdict_judgement::journal::{Histogram, WorkCourse};

#[derive(Debug, Clone, PartialEq)]
pub struct OperationResult {
    /// Bytes read or written, as the user of the operation would count them.
    pub logical_bytes: u64,
    /// Bytes that what writes has read besides.
    pub read_besides: u64,
    pub files: u64,
    /// Bytes of all that such operations left on the filesystem, where that is what they are about.
    pub held: Option<u64>,
    pub calls: Vec<RecordedCalls>,
    /// The call whose latency stands for the operation.
    pub main_call: &'static str,
}

/// All calls of one kind that an operation made.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedCalls {
    pub latencies: Histogram,
    /// How many of them were made from moment to moment.
    pub course: Option<WorkCourse>,
}

impl OperationResult {
    /// The course of the main call.
    pub fn course(&self) -> Option<WorkCourse> {
        self.calls.iter().find(|calls| calls.latencies.call == self.main_call)?.course.clone()
    }

    pub fn histograms(&self) -> Vec<Histogram> {
        self.calls.iter().map(|calls| calls.latencies.clone()).collect()
    }
}

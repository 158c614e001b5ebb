//! The results of an operation.

use fsverdict_judgement::journal::{Histogram, WorkCourse};

#[derive(Debug, Clone, PartialEq)]
pub struct OperationResult {
    /// Bytes read or written, as the user of the operation would count them.
    pub logical_bytes: u64,
    /// Bytes that a writing operation read in addition.
    pub read_besides: u64,
    pub files: u64,
    /// Bytes that all such operations left on the filesystem, for operations that fill and empty it.
    pub held: Option<u64>,
    pub calls: Vec<RecordedCalls>,
    /// The call that represents the operation's latency.
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

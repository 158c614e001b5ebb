//! What came of serving a device: counts, a digest of the trace, what went wrong.

use std::fs::File;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3Default;

use super::BackendError;
use super::lateness::Lateness;
use crate::device::Completion;
use crate::device::Wear;
use crate::device::trace::{TraceWriter, Traced};
use fsverdict_text::{Hinted, Reason};

/// Counted while a device is served.
pub(super) struct Tally {
    requests: u64,
    digest: Xxh3Default,
    trace: Option<TraceWriter<File>>,
    left_out: u64,
    /// Requests that got an error because the device had failed by then.
    pub(super) refused: u64,
    wear: Wear,
    log_is_full: bool,
    trouble: Option<Reason>,
    of_machine: bool,
    /// In real time.
    lateness: Option<Lateness>,
}

impl std::fmt::Debug for Tally {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.report().fmt(formatter)
    }
}

/// What the process that served a device says at its end.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct BackendReport {
    /// Requests completed, or still underway at the end.
    pub requests: u64,
    /// Those of them that are not in the trace, because it was full.
    #[serde(default)]
    pub left_out: u64,
    /// Requests that got an error because the device was told to fail and had; they are in no trace.
    #[serde(default)]
    pub refused: u64,
    /// Of every request in order of completion: when submitted and completed, what, where, how much. Equal digests mean
    /// equal traces.
    pub digest: u64,
    /// nanoseconds of the simulation clock at the end.
    pub simulated_ns: u64,
    /// Bytes the store takes up on the disk below.
    pub held_bytes: u64,
    /// Nanoseconds by which completions came after the time the model gave: median, 99th percentile, worst. In simulated
    /// time there is no lateness.
    pub lateness_ns: Option<[u64; 3]>,
    /// Their sum as a share of the time the model gave.
    #[serde(default)]
    pub lateness_share: Option<f64>,
    /// Why the times are not the model's, where requests were answered too late.
    #[serde(default)]
    pub late: Option<Reason>,
    /// What the medium wrote in all.
    #[serde(default)]
    pub wear: Wear,
    /// Of a device whose writes were to be recorded with their contents: some were not, because that log was full.
    #[serde(default)]
    pub log_is_full: bool,
    /// Why the trial is not to be used, if so.
    pub trouble: Option<Reason>,
    /// That is for this machine's sake, which had no room for the device, or no memory for its process.
    #[serde(default)]
    pub of_machine: bool,
}

impl BackendReport {
    /// Of a device that could not be served at all.
    pub(super) fn of(error: &BackendError) -> Self {
        BackendReport {
            trouble: Some(error.reason()),
            of_machine: error.is_of_machine(),
            ..BackendReport::default()
        }
    }
}

impl Tally {
    pub(super) fn new(trace: Option<TraceWriter<File>>) -> Self {
        Tally {
            requests: 0,
            digest: Xxh3Default::new(),
            trace,
            left_out: 0,
            refused: 0,
            wear: Wear::default(),
            log_is_full: false,
            trouble: None,
            of_machine: false,
            lateness: None,
        }
    }

    /// From now on it is recorded how late requests are answered.
    pub(super) fn watch_lateness(&mut self) {
        self.lateness = Lateness::new();
    }

    pub(super) fn answered(&mut self, completion: &Completion, now: u64) {
        if let Some(lateness) = &mut self.lateness {
            lateness.record(completion, now);
        }
    }

    pub(super) fn record(&mut self, record: &Traced) {
        self.requests += 1;
        for number in [record.submitted_ns, record.completed_ns.unwrap_or(u64::MAX), record.sector] {
            self.digest.update(&number.to_le_bytes());
        }
        self.digest.update(&record.sectors.to_le_bytes());
        self.digest.update(record.operation.name().as_bytes());
        if let Some(Err(error)) = self.trace.as_mut().map(|trace| trace.record(record)) {
            self.trace = None;
            self.trouble(&BackendError::Trace(error));
        }
    }

    /// Takes down what the medium has written.
    pub(super) fn worn(&mut self, wear: Wear) {
        self.wear = wear;
    }

    /// Takes down whether all writes are in their log.
    pub(super) fn log_is_whole(&mut self, is_whole: bool) {
        self.log_is_full = !is_whole;
    }

    pub(super) fn end(&mut self) {
        match self.trace.take().map(TraceWriter::finish) {
            Some(Ok((_, written))) => self.left_out = written.left_out,
            Some(Err(error)) => self.trouble(&BackendError::Trace(error)),
            None => {}
        }
    }

    /// The first thing that went wrong is what is reported.
    pub(super) fn trouble(&mut self, error: &BackendError) {
        if self.trouble.is_none() {
            self.trouble = Some(error.reason());
            self.of_machine = error.is_of_machine();
        }
    }

    pub(super) fn report(&self) -> BackendReport {
        BackendReport {
            requests: self.requests,
            left_out: self.left_out,
            refused: self.refused,
            digest: self.digest.digest(),
            lateness_ns: self.lateness.as_ref().map(Lateness::quantiles_ns),
            lateness_share: self.lateness.as_ref().map(Lateness::share),
            late: self.lateness.as_ref().and_then(Lateness::trouble),
            wear: self.wear,
            log_is_full: self.log_is_full,
            trouble: self.trouble.clone(),
            of_machine: self.of_machine,
            ..BackendReport::default()
        }
    }
}

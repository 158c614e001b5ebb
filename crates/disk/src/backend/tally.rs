//! Collects the report about serving a device: counts, a digest of the trace, wear, lateness and the first error.

use std::fs::File;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3Default;

use super::BackendError;
use super::lateness::Lateness;
use crate::device::Completion;
use crate::device::Wear;
use crate::device::trace::{TraceWriter, Traced};
use fsverdict_text::{Hinted, Reason};

/// Counters of a device while it is served.
pub(super) struct Tally {
    requests: u64,
    digest: Xxh3Default,
    trace: Option<TraceWriter<File>>,
    left_out: u64,
    /// Requests that were answered with an error because the device had failed by then.
    pub(super) refused: u64,
    wear: Wear,
    log_is_full: bool,
    trouble: Option<Reason>,
    of_machine: bool,
    /// It is present only in real time.
    lateness: Option<Lateness>,
}

impl std::fmt::Debug for Tally {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.to_report().fmt(formatter)
    }
}

/// The report that the process that served a device sends at its end.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct BackendReport {
    /// Requests completed, or still in flight at the end.
    pub requests: u64,
    /// Requests that are not in the trace, because it was full.
    #[serde(default)]
    pub left_out: u64,
    /// Requests that were answered with an error because the device was set up to fail and had failed; they are in no
    /// trace.
    #[serde(default)]
    pub refused: u64,
    /// Digest over every request in order of completion: times of submission and completion, operation, place and
    /// length. Equal digests mean equal traces.
    pub digest: u64,
    /// Simulation clock at the end, in nanoseconds.
    pub simulated_ns: u64,
    /// Space that the store takes up on the host's disk, in bytes.
    pub held_bytes: u64,
    /// Nanoseconds by which completions came after the time that the model gives: median, 99th percentile and
    /// maximum. In simulated time there is no lateness.
    pub lateness_ns: Option<[u64; 3]>,
    /// Sum of the lateness as a share of the time that the model gives.
    #[serde(default)]
    pub lateness_share: Option<f64>,
    /// Why the times are not those of the model, if requests were answered too late.
    #[serde(default)]
    pub late: Option<Reason>,
    /// Everything that the medium wrote.
    #[serde(default)]
    pub wear: Wear,
    /// Whether the log of writes with contents is incomplete because it was full.
    #[serde(default)]
    pub log_is_full: bool,
    /// Why the trial cannot be used, if it cannot.
    pub trouble: Option<Reason>,
    /// Whether this machine caused that: it had no space for the device, or no memory for its process.
    #[serde(default)]
    pub of_machine: bool,
}

impl BackendReport {
    /// The report of a device that could not be served at all.
    pub(super) fn from_error(error: &BackendError) -> Self {
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

    /// Starts to record how late requests are answered.
    pub(super) fn watch_lateness(&mut self) {
        self.lateness = Lateness::new();
    }

    /// Records the lateness of a request in real time.
    pub(super) fn record_lateness(&mut self, completion: &Completion, now: u64) {
        if let Some(lateness) = &mut self.lateness {
            lateness.record_completion(completion, now);
        }
    }

    /// Adds a request to digest and trace.
    pub(super) fn record_request(&mut self, record: &Traced) {
        self.requests += 1;
        for number in [record.submitted_ns, record.completed_ns.unwrap_or(u64::MAX), record.sector] {
            self.digest.update(&number.to_le_bytes());
        }
        self.digest.update(&record.sectors.to_le_bytes());
        self.digest.update(record.operation.name().as_bytes());
        if let Some(Err(error)) = self.trace.as_mut().map(|trace| trace.record(record)) {
            self.trace = None;
            self.record_error(&BackendError::Trace(error));
        }
    }

    /// Stores the wear of the medium.
    pub(super) fn record_wear(&mut self, wear: Wear) {
        self.wear = wear;
    }

    /// Stores whether the log holds all writes.
    pub(super) fn log_is_whole(&mut self, is_whole: bool) {
        self.log_is_full = !is_whole;
    }

    /// Finishes the trace.
    pub(super) fn finish_trace(&mut self) {
        match self.trace.take().map(TraceWriter::finish) {
            Some(Ok((_, written))) => self.left_out = written.left_out,
            Some(Err(error)) => self.record_error(&BackendError::Trace(error)),
            None => {}
        }
    }

    /// Records an error; the first one is reported.
    pub(super) fn record_error(&mut self, error: &BackendError) {
        if self.trouble.is_none() {
            self.trouble = Some(error.reason());
            self.of_machine = error.is_of_machine();
        }
    }

    pub(super) fn to_report(&self) -> BackendReport {
        BackendReport {
            requests: self.requests,
            left_out: self.left_out,
            refused: self.refused,
            digest: self.digest.digest(),
            lateness_ns: self.lateness.as_ref().map(Lateness::quantiles_ns),
            lateness_share: self.lateness.as_ref().map(Lateness::lateness_share),
            late: self.lateness.as_ref().and_then(Lateness::find_trouble),
            wear: self.wear,
            log_is_full: self.log_is_full,
            trouble: self.trouble.clone(),
            of_machine: self.of_machine,
            ..BackendReport::default()
        }
    }
}

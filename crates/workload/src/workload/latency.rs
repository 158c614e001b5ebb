//! Latency histograms: one pair of clock reads per sample, two significant digits.

use std::time::Instant;

use hdrhistogram::{CreationError, Histogram};

use crate::dataset::{Call, WriteProbe};
use fsverdict_judgement::journal::Histogram as JournalHistogram;
use fsverdict_judgement::plan::Unit;

use super::course::CourseCounter;
use super::done::RecordedCalls;

/// The longest latency that is recorded exactly: an hour, in nanoseconds.
const LONGEST: u64 = 3_600_000_000_000;

pub(crate) struct LatencyRecorder {
    call: &'static str,
    histogram: Histogram<u64>,
    /// When it was made: the operation begins then.
    begun: Instant,
    course: CourseCounter,
}

impl LatencyRecorder {
    pub(crate) fn new(call: &'static str) -> Result<Self, CreationError> {
        let histogram = Histogram::new_with_bounds(1, LONGEST, 2)?;
        Ok(Self { call, histogram, begun: Instant::now(), course: CourseCounter::default() })
    }

    /// Counts those of another in, which were recorded at the same time.
    pub(super) fn merge_with(&mut self, other: &LatencyRecorder) {
        // Both have the same bounds, so that there is nothing that would not fit.
        let _ = self.histogram.add(&other.histogram);
        self.course.merge_with(&other.course);
    }

    pub(crate) fn record_since(&mut self, start: Instant) {
        let now = Instant::now();
        self.histogram.saturating_record(now.saturating_duration_since(start).as_nanos() as u64);
        self.course.add_amount(now.saturating_duration_since(self.begun), 1);
    }

    /// The form the journal keeps; `None` when nothing was recorded.
    fn to_recorded(&self) -> Option<RecordedCalls> {
        let buckets: Vec<(u64, u64)> = self
            .histogram
            .iter_recorded()
            .map(|bucket| (bucket.value_iterated_to(), bucket.count_since_last_iteration()))
            .collect();
        let latencies = JournalHistogram { call: self.call.into(), buckets };
        let course = self.course.to_course(Unit::PerSecond);
        (!latencies.buckets.is_empty()).then_some(RecordedCalls { latencies, course })
    }
}

/// The journal's form of those in which something was recorded.
pub(crate) fn to_recorded_calls(latencies: &[&LatencyRecorder]) -> Vec<RecordedCalls> {
    latencies.iter().filter_map(|latency| latency.to_recorded()).collect()
}

pub(crate) struct WriteClock {
    started: Instant,
    file: LatencyRecorder,
    directory: LatencyRecorder,
    link: LatencyRecorder,
    clone: LatencyRecorder,
}

impl WriteClock {
    /// `file` names the call that writes one file.
    pub(crate) fn new(file: &'static str) -> Result<Self, CreationError> {
        Ok(Self {
            started: Instant::now(),
            file: LatencyRecorder::new(file)?,
            directory: LatencyRecorder::new("mkdir")?,
            link: LatencyRecorder::new("link")?,
            clone: LatencyRecorder::new("clone")?,
        })
    }

    /// Counts those of another thread in.
    pub(super) fn merge_with(&mut self, other: &WriteClock) {
        self.file.merge_with(&other.file);
        self.directory.merge_with(&other.directory);
        self.link.merge_with(&other.link);
        self.clone.merge_with(&other.clone);
    }

    pub(crate) fn to_recorded(&self) -> Vec<RecordedCalls> {
        to_recorded_calls(&[&self.file, &self.directory, &self.link, &self.clone])
    }
}

impl WriteProbe for WriteClock {
    fn begin(&mut self) {
        self.started = Instant::now();
    }

    fn end(&mut self, call: Call) {
        match call {
            Call::WriteFile => self.file.record_since(self.started),
            Call::MakeDirectory => self.directory.record_since(self.started),
            Call::Link => self.link.record_since(self.started),
            Call::Clone => self.clone.record_since(self.started),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{LatencyRecorder, to_recorded_calls};

    #[test]
    fn every_sample_is_counted_in_a_bucket_within_one_percent() {
        let mut latency = LatencyRecorder::new("test").unwrap();
        for value in [0, 1_000, 1_000, 123_456, 7_000_000_000] {
            latency.histogram.saturating_record(value);
        }
        let [histogram] = &to_recorded_calls(&[&latency, &LatencyRecorder::new("unused").unwrap()])[..]
        else {
            panic!()
        };
        let histogram = &histogram.latencies;
        assert_eq!(histogram.buckets.iter().map(|(_, count)| count).sum::<u64>(), 5);
        let near =
            |wanted: u64| histogram.buckets.iter().any(|(value, _)| value.abs_diff(wanted) * 100 <= wanted);
        assert!(near(1_000) && near(123_456) && near(7_000_000_000), "{:?}", histogram.buckets);
    }
}

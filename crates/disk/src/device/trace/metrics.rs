//! Metrics of a trace: numbers of requests, bytes, seeks, queue depth and latencies.

use super::super::request::Action;
use super::queue_steps::{QueueStep, queue_steps};
use super::record::Traced;

/// Totals of all requests of one operation.
#[derive(Debug, Clone, Default)]
pub struct Share {
    pub requests: u64,
    pub bytes: u64,
    /// Number of reads and writes that start where the one submitted before them, of either operation, ended.
    pub sequential: u64,
    /// Times from submission to completion in nanoseconds, the shortest first.
    latencies_ns: Vec<u64>,
}

impl Share {
    /// The latency that this share of the requests, from 0 to 1, does not exceed, in nanoseconds; `None` without
    /// requests.
    pub fn latency_ns(&self, share: f64) -> Option<u64> {
        let rank = (share * self.latencies_ns.len() as f64).ceil() as usize;
        self.latencies_ns.get(rank.saturating_sub(1).min(self.latencies_ns.len().saturating_sub(1))).copied()
    }
}

/// Metrics of all requests of a trace.
#[derive(Debug, Clone, Default)]
pub struct Metrics {
    shares: [Share; Action::ALL.len()],
    /// Number of reads and writes that do not start where the one submitted before them ended.
    pub seeks: u64,
    /// Sum of the distances over all seeks, in sectors.
    pub seek_sectors: u64,
    /// Number of requests that were not completed when the trace ended.
    pub underway: u64,
    /// Time from the first submission to the last completion, in nanoseconds.
    pub span_ns: u64,
    /// Mean number of requests in flight, over the time in which there were any.
    pub mean_depth: f64,
    pub most_depth: u64,
}

impl Metrics {
    /// Computes the metrics of records, in any order.
    pub fn new(records: &[Traced]) -> Metrics {
        let mut records: Vec<&Traced> = records.iter().collect();
        // The sort is stable: records with the same time of submission stay in the order of completion.
        records.sort_by_key(|record| record.submitted_ns);
        let mut metrics = Metrics::default();
        let mut head = None;
        for record in &records {
            let share = &mut metrics.shares[record.operation as usize];
            share.requests += 1;
            share.bytes += u64::from(record.sectors) * 512;
            match record.latency_ns() {
                Some(latency_ns) => share.latencies_ns.push(latency_ns),
                None => metrics.underway += 1,
            }
            if matches!(record.operation, Action::Read | Action::Write) {
                match head.replace(record.end()) {
                    Some(head) if head == record.sector => share.sequential += 1,
                    Some(head) => {
                        metrics.seeks += 1;
                        let distance = head.abs_diff(record.sector);
                        metrics.seek_sectors = metrics.seek_sectors.saturating_add(distance);
                    }
                    None => {}
                }
            }
        }
        for share in &mut metrics.shares {
            share.latencies_ns.sort_unstable();
        }
        metrics.reckon_depth(&records);
        metrics
    }

    fn reckon_depth(&mut self, records: &[&Traced]) {
        let Some(first) = records.first() else { return };
        let last_ns = records.iter().filter_map(|record| record.completed_ns).max();
        let last_ns = last_ns.unwrap_or(first.submitted_ns);
        self.span_ns = last_ns.saturating_sub(first.submitted_ns);
        let steps = queue_steps(records.iter().map(|record| {
            (record.submitted_ns, record.completed_ns.unwrap_or(last_ns).max(record.submitted_ns))
        }));
        let (mut depth, mut at_ns, mut busy_ns, mut area) = (0_u64, first.submitted_ns, 0_u64, 0.0);
        for QueueStep { at_ns: step_ns, enters, .. } in steps {
            if depth > 0 {
                busy_ns += step_ns - at_ns;
                area += (step_ns - at_ns) as f64 * depth as f64;
            }
            at_ns = step_ns;
            depth = if enters { depth + 1 } else { depth - 1 };
            self.most_depth = self.most_depth.max(depth);
        }
        self.mean_depth = if busy_ns > 0 { area / busy_ns as f64 } else { 0.0 };
    }

    /// Totals of the requests of one operation.
    pub fn share(&self, operation: Action) -> &Share {
        &self.shares[operation as usize]
    }

    /// Number of reads and writes that start where the one before them ended.
    pub fn sequential(&self) -> u64 {
        self.shares.iter().map(|share| share.sequential).sum()
    }

    /// Their share of all reads and writes but the first, from 0 to 1.
    pub fn sequential_share(&self) -> Option<f64> {
        let all = self.sequential() + self.seeks;
        (all > 0).then(|| self.sequential() as f64 / all as f64)
    }
}

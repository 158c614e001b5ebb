//! Latency percentiles of single calls, from the sum of the histograms of a phase's trials.

use std::collections::BTreeMap;

use crate::journal::CandidateStatus;
use crate::verdict::Judgement;

/// The number of calls by latency, of one candidate in one phase.
pub type LatencyCounts = BTreeMap<u64, u64>;

/// The histograms of the trials in use, summed by phase, call and candidate.
pub fn latencies<'a>(judged: &'a Judgement<'_>) -> BTreeMap<(usize, &'a str, usize), LatencyCounts> {
    let mut sums: BTreeMap<(usize, &str, usize), LatencyCounts> = BTreeMap::new();
    let candidate_at = |name: &str| {
        judged.candidates.iter().position(|entry| entry.name == name && entry.status == CandidateStatus::Ok)
    };
    let phase_at = |name: &str| judged.phases.iter().position(|phase| phase.name == name);
    for known in &judged.run.latencies {
        if let Some((candidate, phase)) = candidate_at(&known.candidate).zip(phase_at(&known.phase)) {
            sums.insert((phase, &known.call, candidate), known.counts.clone());
        }
    }
    // The histograms of a block that has not ended are still stored with its trials.
    for trial in &judged.trials {
        for observation in trial.observations.iter().filter(|observation| !observation.histograms.is_empty())
        {
            let Some((candidate, phase)) =
                candidate_at(&trial.id.candidate).zip(phase_at(&observation.phase))
            else {
                continue;
            };
            for histogram in &observation.histograms {
                let counts = sums.entry((phase, &histogram.call, candidate)).or_default();
                for (nanoseconds, count) in &histogram.buckets {
                    *counts.entry(*nanoseconds).or_default() += count;
                }
            }
        }
    }
    sums
}

/// The latency, in seconds, that this share of the calls did not exceed.
pub fn latency_at(counts: &LatencyCounts, share: f64) -> Option<f64> {
    let total: u64 = counts.values().sum();
    let mut calls_so_far = 0;
    for (nanoseconds, count) in counts {
        calls_so_far += count;
        if calls_so_far as f64 >= share * total as f64 {
            return Some(*nanoseconds as f64 * 1e-9);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{LatencyCounts, latency_at};

    #[test]
    fn a_percentile_is_the_first_latency_that_covers_its_share() {
        let counts: LatencyCounts = [(1_000, 98), (5_000, 1), (1_000_000, 1)].into();
        let microseconds = |share| (latency_at(&counts, share).unwrap() * 1e6).round();
        assert_eq!([0.5, 0.98, 0.99, 0.999, 1.0].map(microseconds), [1.0, 1.0, 5.0, 1000.0, 1000.0]);
        assert_eq!(latency_at(&LatencyCounts::new(), 0.5), None);
    }
}

//! Scores a model's answers to a trace, in total and by kind of request.

use std::collections::BTreeMap;
use std::ops::Range;

use super::super::demerit::Demerit;
use super::measured::{Measured, request_kinds};

/// Errors of a model's answers to the requests of a trace, or of a part of it.
#[derive(Debug, Clone)]
pub struct TraceScore {
    /// Measured and predicted times in nanoseconds.
    pub pairs: Vec<(f64, f64)>,
    /// The demerit of all requests together.
    pub all: Demerit,
    /// Root mean square of the demerits of reads and of writes, weighted by the number of requests.
    pub operations: f64,
    /// The same of the kinds of requests.
    pub within: f64,
    /// Demerits by kind of request, in the order of their names.
    pub kinds: Vec<(String, Demerit)>,
}

impl TraceScore {
    /// Scores the requests `part` of a trace; `latencies_ns` holds the time of every request on the model, in
    /// nanoseconds. `None` where none of them took any time when it was measured.
    pub fn from_latencies(
        trace: &[Measured],
        latencies_ns: &[f64],
        part: Range<usize>,
    ) -> Option<TraceScore> {
        let mut by_kind: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
        let rows = trace.iter().zip(request_kinds(trace)).zip(latencies_ns);
        for ((request, kind), predicted_ns) in rows.skip(part.start).take(part.len()) {
            let measured_ns = request.record.latency_ns().unwrap_or_default() as f64;
            by_kind.entry(kind).or_default().push((measured_ns, *predicted_ns));
        }
        let mut by_operation: BTreeMap<&str, Vec<(f64, f64)>> = BTreeMap::new();
        for (name, pairs) in &by_kind {
            // The name of a kind begins with its operation.
            by_operation.entry(name.split(' ').next().unwrap_or_default()).or_default().extend(pairs);
        }
        let operations: Vec<Demerit> =
            by_operation.values().filter_map(|pairs| Demerit::from_pairs(pairs)).collect();
        let pairs: Vec<(f64, f64)> = by_kind.values().flatten().copied().collect();
        let demerits =
            by_kind.into_iter().filter_map(|(name, pairs)| Some((name, Demerit::from_pairs(&pairs)?)));
        let kinds: Vec<(String, Demerit)> = demerits.collect();
        Some(TraceScore {
            all: Demerit::from_pairs(&pairs)?,
            operations: Demerit::weighted_mean(&operations),
            within: Demerit::weighted_mean(kinds.iter().map(|(_, demerit)| demerit)),
            kinds,
            pairs,
        })
    }
}

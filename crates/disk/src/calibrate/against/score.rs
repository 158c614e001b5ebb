//! How far a model's answers to a trace are off, as a whole and by kinds of requests.

use std::collections::BTreeMap;
use std::ops::Range;

use super::super::demerit::Demerit;
use super::measured::{Measured, kinds};

/// What a model answered to the requests of a trace, or of a part of it, against what was measured.
#[derive(Debug, Clone)]
pub struct TraceScore {
    /// Measured and predicted times in nanoseconds.
    pub pairs: Vec<(f64, f64)>,
    pub all: Demerit,
    /// The root mean square of the demerits of reads and of writes, each counted as often as it came.
    pub operations: f64,
    /// The same of the kinds.
    pub within: f64,
    /// By kind of request, in the order of their names.
    pub kinds: Vec<(String, Demerit)>,
}

impl TraceScore {
    /// Of these requests of a trace, and how long a model took over each request of it, in nanoseconds. `None` where none of
    /// them took any time.
    pub fn of(trace: &[Measured], took: &[f64], part: Range<usize>) -> Option<TraceScore> {
        let mut by_kind: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
        let all = trace.iter().zip(kinds(trace)).zip(took);
        for ((one, kind), said) in all.skip(part.start).take(part.len()) {
            let real = one.record.latency_ns().unwrap_or_default() as f64;
            by_kind.entry(kind).or_default().push((real, *said));
        }
        let mut by_operation: BTreeMap<&str, Vec<(f64, f64)>> = BTreeMap::new();
        for (name, pairs) in &by_kind {
            // A kind's name begins with its operation.
            by_operation.entry(name.split(' ').next().unwrap_or_default()).or_default().extend(pairs);
        }
        let operations: Vec<Demerit> = by_operation.values().filter_map(|pairs| Demerit::of(pairs)).collect();
        let pairs: Vec<(f64, f64)> = by_kind.values().flatten().copied().collect();
        let found = by_kind.into_iter().filter_map(|(name, pairs)| Some((name, Demerit::of(&pairs)?)));
        let kinds: Vec<(String, Demerit)> = found.collect();
        Some(TraceScore {
            all: Demerit::of(&pairs)?,
            operations: Demerit::within(&operations),
            within: Demerit::within(kinds.iter().map(|(_, found)| found)),
            kinds,
            pairs,
        })
    }
}

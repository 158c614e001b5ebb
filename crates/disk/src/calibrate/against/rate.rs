//! Estimates the rate of a device's link from a trace, without a model: by how times grow with the lengths of requests.

use std::collections::BTreeMap;

use super::measured::Measured;

/// Requests of a length that are needed for their median.
const MIN_PER_LENGTH: usize = 5;
/// Lengths that are needed for a line through their medians.
const MIN_LENGTHS: usize = 3;

/// The median time of requests of one length.
#[derive(Debug, Clone, Copy)]
struct LengthMedian {
    sectors: f64,
    ns: f64,
    /// The number of requests.
    count: f64,
}

/// The rate of the link in MB/s, by how the times of the fastest kind of request grow with their lengths; `None` where
/// lengths are too few or alike.
pub(super) fn rate_by_length(trace: &[Measured], kinds: &[String]) -> Option<f64> {
    let mut times: BTreeMap<&str, BTreeMap<u32, Vec<f64>>> = BTreeMap::new();
    for (request, kind) in trace.iter().zip(kinds).filter(|(request, _)| request.record.sectors > 0) {
        let ns = request.record.latency_ns().unwrap_or_default() as f64;
        times.entry(kind).or_default().entry(request.record.sectors).or_default().push(ns);
    }
    let kinds = times.into_values().map(|lengths| {
        let typical = median(lengths.values().flatten().copied().collect());
        (typical, medians_by_length(lengths))
    });
    let known = kinds.filter(|(_, medians)| medians.len() >= MIN_LENGTHS);
    let (_, medians) = known.min_by(|median, other| median.0.total_cmp(&other.0))?;
    let slope_ns = slope_of(&medians);
    (slope_ns.is_finite() && slope_ns > 0.0).then(|| 512e3 / slope_ns)
}

/// The median of each length that came often enough; single requests wait for the platter.
fn medians_by_length(lengths: BTreeMap<u32, Vec<f64>>) -> Vec<LengthMedian> {
    let common = lengths.into_iter().filter(|(_, times)| times.len() >= MIN_PER_LENGTH);
    common
        .map(|(sectors, times)| LengthMedian {
            sectors: f64::from(sectors),
            count: times.len() as f64,
            ns: median(times),
        })
        .collect()
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// The slope of the line through the medians, weighted by their requests, in nanoseconds per sector.
fn slope_of(medians: &[LengthMedian]) -> f64 {
    let weight: f64 = medians.iter().map(|median| median.count).sum();
    let mean = |of: fn(&LengthMedian) -> f64| {
        medians.iter().map(|median| of(median) * median.count).sum::<f64>() / weight
    };
    let (x, y) = (mean(|median| median.sectors), mean(|median| median.ns));
    let rise: f64 = medians.iter().map(|median| median.count * (median.sectors - x) * (median.ns - y)).sum();
    let run: f64 = medians.iter().map(|median| median.count * (median.sectors - x).powi(2)).sum();
    rise / run
}

#[cfg(test)]
mod tests {
    use super::super::measured::request_kinds;
    use super::super::read_recording;
    use super::rate_by_length;
    use std::fmt::Write;

    #[test]
    fn the_rate_is_that_of_the_requests_that_wait_for_nothing() {
        let (mut text, mut sector) = (String::new(), 0);
        for index in 0_u32..200 {
            let sectors = 4 * (index % 8 + 1);
            // Every tenth waits for the platter.
            let us = 300.0 + 100.0 * f64::from(sectors) + if index % 10 == 0 { 8000.0 } else { 0.0 };
            writeln!(text, "W {sector} {sectors} {us} 1000").unwrap();
            sector += sectors;
            writeln!(text, "R {} 8 {} 1000", 1_000_000 + index * 997, 9000 + index * 31 % 5000).unwrap();
            writeln!(text, "W {sector} 4 700 1000").unwrap();
            sector += 4;
        }
        let trace = read_recording(text.as_bytes()).unwrap();
        let rate = rate_by_length(&trace, &request_kinds(&trace)).unwrap();
        // 512 bytes in 100 µs.
        assert!((rate / 5.12 - 1.0).abs() < 0.02, "{rate}");
        let alike = read_recording(b"W 0 8 700 10\nW 8 8 700 10\n").unwrap();
        assert_eq!(rate_by_length(&alike, &request_kinds(&alike)), None);
    }
}

//! By how much a ratio of two times on modelled devices may be wrong.
//!
//! A model's times are wrong by an amount that depends on the kind of access. Two candidates that spend their time on the
//! same kinds are wrong together, so that their ratio is nearly right; only where they spend it on different kinds does an
//! error change the ratio. The shares of the kinds in each phase are measured (`busy_read_onwards` and so on), the errors
//! come from comparing the models with drives (`[errors]` of a model's file) and processor models with processors.

use std::collections::BTreeMap;

use libm::{exp, log, sqrt};

use crate::journal::{Beginning, Trial, busy_kind, is_of_cpu};
use crate::plan::GOAL;
use crate::verdict::{ByBlock, Objective};

/// The factor by which times may be wrong where nothing is known of their parts (95 %).
const UNKNOWN: f64 = 1.5;

/// Standard normal quantile of the bounds of 95 %, and of nine cases in ten on one side and the other.
const NORMAL_95: f64 = 1.96;
const NORMAL_90: f64 = 1.645;

/// The share of the error of a kind of access that candidates do not have in common where their requests of that kind
/// differ by a factor of e or more in size or time. An assumption: no published drive was measured under two filesystems.
const OWN: f64 = 0.5;

/// The error of a processor model that was estimated from published figures and not measured: what candidates have in
/// common, as one standard deviation of the logarithm.
const ESTIMATED_PROCESSOR: f64 = 0.3;

/// The same of a model that states no error of what was held out.
const UNMEASURED_CODE: f64 = 0.2;

/// The name of the part of a time in which no modelled device was busy.
const COMPUTING: &str = "computing";

/// The errors of a run's models.
#[derive(Debug, Clone, Default)]
pub(crate) struct RatioErrors {
    /// Standard deviations of logarithms: what all candidates have in common, by part of the time.
    common: BTreeMap<String, f64>,
    /// What each candidate has by itself.
    own: BTreeMap<String, f64>,
}

/// What a time was spent on.
#[derive(Debug, Clone, Default, PartialEq)]
struct Composition {
    /// The shares of the kinds of access, and that of computing; they add up to one.
    shares: BTreeMap<String, f64>,
    /// The mean size in bytes and the mean time in seconds of a kind's requests, as logarithms. Requests are counted by
    /// operation and not by kind: a kind's time is divided by the number of all reads, or all writes. A kind without
    /// such figures is absent.
    requests: BTreeMap<String, (f64, f64)>,
}

/// A number that a ratio is made of: a metric of one candidate in one phase, above or below the line.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RatioTerm<'a> {
    pub(crate) candidate: &'a str,
    pub(crate) phase: &'a str,
    pub(crate) metric: &'a str,
    pub(crate) is_divisor: bool,
}

impl RatioErrors {
    /// The errors of the models of a run; `None` where the journal does not state them, or computation took no time.
    pub(crate) fn of_run(beginning: &Beginning) -> Option<RatioErrors> {
        if beginning.access_errors.is_empty() || beginning.processors.is_empty() {
            return None;
        }
        let mut errors = RatioErrors::default();
        for (kind, error) in &beginning.access_errors {
            errors.common.insert(kind.clone(), *error);
            errors.own.insert(kind.clone(), OWN * error);
        }
        let of_code = |held_out: Option<f64>| held_out.map_or(UNMEASURED_CODE, |most| most / NORMAL_90);
        let code = beginning.processors.iter().map(|model| of_code(model.held_out_p90)).fold(0.0, f64::max);
        let is_measured = beginning.processors.iter().all(|model| model.measured);
        errors.own.insert(COMPUTING.to_owned(), code);
        errors.common.insert(COMPUTING.to_owned(), if is_measured { code } else { ESTIMATED_PROCESSOR });
        Some(errors)
    }

    /// The factor by which the ratio of these numbers may be wrong (95 %).
    pub(crate) fn factor(&self, blocks: &ByBlock<'_>, objective: &Objective, terms: &[RatioTerm<'_>]) -> f64 {
        let known: Option<Vec<(f64, Composition)>> = terms
            .iter()
            .filter(|term| !is_counted(term.metric))
            .map(|term| {
                let sign = if term.is_divisor { -1.0 } else { 1.0 };
                Some((sign, Composition::of_term(blocks, objective, term)?))
            })
            .collect();
        known.map_or(UNKNOWN, |known| exp(NORMAL_95 * self.deviation(&known)))
    }

    /// The standard deviation of the logarithm of a ratio of times with these compositions; those below the line have
    /// the sign -1.
    fn deviation(&self, terms: &[(f64, Composition)]) -> f64 {
        let variance = self.common.iter().map(|(part, common)| {
            let shares =
                terms.iter().map(|(sign, spent)| (sign, spent.shares.get(part).copied().unwrap_or(0.0)));
            let (difference, squares) = shares.fold((0.0, 0.0), |(difference, squares), (sign, share)| {
                (difference + sign * share, squares + share * share)
            });
            let error_of_part =
                self.own.get(part).copied().unwrap_or(0.0) * difference_of_requests(part, terms);
            common * common * difference * difference + error_of_part * error_of_part * squares
        });
        sqrt(variance.sum())
    }
}

/// The factor by which times may be wrong (95 %) where the errors of the run's models are not known.
pub(crate) fn unknown_factor(terms: &[RatioTerm<'_>]) -> f64 {
    if terms.iter().all(|term| is_counted(term.metric)) { 1.0 } else { UNKNOWN }
}

/// Whether a number is counted without an error: what the kernel asked of the device.
fn is_counted(metric: &str) -> bool {
    metric.starts_with("device_") && metric != "device_busy"
}

/// An interval of a ratio that includes the factor by which the ratio may be wrong besides. The two errors are
/// independent, so that their logarithms add up as squares.
pub(crate) fn widen_interval(point: f64, bounds: (f64, f64), factor: f64) -> (f64, f64) {
    let extra = log(factor.max(1.0));
    let reach = |end: f64| {
        let sampled = log(end / point);
        if sampled.is_finite() { exp(sqrt(sampled * sampled + extra * extra)) } else { f64::INFINITY }
    };
    (point / reach(bounds.0), point * reach(bounds.1))
}

impl Composition {
    /// What a number's time was spent on, over all trials of its candidate; `None` where that was not recorded.
    fn of_term(blocks: &ByBlock<'_>, objective: &Objective, term: &RatioTerm<'_>) -> Option<Composition> {
        if is_of_cpu(term.metric) {
            let shares = BTreeMap::from([(COMPUTING.to_owned(), 1.0)]);
            return Some(Composition { shares, ..Composition::default() });
        }
        let weights: Vec<(&str, f64)> = match term.phase {
            GOAL => objective.weights.iter().map(|(phase, weight)| (phase.as_str(), *weight)).collect(),
            phase => vec![(phase, 1.0)],
        };
        let mut seconds: BTreeMap<String, f64> = BTreeMap::new();
        let mut counted: BTreeMap<&str, f64> = BTreeMap::new();
        for trial in blocks.trials_of(term.candidate) {
            for (phase, weight) in &weights {
                let (busy, durable) = time_by_kind(trial, phase)?;
                let of_access: f64 = busy.values().sum();
                for (kind, time) in busy {
                    *seconds.entry(kind).or_default() += weight * time;
                }
                *seconds.entry(COMPUTING.to_owned()).or_default() += weight * (durable - of_access).max(0.0);
                for metric in ["device_reads", "device_read", "device_writes", "device_written"] {
                    *counted.entry(metric).or_default() += weight * trial.value(phase, metric).unwrap_or(0.0);
                }
            }
        }
        seconds.retain(|part, _| belongs_to(part, term.metric));
        Composition::from_totals(&seconds, &counted)
    }

    /// From the seconds of each part, and the numbers and bytes of reads and writes; `None` where no time was spent.
    fn from_totals(seconds: &BTreeMap<String, f64>, counted: &BTreeMap<&str, f64>) -> Option<Composition> {
        let all: f64 = seconds.values().sum();
        let shares = seconds.iter().map(|(part, time)| (part.clone(), time / all)).collect();
        let requests = seconds.iter().filter_map(|(part, time)| {
            let (number, bytes) = match part.split_once('_')?.0 {
                "read" => (counted.get("device_reads")?, counted.get("device_read")?),
                "write" => (counted.get("device_writes")?, counted.get("device_written")?),
                _ => return None,
            };
            let means = (log(bytes / number), log(time / number));
            (means.0.is_finite() && means.1.is_finite()).then(|| (part.clone(), means))
        });
        (all > 0.0).then(|| Composition { shares, requests: requests.collect() })
    }
}

/// By how much the requests of a kind differ between terms, from 0 (the same mean size and mean time: a model is wrong
/// by the same amount for all of them) to 1 (a factor of e or more, or not known).
fn difference_of_requests(part: &str, terms: &[(f64, Composition)]) -> f64 {
    let spent = terms.iter().filter(|(_, spent)| spent.shares.get(part).is_some_and(|share| *share > 0.0));
    let Some(means) = spent.map(|(_, spent)| spent.requests.get(part).copied()).collect::<Option<Vec<_>>>()
    else {
        return 1.0;
    };
    let range = |of: fn(&(f64, f64)) -> f64| {
        let values = means.iter().map(of);
        let (least, most) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), value| {
            (least.min(value), most.max(value))
        });
        most - least
    };
    if means.is_empty() { 0.0 } else { (range(|mean| mean.0) + range(|mean| mean.1)).min(1.0) }
}

/// The seconds of each kind of access in a phase of a trial, and how long the phase took. `None` where either was not
/// recorded; a phase that asked nothing of the device has no kinds.
fn time_by_kind(trial: &Trial, phase: &str) -> Option<(BTreeMap<String, f64>, f64)> {
    let durable = trial.value(phase, "durable")?;
    let observations = trial.observations.iter().filter(|observation| observation.phase == phase);
    let measurements = observations.flat_map(|observation| &observation.measurements);
    let busy: BTreeMap<String, f64> = measurements
        .filter_map(|measurement| Some((busy_kind(&measurement.metric)?.to_owned(), measurement.value)))
        .collect();
    let asked = trial.value(phase, "device_busy").is_none_or(|seconds| seconds > 0.0);
    (!busy.is_empty() || !asked).then_some((busy, durable))
}

/// Whether a part of a phase's time belongs to a metric: of an adapter's phase that writes and reads, a rate of writing
/// depends on writes and flushes alone.
fn belongs_to(part: &str, metric: &str) -> bool {
    let has = |word: &str| metric.split('_').any(|part| part == word);
    let is_own = matches!(metric, "durable" | "returned" | "throughput" | "file_rate");
    match (has("write"), has("read")) {
        _ if is_own => true,
        (true, false) => !part.starts_with("read"),
        (false, true) => part.starts_with("read") || part == COMPUTING,
        _ => true,
    }
}

#[cfg(test)]
mod tests;

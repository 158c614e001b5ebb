//! Checks findings about one number of a candidate as a share of another of its numbers, such as the bare device's
//! rate.

use crate::journal::Trial;
use crate::plan::Published;
use crate::statistics::Evidence;

use super::sides::{all_of, status_of};
use super::{FindingContext, FindingReason, FindingStatus};
use crate::verdict::PhaseEstimate;
use crate::verdict::limits::ratio_errors::widen_interval;
use crate::verdict::work::{find, log_cost};

/// Judges whether each of these candidates reaches the share `limit` of its number `of` (metric and phase). The shares
/// are taken within each trial, because what increases one number in a trial mostly increases the other, too.
pub(crate) fn judge(
    published: &Published,
    estimates: &[PhaseEstimate],
    bench: FindingContext<'_>,
    candidates: &[String],
    limit: f64,
    of_metric: &str,
    of_phase: &str,
) -> (FindingStatus, FindingReason) {
    let mut judged = Vec::new();
    for candidate in candidates {
        let own = find(estimates, candidate, &published.phase, &published.metric);
        let whole = find(estimates, candidate, of_phase, of_metric);
        let (Some(own), Some(whole)) = (own, whole) else { continue };
        let log = |of: &PhaseEstimate| {
            let sign = of.direction().cost_sign();
            let (metric, phase) = (of.metric.clone(), of.phase.clone());
            move |trial: &Trial| Some(sign * log_cost(&metric, &phase, trial)?)
        };
        let within = bench.blocks.differences_of(candidate, log(own), candidate, log(whole));
        let within = Evidence::from_sample(&within).map(|evidence| evidence.ratio());
        let share = within.map_or(own.estimate.point / whole.estimate.point, |within| within.point);
        let of_ranges = || {
            let (own, whole) = own.range().zip(whole.range())?;
            Some((own.0 / whole.1, own.1 / whole.0)).filter(|(low, high)| low.is_finite() && high.is_finite())
        };
        let bounds = within.and_then(|within| within.ends()).or_else(of_ranges);
        let error = bench.error(&[own.ratio_term(false), whole.ratio_term(true)]);
        let bounds_with_error = bounds.map(|bounds| widen_interval(share, bounds, error));
        let now = bounds_with_error
            .map_or(FindingStatus::CannotTell, |(low, high)| status_of(low >= limit, high < limit));
        let because = FindingReason::Share {
            candidate: candidate.clone(),
            of_metric: of_metric.to_owned(),
            of_phase: of_phase.to_owned(),
            share,
            bounds: bounds.into(),
            limit,
            error,
        };
        judged.push((now, share, because));
    }
    let any = |wanted: FindingStatus| judged.iter().any(|(now, ..)| *now == wanted);
    if judged.is_empty() {
        return (FindingStatus::CannotTell, FindingReason::NotMeasured);
    }
    let whole = all_of(any(FindingStatus::NoLongerHolds), any(FindingStatus::CannotTell));
    // Reports the smallest share among those that decided.
    let deciding =
        judged.into_iter().filter(|(now, ..)| *now == whole).min_by(|one, other| one.1.total_cmp(&other.1));
    (whole, deciding.map_or(FindingReason::NotMeasured, |(.., because)| because))
}

//! Findings about what candidates reach of another number of their own: a share of the bare device's rate, of the time.

use crate::plan::Published;

use super::{Because, Now, PhaseEstimate, all_of, word};

/// Judges whether each of these candidates reaches the share `limit` of its number `of` (metric and phase).
pub(super) fn judge(
    published: &Published,
    estimates: &[PhaseEstimate],
    candidates: &[String],
    limit: f64,
    (of_metric, of_phase): (&str, &str),
) -> (Now, Because) {
    let find = |candidate: &str, metric: &str, phase: &str| {
        estimates
            .iter()
            .find(|found| found.candidate == candidate && found.metric == metric && found.phase == phase)
    };
    let mut judged = Vec::new();
    for candidate in candidates {
        let own = find(candidate, &published.metric, &published.phase);
        let (Some(own), Some(whole)) = (own, find(candidate, of_metric, of_phase)) else { continue };
        let bounds = own.range().zip(whole.range()).map(|(own, whole)| (own.0 / whole.1, own.1 / whole.0));
        let bounds = bounds.filter(|(low, high)| low.is_finite() && high.is_finite());
        let now = bounds.map_or(Now::CannotTell, |(low, high)| word(low >= limit, high < limit));
        let because = Because::Share {
            candidate: candidate.clone(),
            of_metric: of_metric.to_owned(),
            of_phase: of_phase.to_owned(),
            share: own.estimate.point / whole.estimate.point,
            bounds: bounds.into(),
            limit,
        };
        judged.push((now, own.estimate.point / whole.estimate.point, because));
    }
    let any = |wanted: Now| judged.iter().any(|(now, ..)| *now == wanted);
    if judged.is_empty() {
        return (Now::CannotTell, Because::NotMeasured);
    }
    let whole = all_of(any(Now::NoLongerHolds), any(Now::CannotTell));
    // The narrowest where all hold, the worst where one does not.
    let deciding =
        judged.into_iter().filter(|(now, ..)| *now == whole).min_by(|one, other| one.1.total_cmp(&other.1));
    (whole, deciding.map_or(Because::NotMeasured, |(.., because)| because))
}

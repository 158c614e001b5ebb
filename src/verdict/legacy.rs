//! The estimators of older studies, beside ours: always named, never part of a verdict.

use crate::journal::Trial;
use crate::plan::Legacy;
use crate::statistics::{best_of, mean, trimmed_mean};

/// What a study's own way of combining runs makes of ours.
#[derive(Debug, Clone, PartialEq)]
pub struct LegacyEstimate {
    /// Name of the candidate.
    pub candidate: String,
    /// Name of the phase.
    pub phase: String,
    /// The combined value, in seconds until durable; none where there are too few runs for it.
    pub value: Option<f64>,
    /// How many runs there were.
    pub n: usize,
}

/// The name of an estimator, as a report puts it.
pub fn legacy_name(legacy: Legacy) -> &'static str {
    match legacy {
        Legacy::BestOf => "best run",
        Legacy::TrimmedMean => "mean without the best and the worst run",
        Legacy::Mean => "mean of all runs",
    }
}

/// Combines the times until durable of these trials, candidate by candidate and phase by phase.
pub fn legacy_estimates(
    legacy: Legacy,
    candidates: &[&str],
    phases: &[&str],
    trials: &[&Trial],
) -> Vec<LegacyEstimate> {
    let mut estimates = Vec::new();
    for candidate in candidates {
        for phase in phases {
            let own = trials.iter().filter(|trial| trial.id.candidate == *candidate);
            let observations =
                own.flat_map(|trial| &trial.observations).filter(|found| found.phase == *phase);
            let values: Vec<f64> = observations
                .flat_map(|found| &found.measurements)
                .filter(|found| found.metric == "durable")
                .map(|found| found.value)
                .collect();
            if !values.is_empty() {
                estimates.push(LegacyEstimate {
                    candidate: (*candidate).to_owned(),
                    phase: (*phase).to_owned(),
                    value: combine(legacy, &values),
                    n: values.len(),
                });
            }
        }
    }
    estimates
}

fn combine(legacy: Legacy, values: &[f64]) -> Option<f64> {
    match legacy {
        Legacy::BestOf => best_of(values),
        Legacy::TrimmedMean => trimmed_mean(values),
        Legacy::Mean => mean(values),
    }
}

#[cfg(test)]
mod tests {
    use super::combine;
    use crate::plan::Legacy;

    #[test]
    fn each_combines_as_its_study_did() {
        let values = [3.0, 1.0, 2.0, 10.0];
        assert_eq!(combine(Legacy::BestOf, &values), Some(1.0));
        assert_eq!(combine(Legacy::TrimmedMean, &values), Some(2.5));
        assert_eq!(combine(Legacy::Mean, &values), Some(4.0));
        assert_eq!(combine(Legacy::TrimmedMean, &values[..2]), None);
    }
}

//! The estimators of older studies, shown for comparison: always labelled, never part of a verdict.

use serde::Serialize;

use crate::journal::{Trial, Unit};
use crate::plan::Legacy;
use crate::statistics::{best_of, mean, trimmed_mean};

/// The runs combined with a study's own estimator.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Combined {
    pub estimator: Legacy,
    pub metric: &'static str,
    pub unit: Unit,
    pub estimates: Vec<LegacyEstimate>,
}

/// The estimate for one candidate in one phase.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LegacyEstimate {
    pub candidate: String,
    pub phase: String,
    /// The estimate; `None` where there are too few runs for the estimator.
    pub point: Option<f64>,
    pub n: usize,
}

pub fn legacy_name(legacy: Legacy) -> &'static str {
    match legacy {
        Legacy::BestOf => "best run",
        Legacy::TrimmedMean => "mean without the best and the worst run",
        Legacy::Mean => "mean of all runs",
    }
}

/// Combines the times until durable of these trials for each candidate and phase.
pub fn combine_as_study(
    estimator: Legacy,
    candidates: &[&str],
    phases: &[&str],
    trials: &[&Trial],
) -> Combined {
    const METRIC: &str = "durable";
    let mut estimates = Vec::new();
    for candidate in candidates {
        for phase in phases {
            let trials_of_candidate = trials.iter().filter(|trial| trial.id.candidate == *candidate);
            let values: Vec<f64> =
                trials_of_candidate.filter_map(|trial| trial.value(phase, METRIC)).collect();
            if !values.is_empty() {
                let (candidate, phase) = ((*candidate).to_owned(), (*phase).to_owned());
                let point = combine_values(estimator, &values);
                estimates.push(LegacyEstimate { candidate, phase, point, n: values.len() });
            }
        }
    }
    Combined { estimator, metric: METRIC, unit: Unit::Seconds, estimates }
}

fn combine_values(estimator: Legacy, values: &[f64]) -> Option<f64> {
    match estimator {
        Legacy::BestOf => best_of(values),
        Legacy::TrimmedMean => trimmed_mean(values),
        Legacy::Mean => mean(values),
    }
}

#[cfg(test)]
mod tests {
    use super::combine_values;
    use crate::plan::Legacy;

    #[test]
    fn each_combines_as_its_study_did() {
        let values = [3.0, 1.0, 2.0, 10.0];
        assert_eq!(combine_values(Legacy::BestOf, &values), Some(1.0));
        assert_eq!(combine_values(Legacy::TrimmedMean, &values), Some(2.5));
        assert_eq!(combine_values(Legacy::Mean, &values), Some(4.0));
        assert_eq!(combine_values(Legacy::TrimmedMean, &values[..2]), None);
    }
}

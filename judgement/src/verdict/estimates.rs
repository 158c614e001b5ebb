//! The table everything is judged from: for each candidate, phase and metric the median over blocks.

use std::collections::HashMap;

use serde::Serialize;

use crate::journal::{Run, Trial, Unit};
use crate::statistics::{Estimate, median_estimate};

/// Of every interval, unless stated otherwise.
pub const CONFIDENCE: f64 = 0.95;

/// An estimate of one metric of one phase for one candidate, with the extremes of its sample.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PhaseEstimate {
    pub candidate: String,
    pub phase: String,
    pub metric: String,
    pub unit: Unit,
    /// The median and its interval.
    #[serde(flatten)]
    pub estimate: Estimate,
    /// The smallest value of the sample.
    #[serde(skip)]
    pub min: f64,
    /// The largest value of the sample.
    #[serde(skip)]
    pub max: f64,
}

impl PhaseEstimate {
    /// The ends of its interval, or else of its sample.
    pub fn ends(&self) -> Option<(f64, f64)> {
        self.estimate.low.zip(self.estimate.high).or((self.estimate.n > 1).then_some((self.min, self.max)))
    }
}

/// The metrics of one phase of one candidate in the order they were first met, with their values.
type Samples<'a> = Vec<(&'a str, Unit, Vec<f64>)>;

/// Estimates everything the given trials measured: candidates in the run's order, phases and metrics in the order
/// they were first measured.
pub fn estimate_all<'a>(run: &Run, trials: impl Iterator<Item = &'a Trial>) -> Vec<PhaseEstimate> {
    let mut phases: Vec<&str> = Vec::new();
    let mut cells: HashMap<(&str, &str), Samples<'_>> = HashMap::new();
    for trial in trials {
        for observation in &trial.observations {
            if !phases.contains(&observation.phase.as_str()) {
                phases.push(&observation.phase);
            }
            let samples = cells.entry((&trial.id.candidate, &observation.phase)).or_default();
            for found in &observation.measurements {
                match samples.iter_mut().find(|(metric, ..)| *metric == found.metric) {
                    Some((_, _, values)) => values.push(found.value),
                    None => samples.push((&found.metric, found.unit, vec![found.value])),
                }
            }
        }
    }
    let mut estimates = Vec::new();
    for candidate in &run.candidates {
        for phase in &phases {
            for (metric, unit, mut values) in
                cells.remove(&(candidate.name.as_str(), *phase)).unwrap_or_default()
            {
                values.sort_by(f64::total_cmp);
                let (Some(&min), Some(&max)) = (values.first(), values.last()) else { continue };
                let Some(estimate) = median_estimate(&values, CONFIDENCE) else { continue };
                estimates.push(PhaseEstimate {
                    candidate: candidate.name.clone(),
                    phase: (*phase).to_owned(),
                    metric: metric.to_owned(),
                    unit,
                    estimate,
                    min,
                    max,
                });
            }
        }
    }
    estimates
}

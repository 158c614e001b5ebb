//! The table of estimates: one number for each candidate, phase and metric, comparable between candidates.

use std::collections::{BTreeSet, HashMap};

use serde::Serialize;

use super::paired::side_by_side_of;
use crate::journal::{Better, Run, Trial, Unit, better_of};
use crate::statistics::Estimate;
use crate::verdict::ByBlock;

/// An estimate of one metric of one phase for one candidate, with the extremes of its sample.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PhaseEstimate {
    pub candidate: String,
    pub phase: String,
    pub metric: String,
    pub unit: Unit,
    /// Which direction is better, where the plan says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub better: Option<Better>,
    /// For the leader, its geometric mean with the interval; for others, that mean times their ratio to it within
    /// blocks. Where some candidate has a zero, a median without an interval.
    #[serde(flatten)]
    pub estimate: Estimate,
    /// The number of its trials that the estimate leaves out as outliers.
    #[serde(skip)]
    pub set_aside: usize,
    #[serde(skip)]
    pub min: f64,
    #[serde(skip)]
    pub max: f64,
}

pub(crate) fn find<'a>(
    estimates: &'a [PhaseEstimate],
    candidate: &str,
    phase: &str,
    metric: &str,
) -> Option<&'a PhaseEstimate> {
    let is = |estimate: &&PhaseEstimate| {
        estimate.candidate == candidate && estimate.phase == phase && estimate.metric == metric
    };
    estimates.iter().find(is)
}

impl PhaseEstimate {
    /// Which direction of its metric is better.
    pub fn direction(&self) -> Better {
        better_of(&self.metric, self.unit, self.better)
    }

    /// The ends of its interval, or of its sample if it has no interval.
    pub fn ends(&self) -> Option<(f64, f64)> {
        self.estimate.ends().or((self.estimate.n > 1).then_some((self.min, self.max)))
    }
}

/// A metric with its unit and direction.
struct MetricKind<'a> {
    metric: &'a str,
    unit: Unit,
    better: Option<Better>,
}

/// Estimates everything that the given trials measured, relative to `reference`: candidates in the run's order, phases
/// and metrics in the order in which they were first measured.
pub fn estimate_all(run: &Run, trials: &[&Trial], reference: Option<&str>) -> Vec<PhaseEstimate> {
    let blocks = ByBlock::of_run(run, trials.iter().copied());
    let measured: BTreeSet<&str> = trials.iter().map(|trial| trial.id.candidate.as_str()).collect();
    let states = run.candidates.iter().map(|state| state.name.as_str());
    let candidates: Vec<&str> = states.filter(|name| measured.contains(name)).collect();
    let mut kinds: Vec<(&str, Vec<MetricKind<'_>>)> = Vec::new();
    // A long run has millions of numbers that are read several times, so they are looked up by index.
    let mut numbers: Vec<Vec<Vec<Option<f64>>>> = Vec::with_capacity(trials.len());
    for trial in trials {
        let mut own = Vec::with_capacity(kinds.len());
        for observation in &trial.observations {
            let at = kinds.iter().position(|(phase, _)| *phase == observation.phase).unwrap_or_else(|| {
                kinds.push((&observation.phase, Vec::new()));
                kinds.len() - 1
            });
            own.resize_with(own.len().max(at + 1), Vec::new);
            let (row, metrics) = (&mut own[at], &mut kinds[at].1);
            row.resize(row.len().max(metrics.len()), None);
            for (guess, found) in observation.measurements.iter().enumerate() {
                // Trials are alike: a metric mostly has the same index as in the trial before.
                let is = |kind: &MetricKind<'_>| kind.metric == found.metric;
                let known = if metrics.get(guess).is_some_and(is) {
                    Some(guess)
                } else {
                    metrics.iter().position(is)
                };
                let place = known.unwrap_or_else(|| {
                    metrics.push(MetricKind {
                        metric: &found.metric,
                        unit: found.unit,
                        better: found.better,
                    });
                    metrics.len() - 1
                });
                row.resize(row.len().max(place + 1), None);
                row[place] = Some(found.resolved_value());
            }
        }
        numbers.push(own);
    }
    // Identifies a trial by its address, which is faster than by its name.
    let places: HashMap<*const Trial, usize> =
        trials.iter().enumerate().map(|(at, trial)| (std::ptr::from_ref(*trial), at)).collect();
    let grid = blocks.rows_by_block(&candidates, |trial| places.get(&std::ptr::from_ref(trial)).copied());
    let sites = blocks.sites();
    let mut estimates: Vec<(usize, PhaseEstimate)> = Vec::new();
    for (phase_at, (phase, metrics)) in kinds.into_iter().enumerate() {
        for (metric_at, MetricKind { metric, unit, better }) in metrics.into_iter().enumerate() {
            let value = |place: &Option<usize>| *numbers.get((*place)?)?.get(phase_at)?.get(metric_at)?;
            let rows: Vec<Vec<Option<f64>>> =
                grid.iter().map(|row| row.iter().map(value).collect()).collect();
            let mut ends = vec![(f64::INFINITY, f64::NEG_INFINITY); candidates.len()];
            for row in &rows {
                for ((least, most), value) in
                    ends.iter_mut().zip(row).filter_map(|(end, value)| Some((end, (*value)?)))
                {
                    (*least, *most) = (least.min(value), most.max(value));
                }
            }
            let found = side_by_side_of(&rows, &sites, reference, &candidates);
            for (at, (candidate, estimate)) in candidates.iter().zip(found).enumerate() {
                let Some((estimate, set_aside)) = estimate else { continue };
                let (min, max) = ends[at];
                let (candidate, phase, metric) =
                    ((*candidate).to_owned(), phase.to_owned(), metric.to_owned());
                estimates.push((
                    at,
                    PhaseEstimate { candidate, phase, metric, unit, better, estimate, set_aside, min, max },
                ));
            }
        }
    }
    // The sort is stable, so that phases and metrics of a candidate stay in order.
    estimates.sort_by_key(|(at, _)| *at);
    estimates.into_iter().map(|(_, estimate)| estimate).collect()
}

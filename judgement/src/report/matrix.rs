//! Candidates × phases for one metric: the table every renderer lays out in its own way.

use super::number::{Scale, decimals};
use super::{PhaseEntry, Report};
use crate::journal::{Better, CandidateStatus, Trial};
use crate::plan::is_twin;
use crate::statistics::Evidence;
use crate::verdict::{Estimate, PhaseEstimate, better_of};

/// One metric of all measured candidates in some phases.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Matrix {
    pub(super) columns: Vec<Column>,
    pub(super) rows: Vec<Row>,
    pub(super) spread: Spread,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Column {
    pub(super) phase: String,
    pub(super) unit: &'static str,
    /// Where its best estimate is in the report; `None` where nobody is to be crowned: the run ranks nothing, the metric
    /// has no better, there is no rival.
    pub(super) best: Option<usize>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Row {
    pub(super) candidate: String,
    /// How many times worse than the leader for the goal; 1 for the leader.
    pub(super) behind: Option<Estimate>,
    pub(super) cells: Vec<Option<Cell>>,
}

/// A number in its column's unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Cell {
    /// Where its estimate is in the report.
    pub(super) at: usize,
    /// How many times worse than the best of its column.
    pub(super) times: Option<f64>,
    pub(super) value: f64,
    pub(super) decimals: i32,
    /// Half the spread as a share of it; `None` for a single trial.
    pub(super) spread: Option<f64>,
    pub(super) mark: Mark,
}

/// How a cell compares with the best of its phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    Best,
    /// Within δ of the best.
    Tied,
    /// It is not certainly behind the best: the difference may be chance.
    Unsure,
    Plain,
}

/// What the ± of a matrix stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spread {
    /// Half the width of its interval.
    Interval,
    /// Half the way from the smallest value to the largest.
    Range,
    /// There is one trial each.
    Unknown,
}

impl Matrix {
    /// Lays out a metric. Phases without a value of it are left out; `None` where nothing is left.
    pub(super) fn of(
        report: &Report<'_>,
        metric: &str,
        wanted: impl Fn(&PhaseEntry) -> bool,
    ) -> Option<Self> {
        let found: Vec<(usize, &PhaseEstimate)> =
            report.estimates.iter().enumerate().filter(|(_, found)| found.metric == metric).collect();
        let mut phases = report.phases.iter().filter(|phase| wanted(phase)).collect::<Vec<_>>();
        phases.retain(|phase| found.iter().any(|(_, found)| found.phase == phase.name));
        let shown = || found.iter().filter(|(_, found)| phases.iter().any(|phase| phase.name == found.phase));
        let spread = if shown().all(|(_, found)| found.estimate.low.is_some()) {
            Spread::Interval
        } else if shown().any(|(_, found)| found.estimate.n > 1) {
            Spread::Range
        } else {
            Spread::Unknown
        };
        let mut rows: Vec<Row> = report
            .with_status(CandidateStatus::Ok)
            .map(|entry| Row { candidate: entry.name.to_owned(), behind: entry.behind, cells: Vec::new() })
            .collect();
        let leader = report.verdict.ranking.split_first().filter(|(_, rest)| !rest.is_empty());
        let leader = leader.map(|(leader, _)| leader.candidate.as_str());
        // A twin has nothing to win, and where nothing is ranked nobody has.
        let contests = |found: &PhaseEstimate| report.verdict.refused.is_none() && !is_twin(&found.candidate);
        let mut columns = Vec::new();
        for phase in phases {
            let mine: Vec<(usize, &PhaseEstimate)> =
                found.iter().filter(|(_, found)| found.phase == phase.name).copied().collect();
            let points = mine.iter().map(|(_, found)| found.estimate.point);
            let scale = Scale::suited(mine.first()?.1.unit, points);
            let typical = typical_share(mine.iter().map(|(_, found)| *found), spread);
            let best = best_of(mine.iter().copied().filter(|(_, found)| contests(found)));
            for row in &mut rows {
                let own = mine.iter().find(|(_, found)| found.candidate == row.candidate);
                row.cells.push(own.map(|(at, own)| {
                    let value = own.estimate.point / scale.divisor;
                    let times =
                        best.and_then(|(_, best)| times_worse(own, own.estimate.point, best.estimate.point));
                    Cell {
                        at: *at,
                        times,
                        value,
                        decimals: decimals(value, typical),
                        // Everybody's spread is that of its distance from the leader.
                        spread: spread_share(own, spread).filter(|_| leader != Some(own.candidate.as_str())),
                        mark: match best {
                            Some((_, best)) if contests(own) => mark(report, own, times, best),
                            _ => Mark::Plain,
                        },
                    }
                }));
            }
            columns.push(Column {
                phase: phase.name.clone(),
                unit: scale.label,
                best: best.map(|best| best.0),
            });
        }
        (!columns.is_empty() && !rows.is_empty()).then_some(Self { columns, rows, spread })
    }

    pub(super) fn row(&self, candidate: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.candidate == candidate)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.iter().flat_map(|row| row.cells.iter().flatten()).all(|cell| cell.value == 0.0)
    }
}

/// The best of a phase. Where all are alike there is no best to point at, and of one alone neither.
fn best_of<'a>(
    rivals: impl Iterator<Item = (usize, &'a PhaseEstimate)>,
) -> Option<(usize, &'a PhaseEstimate)> {
    let rivals: Vec<(usize, &PhaseEstimate)> = rivals.collect();
    let (_, first) = *rivals.first()?;
    let order = |one: &&(usize, &PhaseEstimate), other: &&(usize, &PhaseEstimate)| {
        one.1.estimate.point.total_cmp(&other.1.estimate.point)
    };
    let alike = rivals.iter().all(|(_, found)| found.estimate.point == first.estimate.point);
    match better_of(&first.metric, first.unit) {
        _ if alike => None,
        Better::Lower => rivals.iter().min_by(order).copied(),
        Better::Higher => rivals.iter().max_by(order).copied(),
        Better::Neither => None,
    }
}

/// How many times worse a value of this estimate's metric is than the best: 1 for the best itself, whichever way it
/// is better.
pub(super) fn times_worse(found: &PhaseEstimate, value: f64, best: f64) -> Option<f64> {
    let ratio = match better_of(&found.metric, found.unit) {
        Better::Higher => best / value,
        Better::Lower | Better::Neither => value / best,
    };
    (ratio.is_finite() && ratio > 0.0).then_some(ratio)
}

/// The middle one of the spreads of a column: digits follow it, so that they are alike where the numbers are.
fn typical_share<'a>(column: impl Iterator<Item = &'a PhaseEstimate>, spread: Spread) -> Option<f64> {
    let mut shares: Vec<f64> = column.filter_map(|found| spread_share(found, spread)).collect();
    shares.sort_by(f64::total_cmp);
    shares.get(shares.len() / 2).copied()
}

/// Half the spread as a share of the point.
fn spread_share(own: &PhaseEstimate, spread: Spread) -> Option<f64> {
    let half = match (spread, own.estimate.low, own.estimate.high) {
        (Spread::Interval, Some(low), Some(high)) => (high - low) / 2.0,
        (Spread::Range, ..) if own.estimate.n > 1 => (own.max - own.min) / 2.0,
        _ => return None,
    };
    (own.estimate.point != 0.0).then(|| half / own.estimate.point.abs())
}

fn mark(report: &Report<'_>, own: &PhaseEstimate, times: Option<f64>, best: &PhaseEstimate) -> Mark {
    let log = |trial: &Trial| trial.value(&own.phase, &own.metric).map(libm::log);
    let unsure = || {
        let pairs = report.blocks.differences(&own.candidate, &best.candidate, log);
        let ratio = Evidence::of(&pairs).map(|evidence| evidence.ratio_at_the_stop());
        ratio.and_then(|ratio| Some(ratio.low? <= 1.0 && ratio.high? >= 1.0)).unwrap_or(false)
    };
    match times {
        // Nothing at all is the best too, and no ratio.
        _ if own.estimate.point == best.estimate.point => Mark::Best,
        Some(small) if small <= 1.0 + report.plan.protocol.tie => Mark::Tied,
        _ if unsure() => Mark::Unsure,
        _ => Mark::Plain,
    }
}

//! Candidates × phases for one metric: the table every renderer lays out in its own way.

use super::number::{Scale, decimals};
use super::{CandidateEntry, PhaseEntry, Report};
use crate::journal::{Better, CandidateStatus};
use crate::plan::{contestants, is_twin};
use crate::verdict::{PhaseEstimate, better_of};

/// One metric of all measured candidates in some phases.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Matrix {
    pub(super) columns: Vec<Column>,
    pub(super) rows: Vec<Row>,
    pub(super) spread: Spread,
}

/// A phase, with the unit of its numbers.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Column {
    pub(super) phase: String,
    pub(super) unit: &'static str,
}

/// A candidate with one cell per column.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Row {
    pub(super) candidate: String,
    /// How many times the leader's score for the goal.
    pub(super) behind: Option<f64>,
    pub(super) cells: Vec<Option<Cell>>,
}

/// A median in its column's unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Cell {
    pub(super) value: f64,
    pub(super) decimals: i32,
    /// Half the spread as a share of the median; `None` for a single trial.
    pub(super) spread: Option<f64>,
    pub(super) mark: Mark,
}

/// How a cell compares with the best of its phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    Best,
    /// Within δ of the best.
    Tied,
    Plain,
}

/// What the ± of a matrix stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spread {
    /// Half the width of the interval of the median.
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
        let found: Vec<&PhaseEstimate> =
            report.estimates.iter().filter(|found| found.metric == metric).collect();
        let phases: Vec<&PhaseEntry> = report
            .phases
            .iter()
            .filter(|phase| wanted(phase) && found.iter().any(|found| found.phase == phase.name))
            .collect();
        let shown = || found.iter().filter(|found| phases.iter().any(|phase| phase.name == found.phase));
        let spread = if shown().all(|found| found.estimate.low.is_some()) {
            Spread::Interval
        } else if shown().any(|found| found.estimate.n > 1) {
            Spread::Range
        } else {
            Spread::Unknown
        };
        let leader = report.candidates.iter().find_map(|entry| entry.score);
        let mut rows: Vec<Row> = report
            .with_status(CandidateStatus::Ok)
            .map(|CandidateEntry { name, score, .. }| Row {
                candidate: (*name).to_owned(),
                behind: score.zip(leader).map(|(own, leader)| own / leader),
                cells: Vec::new(),
            })
            .collect();
        let contests = |name: &str| {
            let contestant = contestants(report.plan).any(|candidate| candidate.name == name);
            report.verdict.refused.is_none() && (contestant || !is_twin(name))
        };
        let mut columns = Vec::new();
        for phase in phases {
            let mine: Vec<&PhaseEstimate> =
                found.iter().filter(|found| found.phase == phase.name).copied().collect();
            let scale = Scale::suited(mine.first()?.unit, mine.iter().map(|found| found.estimate.point));
            let typical = typical_share(&mine, spread);
            // A twin has nothing to win.
            let rivals: Vec<&PhaseEstimate> =
                mine.iter().copied().filter(|found| contests(&found.candidate)).collect();
            for row in &mut rows {
                let own = mine.iter().find(|found| found.candidate == row.candidate);
                row.cells.push(own.map(|own| {
                    let value = own.estimate.point / scale.divisor;
                    Cell {
                        value,
                        decimals: decimals(value, typical),
                        spread: spread_share(own, spread),
                        mark: if contests(&own.candidate) {
                            mark(own, &rivals, report.plan.protocol.tie)
                        } else {
                            Mark::Plain
                        },
                    }
                }));
            }
            columns.push(Column { phase: phase.name.clone(), unit: scale.label });
        }
        (!columns.is_empty() && !rows.is_empty()).then_some(Self { columns, rows, spread })
    }
}

/// The middle one of the spreads of a column: digits follow it, so that they are alike where the numbers are.
fn typical_share(column: &[&PhaseEstimate], spread: Spread) -> Option<f64> {
    let mut shares: Vec<f64> = column.iter().filter_map(|found| spread_share(found, spread)).collect();
    shares.sort_by(f64::total_cmp);
    shares.get(shares.len() / 2).copied()
}

/// Half the spread as a share of the median.
fn spread_share(own: &PhaseEstimate, spread: Spread) -> Option<f64> {
    let half = match (spread, own.estimate.low, own.estimate.high) {
        (Spread::Interval, Some(low), Some(high)) => (high - low) / 2.0,
        (Spread::Range, ..) if own.estimate.n > 1 => (own.max - own.min) / 2.0,
        _ => return None,
    };
    (own.estimate.point != 0.0).then(|| half / own.estimate.point.abs())
}

fn mark(own: &PhaseEstimate, all: &[&PhaseEstimate], tie: f64) -> Mark {
    let points = all.iter().map(|found| found.estimate.point);
    let best = match better_of(&own.metric, own.unit) {
        Better::Lower => points.fold(f64::INFINITY, f64::min),
        Better::Higher => points.fold(f64::NEG_INFINITY, f64::max),
        Better::Neither => return Mark::Plain,
    };
    let mine = own.estimate.point;
    // Where all are alike there is no best to point at, and of one alone neither.
    let alike = all.iter().all(|found| found.estimate.point == mine);
    if alike {
        Mark::Plain
    } else if mine == best {
        Mark::Best
    } else if (mine - best).abs() <= tie * mine.abs().min(best.abs()) {
        Mark::Tied
    } else {
        Mark::Plain
    }
}

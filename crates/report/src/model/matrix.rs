//! The table of candidates × phases for one metric, which every renderer lays out in its own way.

use crate::wording::{NumberScale, TextTable, decimals, percent};
use fsverdict_judgement::journal::CandidateStatus;
use fsverdict_judgement::verdict::{ContrastOutcome, Estimate, Field, Judgement, PhaseEntry, PhaseEstimate};

/// The factor between the ends of an interval beyond which its trials do not tell the number: per cent of it would be a
/// number without meaning.
pub(crate) const WIDEST_INTERVAL: f64 = 2.0;

/// One metric of all measured candidates in some phases.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Matrix {
    pub(crate) columns: Vec<MatrixColumn>,
    pub(crate) rows: Vec<MatrixRow>,
    pub(crate) spread: Spread,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MatrixColumn {
    pub(crate) phase: String,
    pub(crate) unit: &'static str,
    /// How much the phase is of the goal: its weight times the mean over candidates, comparable within a matrix; 0 for a
    /// phase that the goal does not count.
    pub(crate) share: f64,
    /// The index of its best estimate in the report; `None` where no best may be named: the run ranks nothing, the
    /// metric has no better direction, or there is no rival.
    pub(crate) best: Option<usize>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MatrixRow {
    pub(crate) candidate: String,
    /// How many times worse than the leader for the goal it is; 1 for the leader.
    pub(crate) behind: Option<Estimate>,
    pub(crate) cells: Vec<Option<MatrixCell>>,
}

/// A number in its column's unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct MatrixCell {
    /// The index of its estimate in the report.
    pub(crate) at: usize,
    /// How many times worse than the best of its column it is.
    pub(crate) times: Option<f64>,
    pub(crate) value: f64,
    pub(crate) decimals: i32,
    /// `None` for a single trial.
    pub(crate) spread: Option<CellSpread>,
    pub(crate) mark: Option<ContrastOutcome>,
}

/// How far a number may be from the truth.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum CellSpread {
    /// Half the width of the interval as a share of the value.
    Share(f64),
    /// The interval is wider than a factor of [`WIDEST_INTERVAL`]: the trials do not tell the number.
    TooWide,
}

impl CellSpread {
    /// Behind a number, with this sign for plus or minus: `±3%`, or `±?` where the trials do not tell.
    pub(crate) fn shown(self, plus_minus: &str) -> String {
        match self {
            Self::Share(share) => format!("{plus_minus}{}", percent(share)),
            Self::TooWide => format!("{plus_minus}?"),
        }
    }
}

/// The meaning of the ± in a matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spread {
    /// Half the width of the interval.
    Interval,
    /// Half the width of the interval, for candidates with enough trials for one.
    SomeIntervals,
    /// Half the difference between the largest and the smallest value.
    Range,
    /// Each candidate has a single trial.
    Unknown,
}

impl Matrix {
    /// Lays out a metric, without phases that have no value of it; `None` where no phase is left.
    pub(crate) fn of(
        judged: &Judgement<'_>,
        metric: &str,
        wanted: impl Fn(&PhaseEntry) -> bool,
    ) -> Option<Self> {
        let fields: Vec<(&PhaseEntry, Field<'_>)> = judged
            .phases
            .iter()
            .filter(|phase| wanted(phase))
            .map(|phase| (phase, Field::from_judgement(judged, metric, &phase.name)))
            .filter(|(_, field)| !field.all.is_empty())
            .collect();
        let shown = || fields.iter().flat_map(|(_, field)| &field.all);
        let spread = if shown().all(|(_, found)| found.estimate.low.is_some()) {
            Spread::Interval
        } else if shown().any(|(_, found)| found.estimate.low.is_some()) {
            Spread::SomeIntervals
        } else if shown().any(|(_, found)| found.estimate.n > 1) {
            Spread::Range
        } else {
            Spread::Unknown
        };
        let mut rows: Vec<MatrixRow> = judged
            .with_status(CandidateStatus::Ok)
            .map(|entry| MatrixRow {
                candidate: entry.name.to_owned(),
                behind: entry.behind,
                cells: Vec::new(),
            })
            .collect();
        let leader = judged.verdict.ranking.split_first().filter(|(_, rest)| !rest.is_empty());
        let leader = leader.map(|(leader, _)| leader.candidate.as_str());
        let mut columns = Vec::new();
        for (phase, field) in &fields {
            let points = field.all.iter().map(|(_, found)| found.estimate.point);
            let mean = points.clone().sum::<f64>() / field.all.len() as f64;
            let scale = NumberScale::suited(field.all.first()?.1.unit, points);
            let typical = typical_share(field.all.iter().map(|(_, found)| *found), spread);
            for row in &mut rows {
                let estimate = field.all.iter().find(|(_, found)| found.candidate == row.candidate);
                row.cells.push(estimate.map(|(at, own)| {
                    let value = own.estimate.point / scale.divisor;
                    MatrixCell {
                        at: *at,
                        times: field.times_worse_than_best(own),
                        value,
                        decimals: decimals(value, typical),
                        // The spread of every other candidate is that of its ratio to the leader.
                        spread: cell_spread(own, spread).filter(|_| leader != Some(own.candidate.as_str())),
                        mark: field.outcome(own),
                    }
                }));
            }
            columns.push(MatrixColumn {
                phase: phase.name.clone(),
                unit: scale.label,
                share: judged.objective.weights.get(&phase.name).copied().unwrap_or(0.0).max(0.0) * mean,
                best: field.best.map(|best| best.0),
            });
        }
        (!columns.is_empty() && !rows.is_empty()).then_some(Self { columns, rows, spread })
    }

    /// The matrix as a table without a title, with the unit behind the name of each phase.
    pub(crate) fn to_text(&self, cell: impl Fn(&MatrixCell) -> String) -> TextTable {
        let titles = self.columns.iter().map(|column| match column.unit {
            "" => column.phase.clone(),
            unit => format!("{}, {unit}", column.phase),
        });
        let row = |row: &MatrixRow| {
            let cells = row.cells.iter().map(|found| found.as_ref().map_or("–".to_owned(), &cell));
            std::iter::once(row.candidate.clone()).chain(cells).collect()
        };
        TextTable {
            title: String::new(),
            header: std::iter::once("candidate".to_owned()).chain(titles).collect(),
            rows: self.rows.iter().map(row).collect(),
        }
    }

    pub(crate) fn find_row(&self, candidate: &str) -> Option<&MatrixRow> {
        self.rows.iter().find(|row| row.candidate == candidate)
    }

    /// Whether the trials do not tell some number of it.
    pub(crate) fn has_untold(&self) -> bool {
        let mut cells = self.rows.iter().flat_map(|row| row.cells.iter().flatten());
        cells.any(|cell| cell.spread == Some(CellSpread::TooWide))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.iter().flat_map(|row| row.cells.iter().flatten()).all(|cell| cell.value == 0.0)
    }
}

/// The median spread of a column. It determines the number of digits, so that equal numbers have equal digits.
fn typical_share<'a>(column: impl Iterator<Item = &'a PhaseEstimate>, spread: Spread) -> Option<f64> {
    let mut shares: Vec<f64> = column.filter_map(|found| spread_share(found, spread)).collect();
    shares.sort_by(f64::total_cmp);
    shares.get(shares.len() / 2).copied()
}

fn cell_spread(own: &PhaseEstimate, spread: Spread) -> Option<CellSpread> {
    let interval = own.estimate.ends().filter(|_| spread != Spread::Range);
    match interval {
        Some((low, high)) if is_too_wide(low, high) => Some(CellSpread::TooWide),
        _ => spread_share(own, spread).map(CellSpread::Share),
    }
}

/// Whether an interval from `low` to `high` is wider than a factor of [`WIDEST_INTERVAL`].
pub(crate) fn is_too_wide(low: f64, high: f64) -> bool {
    high > WIDEST_INTERVAL * low
}

/// Half the spread as a share of the point estimate.
fn spread_share(own: &PhaseEstimate, spread: Spread) -> Option<f64> {
    let half = match (spread, own.estimate.low, own.estimate.high) {
        (Spread::Interval | Spread::SomeIntervals, Some(low), Some(high)) => (high - low) / 2.0,
        (Spread::Range, ..) if own.estimate.n > 1 => (own.max - own.min) / 2.0,
        _ => return None,
    };
    (own.estimate.point != 0.0).then(|| half / own.estimate.point.abs())
}

#[cfg(test)]
mod tests {
    use super::{CellSpread, is_too_wide};

    /// Tables once said ±331 % and ±5757 %.
    #[test]
    fn an_interval_of_more_than_a_factor_of_two_is_no_percentage() {
        assert!(is_too_wide(1.0, 2.1) && is_too_wide(0.0, 0.1));
        assert!(!is_too_wide(1.0, 2.0) && !is_too_wide(0.97, 1.03) && !is_too_wide(0.0, 0.0));
        assert_eq!(CellSpread::Share(0.034).shown("±"), "±3%");
        assert_eq!(CellSpread::TooWide.shown("±"), "±?");
    }
}

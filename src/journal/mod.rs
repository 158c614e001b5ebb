//! The record of a run: what happened, in order, never changed afterwards.
//!
//! Everything later (statistics, verdict, reports) is derived from it and can be derived again.

mod event;
mod metric;

pub use event::{
    Caution, CommandRecord, Event, Facts, Histogram, Measurement, Observation, Record, Status, TrialId,
};
pub use metric::{Better, METRICS, MetricInfo, Unit, metric};

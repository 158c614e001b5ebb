//! The cost of each phase: the goal as one number for each trial, trials side by side by block, and the table of
//! estimates.

mod background;
mod charged;
mod cost;
mod estimates;
mod goal;
mod harness;
mod latency;
mod lead;
mod paired;

pub use background::Background;
pub(super) use background::find_background;
pub(super) use charged::charged_computation;
pub use charged::{ChargedCandidate, ChargedComputation, ChargedPhase};
pub(super) use cost::cost_columns;
pub(super) use cost::cost_of_trial;
pub use cost::{CostColumn, RawShare, raw_shares};
pub(super) use estimates::find;
pub use estimates::{PhaseEstimate, estimate_all};
pub(super) use goal::log_cost;
pub use goal::{LeftOutPhase, Objective};
pub use harness::Harness;
pub use latency::{LatencyCounts, latencies, latency_at};
pub use lead::LeadOrigin;
pub use paired::ByBlock;
pub(super) use paired::{differences, side_by_side, site_numbers};

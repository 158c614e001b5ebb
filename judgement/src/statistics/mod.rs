//! Statistics: estimates, intervals, tests, the noise floor, and the rule that decides when to stop.
//!
//! Pure functions of plain numbers; nothing here knows of files, devices, plans or journals. Scores are logs of
//! times, smaller is better, and differences within a block are what is judged. The method as a whole, with its
//! sources and its measured error rates, is in docs/methodology.md; every test and interval is checked against
//! scipy in tests/oracle.rs.

mod detectable;
mod distribution;
mod elimination;
mod estimate;
mod floor;
mod independent;
mod multiple;
mod outliers;
mod pooled;

mod sample;
mod scale;
mod scores;
mod spending;
mod stopping;
mod walsh;

pub use detectable::minimum_detectable_difference;
pub use distribution::{coin_cumulative, normal_quantile, normal_tail, student_quantile, student_tail};
pub use estimate::{Estimate, median_estimate, ratio_estimate, shift_estimate};
pub use floor::{FloorSource, NoiseFloor, split_half_floor, twin_floor};
pub use independent::{Comparison, FEWEST_TO_TEST, geometric_centre, independent_ratio, settled};
pub use multiple::holm;
pub use pooled::{Evidence, evidence};
pub use sample::{best_of, mean, median, quantile, trimmed_mean};
pub use scale::{CommonScale, table_scale};
pub use spending::{FEWEST, levels};
pub use stopping::{Look, LookComparison, Outcome, Stopping, StoppingRule};

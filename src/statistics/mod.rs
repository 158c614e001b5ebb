//! Statistics: estimates, intervals, tests, the noise floor, and the rule that decides when to stop.
//!
//! Pure functions of plain numbers; nothing here knows of files, devices, plans or journals. Scores are logs of
//! times, smaller is better, and differences within a block are what is judged. The method as a whole, with its
//! sources and its measured error rates, is in docs/methodology.md; every test and interval is checked against
//! scipy in tests/oracle.rs.

mod distribution;
mod elimination;
mod equivalence;
mod estimate;
mod floor;
mod independent;
mod multiple;
mod outliers;
mod pooled;
mod rank;
mod sample;
mod scale;
mod scores;
mod spending;
mod stopping;

pub use distribution::{
    chi_squared_tail, coin_cumulative, normal_quantile, normal_tail, student_quantile, student_tail,
};
pub use equivalence::{
    Comparison, PairedComparison, blocks_needed, compare_paired, equivalence_p, minimum_detectable_difference,
};
pub use estimate::{Estimate, fewest_for_interval, median_estimate, ratio_estimate, shift_estimate};
pub use floor::{FloorSource, NoiseFloor, split_half_floor, twin_floor};
pub use independent::{
    fewest_for_rank_sum, independent_ratio, independent_shift, rank_sum, settled, smallest_rank_sum_p,
};
pub use multiple::holm;
pub use pooled::{Evidence, evidence};
pub use rank::{EXACT_LIMIT, TestResult, friedman, midranks, signed_rank};
pub use sample::{
    best_of, geometric_mean, harmonic_mean, mean, median, quantile, sorted, spread, trimmed_mean,
};
pub use scale::{CommonScale, common_scale, scale_of_steps, table_scale};
pub use spending::{FEWEST, PlannedLook, levels, planned_looks};
pub use stopping::{Look, LookComparison, Outcome, Stopping, StoppingRule};

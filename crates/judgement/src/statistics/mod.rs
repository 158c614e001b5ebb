//! Statistics: estimates from samples, their uncertainty, and the stopping rule.
//!
//! All functions are pure functions of numbers; this module knows nothing of files, devices, plans or journals. Scores
//! are logs of times, so smaller is better, and comparisons use differences within a block.
//! docs/background/methodology.md describes the method with its sources and its measured error rates;
//! tests/plain/oracle.rs checks tests and intervals against scipy.

mod additive;
mod dependence;
mod distribution;
mod estimate;
mod evidence;
mod looks;
mod multiple;
mod outliers;
mod prediction;
mod prices;
mod proportion;
mod race;
#[cfg(test)]
mod race_tests;
mod sample;
mod signs;
#[cfg(test)]
pub(crate) mod test_noise;

pub use additive::Additive;
pub use dependence::{GoesWith, goes_with};
pub use distribution::{fisher_tail, student_quantile, student_tail};
pub use estimate::{CONFIDENCE, CONFIDENCE_AFTER_STOPPING_RULE, Estimate};
pub use evidence::{Evidence, FEWEST};
pub use looks::error_of_look;
pub use multiple::adjust_by_holm;
pub use prediction::{FEWEST_PREDICTED, predicted_range, predicted_range_of_kinds};
pub use prices::{CountedWork, HeldOutError, fit_prices, held_out_error};
pub use proportion::wilson_interval;
pub use race::{BlockOutcome, Race, Rival, Rule, Ruling};
pub use sample::{best_of, mean, median, quantile, trimmed_mean};
pub use signs::{median_test, sign_test};

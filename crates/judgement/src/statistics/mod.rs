//! Statistics: what a sample shows, how sure that is, and the rule that decides when to stop.
//!
//! Pure functions of plain numbers; nothing here knows of files, devices, plans or journals. Scores are logs of
//! times, smaller is better, and differences within a block are what is judged. The method as a whole, with its
//! sources and its measured error rates, is in docs/background/methodology.md; tests and intervals are checked against scipy in
//! tests/plain/oracle.rs.

mod additive;
mod dependence;
mod distribution;
mod estimate;
mod evidence;
mod looks;
mod multiple;
mod outliers;
mod prices;
mod proportion;
mod race;
#[cfg(test)]
mod race_tests;
mod sample;
mod signs;

pub use additive::Additive;
pub use dependence::{GoesWith, goes_with};
pub use distribution::{fisher_tail, student_quantile, student_tail};
pub use estimate::{AT_THE_STOP, CONFIDENCE, Estimate};
pub use evidence::{Evidence, FEWEST};
pub use looks::level;
pub use multiple::holm;
pub use prices::{CountedWork, HeldOutError, fit_prices, held_out_error};
pub use proportion::wilson;
pub use race::{BlockOutcome, Race, Rival, Rule, Ruling};
pub use sample::{best_of, mean, median, quantile, trimmed_mean};
pub use signs::{median_test, sign_test};

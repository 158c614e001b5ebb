//! How small a difference could have been seen at all.

use libm::exp;

use super::distribution::{root, student_quantile};

/// The smallest relative difference (0.05: 5 %) that `blocks` blocks find with probability `power` in a
/// two-sided paired comparison at `alpha`, when a single paired log ratio varies with standard deviation
/// `deviation`: exp((t₁₋α/₂ + t_power) · s / √n) − 1. `None` below two blocks.
pub fn minimum_detectable_difference(deviation: f64, blocks: usize, alpha: f64, power: f64) -> Option<f64> {
    if blocks < 2 {
        return None;
    }
    let degrees = (blocks - 1) as f64;
    let reach = student_quantile(1.0 - 0.5 * alpha, degrees) + student_quantile(power, degrees);
    Some(exp(reach * deviation / root(blocks as f64)) - 1.0)
}

//! When to look, and how much of the error rate each look may spend.
//!
//! Looking again and again at growing data inflates errors. Each look is therefore given a fixed share of α,
//! and the level (p value) at which it may act is chosen so that the probability of acting *for the first time*
//! there is at most its share. Successive looks mostly see the same data, so most of what a look would catch
//! the one before has caught already; the bound of Hunter 1976 and Worsley 1982,
//! P(∪Aᵢ) ≤ P(A₁) + Σ P(Aᵢ ∖ Aᵢ₋₁), gives that back and needs no more than the two-dimensional normal
//! distribution of neighbouring looks, whose correlation is √(nᵢ₋₁/nᵢ). (Spending functions: Lan & DeMets 1983.)

use libm::{exp, log, log2};

use super::distribution::{normal_quantile, normal_tail, root};

/// The fewest blocks from which anything may be concluded.
pub const FEWEST: u32 = 3;

/// Looks become sparser as blocks add less: each at about this multiple of the one before.
const GROWTH: f64 = 1.2;

/// Steps of Simpson's rule.
const STEPS: u32 = 128;

/// The ratio of neighbouring entries in the table over numbers of comparisons.
const TABLE_RATIO: f64 = 4.0;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct PlannedLook {
    pub block: u32,
    /// Share of α spent on ruling candidates out.
    pub out: f64,
    /// Share of α spent on declaring ties.
    pub tie: f64,
}

/// The looks between `minimum` and `maximum` blocks; the shares of each kind sum to `alpha`. Empty when
/// `maximum` is below [`FEWEST`].
pub(super) fn planned_looks(minimum: u32, maximum: u32, alpha: f64) -> Vec<PlannedLook> {
    let mut blocks = Vec::new();
    let mut next = minimum.max(FEWEST).min(maximum);
    while next >= FEWEST {
        blocks.push(next);
        if next >= maximum {
            break;
        }
        next = ((f64::from(next) * GROWTH) as u32).max(next + 1).min(maximum);
    }
    let out: f64 = blocks.iter().map(|block| weight_out(*block)).sum();
    let tie: f64 = blocks.iter().map(|block| f64::from(*block)).sum();
    blocks
        .into_iter()
        .map(|block| PlannedLook {
            block,
            out: alpha * weight_out(block) / out,
            tie: alpha * f64::from(block) / tie,
        })
        .collect()
}

/// How α for ruling out is divided: most of it where a difference of ten percent is found under noise of up to
/// four, some kept for small differences. Chosen by simulation (docs/methodology.md).
fn weight_out(block: u32) -> f64 {
    match block {
        ..=3 => 0.8,
        4 => 2.0,
        5 => 3.0,
        6..=8 => 2.0,
        9..=20 => 0.8,
        _ => 1.6,
    }
}

/// For each look the two-sided p value at or below which it may act, such that it acts for the first time with
/// probability at most its share. `looks` are (block, share), blocks not decreasing.
pub fn levels(looks: &[(u32, f64)]) -> Vec<f64> {
    let mut found: Vec<f64> = Vec::with_capacity(looks.len());
    let mut before: Option<(f64, f64)> = None;
    for (block, share) in looks {
        let n = f64::from(*block);
        let level = match (before, found.last()) {
            // A second look at the same data catches just what lies between the two levels.
            (Some((n_before, _)), Some(level_before)) if n_before >= n => level_before + share,
            (Some((n_before, critical)), _) => two_sided(critical_after(critical, n_before / n, *share)),
            (None, _) => *share,
        };
        before = Some((n, normal_quantile(1.0 - 0.5 * level)));
        found.push(level);
    }
    found
}

fn two_sided(critical: f64) -> f64 {
    2.0 * normal_tail(critical)
}

/// The critical |z| of a look of which the one before had `before` and a part `information` of the data, by
/// the Illinois variant of false position on the log of the probability (which is nearly a straight line).
fn critical_after(before: f64, information: f64, share: f64) -> f64 {
    let excess = |critical: f64| log(caught_first(critical, before, information) / share);
    // The level lies between the share alone and the share plus all that the look before caught.
    let mut high = normal_quantile(1.0 - 0.5 * share);
    let mut low = normal_quantile(1.0 - 0.5 * (share + two_sided(before)).min(1.0));
    let (mut at_high, mut at_low) = (excess(high), excess(low));
    if at_high >= 0.0 {
        return high;
    }
    for _ in 0..100 {
        if at_low <= 0.0 || high - low < 1e-12 {
            break;
        }
        let between = (low * at_high - high * at_low) / (at_high - at_low);
        let found = excess(between);
        if found.abs() < 1e-12 {
            return between;
        }
        if found > 0.0 {
            (low, at_low) = (between, found);
            at_high *= 0.5;
        } else {
            (high, at_high) = (between, found);
            at_low *= 0.5;
        }
    }
    high
}

/// P(|Z| > critical and |Z'| ≤ before), the squared correlation of Z and Z' being `information`.
fn caught_first(critical: f64, before: f64, information: f64) -> f64 {
    let (correlation, rest) = (root(information), root(1.0 - information));
    let width = 2.0 * before / f64::from(STEPS);
    let mut sum = 0.0;
    for step in 0..=STEPS {
        let z = width * f64::from(step) - before;
        let simpson = match step {
            0 | STEPS => 1.0,
            odd if odd % 2 == 1 => 4.0,
            _ => 2.0,
        };
        let outside = normal_tail((critical - correlation * z) / rest)
            + normal_tail((critical + correlation * z) / rest);
        sum += simpson * exp(-0.5 * z * z) * outside;
    }
    sum * width / 3.0 / root(std::f64::consts::TAU)
}

/// Levels for any number of comparisons that share a look's α, interpolated in a table.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Levels {
    /// `table[row][look]`: levels when a look's share is divided by `TABLE_RATIO`^row.
    table: Vec<Vec<f64>>,
}

impl Levels {
    /// Prepares for up to `most` comparisons.
    pub(super) fn new(looks: &[(u32, f64)], most: f64) -> Levels {
        let rows = (log2(most.max(1.0)) / log2(TABLE_RATIO)).ceil() as u32 + 1;
        let table = (0..=rows)
            .map(|row| {
                let part = libm::pow(TABLE_RATIO, f64::from(row));
                levels(&looks.iter().map(|(block, share)| (*block, share / part)).collect::<Vec<_>>())
            })
            .collect();
        Levels { table }
    }

    /// The two-sided level of each of `comparisons` comparisons at look number `look` (from 0); 0 beyond the
    /// last look, or beyond the number of comparisons prepared for.
    pub(super) fn level(&self, look: usize, comparisons: f64) -> f64 {
        let place = log2(comparisons.max(1.0)) / log2(TABLE_RATIO);
        let row = place as usize;
        let entry = |row: usize| self.table.get(row).and_then(|levels| levels.get(look)).copied();
        match (entry(row), entry(row + 1)) {
            (Some(near), Some(far)) => exp(log(near) + (place - row as f64) * (log(far) - log(near))),
            _ => 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Levels, levels, planned_looks};

    #[test]
    fn the_shares_sum_to_alpha() {
        for (minimum, maximum) in [(3, 30), (1, 5), (10, 10), (3, 200), (20, 12)] {
            let looks = planned_looks(minimum, maximum, 0.05);
            assert!((looks.iter().map(|look| look.out).sum::<f64>() - 0.05).abs() < 1e-12);
            assert!((looks.iter().map(|look| look.tie).sum::<f64>() - 0.05).abs() < 1e-12);
            assert_eq!(looks.last().unwrap().block, maximum);
            assert!(looks.iter().all(|look| look.block >= 3));
        }
        assert!(planned_looks(1, 2, 0.05).is_empty());
    }

    #[test]
    fn a_single_look_has_all_of_alpha() {
        assert_eq!(levels(&[(8, 0.05)]), [0.05]);
    }

    #[test]
    fn overlap_of_looks_is_given_back_but_never_more_than_exists() {
        let found = levels(&[(10, 0.025), (20, 0.025)]);
        assert!(found[1] > 0.025 && found[1] < 0.05, "{found:?}");
        // The same data again: only what was not caught yet.
        assert_eq!(levels(&[(10, 0.02), (10, 0.03)]), [0.02, 0.05]);
    }

    #[test]
    fn pocock_two_looks() {
        // Pocock 1977: two equal looks at nominal 0.0294 each have an overall error of 0.05. For two looks the
        // bound is exact, so spending what those two looks spend must give that level back.
        let first = 0.0294;
        let found = levels(&[(10, first), (20, 0.05 - first)]);
        assert!((found[1] - first).abs() < 2e-4, "{found:?}");
    }

    #[test]
    fn the_table_interpolates() {
        let looks: Vec<(u32, f64)> =
            planned_looks(3, 30, 0.05).iter().map(|look| (look.block, look.out)).collect();
        let table = Levels::new(&looks, 120.0);
        let direct = levels(&looks.iter().map(|(block, share)| (*block, share / 6.0)).collect::<Vec<_>>());
        for (look, exact) in direct.iter().enumerate() {
            let ratio = table.level(look, 6.0) / exact;
            assert!((0.97..1.03).contains(&ratio), "look {look}: {ratio}");
        }
        assert_eq!(table.level(99, 1.0), 0.0);
    }
}

//! Which candidates may be ruled out at one look.
//!
//! Candidate a may be ruled out when every hypothesis "the set T, a in it, is tied for best" is rejected
//! (closed testing: Marcus, Peritz & Gabriel 1976). For each size only the set hardest to reject has to be
//! tried: the leader, a, and those closest to the leader. A set of r contenders and the leader is rejected by
//! any of three tests, which share the look's level:
//!
//! - *one of them is worse than the leader*: the smallest p of its pairs with the leader, for all
//!   (r + 1) r / 2 pairs, since the leader was chosen after the fact;
//! - *the leader stands apart from the rest*: the differences between the median of the contenders and the
//!   leader, for the r + 1 candidates that could have stood apart. Where one is best and the others are alike,
//!   this borrows strength from all of them;
//! - *the best two stand apart from the rest*: likewise for the mean of the leader and the contender closest to
//!   it, for the (r + 1) r / 2 pairs that could have stood apart.

use super::distribution::root;
use super::pooled::{Evidence, evidence};
use super::sample::median;
use super::scale::CommonScale;

/// How the level of a set is divided, by the number of contenders in it: for the leader standing apart, and for
/// the best two standing apart; the rest is for the pairs. Chosen by simulation (docs/methodology.md).
fn division(contenders: usize) -> (f64, f64) {
    match contenders {
        0 | 1 => (0.0, 0.0),
        2 => (0.3, 0.3),
        3 => (0.35, 0.35),
        _ => (0.5, 0.3),
    }
}

/// The smallest part that is left for the pairs.
const LEAST_FOR_PAIRS: f64 = 0.2;

/// Up to this many blocks, a candidate must also have been worse than the leader in every block.
const CONSISTENT: usize = 5;

/// The weight of the common scale, in degrees of freedom, where many are judged together: at most this, and what
/// the candidates of the set add. Sets may rely on it more than pairs: nobody is ruled out whose own pair was not
/// found different too.
const MOST_WEIGHT: f64 = 30.0;

/// The variance of the median of so many normal values over that of one of them: of one or two it is their mean,
/// of more it is close to π / (2 r + 1).
pub(super) fn median_variance(count: f64) -> f64 {
    if count <= 2.0 { 1.0 / count.max(1.0) } else { std::f64::consts::FRAC_PI_2 / (count + 0.5) }
}

/// A candidate that is compared with the leader.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Contender {
    pub candidate: usize,
    /// Its log scores less the leader's, block by block.
    pub differences: Vec<f64>,
    pub evidence: Evidence,
    /// Two-sided p of the difference.
    pub p: f64,
}

/// The number of comparisons among which the level is divided, at most.
pub(super) fn most_comparisons(candidates: usize) -> f64 {
    let k = candidates as f64;
    0.5 * k * (k - 1.0) / LEAST_FOR_PAIRS
}

/// For each contender (closest to the leader first): may it be ruled out? It must be worse by more than
/// `bound`, consistently so in early blocks, and every set it could be tied for best with must be rejected.
/// `level` gives the two-sided level when it is divided among so many comparisons.
pub(super) fn ruled_out(
    contenders: &[Contender],
    common: Option<CommonScale>,
    bound: f64,
    level: impl Fn(f64) -> f64,
) -> Vec<bool> {
    (0..contenders.len())
        .map(|place| {
            let contender = &contenders[place];
            contender.evidence.difference > bound
                && (contender.differences.len() > CONSISTENT
                    || contender.differences.iter().all(|one| *one > 0.0))
                && every_set_rejected(contenders, place, common, &level)
        })
        .collect()
}

fn every_set_rejected(
    contenders: &[Contender],
    place: usize,
    common: Option<CommonScale>,
    level: &impl Fn(f64) -> f64,
) -> bool {
    let mut set = vec![&contenders[place]];
    let mut closest = contenders.iter().enumerate().filter(|(other, _)| *other != place).map(|(_, one)| one);
    loop {
        if !rejected(&set, common, level) {
            return false;
        }
        match closest.next() {
            Some(next) => set.push(next),
            None => return true,
        }
    }
}

/// Rejects "these contenders and the leader are tied for best".
fn rejected(set: &[&Contender], common: Option<CommonScale>, level: &impl Fn(f64) -> f64) -> bool {
    let size = set.len() as f64 + 1.0;
    let pairs = 0.5 * size * (size - 1.0);
    let smallest = set.iter().map(|one| one.p).fold(1.0, f64::min);
    let (one, two) = division(set.len());
    if smallest <= level(pairs / (1.0 - one - two)) {
        return true;
    }
    // One-sided, hence half the candidates, or pairs of candidates, that could have stood apart.
    one > 0.0 && stands_apart(set, None, common, level(0.5 * size / one))
        || two > 0.0 && stands_apart(set, closest(set), common, level(0.5 * pairs / two))
}

/// The place of the contender closest to the leader.
fn closest(set: &[&Contender]) -> Option<usize> {
    (0..set.len()).min_by(|a, b| set[*a].evidence.difference.total_cmp(&set[*b].evidence.difference))
}

/// Whether the leader, or the mean of the leader and a `second`, is better than the median of the (other)
/// contenders, block by block, at this two-sided level.
fn stands_apart(set: &[&Contender], second: Option<usize>, common: Option<CommonScale>, level: f64) -> bool {
    let blocks = set.first().map_or(0, |one| one.differences.len());
    let gaps: Option<Vec<f64>> = (0..blocks)
        .map(|block| {
            let rest: Vec<f64> = (0..set.len())
                .filter(|place| Some(*place) != second)
                .map(|place| set[place].differences[block])
                .collect();
            let best = second.map_or(0.0, |place| 0.5 * set[place].differences[block]);
            median(&rest).map(|middle| middle - best)
        })
        .collect();
    let rest = (set.len() - usize::from(second.is_some())) as f64;
    let of_best = if second.is_some() { 0.5 } else { 1.0 };
    let share = 0.5 * (of_best + median_variance(rest));
    let scale = common.map(|common| CommonScale {
        variance: common.variance * share,
        typical: common.typical * root(share),
        degrees: ((set.len() as f64 - 1.0) * (blocks as f64 - 1.0)).min(MOST_WEIGHT),
        ..common
    });
    gaps.and_then(|gaps| evidence(&gaps, &[], scale))
        .is_some_and(|found| found.difference > 0.0 && found.p_different() <= level)
}

#[cfg(test)]
mod tests {
    use super::super::pooled::evidence;
    use super::{Contender, ruled_out};

    fn contender(candidate: usize, differences: &[f64]) -> Contender {
        let evidence = evidence(differences, &[], None).unwrap();
        Contender { candidate, differences: differences.to_vec(), evidence, p: evidence.p_different() }
    }

    /// As a single look with all of α: a plain Bonferroni division.
    fn level(comparisons: f64) -> f64 {
        0.05 / comparisons
    }

    #[test]
    fn a_clear_loser_goes_and_its_rival_stays() {
        let rival = contender(1, &[0.01, -0.02, 0.02, -0.01, 0.0]);
        let loser = contender(2, &[0.50, 0.48, 0.52, 0.49, 0.51]);
        assert_eq!(ruled_out(&[rival, loser], None, 0.03, level), [false, true]);
    }

    #[test]
    fn early_on_one_good_block_keeps_a_candidate_in() {
        // Significant by itself, but not worse in every block.
        let mixed = contender(1, &[0.9, 1.0, 1.1, 1.0, -0.01]);
        let strict = contender(1, &[0.9, 1.0, 1.1, 1.0, 0.60]);
        let generous = |_: f64| 0.9;
        assert_eq!(ruled_out(&[mixed], None, 0.03, generous), [false]);
        assert_eq!(ruled_out(&[strict], None, 0.03, generous), [true]);
    }

    #[test]
    fn certain_but_small_is_not_out() {
        let close = contender(1, &[0.020, 0.021, 0.019, 0.020, 0.0201]);
        assert_eq!(ruled_out(&[close], None, 0.03, level), [false]);
    }

    #[test]
    fn many_alike_are_judged_together() {
        // Where sets get no level for their many pairs, the leader still stands apart from all of them.
        let all: Vec<Contender> = (0..6)
            .map(|place| {
                let wiggle = |block: usize| f64::from(((block * 7 + place * 5) % 11) as u32) * 0.012;
                let differences: Vec<f64> = (0..6).map(|block| 0.10 + wiggle(block)).collect();
                contender(place + 1, &differences)
            })
            .collect();
        let few_only = |comparisons: f64| if comparisons > 7.2 { 0.0 } else { 0.05 / comparisons };
        assert!(ruled_out(&all, None, 0.03, level).iter().all(|out| *out));
        assert!(ruled_out(&all, None, 0.03, few_only).iter().all(|out| *out));
        let nothing = |_: f64| 0.0;
        assert!(ruled_out(&all, None, 0.03, nothing).iter().all(|out| !*out));
    }
}

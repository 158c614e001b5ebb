//! The protection of a candidate's data, and the part of it that its options change: of candidates that are equal by the goal,
//! the better protected is recommended.

use std::collections::BTreeMap;

use super::stored_table::stored_table;
use super::{Candidate, Goal, Plan, Protection, ProtectionFeature};

stored_table! {
    /// The safeguards of a candidate, whether they are its filesystem's own or come from its options and layers.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct Safeguards {
        has: Protection,
        /// Those that the options of mkfs and mount, or layers, add to the filesystem or take from it.
        changed!: Protection,
    }
}

impl Safeguards {
    /// The safeguards that this candidate keeps and the other one gives up. Between two filesystems, what one of them lacks by nature
    /// does not count: a choice of filesystem weighs more than that.
    pub fn advantages_over(&self, other: &Self) -> Vec<ProtectionFeature> {
        let counts = |feature: ProtectionFeature| {
            feature.is_of_level() || self.changed.has(feature) || other.changed.has(feature)
        };
        let is_kept = |safeguards: &Self, feature: ProtectionFeature| {
            safeguards.has.has(feature) != feature.is_weaker()
        };
        let all = ProtectionFeature::ALL.into_iter().filter(|feature| counts(*feature));
        all.filter(|feature| is_kept(self, *feature) && !is_kept(other, *feature)).collect()
    }

    /// Whether this candidate is protected better than the other one in something, and worse in nothing.
    pub fn exceeds(&self, other: &Self) -> bool {
        !self.advantages_over(other).is_empty() && other.advantages_over(self).is_empty()
    }
}

/// Stores the safeguards of a plan's candidates in its goal, if they can differ between candidates of one ranking.
pub(super) fn assign_safeguards(plan: &mut Plan, safeguards: fn(&Candidate) -> Safeguards) {
    let all: BTreeMap<String, Safeguards> =
        plan.candidates.iter().map(|candidate| (candidate.name.clone(), safeguards(candidate))).collect();
    let is_changed = all.values().any(|one| !one.changed.is_usual());
    let levels_differ = plan.goal.one_ranking
        && plan.candidates.windows(2).any(|pair| {
            let [one, other] = [0, 1].map(|at| all.get(&pair[at].name).map(|known| &known.has));
            one != other
        });
    plan.goal.safeguards = if is_changed || levels_differ { all } else { BTreeMap::new() };
}

impl Goal {
    /// The safeguards of a candidate; none where the plan stores none, because no options change any.
    pub fn safeguards_of(&self, candidate: &str) -> Safeguards {
        self.safeguards.get(candidate).cloned().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::Safeguards;
    use crate::plan::ProtectionFeature::{self, DataChecksums, Encrypted, MetadataChecksums, NoFlushes};

    fn safeguards(has: &[ProtectionFeature], changed: &[ProtectionFeature]) -> Safeguards {
        Safeguards { has: has.iter().copied().collect(), changed: changed.iter().copied().collect() }
    }

    #[test]
    fn what_options_change_counts_and_what_a_filesystem_lacks_by_nature_does_not() {
        let btrfs = safeguards(&[DataChecksums, MetadataChecksums], &[]);
        let nodatasum = safeguards(&[MetadataChecksums], &[DataChecksums]);
        let xfs = safeguards(&[MetadataChecksums], &[]);
        let old = safeguards(&[], &[MetadataChecksums]);
        assert_eq!(btrfs.advantages_over(&nodatasum), [DataChecksums]);
        assert!(btrfs.exceeds(&nodatasum) && !nodatasum.exceeds(&btrfs));
        assert!(!btrfs.exceeds(&xfs) && !xfs.exceeds(&btrfs) && !xfs.exceeds(&nodatasum));
        assert!(xfs.exceeds(&old) && nodatasum.exceeds(&old));
        // What separates levels counts always: a missing weakness is an advantage.
        let (encrypted, unflushed) = (safeguards(&[Encrypted], &[]), safeguards(&[NoFlushes], &[]));
        assert_eq!(encrypted.advantages_over(&unflushed), [Encrypted, NoFlushes]);
        assert!(safeguards(&[], &[]).exceeds(&unflushed));
    }
}

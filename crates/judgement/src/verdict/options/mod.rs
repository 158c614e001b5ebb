//! The effect of a single option: compares candidates that differ in nothing else, within each block.

mod factors;

pub(crate) use factors::factor_effects;
pub use factors::{AddedSeconds, FactorEffect, Interaction};

use super::VerdictEvidence;
use super::work::log_cost;
use crate::journal::Trial;
use crate::plan::{AXES, Axis, AxisRole, Candidate};
use crate::statistics::Estimate;

/// A candidate, and another one that has one option more.
#[derive(Debug, Clone, PartialEq)]
pub struct OptionEffect {
    pub base: String,
    pub changed: String,
    /// The option, such as `encryption luks2`.
    pub change: String,
    /// For each requested phase, the ratio of the goal's metric with the option to that without; larger is worse.
    pub phases: Vec<Option<Estimate>>,
}

/// Every pair of the plan's candidates that differ in one option, with its effect in these phases; without options whose
/// effect is computation that took no time.
pub(crate) fn option_effects(evidence: &VerdictEvidence<'_>, phases: &[&str]) -> Vec<OptionEffect> {
    let candidates = &evidence.plan.candidates;
    let metric = evidence.plan.goal.metric.as_str();
    let pairs = candidates.iter().flat_map(|changed| {
        candidates.iter().filter_map(move |base| Some((base, changed, added_option(base, changed)?)))
    });
    pairs
        .filter(|(base, changed, _)| !evidence.free.hides_difference(&base.name, &changed.name))
        .map(|(base, changed, change)| {
            let effect = |phase: &&str| {
                let log = |trial: &Trial| log_cost(metric, phase, trial);
                evidence.trials.ratio(&changed.name, &base.name, log)
            };
            OptionEffect {
                base: base.name.clone(),
                changed: changed.name.clone(),
                change,
                phases: phases.iter().map(effect).collect(),
            }
        })
        .filter(|effect| effect.phases.iter().any(Option::is_some))
        .collect()
}

/// Whether two candidates differ in one option alone, which one of them has and the other leaves at its default.
pub(crate) fn is_single_change(one: &Candidate, other: &Candidate) -> bool {
    added_option(one, other).or_else(|| added_option(other, one)).is_some()
}

/// The option that `changed` has and `base` leaves at its default, where all else is the same.
pub(crate) fn added_option(base: &Candidate, changed: &Candidate) -> Option<String> {
    let differs = |axis: &&Axis| axis.set_level(base) != axis.set_level(changed);
    let mut differing = AXES.iter().filter(differs);
    match (differing.next(), differing.next()) {
        (Some(axis @ Axis { role: AxisRole::Option, .. }), None) => {
            let added = axis.set_level(changed).words_beyond(&axis.set_level(base))?;
            Some(format!("{} {added}", axis.key_of(&added)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::added_option;
    use crate::plan::{Candidate, Layers};

    fn candidate(layers: &[&str], mount: &[&str]) -> Candidate {
        Candidate {
            mount: mount.iter().map(|&word| word.to_owned()).collect(),
            layers: Layers::from_names(layers.iter().copied()).unwrap(),
            ..Candidate::with_defaults("ext4")
        }
    }

    #[test]
    fn only_one_option_may_differ_and_the_base_has_its_default() {
        let change = |base, changed| added_option(&base, &changed);
        let plain = || candidate(&[], &[]);
        assert_eq!(change(plain(), candidate(&["luks2"], &[])), Some("encryption luks2".to_owned()));
        assert_eq!(
            change(plain(), candidate(&[], &["noatime", "ssd"])),
            Some("mount noatime,ssd".to_owned())
        );
        let both = || candidate(&["luks1", "luks2"], &[]);
        assert_eq!(change(plain(), both()), Some("layers luks1+luks2".to_owned()));
        assert_eq!(change(candidate(&["luks2"], &[]), both()), Some("encryption luks1".to_owned()));
        assert_eq!(change(candidate(&["luks2", "luks1"], &[]), both()), None);
        assert_eq!(change(candidate(&["luks2"], &[]), plain()), None);
        assert_eq!(change(plain(), candidate(&["luks2"], &["noatime"])), None);
        assert_eq!(change(plain(), plain()), None);
        assert_eq!(change(candidate(&[], &["a"]), candidate(&[], &["b"])), None);
        // The same in another order is no option more.
        assert_eq!(change(candidate(&[], &["a", "b"]), candidate(&[], &["b", "a"])), None);
        assert_eq!(change(candidate(&[], &["a"]), candidate(&[], &["a", "b"])), Some("mount b".to_owned()));
    }
}

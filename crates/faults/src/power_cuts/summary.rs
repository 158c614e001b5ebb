//! Summarises the findings in a candidate's states.

use std::collections::BTreeMap;

use fsverdict_judgement::journal::{LossAges, PowerCuts, StateFinding};
use fsverdict_judgement::plan::Candidate;
use fsverdict_stack::filesystem::{CONDITIONAL_PROMISES, documented_losses, find_filesystem};
use fsverdict_workload::workload::{PROMISES, Promise};

use super::CutName;

/// The number of findings about states with losses that are kept, and the number for each kind of loss.
const FIRST: usize = 12;
const FIRST_OF_KIND: usize = 3;

/// The documented losses of the candidate's options, each with its source.
fn describe_losses(candidate: &Candidate) -> Vec<String> {
    let losses = documented_losses(candidate).into_iter();
    losses.map(|(option, loss)| format!("{option}: {} ({})", loss.says, loss.source)).collect()
}

/// Broken promises that not every filesystem makes, and this one does not with its options.
fn broken_but_not_promised(candidate: &Candidate, broken: &BTreeMap<String, u32>) -> Vec<String> {
    let filesystem = find_filesystem(&candidate.filesystem);
    let is_made = |promise: &Promise| {
        !CONDITIONAL_PROMISES.contains(&promise.name)
            || filesystem.is_some_and(|known| known.promises(promise.name, &candidate.mkfs, &candidate.mount))
    };
    let unmade = PROMISES.iter().filter(|promise| !is_made(promise)).map(|promise| promise.name.to_owned());
    unmade.filter(|name| broken.contains_key(name)).collect()
}

pub(super) fn summarise(candidate: &Candidate, mut findings: Vec<StateFinding>, trace: String) -> PowerCuts {
    let (mut outcomes, mut broken) = (BTreeMap::new(), BTreeMap::new());
    let mut ages = LossAges::default();
    for finding in &findings {
        ages.merge(&finding.ages);
        *outcomes.entry(finding.outcome).or_insert(0) += 1;
        for promise in &finding.broken {
            *broken.entry(promise.clone()).or_insert(0) += 1;
        }
    }
    let mut back: Vec<f64> = findings.iter().map(|finding| finding.back_s).collect();
    back.sort_by(f64::total_cmp);
    let back_s = [back.get(back.len() / 2), back.last()].map(|seconds| seconds.copied().unwrap_or(0.0));
    let states = u32::try_from(findings.len()).unwrap_or(u32::MAX);
    // In the order of the cuts, however many looked at them.
    findings.retain(|finding| finding.outcome.is_loss());
    findings.sort_by_key(|finding| finding.state.parse::<CutName>().ok());
    let findings = some_of_each_kind(findings);
    PowerCuts {
        candidate: candidate.name.clone(),
        states,
        outcomes,
        unpromised: broken_but_not_promised(candidate, &broken),
        broken,
        first: findings,
        priced: describe_losses(candidate),
        back_s,
        trials: 0,
        trials_lost: 0,
        ages,
        accepted: false,
        trace,
    }
}

/// Frequent findings must not hide rare ones: the first of each kind, then the second of each and so on, in the order
/// of the cuts.
fn some_of_each_kind(findings: Vec<StateFinding>) -> Vec<StateFinding> {
    let mut of_kind: BTreeMap<Vec<String>, usize> = BTreeMap::new();
    let ranked = findings.into_iter().enumerate().map(|(place, finding)| {
        let rank = of_kind.entry(finding.broken.clone()).or_default();
        *rank += 1;
        (*rank, place, finding)
    });
    let mut some: Vec<_> = ranked.filter(|(rank, ..)| *rank <= FIRST_OF_KIND).collect();
    some.sort_by_key(|(rank, place, _)| (*rank, *place));
    some.truncate(FIRST);
    some.sort_by_key(|(_, place, _)| *place);
    some.into_iter().map(|(_, _, finding)| StateFinding { ages: LossAges::default(), ..finding }).collect()
}

#[cfg(test)]
mod tests {
    use super::{FIRST, some_of_each_kind};
    use fsverdict_judgement::journal::{CutOutcome, LossAges, StateFinding};

    #[test]
    fn the_rarest_kind_is_among_those_that_are_kept() {
        let finding = |number: u32, broken: &str| StateFinding {
            state: format!("{number}-none"),
            outcome: CutOutcome::SilentLoss,
            broken: vec![broken.to_owned()],
            seen: String::new(),
            back_s: 0.0,
            ages: LossAges::default(),
        };
        let mut all: Vec<StateFinding> = (0..60)
            .map(|number| finding(number, ["a", "b", "c", "d", "e", "f"][number as usize % 6]))
            .collect();
        all.push(finding(60, "rare"));
        let kept = some_of_each_kind(all);
        assert_eq!(kept.len(), FIRST);
        assert_eq!(kept.last().map(|finding| finding.broken[0].as_str()), Some("rare"));
        assert!(kept.windows(2).all(|pair| pair[0].state != pair[1].state));
    }
}

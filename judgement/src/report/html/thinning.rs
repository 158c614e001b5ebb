//! Which trials go into the page when a run has more than a page should hold: evenly many of each candidate, and
//! always its best and worst. Estimates, tables and latencies are made from all trials in any case.

use std::collections::{BTreeSet, HashMap};

use crate::journal::Trial;
use crate::report::Report;
use crate::report::text::count;

/// Numbers that a page holds at most: about three megabytes.
const NUMBERS: usize = 500_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Thinned {
    pub(super) shown: usize,
    pub(super) all: usize,
}

impl Thinned {
    /// What a reader must know of it.
    pub(super) fn sentence(self) -> String {
        format!(
            "This run has {}; the charts draw {} of them: evenly many of each candidate, with its best and its worst in \
             each phase. All medians, intervals, tables and latencies are made from all trials. `fsverdict report RUN \
             --format csv` has every number.",
            count(self.all, "trial"),
            self.shown
        )
    }
}

/// The trials to put into the page, in the order of the run, and what was left out.
pub(super) fn choose<'a>(report: &'a Report<'_>) -> (Vec<&'a Trial>, Option<Thinned>) {
    choose_within(report, NUMBERS)
}

fn choose_within<'a>(report: &'a Report<'_>, limit: usize) -> (Vec<&'a Trial>, Option<Thinned>) {
    let trials = &report.run.trials;
    let numbers: usize = trials
        .iter()
        .flat_map(|trial| &trial.observations)
        .map(|observation| observation.measurements.len())
        .sum();
    if numbers <= limit {
        return (trials.iter().collect(), None);
    }
    let step = numbers.div_ceil(limit.max(1));
    let mut chosen: BTreeSet<usize> = extremes(report).into_iter().collect();
    let mut of_candidate: HashMap<&str, usize> = HashMap::new();
    for (at, trial) in trials.iter().enumerate() {
        let number = of_candidate.entry(&trial.id.candidate).or_default();
        if number.is_multiple_of(step) {
            chosen.insert(at);
        }
        *number += 1;
    }
    let thinned = Thinned { shown: chosen.len(), all: trials.len() };
    (chosen.into_iter().map(|at| &trials[at]).collect(), Some(thinned))
}

/// Of each candidate and phase the trials with the smallest and the largest value of the goal's metric.
fn extremes(report: &Report<'_>) -> Vec<usize> {
    let mut ends: HashMap<(&str, &str), [(usize, f64); 2]> = HashMap::new();
    for (at, trial) in report.run.trials.iter().enumerate().filter(|(_, trial)| trial.counts()) {
        for observation in &trial.observations {
            let Some(found) =
                observation.measurements.iter().find(|found| found.metric == report.plan.goal.metric)
            else {
                continue;
            };
            let [least, most] =
                ends.entry((&trial.id.candidate, &observation.phase)).or_insert([(at, found.value); 2]);
            if found.value < least.1 {
                *least = (at, found.value);
            }
            if found.value > most.1 {
                *most = (at, found.value);
            }
        }
    }
    ends.into_values().flatten().map(|(at, _)| at).collect()
}

#[cfg(test)]
mod tests {
    use super::choose_within;
    use crate::report::Report;
    use crate::report::fixtures::{Story, id};

    #[test]
    fn the_best_and_the_worst_stay_and_each_candidate_keeps_its_share() {
        let mut story = Story::new(&["ext4", "xfs"], &["write"]);
        for block in 1..=100 {
            story.open_block(block, 1, &["ext4", "xfs"]);
            let time = match block {
                37 => 0.5,
                38 => 9.0,
                _ => 2.0,
            };
            story.trial(&id(block, "ext4"), &[("write", time)]);
            story.trial(&id(block, "xfs"), &[("write", 3.0)]);
            story.close_block(block, 1, None);
        }
        let run = story.run();
        let report = Report::new(&story.plan, &run, None);
        assert_eq!(choose_within(&report, 1_000_000).1, None);
        // 200 trials of 8 numbers each; room for a tenth.
        let (trials, thinned) = choose_within(&report, 160);
        assert_eq!(thinned.map(|thinned| thinned.all), Some(200));
        let of = |name: &str| trials.iter().filter(|trial| trial.id.candidate == name).count();
        assert_eq!((of("ext4"), of("xfs")), (12, 10));
        let times: Vec<f64> = trials.iter().filter_map(|trial| trial.value("write", "durable")).collect();
        assert!(times.contains(&0.5) && times.contains(&9.0));
        assert!(trials.is_sorted_by_key(|trial| trial.started));
    }
}

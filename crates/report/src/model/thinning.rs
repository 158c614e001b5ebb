//! Selects the trials for the page when a run has more than a page should hold: every n-th block, so that each
//! candidate keeps its share. Estimates, tables and latencies use all trials in any case.

use crate::wording::count;
use fsverdict_judgement::journal::{Run, Trial};

/// The most numbers that a page holds: about three megabytes.
const NUMBERS: usize = 500_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Thinned {
    shown: usize,
    all: usize,
}

impl Thinned {
    /// The note for the reader about the trials that were left out.
    pub(crate) fn write_sentence(self) -> String {
        format!(
            "This run has {}; the charts draw {} of them, those of some blocks. All numbers, intervals, tables and latencies \
             are made from all trials. `fsverdict report RUN --format csv` has every number.",
            count(self.all, "trial"),
            self.shown
        )
    }
}

/// The trials to put into the page, in the order of the run; with the numbers of shown and of all trials if some were
/// left out.
pub(crate) fn choose(run: &Run) -> (Vec<&Trial>, Option<Thinned>) {
    choose_within(run, NUMBERS)
}

fn choose_within(run: &Run, limit: usize) -> (Vec<&Trial>, Option<Thinned>) {
    let trials = &run.trials;
    let numbers: usize =
        trials.iter().flat_map(|trial| &trial.observations).map(|found| found.measurements.len()).sum();
    let step = u32::try_from(numbers.div_ceil(limit.max(1))).unwrap_or(u32::MAX).max(1);
    let chosen: Vec<&Trial> =
        trials.iter().filter(|trial| (trial.id.block.saturating_sub(1)).is_multiple_of(step)).collect();
    let thinned = Thinned { shown: chosen.len(), all: trials.len() };
    (chosen, (step > 1).then_some(thinned))
}

#[cfg(test)]
mod tests {
    use super::choose_within;
    use crate::fixtures::demo;

    #[test]
    fn each_candidate_keeps_its_share() {
        let story = demo(10);
        let run = story.run();
        assert_eq!(choose_within(&run, 1_000_000).1, None);
        // 160 trials of 6 phases with 9 numbers each; room for a third.
        let (trials, thinned) = choose_within(&run, 2880);
        let thinned = thinned.map(|thinned| (thinned.shown, thinned.all));
        assert_eq!((trials.len(), thinned), (64, Some((64, 160))));
        assert!(trials.iter().all(|trial| [1, 4, 7, 10].contains(&trial.id.block)));
    }
}

//! Warns where the errors of the models of device and processor may reverse the order of two candidates.

use super::Limit;
use super::ratio_errors::{RatioErrors, RatioTerm, widen_interval};
use crate::plan::GOAL;
use crate::verdict::{Rank, VerdictEvidence};

/// The candidates that may be ahead of the first, if the errors of the models and of the trials are combined: the closer a
/// candidate is, the more surely it is among them.
pub(crate) fn reversed_by_models(evidence: &VerdictEvidence<'_>, ranking: &[Rank]) -> Option<Limit> {
    let errors = RatioErrors::of_run(&evidence.run.header.beginning)?;
    let (first, rest) = ranking.split_first()?;
    let metric = evidence.objective.metric.as_str();
    let term = |candidate, is_divisor| RatioTerm { candidate, phase: GOAL, metric, is_divisor };
    let mut largest: f64 = 1.0;
    let mut others = Vec::new();
    for rank in rest {
        let Some((behind, ends)) = rank.behind.and_then(|behind| Some((behind, behind.ends()?))) else {
            continue;
        };
        let terms = [term(rank.candidate.as_str(), false), term(first.candidate.as_str(), true)];
        let factor = errors.factor(evidence.trials, evidence.objective, &terms);
        let widened = widen_interval(behind.point, ends, factor);
        // Where all of it lies within the tie, whichever wins does so by nothing that matters.
        let is_equal = widened.0 * (1.0 + evidence.tie()) >= 1.0 && widened.1 <= 1.0 + evidence.tie();
        if widened.0 < 1.0 && !is_equal {
            largest = largest.max(factor);
            others.push((rank.candidate.clone(), behind.point));
        }
    }
    let first = first.candidate.clone();
    (!others.is_empty()).then_some(Limit::ModelsMayReverse { first, others, factor: largest })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::Limit;
    use super::reversed_by_models;
    use crate::journal::{Beginning, Event, Measurement, ProcessorModel, Unit, made};
    use crate::statistics::Estimate;
    use crate::verdict::{ByBlock, FreeComputation, Objective, Rank, VerdictEvidence};

    /// Three blocks of two candidates, of which `b` takes 5 % longer. Both read onwards for nine tenths of the time, or `b`
    /// flushes instead.
    fn limit(b_reads: bool, read_error: f64) -> Option<Limit> {
        let behind = Estimate { point: 1.05, low: Some(1.04), high: Some(1.06), n: 3 };
        limit_of(b_reads, read_error, behind)
    }

    /// The same, where `b` is found to be so far behind.
    fn limit_of(b_reads: bool, read_error: f64, behind: Estimate) -> Option<Limit> {
        let plan = made::plan(&json!({
            "candidates": [
                { "name": "a", "filesystem": "ext4", "encryption": "none" },
                { "name": "b", "filesystem": "xfs", "encryption": "none" },
            ],
            "goal": { "metric": "durable", "by": "total", "weights": { "work": 1.0 } },
        }));
        let mut events = vec![(None, made::started())];
        for block in 1..=3 {
            events.push((None, made::block_started(block, 1, &["a", "b"])));
            for (name, seconds) in [("a", 10.0), ("b", 10.5)] {
                let id = Some(made::id(block, name));
                let Event::Observation(mut observation) = made::durable("work", seconds) else { panic!() };
                let kind = if name == "a" || b_reads { "busy_read_onwards" } else { "busy_flush" };
                observation.measurements.push(Measurement::new(kind, Unit::Seconds, 0.9 * seconds));
                events.push((id.clone(), Event::TrialStarted {}));
                events.push((id.clone(), Event::Observation(observation)));
                events.push((id, made::ended(None, 1.0)));
            }
            events.push((None, Event::BlockFinished { block, attempt: 1, invalid: None }));
        }
        let mut run = made::run(&plan, events);
        let processor = ProcessorModel {
            name: "p".to_owned(),
            source: "s".to_owned(),
            date: "2026-11-27".to_owned(),
            measured: true,
            processors: 1,
            aes_instructions: true,
            held_out_median: Some(0.05),
            held_out_p90: Some(0.1),
        };
        let access_errors =
            BTreeMap::from([("read_onwards".to_owned(), read_error), ("flush".to_owned(), 0.2)]);
        run.header.beginning =
            Beginning { access_errors, processors: vec![processor], ..Beginning::default() };
        let objective = Objective::from_run(&plan, &run);
        let trials = ByBlock::of_run(&run, &run.trials);
        let free = FreeComputation::default();
        let evidence =
            VerdictEvidence { plan: &plan, run: &run, objective: &objective, trials: &trials, free: &free };
        let rank = |candidate: &str, behind| Rank { candidate: candidate.to_owned(), behind, total: None };
        reversed_by_models(&evidence, &[rank("a", None), rank("b", Some(behind))])
    }

    /// Whatever the interval and the error, a rival that the widened interval lets win is named, and so is a closer one.
    #[test]
    fn the_closer_a_rival_is_the_more_surely_it_is_named() {
        for read_error in [0.02, 0.1, 0.3] {
            for half_width in [0.001, 0.02, 0.2] {
                let is_named = |times: f64| {
                    let (low, high) = (times * (1.0 - half_width), times * (1.0 + half_width));
                    let behind = Estimate { point: times, low: Some(low), high: Some(high), n: 3 };
                    let named = limit_of(false, read_error, behind).is_some();
                    // The flush of one of them alone may be wrong by a fifth, so that no pair here is equal on all devices.
                    assert!(named || low > 1.0, "{times}: {half_width}, {read_error}");
                    named
                };
                let named = [0.97, 1.0, 1.01, 1.05, 1.1, 1.3, 1.6, 3.0].map(is_named);
                assert!(named[1] && named.windows(2).all(|pair| pair[0] || !pair[1]), "{named:?}");
            }
        }
    }

    #[test]
    fn only_a_difference_that_the_models_could_make_is_warned_of() {
        assert_eq!(limit(true, 0.02), None);
        let equal = Estimate { point: 1.002, low: Some(0.999), high: Some(1.005), n: 3 };
        assert_eq!(limit_of(true, 0.001, equal), None, "neither can win by what matters");
        assert!(matches!(limit(true, 0.2), Some(Limit::ModelsMayReverse { factor, .. }) if factor > 1.2));
        let text = limit(false, 0.02).unwrap().to_string();
        assert!(
            text.starts_with("on real hardware a may be behind b (+5 %): the models may be wrong by"),
            "{text}"
        );
    }
}

//! Collects the limits of a verdict, which are shown with it (docs/background/methodology.md).

mod limit;
mod models;
mod one_phase;
mod order;
pub(super) mod ratio_errors;
mod room;
mod too_little;

pub use limit::Limit;
pub use order::control_pairs;
pub use too_little::TooLittle;

use models::reversed_by_models;
use one_phase::mostly_one_phase;
use order::order_limits;
use room::{bytes_held, room_not_returned};
use too_little::list_too_little;

use super::{ByBlock, Rank, VerdictEvidence};
use crate::journal::CandidateStatus;
use crate::plan::{DeviceSource, Operation, OperationEffect, PhaseWork};
use crate::statistics::{Estimate, Evidence, FEWEST};

/// The limits of this run's verdict, the gravest first.
pub(crate) fn list_limits(evidence: &VerdictEvidence<'_>, ranking: &[Rank]) -> Vec<Limit> {
    let VerdictEvidence { plan, run, objective, .. } = *evidence;
    let left_out = objective.left_out.iter();
    let left_out = left_out.map(|left| Limit::LeftOut {
        phase: left.phase.clone(),
        lacking: left.lacking.clone(),
        moved: left.moved,
    });
    let too_little = list_too_little(evidence, ranking).into_iter().map(Limit::TooLittle);
    let failed = failed_leaders(evidence, ranking);
    let mut limits: Vec<Limit> = too_little.chain(failed).chain(left_out).collect();
    let told_apart = control_pairs(objective, run).into_iter().filter(|pair| pair.outcome.is_difference());
    limits
        .extend(told_apart.map(|pair| Limit::ToldApart { candidate: pair.against, times: pair.ratio.point }));
    let blocks = run.complete_blocks();
    let refused = run.was_too_disturbed();
    if refused {
        let can_be_modelled = matches!(plan.device.source, DeviceSource::Image(_));
        limits.push(Limit::Refused { can_be_modelled });
    } else if (1..FEWEST as usize).contains(&blocks) && ranking.len() > 1 {
        limits.push(Limit::FewBlocks(blocks));
    }
    limits.extend(room_not_returned(plan, run));
    limits.extend(mostly_one_phase(evidence, ranking));
    limits.extend(order_limits(evidence, ranking));
    limits.extend(set_aside(evidence, ranking));
    limits.extend(reversed_by_models(evidence, ranking));
    let invalid = run.invalid_blocks().count();
    if invalid > blocks && !refused {
        limits.push(Limit::MostInvalid(invalid));
    }
    if matches!(plan.device.source, DeviceSource::Image(_)) {
        limits.push(Limit::ScratchImage);
    }
    let folders = plan.device.source == DeviceSource::Folders;
    limits.extend(bytes_held(plan, run));
    let any = |asked: fn(Operation) -> bool| {
        plan.phases.iter().any(|phase| matches!(phase.work, PhaseWork::Operation(one) if asked(one)))
    };
    limits.push(match folders {
        true => Limit::Folders,
        false if any(|operation| operation.effect() == OperationEffect::Ages) => Limit::AgedAtOnce,
        false if any(|operation| operation.takes("to")) => Limit::FilledAtOnce,
        false => Limit::FreshlyMade,
    });
    limits
}

/// Candidates that were ahead of the first of the ranking, by the estimate, until they failed.
fn failed_leaders(evidence: &VerdictEvidence<'_>, ranking: &[Rank]) -> Vec<Limit> {
    let Some(first) = ranking.first() else { return Vec::new() };
    let failed = evidence.run.candidates.iter().filter(|state| state.status == CandidateStatus::Failed);
    // No estimates are made from the trials of failed candidates.
    let trials: ByBlock<'_> = evidence.run.counted_trials().collect();
    let ahead = failed.filter_map(|state| {
        let times = trials.compare(&state.name, &first.candidate, |trial| evidence.score(trial))?.ratio();
        let is_told = !evidence.free.hides_order(&state.name, &first.candidate);
        (is_told && times.point < 1.0).then(|| Limit::Lost {
            candidate: state.name.clone(),
            against: first.candidate.clone(),
            times,
            reason: state.reason.clone(),
        })
    });
    ahead.collect()
}

/// The closest candidate that differs significantly from the leader only without the blocks that were set aside.
fn set_aside(evidence: &VerdictEvidence<'_>, ranking: &[Rank]) -> Option<Limit> {
    let against = &ranking.first()?.candidate;
    ranking.iter().find_map(|rank| {
        let (kept, sample) = (rank.behind?, evidence.log_ratios(&rank.candidate, against));
        let all = Evidence::of_all(&sample)?.ratio_after_stopping_rule();
        // An interval that ends at 1 would exclude it if the rule had concluded that.
        let plain = |estimate: Estimate| estimate.low.is_some_and(|low| low >= 1.0);
        let aside = all.n.saturating_sub(kept.n);
        let sum = |estimate: Estimate| estimate.n as f64 * libm::log(estimate.point);
        (aside > 0 && plain(kept) && !plain(all)).then(|| Limit::SetAside {
            candidate: rank.candidate.clone(),
            against: against.clone(),
            aside,
            of: all.n,
            all,
            aside_ratio: libm::exp((sum(all) - sum(kept)) / aside as f64),
            modelled: evidence.plan.device.source.is_modelled(),
        })
    })
}

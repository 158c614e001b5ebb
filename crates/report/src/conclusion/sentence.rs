//! The outcome of a run in one sentence, as one would write it in a mail.

use crate::conclusion::no_verdict::{explain_no_verdict, names_are};
use crate::conclusion::{clauses, equals, losses, noise};
use crate::model::ClauseKind;
use crate::topics::{factors, free_computation, required};
use crate::wording::{alike_within, difference, is_alike, percent};
use fsverdict_judgement::verdict::{Contrast, ContrastOutcome, Estimate, Judgement, Limit, Outcome};
use fsverdict_text::join_names;

/// The outcome as a sentence. Its names come from the plan and are not yet safe for a terminal.
pub(crate) fn describe_outcome(judged: &Judgement<'_>) -> String {
    let verdict = &judged.verdict;
    if let Some(reason) = &verdict.refused {
        return format!("No verdict: {reason}.");
    }
    if let Some(sentence) = noise::against_itself(judged) {
        return sentence;
    }
    let clauses = clauses::list_clauses(judged);
    let before = |kind: ClauseKind| -> String {
        let texts = clauses.iter().filter(|clause| clause.kind == kind);
        texts.map(|clause| format!("{} ", clause.text)).collect()
    };
    let ruled_out = before(ClauseKind::RuledOut);
    if verdict.nobody_is_left() {
        return ruled_out.trim_end().to_owned();
    }
    let premises = before(ClauseKind::Premise);
    // A premise, such as that devices disagree, comes first, and the outcome directly behind it.
    let asked = factors::answer_asked(judged).filter(|_| premises.is_empty()).unwrap_or_default();
    let without = asked + &ruled_out + &premises;
    if let Some(withheld) = losses::explain_no_recommendation(judged) {
        return format!("{without}{withheld}");
    }
    let undecidable = free_computation::list_undecidable(judged);
    if verdict.outcome == Outcome::Undecided && undecidable.is_none() {
        let unshown = if verdict.ranking.len() > 1 { required::unshown(judged) } else { String::new() };
        return format!(
            "{without}{}{unshown}{}",
            explain_no_verdict(judged),
            losses::describe_coverage(judged)
        );
    }
    if let Some(alone) = required::alone(judged) {
        return format!("{without}{alone}");
    }
    let leader = verdict.recommended.as_deref().unwrap_or_default();
    let passed_over = equals::passed_over(judged);
    let is_told = |name: &str| passed_over == Some(name);
    let tied: Vec<&String> = verdict.tied.iter().filter(|name| !is_told(name)).collect();
    let tied = match tied.as_slice() {
        [] => String::new(),
        tied => format!("; {} tied with it{}", names_are(tied), ahead_by_estimate(judged)),
    };
    let mut others = verdict.standings.iter().filter(|standing| !is_told(&standing.of));
    let next = others.find(|standing| standing.outcome != ContrastOutcome::Tied);
    let is_behind =
        |standing: &&&Contrast| standing.ratio.low.is_some_and(|low| low > 1.0 + judged.plan.protocol.tie);
    let origin = next.as_ref().filter(|next| is_behind(next));
    let origin = origin.map_or(String::new(), |next| difference::describe_origin_of_lead(judged, &next.of));
    let next = next.map_or(String::new(), |next| {
        let (name, ratio) = (&next.of, &next.ratio);
        if let Some(total) = difference::describe_total(judged, name)
            && is_alike(ratio, judged.plan.protocol.tie)
        {
            let as_good = if difference::is_of_time(judged) { "as fast" } else { "as good" };
            let difference = difference::describe_difference(judged, ratio);
            return format!("; the next, {name}, is {as_good}: {total} ({difference})");
        }
        match (is_ahead(ratio), alike_within(ratio)) {
            (true, _) => {
                let compares = difference::compare_with_leader(judged, name, ratio);
                format!("; by the estimates {name} is ahead, by no more than that: it {compares}")
            }
            (false, Some(within)) => format!("; the next, {name}, is the same within {within}"),
            (false, None) => {
                format!("; the next, {name}, {}", difference::compare_with_leader(judged, name, ratio))
            }
        }
    });
    let reversed = describe_reversal(judged);
    let answer = match undecidable {
        Some(names) => free_computation::withhold_recommendation(judged, &names),
        None => equals::recommend(judged, leader),
    };
    format!("{without}{answer}{tied}{next}.{origin}{reversed}")
}

/// The candidates that a real device may put first, as a sentence after others; empty if the models' errors are too small for that.
fn describe_reversal(judged: &Judgement<'_>) -> String {
    let reversed = judged.verdict.limits.iter().find_map(|limit| match limit {
        Limit::ModelsMayReverse { others, factor, .. } => Some((others, factor)),
        _ => None,
    });
    let Some((others, factor)) = reversed else { return String::new() };
    format!(
        "{}{}",
        write_reversal(others, *factor),
        describe_better_protected(judged, others).unwrap_or_default()
    )
}

/// Those of the candidates that a real device may put first that are also protected better than the recommended one.
fn describe_better_protected(judged: &Judgement<'_>, others: &[(String, f64)]) -> Option<String> {
    let goal = &judged.plan.goal;
    let own = goal.safeguards_of(judged.verdict.recommended.as_deref()?);
    let gains = others.iter().map(|(name, _)| (name, goal.safeguards_of(name)));
    let gains = gains.filter(|(_, safeguards)| safeguards.exceeds(&own));
    let gains: Vec<_> = gains.map(|(name, safeguards)| (safeguards.advantages_over(&own), name)).collect();
    let (features, _) = gains.first()?;
    let same = gains.iter().filter(|(others, _)| others == features);
    let names: Vec<&str> = same.map(|(_, name)| name.as_str()).collect();
    let (verb, them) = if names.len() == 1 { ("has", "it") } else { ("have", "one of them") };
    Some(format!(
        " {} also {verb} {}: in doubt, take {them}.",
        join_names(&names, 3, "and"),
        equals::list_nouns(features)
    ))
}

/// The sentence on candidates, each with how many times as long it took; the models may be wrong by this factor in its ratio.
fn write_reversal(others: &[(String, f64)], factor: f64) -> String {
    let names: Vec<&str> = others.iter().map(|(name, _)| name.as_str()).collect();
    format!(
        " On real hardware {} may win: the models may be wrong by {} in {}, combined with the error of the trials.",
        join_names(&names, 3, "or"),
        percent(factor - 1.0),
        if names.len() == 1 { "this ratio" } else { "these ratios" },
    )
}

/// Whether the table beside the sentence shows the ratio as less than the leader's 1.00.
fn is_ahead(ratio: &Estimate) -> bool {
    ratio.point < 0.995
}

/// The candidate tied with the leader that has the best estimate, if that is ahead of the leader; empty otherwise.
fn ahead_by_estimate(judged: &Judgement<'_>) -> String {
    let passed_over = equals::passed_over(judged);
    let is_of_others = |standing: &&Contrast| passed_over != Some(standing.of.as_str());
    let tied = judged.verdict.standings.iter().filter(is_of_others);
    let tied = tied.filter(|standing| standing.outcome == ContrastOutcome::Tied);
    let first = tied.min_by(|standing, other| standing.ratio.point.total_cmp(&other.ratio.point));
    first.filter(|standing| is_ahead(&standing.ratio)).map_or(String::new(), |standing| {
        let (name, ratio) = (&standing.of, &standing.ratio);
        format!(
            " ({name} {}: less, by no more than matters)",
            difference::compare_with_leader(judged, name, ratio)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::write_reversal;

    #[test]
    fn candidates_that_a_real_device_may_put_first_are_named() {
        let others = [("ext4".to_owned(), 1.43), ("btrfs".to_owned(), 1.45)];
        assert_eq!(
            write_reversal(&others, 1.47),
            " On real hardware ext4 or btrfs may win: the models may be wrong by 47% in these ratios, combined with the error of the trials."
        );
    }
}

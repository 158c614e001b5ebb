//! One answer for two protection levels: the candidate to take, and the gain and cost of the better protected one.

use crate::conclusion::{clauses, sentence};
use crate::model::clause::ClauseKind;
use crate::topics::protection_costs;
use crate::wording::difference;
use crate::wording::number::percent;
use crate::wording::text::{count, listing};
use fsverdict_judgement::plan::ProtectionFeature;
use fsverdict_judgement::verdict::{
    ContrastOutcome, Estimate, Judgement, LevelTrade, Outcome, slice_by_protection,
};

/// The verdict of the level of the candidate to take, and then the trade with the other level.
pub(super) fn describe_choice(judged: &Judgement<'_>, trade: &LevelTrade) -> String {
    let (mut answer, mut ruled_out) = (String::new(), String::new());
    for (group, run) in judged.verdict.groups.iter().zip(&slice_by_protection(judged.plan, judged.run)) {
        let level = run.judge();
        if !group.candidates.contains(&trade.taken) {
            let out = clauses::list_clauses(&level).into_iter();
            let out = out.filter(|clause| clause.kind == ClauseKind::RuledOut);
            ruled_out.extend(out.map(|clause| format!("{} ", clause.text)));
        } else if group.first_choice() == Some(trade.taken.as_str()) && group.sole_candidate().is_none() {
            answer = sentence::describe_outcome(&level);
        } else {
            answer = describe_alone(judged, trade);
        }
    }
    let costs = describe_costs(judged, trade).unwrap_or_else(|| describe_price(judged, trade));
    format!("{ruled_out}{answer} {costs}")
}

/// The answer for a candidate that has no rival of its level.
fn describe_alone(judged: &Judgement<'_>, trade: &LevelTrade) -> String {
    let taken = &trade.taken;
    let total = difference::describe_total(judged, taken)
        .map_or(String::new(), |total| format!(": {total} {}", difference::of_what(judged)));
    match judged.verdict.outcome {
        Outcome::Undecided => {
            format!("Undecided after {}: {taken} so far{total}.", count(judged.verdict.blocks, "block"))
        }
        Outcome::Recommended | Outcome::Ranked => format!("Take {taken}{total}."),
    }
}

/// The cost of the protection by pairs that differ in nothing else, where there are such.
fn describe_costs(judged: &Judgement<'_>, trade: &LevelTrade) -> Option<String> {
    let is_pure = judged.verdict.protection_costs.iter().any(|cost| cost.same_otherwise);
    let costs = is_pure.then(|| protection_costs::describe_costs(judged).join(" "))?;
    let adverb = if trade.takes_protected() { "also" } else { "instead" };
    Some(format!("{} {adverb} {}. {costs}", trade.protected, list_kept(trade)))
}

/// The protection that only one candidate has, and how long that one takes beside the other.
fn describe_price(judged: &Judgement<'_>, trade: &LevelTrade) -> String {
    let LevelTrade { protected, other, .. } = trade;
    let kept = list_kept(trade);
    let outcome = trade.ratio.map(|ratio| ContrastOutcome::from_interval(&ratio, judged.plan.protocol.tie));
    let within = |ratio: &Estimate| difference::describe_difference(judged, ratio);
    let (better, worse, as_good) = match difference::is_of_time(judged) {
        true => ("faster", "slower", "fast"),
        false => ("better", "worse", "good"),
    };
    match trade.ratio.as_ref().zip(outcome) {
        None => format!("{protected} {kept}; what that costs against {other} cannot be told."),
        Some((ratio, _)) if difference::cannot_be_told(ratio).is_some() || ratio.low.is_none() => format!(
            "{protected} also {kept}; what that costs against {other} cannot be told from {}.",
            count(ratio.n, "block")
        ),
        Some((ratio, ContrastOutcome::Behind)) if trade.takes_protected() => format!(
            "{protected} also {kept}, and is {worse} than {other} for that ({}): {other} only if that matters more.",
            within(ratio)
        ),
        Some((ratio, ContrastOutcome::Behind)) => {
            format!("{protected} {kept}, and is {worse} for that ({}).", within(ratio))
        }
        Some((ratio, ContrastOutcome::Tied)) => {
            format!("{protected} also {kept}, and is as {as_good} as {other} ({}).", within(ratio))
        }
        Some((ratio, ContrastOutcome::Better)) => {
            format!("{protected} also {kept}, and is {better} than {other} ({}).", within(ratio))
        }
        Some((ratio, _)) => format!(
            "{protected} also {kept}, and is not shown to be more than {} {worse} than {other} ({}).",
            percent(judged.plan.protocol.tie),
            within(ratio)
        ),
    }
}

/// The protection that only one candidate has: `survives a power cut and is encrypted`.
fn list_kept(trade: &LevelTrade) -> String {
    let kept: Vec<String> = trade.keeps.iter().map(|feature| describe_kept(*feature)).collect();
    listing(&kept, kept.len())
}

fn describe_kept(feature: ProtectionFeature) -> String {
    match feature {
        ProtectionFeature::NotCrashSafe => "survives a power cut".to_owned(),
        ProtectionFeature::Encrypted => "is encrypted".to_owned(),
        ProtectionFeature::Redundant => "survives the loss of a device".to_owned(),
        other => format!("has {}", other.noun()),
    }
}

#[cfg(test)]
mod tests {
    use crate::Report;
    use crate::examples::{one, run_of};
    use fsverdict_judgement::plan::ProtectionFeature;

    /// Over many times, spreads and features of two levels, there is one answer; it is never the less protected of two
    /// that tie, and data are never put at risk.
    #[test]
    fn two_levels_have_one_answer_and_it_is_not_the_less_protected_of_two_that_tie() {
        use ProtectionFeature::{Encrypted, NotCrashSafe};
        let mut taken_for_time = 0;
        for (feature, marked, kept) in [(NotCrashSafe, "b", "a"), (Encrypted, "a", "a")] {
            for seconds in [5.0, 9.5, 9.9, 10.0, 10.2, 11.0, 20.0] {
                for (names, spread) in [(2, 0.004), (3, 0.004), (2, 0.05), (3, 0.05)] {
                    let all = [
                        one("a", 10.0, 2.0, spread),
                        one("b", seconds, 2.0, spread),
                        one("c", 9.9, 2.0, spread),
                    ];
                    let mut story = run_of(&all[..names], 8);
                    story.finish_for("after 8 blocks");
                    let level = |name: &str| (name.to_owned(), [feature].into_iter().collect());
                    // The third is of the better protected level.
                    let third = (marked == "a").then_some("c");
                    story.plan.goal.protection = std::iter::once(marked).chain(third).map(level).collect();
                    let run = story.run();
                    let report = Report::new(&story.plan, &run, None);
                    let sentence = &report.sentence;
                    let answers = ["Take ", "take ", "Undecided"];
                    let answers: usize = answers.iter().map(|word| sentence.matches(word).count()).sum();
                    assert_eq!(answers, 1, "{sentence}");
                    let trade = report.judged.verdict.trade.as_ref().unwrap();
                    assert!(trade.protected == kept || trade.protected == "c", "{trade:?}");
                    let tie = story.plan.protocol.tie;
                    let ties = trade.ratio.is_some_and(|ratio| ratio.within(1.0 / (1.0 + tie), 1.0 + tie));
                    assert!(trade.takes_protected() || !ties && feature == Encrypted, "{trade:?}");
                    taken_for_time += usize::from(!trade.takes_protected());
                    if let Some(taken) = report.judged.verdict.recommended.as_deref() {
                        assert_eq!(taken, trade.taken);
                        assert!(sentence.contains(&format!("Take {taken}")), "{sentence}");
                    }
                }
            }
        }
        assert!(taken_for_time > 0);
    }
}

//! One answer for several protection levels: the candidate to take, and the gain and cost of better protected ones.

use crate::conclusion::{clauses, sentence};
use crate::model::ClauseKind;
use crate::topics::protection_costs;
use crate::wording::{capitalize, count, difference, listing, lower_verb};
use fsverdict_judgement::plan::ProtectionFeature;
use fsverdict_judgement::verdict::{
    ContrastOutcome, Estimate, Judgement, LevelTrade, Outcome, slice_by_protection,
};

/// The verdict of the level of the candidate to take, and then the trade with each other level; `None` where levels
/// cannot be compared.
pub(super) fn describe_choice(judged: &Judgement<'_>) -> Option<String> {
    let trades = judged.verdict.trades.as_slice();
    let trade = trades.first()?;
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
    if let Some(trade) = judged.verdict.asked_cost() {
        let costs =
            protection_costs::describe_costs_of(judged, |feature| trade.keeps == [feature]).into_iter();
        let with = judged.verdict.groups.iter().zip(slice_by_protection(judged.plan, judged.run));
        let with = with.filter(|(group, _)| group.candidates.contains(&trade.protected));
        let with = with.map(|(group, run)| {
            let title = capitalize(&group.title);
            let answer = match group.sole_candidate() {
                Some(only) => format!("{} is the only one.", only.candidate),
                None if group.verdict.outcome == Outcome::Undecided => {
                    let blocks = count(group.verdict.blocks, "block");
                    format!("undecided after {blocks}; {} leads.", trade.protected)
                }
                None => sentence::describe_outcome(&run.judge()),
            };
            format!("{title}: {}", lower_verb(&answer))
        });
        let without = judged.verdict.groups.iter().find(|group| group.candidates.contains(&trade.other));
        let without = without.map(|group| {
            let title = capitalize(&group.title);
            match group.verdict.outcome {
                Outcome::Undecided => format!("{title}: undecided; {} leads.", trade.other),
                _ => format!("{title}: take {}.", trade.other),
            }
        });
        return Some(costs.chain(with).chain(without).collect::<Vec<_>>().join(" "));
    }
    let is_pure = |trade: &LevelTrade| {
        let costs = judged.verdict.protection_costs.iter().filter(|cost| cost.same_otherwise);
        costs.map(|cost| cost.feature).any(|feature| trade.keeps == [feature])
    };
    let (told_by_pairs, others): (Vec<&LevelTrade>, Vec<&LevelTrade>) =
        trades.iter().partition(|trade| is_pure(trade));
    let mut sentences = vec![format!("{ruled_out}{answer}")];
    sentences.extend(told_by_pairs.iter().map(|trade| describe_gain(judged, trade)));
    if !told_by_pairs.is_empty() {
        sentences.extend(protection_costs::describe_costs(judged));
    }
    sentences.extend(others.iter().map(|trade| describe_price(judged, trade)));
    Some(sentences.join(" "))
}

/// The answer for a candidate that has no rival of its level.
fn describe_alone(judged: &Judgement<'_>, trade: &LevelTrade) -> String {
    let taken = &trade.taken;
    let total = difference::with_leading_total(judged, ": ", taken);
    match judged.verdict.outcome {
        Outcome::Undecided => {
            format!("Undecided after {}: {taken} so far{total}.", count(judged.verdict.blocks, "block"))
        }
        Outcome::Recommended | Outcome::Ranked => format!("Take {taken}{total}."),
    }
}

/// The additional protection, if pairs of candidates that differ in nothing else show its cost.
fn describe_gain(judged: &Judgement<'_>, trade: &LevelTrade) -> String {
    if trade.takes_protected() {
        return format!("{} {}.", trade.protected, list_kept(trade));
    }
    format!("If the data must {}: {}.", list_required(trade), name_alternative(judged, trade))
}

/// The better protected candidate where it is not the one to take, and whether it had rivals.
fn name_alternative(judged: &Judgement<'_>, trade: &LevelTrade) -> String {
    let protected = &trade.protected;
    let mut levels = judged.verdict.groups.iter();
    match levels.find(|level| level.candidates.contains(protected)) {
        Some(level) if level.sole_candidate().is_some() => {
            format!("{protected}, of which no rival has a result")
        }
        Some(level) if level.verdict.outcome == Outcome::Undecided => {
            format!("{protected} leads so far, undecided after {}", count(level.verdict.blocks, "block"))
        }
        _ => protected.clone(),
    }
}

/// The protection that only one candidate has, and how long that one takes beside the other.
fn describe_price(judged: &Judgement<'_>, trade: &LevelTrade) -> String {
    let LevelTrade { protected, other, .. } = trade;
    let is_told = |ratio: &&Estimate| ratio.low.is_some() && difference::cannot_be_told(ratio).is_none();
    let told = trade.ratio.as_ref().filter(is_told);
    let within = |ratio: &Estimate| difference::describe_difference(judged, ratio);
    let untold = || {
        let blocks = trade.ratio.map_or(String::new(), |ratio| format!(" from {}", count(ratio.n, "block")));
        format!("what that costs against {other} cannot be told{blocks}")
    };
    if !trade.takes_protected() {
        let price = told.map_or_else(|| format!("; {}", untold()), |ratio| format!(" ({})", within(ratio)));
        let alternative = name_alternative(judged, trade);
        return format!("If the data must {}: {alternative}{price}.", list_required(trade));
    }
    let kept = list_kept(trade);
    let (better, worse, as_good) = match difference::is_of_time(judged) {
        true => ("faster", "slower", "fast"),
        false => ("better", "worse", "good"),
    };
    let Some(ratio) = told else { return format!("{protected} {kept}; {}.", untold()) };
    let compared = match ContrastOutcome::from_interval(ratio, judged.plan.protocol.tie) {
        ContrastOutcome::Behind => {
            return format!(
                "{protected} {kept}, and is {worse} than {other} for that ({}): {other} only if that matters more.",
                within(ratio)
            );
        }
        ContrastOutcome::Tied => format!("is as {as_good} as {other}"),
        ContrastOutcome::Better => format!("is {better} than {other}"),
        ContrastOutcome::NotBetter | ContrastOutcome::Undecided => {
            let open = difference::describe_open(judged, "it", &format!("{worse} than {other}"), ratio);
            return format!("{protected} {kept}; {open}.");
        }
    };
    format!("{protected} {kept}, and {compared} ({}).", within(ratio))
}

/// The protection that only one candidate has: `is also encrypted and survives a power cut`.
fn list_kept(trade: &LevelTrade) -> String {
    let kept = trade.keeps.iter().map(|feature| ProtectionPredicate::new(*feature)).enumerate();
    let kept = kept.map(|(at, ProtectionPredicate { verb: [_, verb], rest })| match (at, verb) {
        (0, "is") => format!("is also {rest}"),
        (0, _) => format!("also {verb} {rest}"),
        _ => format!("{verb} {rest}"),
    });
    let kept: Vec<String> = kept.collect();
    listing(&kept, kept.len())
}

/// The protection that only one candidate has, behind "must": `be encrypted`.
fn list_required(trade: &LevelTrade) -> String {
    let required = trade.keeps.iter().map(|feature| ProtectionPredicate::new(*feature));
    let required = required.map(|ProtectionPredicate { verb: [verb, _], rest }| format!("{verb} {rest}"));
    let required: Vec<String> = required.collect();
    listing(&required, required.len())
}

/// What data or a candidate with a feature does.
struct ProtectionPredicate {
    /// The verb as it stands behind "must", and behind a name.
    verb: [&'static str; 2],
    rest: &'static str,
}

impl ProtectionPredicate {
    fn new(feature: ProtectionFeature) -> Self {
        let (verb, rest) = match feature {
            ProtectionFeature::NotCrashSafe => (["survive", "survives"], "a power cut"),
            ProtectionFeature::Encrypted => (["be", "is"], "encrypted"),
            ProtectionFeature::Redundant => (["survive", "survives"], "the loss of a device"),
            ProtectionFeature::NoFlushes => (["flush", "flushes"], "the device's cache"),
            ProtectionFeature::IgnoredSync => (["obey", "obeys"], "fsync"),
            ProtectionFeature::UnorderedWrites => (["write", "writes"], "data before their metadata"),
            ProtectionFeature::SynchronousWrites => (["write", "writes"], "synchronously"),
            other => (["have", "has"], other.noun()),
        };
        Self { verb, rest }
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
                    let trade = report.judged.verdict.trades.first().unwrap();
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

    /// The sentence on ext4 and xfs, each with LUKS and without it, and others, after so many blocks.
    fn sentence_of(others: &[crate::examples::Contestant], blocks: u32, strays: f64) -> String {
        let mut contestants = vec![
            one("ext4", 6.0, 2.0, strays),
            one("xfs", 6.6, 2.2, strays),
            one("ext4+luks2", 7.4, 2.5, strays),
            one("xfs+luks2", 6.9, 2.3, strays),
        ];
        contestants
            .extend(others.iter().map(|other| one(other.name, other.seconds[0], other.seconds[1], strays)));
        let mut story = run_of(&contestants, blocks);
        let level = |name: &str, feature| (name.to_owned(), [feature].into_iter().collect());
        let encrypted = ["ext4+luks2", "xfs+luks2"].map(|name| level(name, ProtectionFeature::Encrypted));
        let bare = others.iter().map(|other| level(other.name, ProtectionFeature::NotCrashSafe));
        story.plan.goal.protection = encrypted.into_iter().chain(bare).collect();
        story.finish_for("as planned");
        Report::new(&story.plan, &story.run(), None).sentence
    }

    #[test]
    fn a_question_for_the_cost_of_a_protection_is_answered_by_the_cost() {
        let asked = sentence_of(&[], 6, 0.01);
        assert!(asked.starts_with("Encryption costs ext4 23% here (+22% to +25%)"), "{asked}");
        assert!(asked.contains("Encrypted: take xfs+luks2: "), "{asked}");
        assert!(asked.ends_with("Unencrypted: take ext4."), "{asked}");
        let choice = sentence_of(&[one("ext2", 5.0, 1.6, 0.01)], 6, 0.01);
        assert!(choice.starts_with("Take ext4: "), "{choice}");
    }

    #[test]
    fn what_too_few_blocks_say_of_another_level_is_no_decision() {
        let few = sentence_of(&[one("ext2", 5.0, 1.6, 0.01)], 1, 0.01);
        let open = "If the data must be encrypted: xfs+luks2 leads so far, undecided after 1 block.";
        assert!(few.contains(open), "{few}");
        let open = sentence_of(&[one("ext2", 6.2, 2.1, 0.2)], 6, 0.2);
        assert!(open.contains("is slower than ext2 by more than 3% is open: "), "{open}");
        assert!(open.contains("% measured, ") && open.contains("% possible"), "{open}");
        assert!(!open.contains("is not shown"), "{open}");
    }
}

//! Topic: the cost of each protection.

use super::{ReportTopic, address_tables};
use crate::page::{Media, PageBlock};
use crate::wording::{TextTable, capitalize, count, difference, percent, signed_percent, times};
use fsverdict_judgement::plan::ProtectionFeature;
use fsverdict_judgement::verdict::{ContrastOutcome, Judgement, ProtectionCost};

pub(super) static TOPIC: ReportTopic = ReportTopic {
    build_tables: |report| address_tables(Media::FULL_TEXT, build_table(&report.judged)).collect(),
    build_section: |report| {
        let table = PageBlock::plain_table(build_table(&report.judged)?);
        Some(PageBlock::section("protection", "What protection costs", vec![table]))
    },
    ..ReportTopic::EMPTY
};

/// The most candidates for which a sentence gives the cost of a protection.
const MOST_COSTS: usize = 3;

/// The cost of each protection, a sentence for each; for the recommended candidates first.
pub(crate) fn describe_costs(judged: &Judgement<'_>) -> Vec<String> {
    describe_costs_of(judged, |_| true)
}

/// The same of those that `is_meant` says.
pub(crate) fn describe_costs_of(
    judged: &Judgement<'_>,
    is_meant: impl Fn(ProtectionFeature) -> bool,
) -> Vec<String> {
    let verdict = &judged.verdict;
    let taken = verdict.recommended_names();
    let mut features: Vec<_> = verdict.protection_costs.iter().map(|cost| cost.feature).collect();
    features.dedup();
    features.retain(|feature| is_meant(*feature));
    let is_known = |cost: &ProtectionCost| {
        cost.outcome(judged.plan.protocol.tie) != ContrastOutcome::Undecided || bounds(cost).is_some()
    };
    let sentence = |feature| {
        let mut own: Vec<&ProtectionCost> =
            verdict.protection_costs.iter().filter(|cost| cost.feature == feature).collect();
        let place = |name: &str| verdict.ranking.iter().position(|rank| rank.candidate == name);
        let is_taken = |name: &String| taken.contains(&name.as_str());
        own.sort_by_key(|cost| {
            let is_of_taken = is_taken(&cost.protected) || is_taken(&cost.other);
            (!is_known(cost), !is_of_taken, place(&cost.protected))
        });
        let known = own.iter().filter(|cost| is_known(cost)).count();
        if known == 0 {
            let blocks = own.iter().map(|cost| cost.ratio.n).max().unwrap_or_default();
            let cost = agree(feature, "costs");
            return format!("What {} {cost} cannot be told from {}.", feature.noun(), count(blocks, "block"));
        }
        let more = own.len().saturating_sub(MOST_COSTS);
        let clauses: Vec<String> = own
            .iter()
            .take(MOST_COSTS)
            .map(|cost| {
                let rivals = own.iter().filter(|rival| rival.other == cost.other).count();
                describe_protection_cost(judged, cost, rivals > 1)
            })
            .collect();
        let more = if more > 0 { format!("; {more} more with --all") } else { String::new() };
        let it = if agree(feature, "costs") == "costs" { "it" } else { "they" };
        let next =
            if own.iter().all(|cost| cost.same_otherwise) { format!("; {it} ") } else { "; ".to_owned() };
        let next = next.as_str();
        format!("{} {}{more}.", capitalize(feature.noun()), clauses.join(next))
    };
    features.into_iter().map(sentence).collect()
}

/// The verb of a feature's noun, which may be plural.
fn agree(feature: ProtectionFeature, verb: &'static str) -> &'static str {
    match (feature.noun().starts_with("checksums"), verb) {
        (true, "costs") => "cost",
        (true, "saves") => "save",
        (true, "makes") => "make",
        (true, "has") => "have",
        _ => verb,
    }
}

/// `costs ext4 4% here (+2% to +6%)`; `costs ext4 4% by luks2 (…)` if it is one of several ways.
fn describe_protection_cost(
    judged: &Judgement<'_>,
    cost: &ProtectionCost,
    is_one_of_several: bool,
) -> String {
    // A protection that is added is said of the candidate without it, one that is taken away of the usual candidate.
    let subject = match (cost.same_otherwise, cost.feature.is_weaker()) {
        (false, _) => return describe_substitution(judged, cost),
        (true, true) => &cost.protected,
        (true, false) => &cost.other,
    };
    let share = |value: f64| percent(libm::fabs(value - 1.0));
    let way = cost.protected.strip_prefix(cost.other.as_str()).map(|way| way.trim_start_matches(['+', ':']));
    let here = match way.filter(|way| is_one_of_several && !way.is_empty()) {
        Some(way) => format!("by {way}"),
        None if is_one_of_several => format!("as {}", cost.protected),
        None => "here".to_owned(),
    };
    let ends = describe_interval(cost).map_or(String::new(), |ends| format!(" ({ends})"));
    let costs = agree(cost.feature, "costs");
    match cost.outcome(judged.plan.protocol.tie) {
        ContrastOutcome::Behind if cost.ratio.point >= 2.0 => {
            let makes = agree(cost.feature, "makes");
            format!("{makes} it {} times as much for {subject} {here}{ends}", times(cost.ratio.point))
        }
        ContrastOutcome::Behind => format!("{costs} {subject} {} {here}{ends}", share(cost.ratio.point)),
        ContrastOutcome::Better => {
            let saves = agree(cost.feature, "saves");
            format!("{saves} {subject} {} {here}{ends}", share(cost.ratio.point))
        }
        ContrastOutcome::Tied => format!("{costs} {subject} too little to matter {here}"),
        ContrastOutcome::Undecided | ContrastOutcome::NotBetter => match bounds(cost) {
            Some((low, high)) => {
                let ends = [low, high].map(describe_ratio);
                match low >= 1.0 && high < 2.0 {
                    true => format!("{costs} {subject} {} to {} {here}", share(low), share(high)),
                    false => format!("{costs} {subject} between {} and {} {here}", ends[0], ends[1]),
                }
            }
            None => {
                let (has, trials) = (agree(cost.feature, "has"), count(cost.ratio.n, "block"));
                format!("{has} a cost for {subject} {here} that cannot be told from {trials}{ends}")
            }
        },
    }
}

/// The words for two candidates that differ in more than the protection.
fn describe_substitution(judged: &Judgement<'_>, cost: &ProtectionCost) -> String {
    let difference = difference::cannot_be_told(&cost.ratio)
        .unwrap_or_else(|| difference::describe_difference(judged, &cost.ratio));
    format!("with {} instead of {}: {difference}", cost.protected, cost.other)
}

/// The ends of a cost of which the trials do not tell whether it matters, if they tell it to within a factor of two.
fn bounds(cost: &ProtectionCost) -> Option<(f64, f64)> {
    let ends = cost.ratio.ends()?;
    difference::cannot_be_told(&cost.ratio).is_none().then_some(ends)
}

fn describe_interval(cost: &ProtectionCost) -> Option<String> {
    let (low, high) = cost.ratio.ends()?;
    Some(format!("{} to {}", describe_ratio(low), describe_ratio(high)))
}

/// `+4%`, or `2.3 times`.
fn describe_ratio(ratio: f64) -> String {
    if ratio >= 2.0 { format!("{} times", times(ratio)) } else { signed_percent(ratio - 1.0, 0) }
}

/// The cost of each protection, for every pair of candidates; `None` if the run shows none.
pub(crate) fn build_table(judged: &Judgement<'_>) -> Option<TextTable> {
    let costs = &judged.verdict.protection_costs;
    let tie = judged.plan.protocol.tie;
    let row = |cost: &ProtectionCost| {
        let word = match cost.outcome(tie) {
            ContrastOutcome::Behind => "costs",
            ContrastOutcome::Better => "saves",
            ContrastOutcome::Tied => "too little to matter",
            ContrastOutcome::Undecided | ContrastOutcome::NotBetter => "cannot be told",
        };
        [
            cost.feature.noun().to_owned(),
            cost.protected.clone(),
            cost.other.clone(),
            describe_ratio(cost.ratio.point),
            describe_interval(cost).unwrap_or_else(|| "–".to_owned()),
            word.to_owned(),
        ]
        .into()
    };
    let title = "What protection costs: the goal with it against the goal without it, within blocks";
    let header = ["protection", "with", "without", "difference", "95%", "so it"];
    TextTable::filled(title, &header, costs.iter().map(row))
}

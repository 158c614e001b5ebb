//! The verdicts of the protection levels in words, and the cost of each protection.

use super::number::{percent, signed_percent, times};
use super::text::{capitalize, count};
use super::text_table::TextTable;
use super::{goal_words, sentence};
use fsverdict_judgement::verdict::{
    ContrastOutcome, GroupVerdict, Judgement, ProtectionCost, Verdict, slice_by_protection,
};

/// The most candidates for which a sentence gives the cost of a protection.
const MOST_COSTS: usize = 3;

/// The outcome of a run: one sentence, or one for each protection level and then the costs of the levels.
pub(super) fn describe_outcome(judged: &Judgement<'_>) -> String {
    if judged.verdict.groups.is_empty() {
        return sentence::describe_outcome(judged);
    }
    answer_by_group(judged, |group| Some(sentence::describe_outcome(group)))
}

/// The answer for each protection level, by `answer` where it has several candidates, and then the costs of the levels.
pub(super) fn answer_by_group(
    judged: &Judgement<'_>,
    answer: impl Fn(&Judgement<'_>) -> Option<String>,
) -> String {
    let runs = slice_by_protection(judged.plan, judged.run);
    let answers = judged.verdict.groups.iter().zip(&runs).filter_map(|(group, run)| {
        let of_level = run.judge();
        let text = describe_sole_candidate(judged, group, &of_level).or_else(|| answer(&of_level))?;
        Some(format!("{}: {}", capitalize(&group.title), lower_verb(&text)))
    });
    answers.chain(describe_protection_costs(judged)).collect::<Vec<_>>().join(" ")
}

/// The recommended candidates, or `undecided`.
pub(super) fn list_recommended(verdict: &Verdict) -> String {
    match verdict.recommended_names().as_slice() {
        [] => "undecided".to_owned(),
        some => some.join(" or "),
    }
}

/// The sentence on a candidate that has no rival of its protection level, or none that is left.
fn describe_sole_candidate(
    judged: &Judgement<'_>,
    group: &GroupVerdict,
    of_level: &Judgement<'_>,
) -> Option<String> {
    let only = &group.sole_candidate()?.candidate;
    let total = goal_words::describe_total(judged, only)
        .map_or(String::new(), |total| format!(", {total} {}", goal_words::of_what(judged)));
    Some(match sentence::describe_excluded(of_level) {
        Some(excluded) => format!("{only} alone is left{total}; {excluded}."),
        None => format!("{only}{total}; nothing else with this protection was tried."),
    })
}

/// The cost of each protection, a sentence for each; for the recommended candidates first.
fn describe_protection_costs(judged: &Judgement<'_>) -> Vec<String> {
    let verdict = &judged.verdict;
    let taken = verdict.recommended_names();
    let mut features: Vec<_> = verdict.protection_costs.iter().map(|cost| cost.feature).collect();
    features.dedup();
    let is_known =
        |cost: &ProtectionCost| cost.outcome(judged.plan.protocol.tie) != ContrastOutcome::Undecided;
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
            return format!("What {} costs cannot be told from {}.", feature.noun(), count(blocks, "block"));
        }
        let more = own.len().saturating_sub(MOST_COSTS);
        let clauses: Vec<String> =
            own.iter().take(MOST_COSTS).map(|cost| describe_protection_cost(judged, cost)).collect();
        let more = if more > 0 { format!("; {more} more in the table") } else { String::new() };
        let next = if own.iter().all(|cost| cost.same_otherwise) { "; it " } else { "; " };
        format!("{} {}{more}.", capitalize(feature.noun()), clauses.join(next))
    };
    features.into_iter().map(sentence).collect()
}

/// `costs ext4 4% here (+2% to +6%)`.
fn describe_protection_cost(judged: &Judgement<'_>, cost: &ProtectionCost) -> String {
    // A protection that is added is said of the candidate without it, one that is taken away of the usual candidate.
    let subject = match (cost.same_otherwise, cost.feature.is_weaker()) {
        (false, _) => return describe_substitution(judged, cost),
        (true, true) => &cost.protected,
        (true, false) => &cost.other,
    };
    let share = |value: f64| percent(libm::fabs(value - 1.0));
    let ends = describe_interval(cost).map_or(String::new(), |ends| format!(" ({ends})"));
    match cost.outcome(judged.plan.protocol.tie) {
        ContrastOutcome::Behind if cost.ratio.point >= 2.0 => {
            format!("makes it {} times as much for {subject} here{ends}", times(cost.ratio.point))
        }
        ContrastOutcome::Behind => format!("costs {subject} {} here{ends}", share(cost.ratio.point)),
        ContrastOutcome::Better => format!("saves {subject} {} here{ends}", share(cost.ratio.point)),
        ContrastOutcome::Tied => format!("costs {subject} too little to matter here"),
        ContrastOutcome::Undecided | ContrastOutcome::NotBetter => {
            let trials = count(cost.ratio.n, "block");
            format!("has a cost for {subject} that cannot be told from {trials}{ends}")
        }
    }
}

/// The words for two candidates that differ in more than the protection.
fn describe_substitution(judged: &Judgement<'_>, cost: &ProtectionCost) -> String {
    let difference = goal_words::cannot_be_told(&cost.ratio)
        .unwrap_or_else(|| goal_words::describe_difference(judged, &cost.ratio));
    format!("with {} instead of {}: {difference}", cost.protected, cost.other)
}

fn describe_interval(cost: &ProtectionCost) -> Option<String> {
    let (low, high) = cost.ratio.low.zip(cost.ratio.high)?;
    Some(format!("{} to {}", describe_ratio(low), describe_ratio(high)))
}

/// `+4%`, or `2.3 times`.
fn describe_ratio(ratio: f64) -> String {
    if ratio >= 2.0 { format!("{} times", times(ratio)) } else { signed_percent(ratio - 1.0, 0) }
}

/// The cost of each protection, for every pair of candidates; `None` if the run shows none.
pub(super) fn build_table(judged: &Judgement<'_>) -> Option<TextTable> {
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
    (!costs.is_empty()).then(|| TextTable::new(title, &header, costs.iter().map(row).collect()))
}

/// A sentence that begins with a verb or an outcome, to stand behind a colon.
fn lower_verb(text: &str) -> String {
    match ["Take ", "Undecided", "No ", "Ruled out", "Compared "].iter().any(|begin| text.starts_with(begin))
    {
        true => text[..1].to_lowercase() + &text[1..],
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{build_table, lower_verb};
    use crate::examples::protected;
    use crate::fixtures::{PLAIN, data_of, page_of};
    use crate::{Format, Guarantees, Report, write};

    #[test]
    fn each_level_has_a_sentence_and_the_cost_of_a_level_one_of_its_own() {
        let story = protected();
        let run = story.run();
        let report = Report::new(&story.plan, &run, None);
        let sentence = &report.sentence;
        for part in [
            "Unencrypted, crash-safe: take ext4: ",
            "the next, xfs, takes ",
            "Encrypted, crash-safe: take xfs+luks2: ",
            "Unencrypted, not crash-safe: ext2, ",
            "Encryption costs xfs 4% here (+3% to +5%)",
            "; it costs ext4 23% here",
        ] {
            assert!(sentence.contains(part), "{part}: {sentence}");
        }
        let rows = build_table(&report.judged).unwrap().rows;
        assert_eq!((rows.len(), rows[0][5].as_str()), (2, "costs"));
        let words = report.plain_words.unwrap();
        assert!(words.contains("Encrypted, crash-safe: xfs+luks2 is the fastest"), "{words}");
        assert!(report.paragraph.unwrap().contains("not ranked against each other"));
    }

    #[test]
    fn a_page_names_what_the_recommended_lack() {
        let story = protected();
        let run = story.run();
        let mut report = Report::new(&story.plan, &run, None);
        let guarantees = |name: &str, has: &[&'static str], lacks: &[&'static str]| Guarantees {
            candidate: name.to_owned(),
            has: has.to_vec(),
            lacks: lacks.to_vec(),
            grave: vec![("a checker", "no program can look for damage")],
            status: "In the kernel.",
            status_source: "MAINTAINERS of Linux 6.12, November 2024",
            ..Guarantees::default()
        };
        report.guarantees = vec![
            guarantees("ext4", &["a checker"], &["snapshots", "checksums of data"]),
            guarantees("xfs", &["snapshots", "a checker"], &["checksums of data"]),
            guarantees("ext4+luks2", &["a checker", "encryption"], &["snapshots"]),
            guarantees("xfs+luks2", &["snapshots", "encryption"], &["a checker"]),
            guarantees("ext2", &["a checker"], &["a journal"]),
        ];
        let shown = |format| {
            let mut out = Vec::new();
            write(&report, format, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        let drawbacks = report.drawbacks().unwrap();
        assert!(drawbacks.contains("Drawbacks of ext4: no snapshots (xfs has that, +9.7%"), "{drawbacks}");
        assert!(drawbacks.contains("Drawbacks of xfs+luks2: no checker, so that no program"), "{drawbacks}");
        // What no candidate has is no drawback of the one that is taken.
        assert!(!drawbacks.contains("checksums of data"), "{drawbacks}");
        insta::assert_snapshot!("protected_terminal", shown(Format::Terminal(PLAIN)));
        assert!(shown(Format::Markdown).contains("MAINTAINERS of Linux 6.12"));
        assert!(shown(Format::Html).contains("id=\"guarantees\""));
        let data: serde_json::Value = serde_json::from_str(&shown(Format::Json)).unwrap();
        assert_eq!(data["guarantees"][4]["lacks"][0], "a journal");
        assert_eq!(data["drawbacks"], drawbacks.as_str());
    }

    #[test]
    fn the_data_have_each_level_with_its_verdict() {
        let data = data_of(&protected());
        let groups = data["verdict"]["groups"].as_array().unwrap();
        assert_eq!(groups.len(), 3);
        assert_eq!(
            (&groups[0]["recommended"], &groups[1]["recommended"]),
            (&"ext4".into(), &"xfs+luks2".into())
        );
        assert_eq!(groups[1]["protection"][0], "encrypted");
        assert_eq!(data["verdict"]["protection_costs"][0]["feature"], "encrypted");
        assert!(page_of(&protected(), None, Format::Csv).lines().count() > 5);
        assert_eq!(lower_verb("Take ext4."), "take ext4.");
        assert_eq!(lower_verb("It depends."), "It depends.");
    }
}

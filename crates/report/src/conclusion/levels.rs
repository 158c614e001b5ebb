//! The verdicts of the protection levels in words.

use crate::conclusion::{losses, no_verdict, sentence, trade};
use crate::topics::{free_computation, protection_costs};
use crate::wording::{capitalize, difference, lower_verb};
use fsverdict_judgement::verdict::{GroupVerdict, Judgement, Verdict, slice_by_protection};

/// The outcome of a run: one sentence, or one for each protection level and then the costs of the levels; then the costs
/// that cannot be told.
pub(crate) fn describe_outcome(judged: &Judgement<'_>) -> String {
    if let Some(by_losses) = losses::recommend_by_losses(judged) {
        return by_losses;
    }
    losses::describe_losses(judged) + &describe_by_goal(judged)
}

fn describe_by_goal(judged: &Judgement<'_>) -> String {
    if judged.verdict.groups.is_empty() {
        return with_untold_costs(judged, sentence::describe_outcome(judged));
    }
    let choice = trade::describe_choice(judged).or_else(|| describe_only_level(judged));
    let Some(choice) = choice else {
        return answer_by_group(judged, |group| Some(sentence::describe_outcome(group)));
    };
    let sentences = std::iter::once(choice).chain(describe_excluded_levels(judged));
    with_untold_costs(judged, sentences.collect::<Vec<_>>().join(" "))
}

/// The outcome of the only protection level with a result; `None` if several have one.
fn describe_only_level(judged: &Judgement<'_>) -> Option<String> {
    let groups = judged.verdict.groups.iter().enumerate();
    let mut with_result = groups.filter(|(_, group)| group.first_choice().is_some());
    let (Some((at, group)), None) = (with_result.next(), with_result.next()) else { return None };
    if let Some(only) = group.sole_candidate() {
        let total = difference::with_leading_total(judged, ": ", &only.candidate);
        return Some(match judged.is_tried() {
            true => format!("{} is the only one that has a result{total}.", only.candidate),
            false => format!("Undecided: only {} was tried{total}.", only.candidate),
        });
    }
    let levels = slice_by_protection(judged.plan, judged.run);
    levels.get(at).map(|level| sentence::describe_outcome(&level.judge()))
}

/// The candidates that are excluded in protection levels of which no candidate is left; `None` if there are none.
fn describe_excluded_levels(judged: &Judgement<'_>) -> Option<String> {
    let is_of_such_level = |name: &str| {
        let mut levels = judged.verdict.groups.iter().filter(|level| level.first_choice().is_none());
        levels.any(|level| level.candidates.iter().any(|candidate| candidate == name))
    };
    let excluded = no_verdict::describe_excluded_of(judged, is_of_such_level)?;
    Some(format!("{}.", capitalize(&excluded)))
}

/// These sentences and the one on costs that cannot be told.
pub(crate) fn with_untold_costs(judged: &Judgement<'_>, sentences: String) -> String {
    let untold = free_computation::write_sentence(judged);
    std::iter::once(sentences).chain(untold).collect::<Vec<_>>().join(" ")
}

/// The answer for each protection level, by `answer` where it has several candidates, and then the costs of the levels.
pub(crate) fn answer_by_group(
    judged: &Judgement<'_>,
    answer: impl Fn(&Judgement<'_>) -> Option<String>,
) -> String {
    let runs = slice_by_protection(judged.plan, judged.run);
    let answers = judged.verdict.groups.iter().zip(&runs).filter_map(|(group, run)| {
        let of_level = run.judge();
        let text = describe_sole_candidate(judged, group, &of_level).or_else(|| answer(&of_level))?;
        Some(format!("{}: {}", capitalize(&group.title), lower_verb(&text)))
    });
    let answers = answers.chain(protection_costs::describe_costs(judged)).collect::<Vec<_>>();
    with_untold_costs(judged, answers.join(" "))
}

/// The recommended candidates, or `undecided`.
pub(crate) fn list_recommended(verdict: &Verdict) -> String {
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
    let total = difference::describe_total(judged, only)
        .map_or(String::new(), |total| format!(", {total} {}", difference::of_what(judged)));
    Some(match no_verdict::describe_excluded(of_level) {
        Some(excluded) => format!("{only} alone is left{total}; {excluded}."),
        None => format!("{only}{total}; nothing else with this protection was tried."),
    })
}

#[cfg(test)]
mod tests {
    use crate::examples::protected;
    use crate::fixtures::{PLAIN, data_of, page_of};
    use crate::topics::protection_costs::build_table;
    use crate::wording::lower_verb;
    use crate::{Format, Guarantees, Report, write};

    #[test]
    fn three_levels_have_one_answer_and_the_cost_of_a_level_a_sentence_of_its_own() {
        let story = protected();
        let run = story.run();
        let report = Report::new(&story.plan, &run, None);
        let sentence = &report.sentence;
        for part in [
            "Take ext4: 8.26 s ±7% for the whole job",
            "the next, xfs, takes ",
            "If the data must be encrypted: xfs+luks2. ",
            "ext4 also survives a power cut, and is slower than ext2 for that (+22%",
            "xfs+luks2. Encryption costs ext4 23% here (+22% to +25%)",
            "; it costs xfs 4% here (+3% to +5%)",
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
        assert!(!drawbacks.contains("xfs+luks2:"), "one candidate is taken: {drawbacks}");
        // A property that every candidate lacks is no drawback of the one that is taken.
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

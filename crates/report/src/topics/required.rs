//! Topic: the requirements of the goal, which candidates meet them, and by how much others miss them.

use super::{ReportTopic, address_tables};
use crate::model::{Clause, ClauseKind};
use crate::page::{Media, PageBlock};
use crate::wording::{NumberScale, TextTable, listing, plain_number, times_within};
use fsverdict_judgement::plan::Bound;
use fsverdict_judgement::verdict::{Judgement, RequirementRelation, RequirementStanding};

pub(super) static TOPIC: ReportTopic = ReportTopic {
    build_tables: |report| address_tables(Media::TEXT, build_table(&report.judged)).collect(),
    build_section: |report| {
        let table = PageBlock::plain_table(build_table(&report.judged)?);
        Some(PageBlock::section("required", "What is required", vec![table]))
    },
    list_clauses: |judged| {
        let mut clauses = Clause::list(ClauseKind::RuledOut, describe_ruled_out(judged));
        clauses.extend(Clause::list(ClauseKind::Proviso, describe_open(judged)));
        clauses
    },
    ..ReportTopic::EMPTY
};

/// The most ruled out candidates that are named one by standing.
const MOST_NAMES: usize = 3;

/// The candidates that are ruled out, as a sentence; `None` where there are none.
fn describe_ruled_out(judged: &Judgement<'_>) -> Option<String> {
    let verdict = &judged.verdict;
    let missed = |name: &String| {
        let own = verdict.required.iter().filter(|standing| standing.candidate == *name);
        own.filter(|standing| standing.relation == RequirementRelation::Missed)
            .max_by(|standing, other| excess(standing).total_cmp(&excess(other)))
    };
    let mut worst: Vec<&RequirementStanding> = verdict.ruled_out.iter().filter_map(missed).collect();
    if worst.is_empty() {
        return None;
    }
    // The nearest misses come first, because they are the ones that a reader may still be able to fix.
    worst.sort_by(|standing, other| excess(standing).total_cmp(&excess(other)));
    let misses: Vec<String> = worst.iter().take(MOST_NAMES).map(|standing| describe_miss(standing)).collect();
    let more = worst.len().saturating_sub(MOST_NAMES);
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    let begin =
        if judged.verdict.nobody_is_left() { "No candidate meets the requirements" } else { "Ruled out" };
    Some(format!("{begin}: {}{more}.", misses.join("; ")))
}

/// `xfs misses commit.p99 <= 10ms: 18 ms, 1.8 (1.6 to 2.0) times that`.
fn describe_miss(standing: &RequirementStanding) -> String {
    format!("{} misses {}: {}", standing.candidate, standing.requirement, value_against_bound(standing))
}

/// `18 ms, 1.8 (1.6 to 2.0) times that`.
fn value_against_bound(standing: &RequirementStanding) -> String {
    let times =
        standing.times.map_or(String::new(), |times| format!(", {} times that", times_within(&times)));
    format!("{}{times}", value(standing))
}

/// How far the value is from the bound, as a logarithm, for either kind of bound.
fn excess(standing: &RequirementStanding) -> f64 {
    standing.times.map_or(0.0, |times| libm::fabs(libm::log(times.point)))
}

fn value(standing: &RequirementStanding) -> String {
    let Some((value, unit)) = standing.value.zip(standing.unit) else { return "not measured".to_owned() };
    let scale = NumberScale::suited(unit, std::iter::once(value));
    let gap = if scale.label.is_empty() { "" } else { " " };
    format!("{}{gap}{}", plain_number(value / scale.divisor), scale.label)
}

/// Requirements that the recommended candidate is not shown to meet, one sentence each without a full stop.
fn describe_open(judged: &Judgement<'_>) -> Vec<String> {
    judged.verdict.recommended.as_deref().map_or_else(Vec::new, |taken| open_of(judged, taken))
}

/// For an undecided verdict, the requirements that no candidate is shown to meet, each with the nearest candidate; empty
/// where there are none.
pub(crate) fn unshown(judged: &Judgement<'_>) -> String {
    let verdict = &judged.verdict;
    let each = judged.plan.goal.require.numbers.iter().filter_map(|requirement| {
        let title = requirement.title();
        let of_it = verdict.required.iter().filter(|standing| standing.requirement == title);
        if of_it.clone().any(|standing| standing.relation == RequirementRelation::Kept) {
            return None;
        }
        let sign = if requirement.bound == Bound::AtMost { 1.0 } else { -1.0 };
        let distance = |standing: &&RequirementStanding| {
            standing.times.map_or(f64::INFINITY, |times| sign * times.point)
        };
        let nearest = of_it
            .filter(|standing| standing.relation == RequirementRelation::Open)
            .min_by(|standing, other| distance(standing).total_cmp(&distance(other)))?;
        Some(format!(
            " No candidate is shown to keep {title} yet; the nearest, {}, has {}.",
            nearest.candidate,
            value(nearest)
        ))
    });
    each.collect()
}

/// Requirements that a candidate is not shown to meet, one sentence each without a full stop.
pub(crate) fn open_of(judged: &Judgement<'_>, candidate: &str) -> Vec<String> {
    let own = judged.verdict.required.iter().filter(|standing| standing.candidate == candidate);
    let describe = |standing: &RequirementStanding| match standing.relation {
        RequirementRelation::Open => Some(format!(
            "whether {} keeps {} is not shown: {}",
            standing.candidate,
            standing.requirement,
            value_against_bound(standing)
        )),
        RequirementRelation::NotMeasured => Some(format!(
            "whether {} keeps {} is not known: it was not measured",
            standing.candidate, standing.requirement
        )),
        RequirementRelation::Kept | RequirementRelation::Missed => None,
    };
    own.filter_map(describe).collect()
}

/// The sentence of a verdict where only one candidate meets the requirements.
pub(crate) fn alone(judged: &Judgement<'_>) -> Option<String> {
    let verdict = &judged.verdict;
    let taken = verdict.recommended.as_ref().filter(|_| verdict.standings.is_empty())?;
    let kept = verdict.required.iter().filter(|standing| standing.candidate == *taken);
    let kept: Vec<String> =
        kept.map(|standing| format!("{} ({})", standing.requirement, value(standing))).collect();
    (!kept.is_empty()).then(|| format!("Take {taken}: it alone keeps {}.", listing(&kept, MOST_NAMES)))
}

/// Every candidate with every requirement; `None` where there are no requirements.
fn build_table(judged: &Judgement<'_>) -> Option<TextTable> {
    let row = |standing: &RequirementStanding| {
        let word = match standing.relation {
            RequirementRelation::Kept => "kept",
            RequirementRelation::Missed => "missed: ruled out",
            RequirementRelation::Open => "not shown either way",
            RequirementRelation::NotMeasured => "not measured",
        };
        let times = standing.times.map_or("–".to_owned(), |times| times_within(&times));
        vec![
            standing.candidate.clone(),
            standing.requirement.clone(),
            value(standing),
            times,
            word.to_owned(),
        ]
    };
    let header = ["candidate", "required", "measured", "times the bound", ""];
    TextTable::filled("What is required", &header, judged.verdict.required.iter().map(row))
}

#[cfg(test)]
mod tests {
    use crate::Format;
    use crate::fixtures::{DETAILED, PLAIN, Story, data_of, id, page_of};
    use fsverdict_judgement::journal::Unit;
    use fsverdict_judgement::plan::{Bound, Requirement};

    /// ext4 is the fastest, with so many seconds at the end of its tail; xfs has 4 ms, jfs 30.
    fn story(ext4: f64, at_most: f64) -> Story {
        story_of(ext4, [0.004; 4], at_most)
    }

    /// The same with the tail of xfs in each block.
    fn story_of(ext4: f64, xfs: [f64; 4], at_most: f64) -> Story {
        story_in_blocks(4, ext4, xfs, at_most)
    }

    fn story_in_blocks(blocks: u32, ext4: f64, xfs: [f64; 4], at_most: f64) -> Story {
        let names = ["ext4", "xfs", "jfs"];
        let mut story = Story::new(&names, &["commit"]);
        story.plan.goal.require.numbers.push(Requirement {
            phase: "commit".to_owned(),
            metric: "latency_p99".to_owned(),
            bound: Bound::AtMost,
            value: at_most,
            said: "<= 10ms".to_owned(),
        });
        for block in 1..=blocks {
            story.open_block(block, 1, &names);
            let wobble = 1.0 + 0.004 * f64::from(block % 3);
            for (name, seconds, tail) in
                [("ext4", 1.0, ext4), ("xfs", 2.0, xfs[block as usize - 1]), ("jfs", 3.0, 0.030)]
            {
                let numbers = [
                    ("durable", Unit::Seconds, seconds * wobble),
                    ("latency_p99", Unit::Seconds, tail * wobble),
                ];
                story.measured_trial(&id(block, name), "commit", &numbers);
            }
            story.close_block(block, 1, None);
        }
        story.finish();
        story
    }

    fn page(story: &Story, format: Format) -> String {
        page_of(story, None, format).split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn who_misses_is_said_with_by_how_much_wherever_a_verdict_is() {
        let story = story(0.018, 0.010);
        for format in [Format::Terminal(DETAILED), Format::Markdown, Format::Html, Format::Json] {
            let page = page(&story, format);
            for said in [
                "Ruled out: ext4 misses commit.p99",
                "18 ms, 1.807",
                "jfs misses commit.p99",
                "Take xfs: it alone keeps",
            ] {
                let said = if matches!(format, Format::Html) {
                    said.replace("<=", "&lt;=")
                } else {
                    said.to_owned()
                };
                // JSON has the parts as data, and the sentence only where two are compared.
                assert!(page.contains(&said) || matches!(format, Format::Json), "{said}: {page}");
            }
            assert!(page.contains("missed"), "{page}");
        }
        let data = data_of(&story);
        assert_eq!(data["verdict"]["ruled_out"], serde_json::json!(["ext4", "jfs"]));
        assert_eq!(data["verdict"]["recommended"], "xfs");
        assert_eq!(data["verdict"]["required"][0]["relation"], "missed");
        assert!((data["verdict"]["required"][0]["times"]["point"].as_f64().unwrap() - 1.8).abs() < 0.02);
    }

    #[test]
    fn the_last_one_left_is_not_said_to_keep_what_is_not_shown() {
        let story = story_of(0.018, [0.003, 0.030, 0.006, 0.020], 0.010);
        let page = page(&story, Format::Terminal(PLAIN));
        let sentence = "xfs alone is left, and whether xfs keeps commit.p99 <= 10ms is not shown: 10 ms";
        assert!(page.contains(sentence) && !page.contains("nothing to compare"), "{page}");
    }

    #[test]
    fn an_undecided_verdict_says_what_no_candidate_is_shown_to_keep() {
        let page = page(&story_in_blocks(2, 0.018, [0.013; 4], 0.010), Format::Terminal(PLAIN));
        let sentence = "No candidate is shown to keep commit.p99 <= 10ms yet; the nearest, xfs, has 13 ms.";
        assert!(page.contains(sentence), "{page}");
    }

    #[test]
    fn kept_by_all_rules_nobody_out_and_missed_by_all_is_said() {
        let kept = page(&story(0.018, 0.100), Format::Terminal(DETAILED));
        assert!(!kept.contains("Ruled out") && kept.contains("ext4 leads"), "{kept}");
        assert!(kept.contains("18 ms 0.1807 (0.1798 to 0.1817) kept"), "{kept}");
        let none = page(&story(0.018, 0.001), Format::Terminal(PLAIN));
        assert!(none.contains("No candidate meets the requirements: xfs misses"), "{none}");
        assert!(!none.contains("Take "), "{none}");
    }
}

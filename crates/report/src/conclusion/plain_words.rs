//! The verdict in three sentences for readers without knowledge of confidence intervals: the trials, the result, and
//! its limits. The paragraph in `words` has every number with its interval.

use crate::conclusion::no_verdict::describe_settling_trials;
use crate::conclusion::{clauses, levels};
use crate::topics::free_computation;
use crate::wording::{count, difference, is_alike, listing, percent};
use fsverdict_judgement::journal::metric;
use fsverdict_judgement::verdict::{Judgement, Outcome, Rank, TrialBasis};
use fsverdict_text::join_names;

/// The most candidates that are named after the first.
const MOST_NAMES: usize = 4;

/// The three sentences, with an answer for each protection level; `None` where no candidates are compared with each other.
pub(crate) fn write_sentences(judged: &Judgement<'_>) -> Option<String> {
    let verdict = &judged.verdict;
    let is_compared = matches!(judged.basis, TrialBasis::Blocks(_)) && verdict.ranking.len() > 1;
    if !is_compared || verdict.refused.is_some() || judged.against_itself().is_some() {
        return None;
    }
    let answer = match judged.verdict.groups.as_slice() {
        [] => describe_result(judged).map(|answer| levels::with_untold_costs(judged, answer)),
        _ => Some(levels::answer_by_group(judged, describe_result)),
    };
    let sentences = [Some(describe_trials(judged)), answer, describe_limit(judged)];
    Some(sentences.into_iter().flatten().collect::<Vec<_>>().join(" "))
}

fn describe_trials(judged: &Judgement<'_>) -> String {
    let measured = match judged.plan.goal.metric.as_str() {
        "durable" => "how long each took until its data were safe on the device".to_owned(),
        name => metric(name)
            .map_or_else(|| format!("{name}, as the program reports it"), |known| known.title.to_owned()),
    };
    let often = match judged.sample_sizes() {
        Some((1, 1)) => "once each".to_owned(),
        Some((2, 2)) => "twice each".to_owned(),
        Some((few, many)) if few == many => format!("{few} times each"),
        _ => format!("in {}", count(judged.verdict.blocks, "block")),
    };
    format!(
        "{} did the same work ({}) {often}, in random order; what was compared is {measured}.",
        count(judged.verdict.ranking.len(), "candidate"),
        listing(&judged.goal_phases(), MOST_NAMES),
    )
}

/// The result: the best candidate, and those after it.
fn describe_result(judged: &Judgement<'_>) -> Option<String> {
    let verdict = &judged.verdict;
    let (first, rest) = verdict.ranking.split_first()?;
    let untold = judged.untold_rivals();
    let rest: Vec<&Rank> = rest.iter().filter(|rank| !untold.contains(&rank.candidate.as_str())).collect();
    let with_total = |name: &str| match difference::describe_total(judged, name) {
        Some(total) => format!("{name} {total}"),
        None => name.to_owned(),
    };
    let is_as_good = |rank: &Rank| {
        verdict.tied.contains(&rank.candidate)
            || rank.behind.as_ref().is_some_and(|ratio| is_alike(ratio, judged.plan.protocol.tie))
    };
    let (alike, behind): (Vec<&Rank>, Vec<&Rank>) = match verdict.outcome {
        Outcome::Undecided => (Vec::new(), rest),
        Outcome::Recommended | Outcome::Ranked => rest.into_iter().partition(|rank| is_as_good(rank)),
    };
    let others: Vec<String> = behind.iter().map(|rank| with_total(&rank.candidate)).collect();
    let others = listing(&others, MOST_NAMES);
    let own = difference::describe_total(judged, &first.candidate);
    let own = own.map_or(String::new(), |total| format!(" with {total} for all of it"));
    if let Some(names) = free_computation::list_undecidable(judged) {
        let after = if behind.is_empty() {
            String::new()
        } else {
            format!("; {} comes before {others}", first.candidate)
        };
        return Some(format!("Whether to take {} is not told{after}.", join_names(&names, MOST_NAMES, "or")));
    }
    Some(match verdict.outcome {
        Outcome::Undecided => {
            let settling = describe_settling_trials(judged).map_or(String::new(), |what| format!(": {what}"));
            format!(
                "{} is ahead so far{own}, before {others}, but the trials differ too much to be sure{settling}.",
                first.candidate
            )
        }
        Outcome::Recommended | Outcome::Ranked => {
            // "The fastest" would be wrong where another one is ahead by the estimates, by less than matters.
            let is_ahead = |rank: &&Rank| rank.behind.is_some_and(|behind| behind.point < 1.0);
            let best = match (difference::is_of_time(judged), alike.iter().any(is_ahead)) {
                (true, false) => "the fastest",
                (true, true) => "as fast as any",
                (false, false) => "the best",
                (false, true) => "as good as any",
            };
            let alike: Vec<&str> = alike.iter().map(|rank| rank.candidate.as_str()).collect();
            let are = if alike.len() == 1 { "is" } else { "are" };
            let tied = match alike.as_slice() {
                [] => String::new(),
                some => format!(
                    " ({} {are} as good: less than {} apart)",
                    listing(some, MOST_NAMES),
                    percent(judged.plan.protocol.tie)
                ),
            };
            let before = if behind.is_empty() { String::new() } else { format!(", before {others}") };
            format!("{} is {best}{own}{tied}{before}.", first.candidate)
        }
    })
}

fn describe_limit(judged: &Judgement<'_>) -> Option<String> {
    clauses::list_caveats(judged).into_iter().next().map(|limit| format!("Keep in mind: {limit}."))
}

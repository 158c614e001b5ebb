//! The verdict in plain sentences where candidates have several protection levels: an answer for each level.

use super::groups::{alone, capital, costs, lower_verb, of_group};
use super::plain_words;
use fsverdict_judgement::verdict::{Judgement, group_runs};

/// The verdict in sentences without intervals, where there are several protection levels.
pub(super) fn plain_sentences(judged: &Judgement<'_>) -> Option<String> {
    let groups = &judged.verdict.groups;
    if groups.is_empty() {
        return plain_words::sentences(judged);
    }
    let runs = group_runs(judged.plan, judged.run);
    let answers = groups.iter().zip(&runs).filter_map(|(group, run)| {
        let said = alone(judged, group).or_else(|| plain_words::answer(&of_group(run)))?;
        Some(format!("{}: {}", capital(&group.title), lower_verb(&said)))
    });
    let answers: Vec<String> = answers.chain(costs(judged)).collect();
    plain_words::with_answer(judged, Some(answers.join(" ")))
}

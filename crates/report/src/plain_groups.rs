//! The verdict in plain sentences where candidates have several protection levels: an answer for each level.

use super::groups::answer_by_group;
use super::plain_words;
use fsverdict_judgement::verdict::Judgement;

/// The verdict in sentences without intervals, where there are several protection levels.
pub(super) fn plain_sentences(judged: &Judgement<'_>) -> Option<String> {
    if judged.verdict.groups.is_empty() {
        return plain_words::write_sentences(judged);
    }
    plain_words::with_answer(judged, Some(answer_by_group(judged, plain_words::describe_result)))
}

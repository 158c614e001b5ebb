//! Questions that people asked in forums: each is answered as asked, or refused by name.

use super::phrasings::wrong_lines;

#[test]
fn questions_from_forums_are_answered_as_asked_or_refused_by_name() {
    let (wrong, count) = wrong_lines(include_str!("forum_questions.txt"));
    assert!(count >= 50 && wrong.is_empty(), "{} of {count} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

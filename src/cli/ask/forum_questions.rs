//! Questions that people asked in forums: each is answered as asked, or refused by name.

use super::super::CliError;
use super::phrasings::{line_of, understood, wrong_lines};

#[test]
fn questions_from_forums_are_answered_as_asked_or_refused_by_name() {
    let (wrong, count) = wrong_lines(include_str!("forum_questions.txt"));
    assert!(count >= 50 && wrong.is_empty(), "{} of {count} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// As they were written, and collected by somebody who had not seen the grammar; each with the question that is offered
/// without the words that are not understood, if there is one.
#[test]
fn collected_questions_are_refused_by_name_and_what_is_left_is_offered() {
    let mut wrong = Vec::new();
    let lines = || include_str!("collected.txt").lines().filter(|line| !line.starts_with('#'));
    for line in lines() {
        let (question, expected) = line.split_once(" => ").unwrap();
        let outcome = match understood(question) {
            Ok(understood) => line_of(&understood),
            Err(error) => {
                let CliError::Usage(reason) = error else { panic!("{question}: {error}") };
                let told = reason.to_string();
                let offer = "it is this question: fsverdict ask ";
                let offered = told.lines().find_map(|line| line.split_once(offer));
                offered.map_or("refused".to_owned(), |(_, sentence)| format!("offered: {sentence}"))
            }
        };
        if outcome != expected {
            wrong.push(format!("{question} => {outcome}"));
        }
    }
    assert!(lines().count() >= 100 && wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

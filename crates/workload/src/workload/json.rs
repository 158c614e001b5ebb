//! Finds JSON in a program's output by parsing: a program may print lines, warnings in brackets and progress before and
//! between documents.

use serde_json::Value;

/// Text that begins as JSON and is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BrokenJson {
    /// The line of the output on which it begins, and the one on which it breaks, from 1 on.
    pub(super) begins: usize,
    pub(super) breaks: usize,
    pub(super) what: String,
    /// Whether it ends too early.
    pub(super) cut_off: bool,
}

/// The last JSON document in a text; `None` if there is none.
///
/// A document is an object wherever it begins, or a list that begins and ends a line. Where several follow one another (a report in each interval),
/// the last one is the whole.
///
/// # Errors
/// When the last text that begins like a document is not valid JSON: an earlier document, or a part of this one, is not
/// used instead.
pub(super) fn last_document(text: &str) -> Result<Option<Value>, BrokenJson> {
    let (mut at, mut last) = (0, None);
    while let Some(begin) = text[at..].find(['{', '[']).map(|place| at + place) {
        let rest = &text[begin..];
        // Words in brackets are no lists.
        if rest.starts_with('[') && !begins_line(&text[..begin]) {
            at = begin + 1;
            continue;
        }
        let mut documents = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        match documents.next() {
            Some(Ok(document)) => {
                let end = begin + documents.byte_offset();
                // `[12] done` is a line of a log.
                if document.is_object() || ends_line(&text[end..]) {
                    last = Some(document);
                }
                at = end;
            }
            Some(Err(error)) if is_meant_as_json(rest, &error) => {
                let begins = text[..begin].matches('\n').count() + 1;
                return Err(BrokenJson {
                    begins,
                    breaks: begins + error.line().saturating_sub(1),
                    what: reason_of(&error),
                    cut_off: error.is_eof(),
                });
            }
            _ => at = begin + 1,
        }
    }
    Ok(last)
}

fn begins_line(before: &str) -> bool {
    let before = before.trim_end_matches([' ', '\t']);
    before.is_empty() || before.ends_with('\n')
}

fn ends_line(rest: &str) -> bool {
    let rest = rest.trim_start_matches([' ', '\t', '\r']);
    rest.is_empty() || rest.starts_with('\n')
}

/// Whether a bracket begins JSON that is broken, and not a word in brackets: it is an object with a key, or a list that breaks on a
/// later line.
fn is_meant_as_json(rest: &str, error: &serde_json::Error) -> bool {
    let mut letters = rest.chars();
    let is_object = letters.next() == Some('{');
    let next = letters.find(|letter| !letter.is_whitespace());
    (is_object && (next == Some('"') || next.is_none())) || (!is_object && error.line() > 1)
}

/// The error without its place, which is counted from the document's beginning.
fn reason_of(error: &serde_json::Error) -> String {
    let message = error.to_string();
    message.split(" at line ").next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::last_document;

    #[test]
    fn the_last_document_is_found_whatever_stands_around_it() {
        for (text, found) in [
            ("{\"a\": 1}", Some(json!({"a": 1}))),
            ("[warn] cache is cold\n{\"a\": 1}\n", Some(json!({"a": 1}))),
            ("[warn] [cold] {nothing} yet\n[12] [\n{\"a\": 1}\n[13] done\n", Some(json!({"a": 1}))),
            ("Jobs: 1 (f=1): [W(1)][100.0%][w=1025KiB/s] {\n \"a\" : 1\n}\n", Some(json!({"a": 1}))),
            ("{\"a\": 1}\n{\"a\": 2}\n", Some(json!({"a": 2}))),
            ("{\"a\": 1}{\"a\": [{\"b\": 3}]} done", Some(json!({"a": [{"b": 3}]}))),
            ("[1, 2]\n", Some(json!([1, 2]))),
            ("{}", Some(json!({}))),
            ("no JSON { } [x]", Some(json!({}))),
            ("no JSON {x} [x]", None),
            ("", None),
        ] {
            assert_eq!(last_document(text), Ok(found), "{text}");
        }
    }

    #[test]
    fn a_document_that_is_broken_is_not_replaced_by_a_part_of_it() {
        for (text, begins, breaks, cut_off) in [
            ("{\"a\": {\"b\": 1}, ", 1, 1, true),
            ("x\n{\"a\":\n {\"b\": 1},\n", 2, 4, true),
            ("{\"a\": 1}\n{\"a\": nan, \"b\": {\"a\": 1}}", 2, 2, false),
            ("x\n{\n\"a\": nan, \"b\": {\"a\": 1}}", 2, 3, false),
            ("[1,\nnan, {\"a\": 1}]", 1, 2, false),
            ("{", 1, 1, true),
        ] {
            let broken = last_document(text).unwrap_err();
            assert_eq!(
                (broken.begins, broken.breaks, broken.cut_off),
                (begins, breaks, cut_off),
                "{text}: {broken:?}"
            );
        }
    }

    #[test]
    fn brackets_without_end_cost_no_more_than_their_length() {
        for (text, is_broken) in [
            ("[".repeat(300_000), false),
            ("[\n".repeat(300_000), true),
            ("[x]\n".repeat(100_000), false),
            ("{\"a\":".repeat(60_000), true),
            // The last one begins an object that is cut off.
            ("{".repeat(300_000), true),
            ("[1,".repeat(100_000), false),
            ("[x]".repeat(100_000), false),
        ] {
            let document = last_document(&text);
            assert!(document.is_err() == is_broken && !matches!(document, Ok(Some(_))), "{}", &text[..20]);
        }
    }
}

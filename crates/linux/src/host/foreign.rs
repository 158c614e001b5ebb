//! Neutralises text of foreign origin (output of programs, names of files, a guest's console and events) before
//! fsverdict displays it: a terminal executes control sequences from any source (console_codes(4)).

use fsverdict_text::is_steering;
use serde_json::Value;

/// The text with every character that steers a terminal shown instead of obeyed. Lines and tabs stay; a carriage return
/// ends a line, as the progress of many a program does.
pub fn neutralise(text: &str) -> String {
    let shown = |character: char| match character {
        '\n' | '\t' => character,
        '\r' => '\n',
        // Pictures of control characters, in the same order.
        '\0'..='\u{1f}' => char::from_u32(0x2400 + u32::from(character)).unwrap_or('\u{fffd}'),
        '\u{7f}' => '\u{2421}',
        // The second set of control characters, and the invisible ones, such as those that reverse the direction of writing.
        other if is_steering(other) => '\u{fffd}',
        other => other,
    };
    text.replace("\r\n", "\n").chars().map(shown).collect()
}

/// Neutralises every text in a JSON value, including the names of members.
pub fn harmless_value(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(neutralise(&text)),
        Value::Array(items) => items.into_iter().map(harmless_value).collect(),
        Value::Object(members) => {
            members.into_iter().map(|(name, value)| (neutralise(&name), harmless_value(value))).collect()
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{harmless_value, neutralise};

    #[test]
    fn what_steers_a_terminal_is_shown() {
        for (text, shown) in [
            ("plain ü\n\ttext", "plain ü\n\ttext"),
            ("\x1b[2J\x07\x08", "␛[2J␇␈"),
            ("\u{9b}31m\u{7f}\u{202e}x", "\u{fffd}31m␡\u{fffd}x"),
            ("10 %\r20 %\r\n", "10 %\n20 %\n"),
            ("\0", "␀"),
            ("a\u{200e}\u{61c}\u{2028}b", "a\u{fffd}\u{fffd}\u{fffd}b"),
        ] {
            assert_eq!(neutralise(text), shown);
        }
        let event = json!({"a\u{1b}": ["\u{1b}c", 1, {"b": "\u{7}"}]});
        assert_eq!(harmless_value(event), json!({"a␛": ["␛c", 1, {"b": "␇"}]}));
    }
}

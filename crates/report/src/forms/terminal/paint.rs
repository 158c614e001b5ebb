//! Styles that survive the layout: invisible marks of no width are set first, and become colours, or nothing, last.
//!
//! The marks are characters that `text::one_line` lets no foreign text bring along.

use anstyle::{AnsiColor, Style};

use fsverdict_text::is_hidden;

use crate::forms::terminal::TerminalLook;
use crate::page::Tone;

const TONES: [(Tone, char); 4] = [
    (Tone::Strong, '\u{2060}'),
    (Tone::Good, '\u{2061}'),
    (Tone::Bad, '\u{2062}'),
    (Tone::Faint, '\u{2063}'),
];
const END: char = '\u{2064}';

fn style(tone: Tone) -> Style {
    match tone {
        Tone::Strong => Style::new().bold(),
        Tone::Good => AnsiColor::Green.on_default().bold(),
        Tone::Bad => AnsiColor::Red.on_default(),
        Tone::Faint => Style::new().dimmed(),
    }
}

pub(crate) fn toned(tone: Tone, text: &str) -> String {
    let mark = TONES.iter().find(|(known, _)| *known == tone).map_or(END, |(_, mark)| *mark);
    format!("{mark}{text}{END}")
}

/// The page as it goes out: marks become escape sequences or vanish; without Unicode every sign becomes ASCII.
pub(crate) fn finished(page: &str, look: TerminalLook) -> String {
    let mut out = String::with_capacity(page.len());
    for character in page.chars() {
        // A mark is hidden, too.
        let is_mark = character == END || TONES.iter().any(|(_, mark)| *mark == character);
        let character = if is_hidden(character) && !is_mark { '·' } else { character };
        if character == END {
            if look.colour {
                out.push_str("\x1b[0m");
            }
        } else if let Some((tone, _)) = TONES.iter().find(|(_, mark)| *mark == character) {
            if look.colour {
                out.push_str(&style(*tone).render().to_string());
            }
        } else if look.unicode || character.is_ascii() {
            out.push(character);
        } else {
            out.push_str(in_ascii(character));
        }
    }
    out
}

pub(super) fn to_ascii(text: &str) -> String {
    let mut ascii = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_ascii() { ascii.push(character) } else { ascii.push_str(in_ascii(character)) }
    }
    ascii
}

fn in_ascii(character: char) -> &'static str {
    match character {
        'µ' => "u",
        '×' => "x",
        '→' => "->",
        '≤' => "<=",
        '≥' => ">=",
        '±' => "+-",
        '−' => "-",
        '≈' => "~",
        '–' | '—' => "-",
        '…' => "...",
        '’' | '‘' => "'",
        '“' | '”' => "\"",
        'δ' => "delta",
        '·' => ".",
        _ => "?",
    }
}

#[cfg(test)]
mod tests {
    use super::{TerminalLook, Tone, finished, toned};
    use crate::wording::one_line;
    use fsverdict_text::display_width;

    const PLAIN: TerminalLook = TerminalLook { columns: 80, colour: false, unicode: true, detail: false };

    #[test]
    fn marks_take_no_room_and_become_colour_or_nothing() {
        let marked = toned(Tone::Good, "best");
        assert_eq!(display_width(&marked), 4);
        assert_eq!(finished(&marked, PLAIN), "best");
        assert_eq!(
            finished(&marked, TerminalLook { colour: true, ..PLAIN }),
            "\u{1b}[1m\u{1b}[32mbest\u{1b}[0m"
        );
    }

    #[test]
    fn foreign_text_cannot_bring_marks() {
        assert_eq!(one_line(&toned(Tone::Bad, "x")), "·x·");
    }

    #[test]
    fn nothing_but_marks_becomes_an_escape_sequence() {
        let hostile = "a\u{1b}[2Jb\u{9b}c\u{202e}d\u{2028}\r\n\te";
        for colour in [false, true] {
            assert_eq!(finished(hostile, TerminalLook { colour, ..PLAIN }), "a·[2Jb·c·d··\n\te");
        }
    }

    #[test]
    fn without_unicode_all_is_ascii() {
        let out = finished("ü 3 µs ≈ 1.2 × … ± 1 → 2", TerminalLook { unicode: false, ..PLAIN });
        assert_eq!(out, "? 3 us ~ 1.2 x ... +- 1 -> 2");
    }
}

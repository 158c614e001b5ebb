//! Prints messages to standard error, in one place. Results go to standard output.
//!
//! Prints messages without depending on a reader: a closed terminal, a full disk or `2>&1 | head -1` must not end a run
//! of hours, as the panic of `eprintln!` would. Messages are cut to a screen, however much a plan or a program put into
//! them.

use std::io::{IsTerminal, Write};

use fsverdict_text::{DisplayForm, DisplayWriter, make_displayable, wrap_hanging};
use rustix::termios::tcgetwinsize;

/// Lines of a screen, and columns of a line that is folded a few times.
const LINES: usize = 40;
const COLUMNS: usize = 400;

/// Prints a line. Control sequences are shown, not executed: they may be of foreign origin.
pub fn print_line(text: &str) {
    print_styled(&make_displayable(text));
}

/// Prints a text of the program's own and an end of line, with styles where the terminal shows them.
pub fn print_styled(text: &str) {
    print_prompt(&format!("{text}\n"));
}

/// Prints a text without an end of line: the answer follows on the same line.
pub fn print_prompt(text: &str) {
    let text = fit_to_lines(&fit_to_screen(text), message_width());
    let mut stderr = DisplayWriter::new(anstream::stderr().lock(), DisplayForm::Styled);
    let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
}

/// The width at which messages are wrapped, in columns: that of the terminal, or the value of `COLUMNS`. Elsewhere each
/// stays one line.
fn message_width() -> Option<usize> {
    let stderr = std::io::stderr();
    let columns =
        tcgetwinsize(&stderr).ok().map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0);
    let given = || std::env::var("COLUMNS").ok()?.parse().ok().filter(|columns| *columns > 0);
    columns.filter(|_| stderr.is_terminal()).or_else(given)
}

/// The text with its lines broken between words. A quoted line of a plan, and the mark below it, stay as they are.
fn fit_to_lines(text: &str, columns: Option<usize>) -> String {
    let fit = |line: &str| {
        let is_quoted =
            line.trim_start_matches(|letter: char| letter == ' ' || letter.is_ascii_digit()).starts_with('|');
        let indent = line.len() - line.trim_start().len() + 2;
        wrap_hanging(line, columns.filter(|_| !is_quoted), indent)
    };
    text.split('\n').map(fit).collect::<Vec<_>>().join("\n")
}

/// The text, with its middle left out where it is longer than a screen. Hints stay: they stand at the end.
pub fn fit_to_screen(text: &str) -> String {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let left_out = lines.len().saturating_sub(LINES);
    let mut shown = String::new();
    for (number, line) in lines.iter().enumerate() {
        if left_out > 0 && number == LINES / 2 {
            shown.push_str(&format!("… ({} lines left out)\n", left_out + 1));
        }
        if left_out == 0 || number < LINES / 2 || number > LINES / 2 + left_out {
            shown.push_str(&cut_line(line));
        }
    }
    shown
}

/// The line, with its middle left out where it is long.
fn cut_line(line: &str) -> String {
    let length = line.chars().count();
    if length <= COLUMNS {
        return line.to_owned();
    }
    let head = line.chars().take(COLUMNS / 2);
    let tail = line.chars().skip(length - COLUMNS / 2 + 1);
    head.chain(['…']).chain(tail).collect()
}

#[cfg(test)]
mod tests {
    use super::{COLUMNS, LINES, fit_to_lines, fit_to_screen};

    #[test]
    fn messages_are_broken_between_words_and_quoted_lines_stay() {
        let text = "error: a plan that is wrong\n   | key = \"a very long value\"\n   |  ^^^\nhint: b\n";
        let broken = "error: a plan\n  that is wrong\n   | key = \"a very long value\"\n   |  ^^^\nhint: b\n";
        assert_eq!(fit_to_lines(text, Some(16)), broken);
        assert_eq!(fit_to_lines(text, None), text);
        // The style of a word takes no room.
        assert_eq!(
            fit_to_lines("\u{1b}[1merror:\u{1b}[0m a plan", Some(13)),
            "\u{1b}[1merror:\u{1b}[0m a plan"
        );
    }

    #[test]
    fn what_fits_a_screen_is_said_whole() {
        for text in ["", "a", "a\nhint: b\n", &"x\n".repeat(LINES), &"ü".repeat(COLUMNS)] {
            assert_eq!(fit_to_screen(text), text);
        }
    }

    #[test]
    fn the_middle_of_what_does_not_is_left_out() {
        let long = format!("begin\n{}hint: end\n", "ü".repeat(100_000) + "\n" + &"x\n".repeat(1000));
        let said = fit_to_screen(&long);
        assert_eq!(said.lines().count(), LINES);
        assert!(said.lines().all(|line| line.chars().count() <= COLUMNS));
        assert!(said.starts_with("begin\nüü") && said.ends_with("hint: end\n"), "{said}");
        assert!(said.contains("lines left out"));
    }
}

//! The one place that talks to people: standard error. Results go to standard output and are not talk.
//!
//! Prints messages without depending on a reader: a closed terminal, a full disk or `2>&1 | head -1` must not end a run
//! of hours, as the panic of `eprintln!` would. Messages are cut to a screen, whatever a plan or a program put into
//! them.

use std::io::Write;

use fsverdict_text::displayable;
use fsverdict_text::{DisplayForm, DisplayWriter};

/// Lines of a screen, and columns of a line that is folded a few times.
const LINES: usize = 40;
const COLUMNS: usize = 400;

/// Prints a line. Control sequences are shown, not executed: they may be of foreign origin.
pub fn print_line(text: &str) {
    say_styled(&displayable(text));
}

/// Says a text of ours, with the end of line; styled where there is a terminal that shows it.
pub fn say_styled(text: &str) {
    print_prompt(&format!("{text}\n"));
}

/// Says this, without an end of line: the answer follows on the same one.
pub fn print_prompt(text: &str) {
    let mut stderr = DisplayWriter::new(anstream::stderr().lock(), DisplayForm::Styled);
    let _ = stderr.write_all(fit_to_screen(text).as_bytes()).and_then(|()| stderr.flush());
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
    use super::{COLUMNS, LINES, fit_to_screen};

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

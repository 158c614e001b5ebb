//! Asks on the terminal for missing parts of a question, until the answer is understood.

use std::io::BufRead;

use fsverdict_judgement::plan::RequiredProperty;
use fsverdict_linux::host::messages::{self, print_line};
use fsverdict_report::wrap;
use fsverdict_text::Reason;

use super::super::CliError;
use super::kinds::{MUSTS, devices, offered_works};
use super::question::{AskedDevice, AskedWork};
use super::understood::{device_of, property_of, work_of};

/// The width of the messages, in columns.
pub(super) const WIDTH: usize = 80;

fn line() -> Result<String, CliError> {
    let mut line = String::new();
    match std::io::stdin().lock().read_line(&mut line) {
        Ok(0) | Err(_) => {
            // The cursor still stands behind the prompt.
            messages::print_prompt("\n");
            let hint = "answer, or say it in a line: fsverdict ask mail on hdd";
            Err(CliError::Usage(Reason::new("nothing was asked", hint)))
        }
        Ok(_) => Ok(line.trim().to_owned()),
    }
}

/// Asks until the answer is understood, or input ends.
fn until_understood<T>(prompt: &str, read: impl Fn(&str) -> Result<T, CliError>) -> Result<T, CliError> {
    loop {
        messages::print_prompt(prompt);
        match read(&line()?) {
            Ok(understood) => return Ok(understood),
            Err(CliError::Usage(reason)) => {
                print_line(&wrap(&reason.what, WIDTH).join("\n"));
                print_line(&wrap(&format!("hint: {}", reason.hint), WIDTH).join("\n"));
            }
            Err(other) => return Err(other),
        }
    }
}

/// Entries below one another, their numbers too.
fn numbered<'a>(entries: impl Iterator<Item = &'a str>) -> String {
    let entries: Vec<&str> = entries.collect();
    let width = entries.len().to_string().len();
    entries.iter().enumerate().map(|(at, entry)| format!("  {:>width$}  {entry}\n", at + 1)).collect()
}

/// The entry of this number, counted from 1; nothing where no number was said.
///
/// # Errors
/// When no entry has it: it is no word either, of which others could be suggested.
fn of_number<'a, T>(all: &'a [T], said: &str) -> Result<Option<&'a T>, CliError> {
    let Ok(number) = said.parse::<usize>() else { return Ok(None) };
    match number.checked_sub(1).and_then(|at| all.get(at)) {
        Some(entry) => Ok(Some(entry)),
        None => Err(CliError::Usage(Reason::new(
            format!("nothing has the number {said}"),
            format!("numbers are 1 to {}; Ctrl-C leaves", all.len()),
        ))),
    }
}

pub(super) fn ask_work() -> Result<AskedWork, CliError> {
    print_line("What is the work?");
    let offered = offered_works();
    print_line(numbered(offered.iter().filter_map(|work| work.asked_by.shown.as_deref())).trim_end());
    until_understood("a number, a word, or a folder of yours: ", |said| {
        of_number(&offered, said)?.map_or_else(|| work_of(said), |work| Ok(AskedWork::Preset(work.preset)))
    })
}

pub(super) fn ask_device() -> Result<Option<AskedDevice>, CliError> {
    print_line("On what device?");
    print_line(numbered(devices().iter().map(|kind| kind.called.shown.as_str())).trim_end());
    until_understood("a number, a word, a path, or nothing for the question's own: ", |said| {
        match (of_number(devices(), said)?, said) {
            (_, "") => Ok(None),
            (Some(kind), _) => device_of(&kind.model).map(Some),
            _ => device_of(said).map(Some),
        }
    })
}

pub(super) fn ask_must() -> Result<Vec<RequiredProperty>, CliError> {
    print_line("What must hold?");
    print_line(numbered(MUSTS.iter().map(|must| must.shown)).trim_end());
    until_understood("numbers, words, or nothing: ", |said| {
        let one = |word| match of_number(MUSTS, word)? {
            Some(must) => Ok(must.property),
            None => property_of(word),
        };
        said.split([',', ' ']).filter(|word| !word.is_empty()).map(one).collect()
    })
}

/// Asks whether to begin. If something of the user's is erased, the default answer is no.
pub(super) fn agreed(erases: bool) -> Result<bool, CliError> {
    let prompt = if erases { "Begin, and erase it? [y/N] " } else { "Begin? [Y/n] " };
    until_understood(prompt, |said| yes_or_no(said, !erases))
}

/// Whether the question is asked without something that cannot be part of it.
pub(super) fn goes_on_without(doubts: &[String]) -> Result<bool, CliError> {
    print_line(&wrap(&format!("not part of the question: {}", doubts.join(", ")), WIDTH).join("\n"));
    until_understood("Go on without it? [y/N] ", |said| yes_or_no(said, false))
}

fn yes_or_no(said: &str, usual: bool) -> Result<bool, CliError> {
    match said.to_ascii_lowercase().as_str() {
        "" => Ok(usual),
        "y" | "yes" => Ok(true),
        "n" | "no" => Ok(false),
        _ => Err(CliError::Usage(Reason::new(
            format!("`{said}` is neither yes nor no"),
            "y goes on; n or Ctrl-C leaves, and nothing is done",
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::{numbered, of_number};

    #[test]
    fn entries_are_numbered_from_one() {
        let found = |said| of_number(&["a", "b"], said);
        assert!(
            found("1").unwrap().is_some() && found("x").unwrap().is_none() && found("").unwrap().is_none()
        );
        let error = found("0").map(|_| ()).unwrap_err().to_string();
        assert!(error.starts_with("nothing has the number 0\n"), "{error}");
        assert!(found("99").is_err());
        assert_eq!(numbered(["a", "b"].into_iter()), "  1  a\n  2  b\n");
        assert!(numbered(["a"; 10].into_iter()).starts_with("   1  a\n"));
    }
}

//! What nobody said is asked on the terminal, until it is understood.

use std::io::BufRead;

use crate::host::talk::{self, say};
use fsverdict_judgement::plan::RequiredProperty;
use fsverdict_report::wrap;
use fsverdict_text::Reason;

use super::super::CliError;
use super::question::{AskedDevice, AskedWork};
use super::understood::{device_of, property_of, work_of};
use super::words::{DEVICES, DeviceKind, MUSTS, WORKS, WorkKind};

/// Columns of what is said.
pub(super) const WIDTH: usize = 96;

fn line() -> Result<String, CliError> {
    let mut line = String::new();
    match std::io::stdin().lock().read_line(&mut line) {
        Ok(0) | Err(_) => {
            // The cursor still stands behind what was asked.
            talk::ask("\n");
            let hint = "answer, or say it in a line: fsverdict ask mail on hdd";
            Err(CliError::Usage(Reason::new("nothing was asked", hint)))
        }
        Ok(_) => Ok(line.trim().to_owned()),
    }
}

/// Asks until the answer is understood, or nobody answers any more.
fn until_understood<T>(prompt: &str, read: impl Fn(&str) -> Result<T, CliError>) -> Result<T, CliError> {
    loop {
        talk::ask(prompt);
        match read(&line()?) {
            Ok(understood) => return Ok(understood),
            Err(CliError::Usage(reason)) => {
                say(&wrap(&reason.what, WIDTH).join("\n"));
                say(&wrap(&format!("hint: {}", reason.hint), WIDTH).join("\n"));
            }
            Err(other) => return Err(other),
        }
    }
}

fn numbered<'a>(entries: impl Iterator<Item = &'a str>) -> String {
    entries.enumerate().map(|(at, entry)| format!("  {}  {entry}\n", at + 1)).collect()
}

/// The entry of this number, counted from 1.
fn of_number<'a, T>(all: &'a [T], said: &str) -> Option<&'a T> {
    said.parse::<usize>().ok().and_then(|number| all.get(number.checked_sub(1)?))
}

pub(super) fn ask_work() -> Result<AskedWork, CliError> {
    say("What is the work?");
    say(numbered(WORKS.iter().map(|work| work.shown)).trim_end());
    until_understood("a number, a word, or a folder of yours: ", |said| match of_number(WORKS, said) {
        Some(WorkKind { words: [first, ..], .. }) => work_of(first),
        _ => work_of(said),
    })
}

pub(super) fn ask_device() -> Result<Option<AskedDevice>, CliError> {
    say("On what device?");
    say(numbered(DEVICES.iter().map(|kind| kind.shown)).trim_end());
    until_understood("a number, a word, a path, or nothing for the question's own: ", |said| {
        match (of_number(DEVICES, said), said) {
            (_, "") => Ok(None),
            (Some(DeviceKind { words: [first, ..], .. }), _) => device_of(first).map(Some),
            _ => device_of(said).map(Some),
        }
    })
}

pub(super) fn ask_must() -> Result<Vec<RequiredProperty>, CliError> {
    say("What must hold?");
    say(numbered(MUSTS.iter().map(|must| must.shown)).trim_end());
    until_understood("numbers, words, or nothing: ", |said| {
        let one = |word| match of_number(MUSTS, word) {
            Some(must) => Ok(must.property),
            None => property_of(word),
        };
        said.split([',', ' ']).filter(|word| !word.is_empty()).map(one).collect()
    })
}

pub(super) fn agreed() -> Result<bool, CliError> {
    talk::ask("Begin? [Y/n] ");
    Ok(!["n", "no"].contains(&line()?.to_ascii_lowercase().as_str()))
}

#[cfg(test)]
mod tests {
    use super::{numbered, of_number};
    use crate::cli::ask::words::WORKS;

    #[test]
    fn entries_are_numbered_from_one() {
        assert!(of_number(WORKS, "1").is_some() && of_number(WORKS, "0").is_none());
        assert!(of_number(WORKS, "x").is_none() && of_number(WORKS, "").is_none());
        assert_eq!(numbered(["a", "b"].into_iter()), "  1  a\n  2  b\n");
    }
}

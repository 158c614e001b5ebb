//! Describes a program that could not run to its end or failed: the essential part of its output.

use super::KEPT_OUTPUT;
use fsverdict_judgement::journal::CommandRecord;
use fsverdict_text::Hinted;

/// Of a longer output only the first and the last two lines are shown with an error.
const SHOWN_LINES: usize = 6;

/// A program could not be run to its end.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    #[error("the program `{program}` is not installed")]
    Missing { program: String },
    #[error("cannot start `{program}`: {source}")]
    Start { program: String, source: std::io::Error },
    #[error("cannot wait for `{program}`: {source}")]
    Wait { program: String, source: std::io::Error },
    #[error("{}", describe_failure(.0))]
    Failed(Box<CommandRecord>),
}

impl Hinted for ProgramError {
    fn hint(&self) -> Option<String> {
        match self {
            ProgramError::Missing { .. } => {
                Some("`fsverdict doctor` names the package it comes in".to_owned())
            }
            ProgramError::Start { .. } | ProgramError::Wait { .. } | ProgramError::Failed(_) => None,
        }
    }
}

fn describe_failure(record: &CommandRecord) -> String {
    let how = match (record.exit, record.signal) {
        // As a shell and a sandbox's supervisor tell it.
        (Some(code @ 129..160), _) => format!("exited with status {code} (signal {})", code - 128),
        (Some(code), _) => format!("exited with status {code}"),
        (None, Some(signal)) => format!("was ended by signal {signal}"),
        (None, None) => {
            format!("did not end within the time limit of {:.0} s (`timeout` in [protocol])", record.seconds)
        }
    };
    let message =
        [record.stderr.trim(), record.stdout.trim()].into_iter().find(|text| !text.is_empty()).unwrap_or("");
    let separator = if message.is_empty() { "" } else { ": " };
    let line = match record.argv.as_slice() {
        // Told as it was written; of a whole script, its beginning.
        [shell, options @ .., option, line] if shell == "/bin/sh" && option == "-c" && options.len() < 2 => {
            match line.trim_start_matches("exec ").trim().split_once('\n') {
                Some((first, _)) => format!("{} …", first.trim_end_matches([' ', '\\'])),
                None => line.trim_start_matches("exec ").trim().to_owned(),
            }
        }
        argv => argv.join(" "),
    };
    format!("`{line}` {how}{separator}{}", last_lines(message))
}

/// A program's output without its general usage text and without the middle of a long output; the record has all of it.
fn last_lines(said: &str) -> String {
    // Where only the end was kept, its first line has no beginning.
    let whole = if said.len() + 4 < KEPT_OUTPUT {
        said
    } else {
        said.split_once('\n').map_or(said, |(_, rest)| rest)
    };
    // mount(8) refers to a log that may vanish with its guest; its useful text follows the error.
    let lines: Vec<&str> = whole.lines().filter(|line| !line.contains("dmesg(1) may have more")).collect();
    let usage = lines.iter().skip(1).position(|line| line.trim_start().to_lowercase().starts_with("usage:"));
    let lines = &lines[..usage.map_or(lines.len(), |at| at + 1)];
    match lines {
        [first, second, .., before, last] if lines.len() > SHOWN_LINES => {
            format!("{first}\n{second}\n[{} lines left out]\n{before}\n{last}", lines.len() - 4)
        }
        few => few.join("\n"),
    }
}

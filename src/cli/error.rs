//! How a command ends, and how an error is told.

use std::fmt::Write;
use std::path::Path;

use anstyle::{AnsiColor, Style};
use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue};

use crate::fleet::FleetError;
use crate::runner::RunnerError;
use crate::study::hint_of_runs;
use fsverdict_linux::host::messages::print_styled;
use fsverdict_report::in_lines;
use fsverdict_text::{Hinted, Reason, ReasonLine, suggest};

use super::Cli;

/// The exit status that `git bisect run` reads as neither good nor bad.
const CANNOT_TELL: u8 = 125;

/// How a command ended that did not fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Done,
    /// No verdict could be given.
    NoVerdict,
    /// Done, but some candidates were skipped or failed.
    Incomplete,
    /// Done: something got worse, or no longer works.
    Regression,
    /// Whether something got worse cannot be told, and was asked for `git bisect`.
    CannotTell,
}

impl Exit {
    pub(super) fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::NoVerdict => 1,
            Exit::Incomplete => 3,
            Exit::Regression => 4,
            Exit::CannotTell => CANNOT_TELL,
        }
    }
}

/// The failure of a command: its reason, with a hint for the user.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// The command line or the plan is wrong: exit status 2.
    #[error("{0}")]
    Usage(Reason),
    /// It could not be done: exit status 1.
    #[error("{0}")]
    Failed(Reason),
    /// The same, of a comparison that was made for `git bisect`: exit status 125.
    #[error("{0}")]
    CannotTell(Reason),
    /// The result could not be written.
    #[error("cannot write the result: {0}")]
    Output(#[from] std::io::Error),
}

/// Prints an error of the command line's parser; names what a missing argument can be.
pub(super) fn print_usage_error(error: &clap::Error) {
    let hint = Style::new().bold().fg_color(Some(AnsiColor::Cyan.into()));
    let mut message = error.render().ansi().to_string().trim_end().to_owned();
    if let Some(text) = hint_of_missing_argument(error).or_else(|| hint_of_unknown_command(error)) {
        let _ = write!(message, "\n{hint}hint:{hint:#} {}", in_lines(&text));
    }
    print_styled(&message);
}

fn hint_of_missing_argument(error: &clap::Error) -> Option<String> {
    let is_missing = error.kind() == clap::error::ErrorKind::MissingRequiredArgument;
    let Some(ContextValue::Strings(missing)) = error.get(ContextKind::InvalidArg).filter(|_| is_missing)
    else {
        return None;
    };
    let is_one = |word: &str| missing.iter().any(|argument| argument.contains(word));
    if is_one("PRESET") {
        return Some("`fsverdict list presets` names what comes with fsverdict".to_owned());
    }
    is_one("<RUN").then(|| hint_of_runs(Path::new(".")))
}

/// The commands that were probably meant by an unknown one, or all of them.
fn hint_of_unknown_command(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else { return None };
    if error.get(ContextKind::SuggestedSubcommand).is_some() {
        return None;
    }
    let mut command = Cli::command();
    for argument in std::env::args().skip(1) {
        let Some(inner) = command.find_subcommand(&argument).cloned() else { break };
        command = inner;
    }
    let names: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
    Some(suggest(word, &names))
}

impl CliError {
    /// For `map_err`: it could not be done.
    pub(super) fn failed(error: impl Hinted) -> Self {
        CliError::Failed(error.reason())
    }

    /// For `map_err`: the user must put it right.
    pub(super) fn usage(error: impl Hinted) -> Self {
        CliError::Usage(error.reason())
    }

    pub(super) fn code(&self) -> u8 {
        match self {
            CliError::Usage(_) => 2,
            CliError::Failed(_) | CliError::Output(_) => 1,
            CliError::CannotTell(_) => CANNOT_TELL,
        }
    }

    /// Whether the reader of our output has closed the pipe: `fsverdict list | head` is no failure.
    pub(super) fn is_broken_pipe(&self) -> bool {
        matches!(self, CliError::Output(error) if error.kind() == std::io::ErrorKind::BrokenPipe)
    }

    pub(super) fn print(&self) {
        let bad = Style::new().bold().fg_color(Some(AnsiColor::Red.into()));
        let hint = Style::new().bold().fg_color(Some(AnsiColor::Cyan.into()));
        let mut message = String::new();
        let _ = write!(message, "{bad}error:{bad:#} ");
        for part in self.reason().parts() {
            let _ = match part {
                ReasonLine::What(text) => writeln!(message, "{}", in_lines(text)),
                ReasonLine::Hint(text) => writeln!(message, "{hint}hint:{hint:#} {}", in_lines(text)),
            };
        }
        print_styled(message.trim_end());
    }
}

impl From<RunnerError> for CliError {
    fn from(error: RunnerError) -> Self {
        if error.is_of_request() { CliError::usage(error) } else { CliError::failed(error) }
    }
}

impl From<FleetError> for CliError {
    fn from(error: FleetError) -> Self {
        RunnerError::from(error).into()
    }
}

impl Hinted for CliError {
    fn hint(&self) -> Option<String> {
        self.reason().hint()
    }

    fn reason(&self) -> Reason {
        match self {
            CliError::Usage(reason) | CliError::Failed(reason) | CliError::CannotTell(reason) => {
                reason.clone()
            }
            CliError::Output(error) => Reason::new(self, error.hint().unwrap_or_default()),
        }
    }
}

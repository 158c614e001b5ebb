//! `fsverdict status`: how far a run has come, asked from another terminal.
//!
//! It reads the journal as it grows and nothing else. It takes no lock, so that the run neither waits nor fails, and
//! reads only the records appended since the last look, so that it takes no processor time that a native run would
//! measure.

mod describe;
mod reading;

use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::thread::sleep;
use std::time::Duration;

use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use fsverdict_linux::host::results::result_writer;
use fsverdict_report::{TerminalLook, in_lines};
use fsverdict_text::Reason;

use super::{CliError, Exit};
use describe::{describe, describe_in_line};
use reading::{RunProgress, StatusReader};

pub(super) use describe::{name_leaders, time_to_go};

/// Pause between two looks at the journal.
const INTERVAL: Duration = Duration::from_secs(1);

/// The text below the options in `--help`.
const EXAMPLES: &str = "\
Examples:
  fsverdict status runs/mine-20261127-070000           prints the state once
  fsverdict status runs/mine-20261127-070000 --watch   until the run ends
  fsverdict status RUN --format json | jq .seconds_to_go.likely

It reads the run's journal alone, and the run does not notice it. To see the
result so far, use `fsverdict report RUN`.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct StatusArguments {
    /// The run's folder
    run: PathBuf,
    /// Update it once a second until the run ends or is stopped; where no terminal is, print a line for each trial
    #[arg(long, short)]
    watch: bool,
    /// The format
    #[arg(long, value_enum, default_value = "terminal")]
    format: StatusFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum StatusFormat {
    /// Text for the terminal
    Terminal,
    /// One JSON object
    Json,
}

pub(super) fn run(arguments: &StatusArguments) -> Result<Exit, CliError> {
    let mut reader = StatusReader::open(&arguments.run)?;
    let mut status = reader.read()?;
    if arguments.format == StatusFormat::Json {
        if arguments.watch {
            return Err(CliError::usage(Reason::new(
                "--watch shows text",
                "use --format json without --watch, as often as you need it",
            )));
        }
        let mut out = result_writer();
        let text = serde_json::to_string_pretty(&status).map_err(CliError::failed)?;
        writeln!(out, "{text}")?;
        return Ok(Exit::Done);
    }
    if arguments.watch && status.state.is_going_on() {
        status = match std::io::stdout().is_terminal() {
            true => watch_on_terminal(&mut reader, status)?,
            false => watch_in_lines(&mut reader, status)?,
        };
    }
    print_status(&status)?;
    Ok(Exit::Done)
}

fn print_status(status: &RunProgress) -> Result<(), CliError> {
    let columns = TerminalLook::of_stdout(false).columns;
    writeln!(result_writer(), "{}", describe(status, columns))?;
    Ok(())
}

/// Redraws the state in its place until the run is over; returns the last state.
fn watch_on_terminal(reader: &mut StatusReader, mut status: RunProgress) -> Result<RunProgress, CliError> {
    let screen = ProgressBar::with_draw_target(None, ProgressDrawTarget::stdout());
    if let Ok(style) = ProgressStyle::with_template("{msg}") {
        screen.set_style(style);
    }
    let ended = loop {
        let columns = TerminalLook::of_stdout(false).columns;
        screen.set_message(in_lines(&describe(&status, columns)));
        screen.tick();
        if !status.state.is_going_on() {
            break Ok(status);
        }
        sleep(INTERVAL);
        status = match reader.read() {
            Ok(status) => status,
            Err(error) => break Err(error),
        };
    };
    screen.finish_and_clear();
    ended
}

/// Prints a line whenever another trial has ended, until the run is over; returns the last state.
fn watch_in_lines(reader: &mut StatusReader, mut status: RunProgress) -> Result<RunProgress, CliError> {
    let mut shown = None;
    while status.state.is_going_on() {
        if shown.replace(status.trials.ended) != Some(status.trials.ended) {
            let mut out = result_writer();
            writeln!(out, "{}", describe_in_line(&status))?;
            out.flush()?;
        }
        sleep(INTERVAL);
        status = reader.read()?;
    }
    Ok(status)
}

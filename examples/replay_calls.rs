//! Makes the calls of a plan's trace again in a folder, without a trial around them:
//!
//! ```text
//! replay_calls PLAN BEFORE AFTER [COMMAND COMMAND]
//! ```
//!
//! What is there before the trace is laid out in BEFORE, which is then renamed to AFTER; the first COMMAND runs between the two, the calls
//! are made below AFTER/data, and the second COMMAND runs before what they left is compared. `scripts/replay-programs` runs it under strace, to hold the calls of a program against those of its replay.

#![allow(clippy::print_stderr, reason = "an example talks to who runs it")]

#[path = "../tests/common/replayed.rs"]
mod replayed;

use std::path::Path;
use std::process::{Command, ExitCode};

use fsverdict_calls::CallTrace;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (plan, before, after, commands) = match words.as_slice() {
        [plan, before, after] => (plan, before, after, None),
        [plan, before, after, between, afterwards] => (plan, before, after, Some((between, afterwards))),
        _ => {
            eprintln!("usage: replay_calls PLAN BEFORE AFTER [COMMAND COMMAND]");
            return ExitCode::from(2);
        }
    };
    let (between, afterwards) =
        (|| commands.map_or((), |(one, _)| run(one)), || commands.map_or((), |(_, one)| run(one)));
    let done = read_calls(Path::new(plan)).and_then(|calls| {
        replayed::replay_calls(calls, Path::new(before), Path::new(after), between, afterwards)
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(what) => {
            eprintln!("error: {what}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: &str) {
    if let Err(error) = Command::new("sh").args(["-c", command]).status() {
        eprintln!("warning: {command}: {error}");
    }
}

/// The calls of a plan that `capture --trace` wrote: they stand between two lines of quotes.
fn read_calls(plan: &Path) -> Result<CallTrace, String> {
    let text = std::fs::read_to_string(plan).map_err(|error| format!("{}: {error}", plan.display()))?;
    let calls = text.split("'''").nth(1).ok_or_else(|| format!("{}: there are no calls", plan.display()))?;
    calls.parse().map_err(|reason: fsverdict_text::Reason| reason.what)
}

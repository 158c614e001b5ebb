//! The one binary: conductor and, as a hidden subcommand, agent.

use std::process::ExitCode;

use fsverdict_text::Hinted;

fn main() -> ExitCode {
    // Before anything that takes some.
    if let Err(error) = fsverdict_linux::host::limits::check_stack() {
        fsverdict_linux::host::messages::print_line(&format!("error: {}", error.reason()));
        return ExitCode::FAILURE;
    }
    fsverdict::cli::main()
}

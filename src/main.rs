//! The one binary: conductor and, as a hidden subcommand, agent.

use std::process::ExitCode;

fn main() -> ExitCode {
    fsverdict::cli::main()
}

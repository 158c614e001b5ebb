//! The command line.

use std::process::ExitCode;

/// Runs the program.
pub fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.get(1).is_some_and(|first| first == "cell") {
        return match crate::host::cell::enter(arguments.get(2).is_some_and(|second| second == "--inmate")) {
            Ok(code) => ExitCode::from(code),
            Err(error) => {
                eprintln!("fsverdict: {error}");
                ExitCode::from(126)
            }
        };
    }
    ExitCode::SUCCESS
}

//! `fsverdict man` and `fsverdict completions`: made from the definition of the command line, so that they never differ.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::{Cli, CliError, Outcome};

#[derive(Debug, Args)]
pub(super) struct ManArguments {
    /// Write a page for every command into this folder, instead of the main page to standard output
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(super) struct CompletionsArguments {
    /// For which shell
    shell: Shell,
}

pub(super) fn man(arguments: &ManArguments) -> Result<Outcome, CliError> {
    match &arguments.folder {
        Some(folder) => {
            clap_mangen::generate_to(Cli::command(), folder).map_err(|error| {
                CliError::Failed(format!("cannot write the man pages into {}: {error}", folder.display()))
            })?;
        }
        None => {
            let mut page = Vec::new();
            clap_mangen::Man::new(Cli::command()).render(&mut page)?;
            std::io::stdout().lock().write_all(&page).map_err(CliError::Output)?;
        }
    }
    Ok(Outcome::Done)
}

pub(super) fn completions(arguments: &CompletionsArguments) -> Result<Outcome, CliError> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Cli::command(), "fsverdict", &mut script);
    std::io::stdout().lock().write_all(&script).map_err(CliError::Output)?;
    Ok(Outcome::Done)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use crate::cli::Cli;

    #[test]
    fn every_command_has_a_page() {
        let folder = tempfile::tempdir().unwrap();
        clap_mangen::generate_to(Cli::command(), folder.path()).unwrap();
        for command in Cli::command().get_subcommands() {
            let page = folder.path().join(format!("fsverdict-{}.1", command.get_name()));
            let text =
                std::fs::read_to_string(&page).unwrap_or_else(|error| panic!("{}: {error}", page.display()));
            assert!(text.contains(".SH SYNOPSIS"), "{text}");
        }
    }

    #[test]
    fn every_shell_completes_every_command() {
        use clap::ValueEnum;
        for shell in clap_complete::Shell::value_variants() {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut Cli::command(), "fsverdict", &mut script);
            let script = String::from_utf8(script).unwrap();
            for command in Cli::command().get_subcommands() {
                assert!(script.contains(command.get_name()), "{shell}: {}", command.get_name());
            }
        }
    }
}

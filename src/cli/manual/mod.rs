//! `fsverdict man` and `fsverdict completions`: made from the definition of the command line, so that they never differ.

mod markdown;

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, CommandFactory};
use clap_complete::Shell;
use roff::{Roff, bold, roman};

use super::{Cli, CliError, EXIT_STATUS, Outcome, STARTS};

/// What fsverdict-plan(5) is made of.
const PLAN_FORMAT: &str = include_str!("../../../docs/plan-format.md");

#[derive(Debug, Args)]
pub(super) struct ManArguments {
    /// Write a page for every command and one for plans into this folder, instead of the main page to standard output
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
    /// The page on plans, fsverdict-plan(5), to standard output
    #[arg(long, conflicts_with = "folder")]
    plan: bool,
}

#[derive(Debug, Args)]
pub(super) struct CompletionsArguments {
    /// For which shell
    shell: Shell,
}

pub(super) fn man(arguments: &ManArguments) -> Result<Outcome, CliError> {
    match &arguments.folder {
        Some(folder) => write_pages(folder).map_err(|error| {
            CliError::Failed(format!("cannot write the man pages into {}: {error}", folder.display()))
        })?,
        None => {
            let page = if arguments.plan { plan_page() } else { main_page()? };
            std::io::stdout().lock().write_all(&page).map_err(CliError::Output)?;
        }
    }
    Ok(Outcome::Done)
}

fn write_pages(folder: &Path) -> std::io::Result<()> {
    // What follows the options in --help are lines, which troff would run together: the main page has sections for them.
    clap_mangen::generate_to(Cli::command(), folder)?;
    std::fs::write(folder.join("fsverdict.1"), main_page()?)?;
    std::fs::write(folder.join("fsverdict-plan.5"), plan_page())
}

fn main_page() -> std::io::Result<Vec<u8>> {
    let mut page = Vec::new();
    clap_mangen::Man::new(Cli::command().after_help(clap::builder::Resettable::Reset)).render(&mut page)?;
    let mut more = Roff::new();
    for (title, entries) in [("EXIT STATUS", EXIT_STATUS), ("EXAMPLES", STARTS)] {
        more.control("SH", [title]);
        for (term, meaning) in entries {
            more.control("TP", []).text([bold(*term)]).text([roman(*meaning)]);
        }
    }
    more.control("SH", ["SEE ALSO"]).text([bold("fsverdict-plan"), roman("(5)")]);
    more.to_writer(&mut page)?;
    Ok(page)
}

fn plan_page() -> Vec<u8> {
    let mut page = Roff::new();
    page.control("TH", ["fsverdict-plan", "5", "", "fsverdict", "The plan format"]);
    page.control("SH", ["NAME"]).text([roman("fsverdict-plan - the plan format")]);
    (page.to_roff() + &markdown::to_roff(PLAN_FORMAT)).into_bytes()
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
    fn the_main_page_has_a_line_for_each_exit_status() {
        let page = String::from_utf8(super::main_page().unwrap()).unwrap();
        assert!(page.contains(".SH \"EXIT STATUS\"") && page.contains(".TP\n\\fB4\\fR\n"), "{page}");
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

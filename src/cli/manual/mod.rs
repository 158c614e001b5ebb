//! `fsverdict man` and `fsverdict completions`: made from the definition of the command line, so that they never differ.

mod markdown;

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use clap::{Args, CommandFactory};
use clap_complete::Shell;
use roff::{Roff, bold, roman};

use fsverdict_folders::{Existing, write_output};
use fsverdict_linux::host::results::result_writer;
use fsverdict_text::{Hinted, Reason, suggest};

use super::{Cli, CliError, EXIT_STATUS, Exit, STARTS, viewer};

/// The source of fsverdict-plan(5).
const PLAN_FORMAT: &str = include_str!("../../../docs/reference/plan-format.md");

#[derive(Debug, Args)]
pub(super) struct ManArguments {
    /// Of which command, or `plan` for the format of plans; into an existing folder, the pages of all
    #[arg(value_name = "COMMAND|plan|DIR")]
    of: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(super) struct CompletionsArguments {
    /// For which shell
    shell: Shell,
}

pub(super) fn man(arguments: &ManArguments) -> Result<Exit, CliError> {
    let page = match &arguments.of {
        None => main_page()?,
        Some(name) if name == Path::new("plan") => plan_page(),
        Some(name) => match Cli::command().find_subcommand(name) {
            Some(command) => command_page(command)?,
            None if name.is_dir() => {
                return write_pages(name).map(|()| Exit::Done).map_err(|error| {
                    let what = format!("cannot write the man pages into {}: ", name.display());
                    CliError::Failed(error.reason().after(what))
                });
            }
            None => return Err(no_page(name)),
        },
    };
    // The page is in troff's language. On a terminal, man(1) shows it.
    if !(std::io::stdout().is_terminal() && viewer::show_manual(&page)) {
        result_writer().write_all(&page).map_err(CliError::Output)?;
    }
    Ok(Exit::Done)
}

fn no_page(name: &Path) -> CliError {
    let cli = Cli::command();
    let names: Vec<&str> = cli.get_subcommands().map(clap::Command::get_name).chain(["plan"]).collect();
    let hint = suggest(&name.to_string_lossy(), &names);
    CliError::usage(Reason::new(
        format!(
            "there is no command `{0}`, nor a folder {0} into which man pages could be written",
            name.display()
        ),
        hint,
    ))
}

fn write_pages(folder: &Path) -> std::io::Result<()> {
    // The text after the options in --help consists of lines, which troff would join: the main page has sections for
    // them.
    let made = tempfile::tempdir()?;
    clap_mangen::generate_to(Cli::command(), made.path())?;
    for page in std::fs::read_dir(made.path())? {
        let page = page?;
        write_page(folder, &page.file_name().to_string_lossy(), &std::fs::read(page.path())?)?;
    }
    for command in Cli::command().get_subcommands() {
        write_page(folder, &format!("fsverdict-{}.1", command.get_name()), &command_page(command)?)?;
    }
    write_page(folder, "fsverdict.1", &main_page()?)?;
    write_page(folder, "fsverdict-plan.5", &plan_page())
}

fn write_page(folder: &Path, name: &str, page: &[u8]) -> std::io::Result<()> {
    write_output(&folder.join(name), Existing::Replace, |out| out.write_all(page))
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

/// The page of a command; examples below its options keep their lines.
fn command_page(command: &clap::Command) -> std::io::Result<Vec<u8>> {
    let name = format!("fsverdict-{}", command.get_name());
    let bare = command
        .clone()
        .display_name(name)
        .bin_name(format!("fsverdict {}", command.get_name()))
        .after_help(clap::builder::Resettable::Reset);
    let mut page = Vec::new();
    clap_mangen::Man::new(bare).render(&mut page)?;
    if let Some(examples) = command.get_after_help() {
        let mut more = Roff::new();
        more.control("SH", ["EXAMPLES"]).control("nf", []);
        for line in examples.to_string().lines().skip(1) {
            more.text([roman(line)]);
        }
        more.control("fi", []);
        more.to_writer(&mut page)?;
    }
    Ok(page)
}

fn plan_page() -> Vec<u8> {
    let mut page = Roff::new();
    page.control("TH", ["fsverdict-plan", "5", "", "fsverdict", "The plan format"]);
    page.control("SH", ["NAME"]).text([roman("fsverdict-plan - the plan format")]);
    (page.to_roff() + &markdown::to_roff(PLAN_FORMAT)).into_bytes()
}

pub(super) fn completions(arguments: &CompletionsArguments) -> Result<Exit, CliError> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Cli::command(), "fsverdict", &mut script);
    result_writer().write_all(&script).map_err(CliError::Output)?;
    Ok(Exit::Done)
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

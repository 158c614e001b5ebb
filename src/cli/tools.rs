//! `fsverdict tools`: fetch the tools of a filesystem that the system has no package of, list and remove them.

use std::io::Write;

use clap::{Args, Subcommand};

use fsverdict_folders::remove_tree;
use fsverdict_lab::packages::{BCACHEFS_TOOLS, FetchedTools, ToolSet, all_tools_folders, tools_folder};
use fsverdict_linux::host::messages::print_line;
use fsverdict_linux::host::results::result_writer;
use fsverdict_text::Reason;

use super::{CliError, Exit};

const PACKAGES_IN_LINE: usize = 4;

#[derive(Debug, Args)]
pub(super) struct ToolsArguments {
    #[command(subcommand)]
    action: ToolsAction,
}

#[derive(Debug, Subcommand)]
enum ToolsAction {
    /// List the fetched tools, with their versions
    List,
    /// Fetch the tools of bcachefs, which no release of Debian has
    ///
    /// apt-get fetches the package bcachefs-tools and the libraries that it needs, with lists of its own. Nothing is installed.
    /// The programs are tested, and then used by every lab, unless the system has mkfs.bcachefs itself.
    Bcachefs {
        /// Remove them instead
        #[arg(long)]
        remove: bool,
    },
}

pub(super) fn run(arguments: &ToolsArguments) -> Result<Exit, CliError> {
    let set = &BCACHEFS_TOOLS;
    match arguments.action {
        ToolsAction::List => {
            let all: Vec<FetchedTools> =
                all_tools_folders().iter().filter_map(|folder| set.find_fetched(folder)).collect();
            if all.is_empty() {
                print_line(&format!("no tools were fetched; `fsverdict tools {}` does it", set.name));
            }
            for fetched in &all {
                describe(set, fetched)?;
            }
        }
        ToolsAction::Bcachefs { remove: true } => {
            let folder = tools_folder().join(set.name);
            remove_tree(&folder).map_err(|error| {
                CliError::failed(Reason::new(
                    format!("cannot remove {}: {error}", folder.display()),
                    "`fsverdict tools list` shows what was fetched",
                ))
            })?;
            writeln!(result_writer(), "removed {}", folder.display())?;
        }
        ToolsAction::Bcachefs { remove: false } => {
            if let Some(program) = set.find_installed() {
                print_line("it is installed, and goes before fetched tools: nothing was fetched");
                writeln!(result_writer(), "{}", program.display())?;
                return Ok(Exit::Done);
            }
            let mut report = |step: &str| print_line(step);
            let fetched = set.fetch(&tools_folder(), &mut report).map_err(CliError::failed)?;
            describe(set, &fetched)?;
        }
    }
    Ok(Exit::Done)
}

/// The versions as a message, and the folder of the programs as the result.
fn describe(set: &ToolSet, fetched: &FetchedTools) -> Result<(), CliError> {
    let version = fetched.version(set).unwrap_or_else(|| "of an unknown version".to_owned());
    print_line(&format!("{} {version}, with these packages:", set.name));
    // A longer message would be cut.
    for packages in fetched.packages.chunks(PACKAGES_IN_LINE) {
        print_line(&format!("  {}", packages.join(", ")));
    }
    if let Some(program) = set.find_installed() {
        print_line(&format!("{} is installed, and goes before them", program.display()));
    }
    writeln!(result_writer(), "{}", fetched.folder.display())?;
    Ok(())
}

//! `fsverdict bundle`: writes a run as one file, without anything that names a machine or a person.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use crate::fleet::{Hiding, bundle_name, bundle_run, pack_run};
use crate::study::RunFolder;
use fsverdict_judgement::plan::Plan;
use fsverdict_linux::host::results::result_writer;
use fsverdict_report::{TerminalLook, count};
use fsverdict_text::{Bytes, quoted, wrap_hanging};

use super::{CliError, Exit};

/// A run as one file, to be shared.
#[derive(Debug, Args)]
pub(super) struct BundleArguments {
    /// The run's folder
    run: PathBuf,
    /// The file to write [default: PSEUDONYM.tar.gz]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace these names as well, for example that of another machine
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    also: Vec<String>,
    /// Keep the output of failed commands, with names replaced; it may quote any file that a command could read
    #[arg(long)]
    with_failures: bool,
    /// Keep all names and the output of commands: the run unchanged
    #[arg(long, conflicts_with_all = ["also", "with_failures"])]
    with_names: bool,
}

/// Variables that hold the name of a user's account.
const ACCOUNTS: [&str; 3] = ["USER", "LOGNAME", "SUDO_USER"];

/// The names of the user's accounts, and the user's home.
fn own_names() -> (Vec<String>, String) {
    let users = ACCOUNTS.iter().filter_map(|name| std::env::var(name).ok()).collect();
    (users, std::env::var("HOME").unwrap_or_default())
}

/// Packs a run without the names of machines and people.
pub(super) fn pack_for_strangers(folder: &RunFolder, plan: &Plan) -> Result<Vec<u8>, CliError> {
    let (users, home) = own_names();
    let hiding = Hiding { also: &[], users: &users, home: &home, failed_output: false };
    pack_run(folder, plan, Some(hiding)).map(|(packed, _)| packed).map_err(CliError::failed)
}

pub(super) fn run(arguments: &BundleArguments) -> Result<Exit, CliError> {
    let (folder, plan) = RunFolder::open(&arguments.run).map_err(CliError::usage)?;
    let named = if arguments.with_names { Ok(folder.id()) } else { bundle_name(&folder) };
    let named = format!("{}.tar.gz", named.map_err(CliError::failed)?);
    let path = arguments.output.clone().unwrap_or_else(|| named.into());
    let (users, home) = own_names();
    let hiding =
        Hiding { also: &arguments.also, users: &users, home: &home, failed_output: arguments.with_failures };
    let bundled = bundle_run(&folder, &plan, &path, (!arguments.with_names).then_some(hiding))
        .map_err(CliError::failed)?;
    let mut lines = format!("{}, {}\n", path.display(), Bytes(bundled.size));
    for (names, places) in &bundled.replaced {
        lines += &format!("  replaced: {names}, in {}\n", count(*places, "place"));
    }
    for (what, number) in &bundled.left_out {
        lines += &format!("  left out: {number} {what}\n");
    }
    lines += "  left out: reports (they can be made again), traces, journals of single blocks\n";
    if !arguments.with_names {
        lines += "  kept: model names of devices and processors, kernel versions, and the words of the plan: title, candidates, options, commands\n";
        let path = quoted(&path.to_string_lossy());
        lines += &format!("hint: read it before you share it: tar xzOf {path} | less\n");
    }
    if bundled.unstable {
        lines += "warning: this machine has no /etc/machine-id, so another bundle will give the same device another name\n";
    }
    let wrapped = wrap_hanging(&lines, TerminalLook::list_width(), 4);
    result_writer().write_all(wrapped.as_bytes())?;
    Ok(Exit::Done)
}

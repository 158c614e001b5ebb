//! The arguments of a run at several sites, for `run` and `resume`, and whether such a run has ended.

use std::path::PathBuf;

use clap::Args;

use crate::fleet::{Fleet, Merged, SiteTransport};
use fsverdict_judgement::plan::Plan;
use fsverdict_linux::host::messages::print_line;

use super::{CliError, Exit};

/// Where blocks are done; the same for `run` and `resume`.
#[derive(Debug, Default, Args)]
pub(super) struct SiteArguments {
    /// Run the blocks at several sites and merge the results
    #[arg(long, value_enum, requires = "sites")]
    on: Option<SiteTransport>,
    /// The sites: a list of machines and their devices
    #[arg(long, value_name = "SITES.toml", requires = "on")]
    sites: Option<PathBuf>,
}

impl SiteArguments {
    /// The inventory that was named, as it is read.
    pub(super) fn fleet(&self) -> Result<Option<Fleet>, CliError> {
        match (self.on, &self.sites) {
            (Some(on), Some(path)) => Ok(Some(Fleet::from_inventory(path, on)?)),
            _ => Ok(None),
        }
    }
}

/// Ends this process when its standard input ends, because then the connection of the caller is closed. A trial in
/// progress ends as if it was killed, and does not count.
pub(super) fn end_with_input() {
    std::thread::spawn(|| {
        let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
        std::process::exit(1);
    });
}

/// Prints whether further blocks are wanted.
pub(super) fn print_settled(merged: &Merged, plan: &Plan) -> Exit {
    match &merged.settled {
        Some(reason) => {
            print_line(&format!("settled: {reason}"));
            Exit::Done
        }
        None => {
            let in_it = plan.candidates.len() - merged.out.len();
            let waiting = match merged.awaited.as_slice() {
                [] => String::new(),
                awaited => format!("; the next round lacks {}", awaited.join(", ")),
            };
            print_line(&format!(
                "not settled: {in_it} candidates can still win, complete rounds: {}{waiting}",
                merged.rounds
            ));
            Exit::NoVerdict
        }
    }
}

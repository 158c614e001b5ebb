//! A run at several sites, from `run --on` or `resume`, and how far it has come.

use crate::fleet::{Fleet, FleetError, Merged, On, conduct_fleet, merge};
use crate::host::talk::say;
use crate::plan::Plan;
use crate::study::RunFolder;

use super::report::show_run;
use super::{CliError, Exit};

/// Conducts a run at the sites of an inventory, and reports; also where it had been left.
pub(super) fn conduct_at_sites(
    folder: &RunFolder,
    plan: &Plan,
    fleet: &Fleet,
    all: bool,
) -> Result<Exit, CliError> {
    let names: Vec<String> = fleet.sites.iter().map(|site| site.name.to_string()).collect();
    say(&format!(
        "blocks are done at {}; Ctrl-C leaves them to it, `fsverdict resume {}` comes back",
        names.join(", "),
        folder.path().display()
    ));
    let mut look = |merged: &Merged| -> Result<(), FleetError> {
        merged.write(folder)?;
        let each: Vec<String> = merged.done.iter().map(|(site, blocks)| format!("{site} {blocks}")).collect();
        say(&format!("blocks done: {}; complete rounds: {}", each.join(", "), merged.rounds));
        Ok(())
    };
    conduct_fleet(folder, plan, fleet, &mut look).map_err(complaint)?;
    let merged = merge(folder, plan, &[]).map_err(complaint)?;
    merged.write(folder).map_err(complaint)?;
    let outcome = show_run(folder, plan, &merged.run, all)?;
    if merged.settled.is_none() {
        settled(&merged, plan);
        let run = folder.path().display();
        let why = match fleet.on {
            On::Slurm => format!("{run}/slurm-SITE.log says why"),
            On::Ssh => "what the site said is above".to_owned(),
        };
        return Err(CliError::Failed(format!(
            "no site has anything under way, and the run is not settled\nhint: {why}; `fsverdict resume {run}` has the missing blocks done"
        )));
    }
    Ok(outcome)
}

/// Whether further blocks are wanted, said.
pub(super) fn settled(merged: &Merged, plan: &Plan) -> Exit {
    match &merged.settled {
        Some(reason) => {
            say(&format!("settled: {reason}"));
            Exit::Done
        }
        None => {
            let in_it = plan.candidates.len() - merged.out.len();
            let waiting = match merged.awaited.as_slice() {
                [] => String::new(),
                awaited => format!("; the next round lacks {}", awaited.join(", ")),
            };
            say(&format!(
                "not settled: {in_it} candidates are still in, complete rounds: {}{waiting}",
                merged.rounds
            ));
            Exit::NoVerdict
        }
    }
}

pub(super) fn complaint(error: FleetError) -> CliError {
    match error {
        FleetError::SiteName(_)
        | FleetError::Inventory { .. }
        | FleetError::Folder(_)
        | FleetError::NotShared(_)
        | FleetError::OtherRun { .. } => CliError::usage(error),
        other => CliError::failed(other),
    }
}

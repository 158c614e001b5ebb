//! Opens a run that the user names: its folder or a bundle to read it, or the plan of its folder to carry it out (to
//! continue the run, to repeat trials, or for the tests that follow them).

use std::path::Path;

use crate::fleet::open_bundle;
use crate::study::RunFolder;
use fsverdict_judgement::journal::Run;
use fsverdict_judgement::plan::{Candidate, Overrides, Plan, read_with, write};
use fsverdict_text::{Reason, suggest};

use super::consent::{Consent, PlanOrigin, confirm_plan};
use super::error::CliError;
use super::vocabulary::with_vocabulary;

/// The run at this path; its folder too, unless it is a bundle.
pub(super) fn open_run(path: &Path) -> Result<(Option<RunFolder>, Plan, Run), CliError> {
    if path.is_file() {
        let (plan, run) = open_bundle(path).map_err(CliError::usage)?;
        return Ok((None, plan, run));
    }
    let (folder, plan) = RunFolder::open(path).map_err(CliError::usage)?;
    let run = read_run(&folder, &plan)?;
    Ok((Some(folder), plan, run))
}

pub(super) fn read_run(folder: &RunFolder, plan: &Plan) -> Result<Run, CliError> {
    Run::read_in_folder(plan, &folder.journal()).map_err(CliError::failed)
}

/// The candidate of this name.
pub(super) fn find_candidate<'a>(plan: &'a Plan, name: &str) -> Result<&'a Candidate, CliError> {
    let candidate = plan.find_candidate(name);
    candidate.ok_or_else(|| {
        let names: Vec<&str> = plan.candidates.iter().map(|candidate| candidate.name.as_str()).collect();
        CliError::usage(Reason::new(format!("the run has no candidate `{name}`"), suggest(name, &names)))
    })
}

/// Opens the folder, and asks the user for consent if the plan belongs to another user.
///
/// # Errors Fails if there is no run, its plan is not one that fsverdict would write, or the user did not agree to it.
/// Nothing has been done by then.
pub(super) fn open_to_carry_out(folder: &Path, consent: Consent) -> Result<(RunFolder, Plan), CliError> {
    let opened = RunFolder::open_seen(folder).map_err(CliError::usage)?;
    check_plan(&opened.plan)?;
    confirm_plan(&opened.plan, &PlanOrigin::of_run(&opened), consent)?;
    Ok((opened.folder, opened.plan))
}

/// Refuses a recorded plan that was changed after it was read and checked, for example to names that lead out of a
/// folder or a line, or to a million devices. Written as TOML and read with all checks, it must give the same plan
/// again.
pub(super) fn check_plan(plan: &Plan) -> Result<(), CliError> {
    let refused = |why: String| {
        let what =
            format!("the plan of this run (plan.json) was changed and is no longer a valid plan: {why}");
        CliError::usage(Reason::new(what, "restore plan.json from a copy, or run the plan again"))
    };
    // The scale describes the data, and is no part of the TOML.
    let plan = Plan { scale: None, ..plan.clone() };
    let mut again =
        with_vocabulary(|known| read_with(&write(&plan), "plan.json", &Overrides::default(), known))
            .map_err(|error| refused(error.to_string()))?;
    // Versions that ranked all candidates against each other recorded no levels of protection.
    if plan.goal.protection.is_empty() {
        again.goal.protection.clear();
    }
    // Earlier versions recorded no safeguards.
    if plan.goal.safeguards.is_empty() {
        again.goal.safeguards.clear();
    }
    if again != plan {
        return Err(refused("a value in it changes if the plan is written out and read again".to_owned()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::check_plan;
    use fsverdict_judgement::plan::{Faults, Plan};

    fn changed(change: impl FnOnce(&mut Plan)) -> String {
        let mut plan: Plan = serde_json::from_str(include_str!("../../tests/runs/demo/plan.json")).unwrap();
        change(&mut plan);
        check_plan(&plan).map_or_else(|error| error.to_string(), |()| String::new())
    }

    #[test]
    fn a_plan_that_was_changed_into_none_is_refused() {
        assert_eq!(changed(|_| ()), "");
        assert_eq!(changed(|plan| plan.scale = Some(0.5)), "");
        for name in ["../../victim", "x\nid", "x\u{1b}[2J", ""] {
            let said = changed(|plan| plan.candidates[0].name = name.to_owned());
            assert!(said.contains("is no longer a valid plan"), "{name:?}: {said}");
        }
        let faults = Faults {
            power_cuts: 10,
            trials: 4_000_000_000,
            rot: 0,
            refuses_writes: false,
            keeps_all: false,
            ignores_flushes: false,
            accept_loss: false,
        };
        for trials in [0, faults.trials] {
            let said = changed(|plan| plan.faults = Some(Faults { trials, ..faults }));
            assert!(said.contains("is no longer a valid plan"), "{trials}: {said}");
        }
    }
}

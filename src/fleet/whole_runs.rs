//! Shares many runs between the sites of an inventory, each of them whole at one site, so that its record is the same
//! wherever it was carried out.

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

use crate::study::RunFolder;
use fsverdict_judgement::journal::Run;
use fsverdict_judgement::plan::Plan;
use fsverdict_text::{Hinted, Reason};

use super::FleetError;
use super::inventory::{Fleet, SiteEntry, SiteTransport};
use super::slurm::{queued_jobs, submit_run};
use super::ssh::carry_out_run_at;

/// The interval between two looks at the jobs of Slurm.
const PAUSE: Duration = Duration::from_secs(5);
/// What a run may take beyond its own time: preparation, its last trial, and copying.
const MARGIN: Duration = Duration::from_secs(3600);

/// A run that is to be carried out at some site. Its folder has a plan, and a journal if it was interrupted.
#[derive(Debug)]
pub struct SharedRun {
    pub folder: RunFolder,
    pub plan: Plan,
}

impl SharedRun {
    fn has_ended(&self) -> bool {
        let run = Run::read_in_folder(&self.plan, &self.folder.journal());
        run.is_ok_and(|run| run.finished.is_some())
    }

    fn path(&self) -> Result<PathBuf, FleetError> {
        let path = self.folder.path();
        std::path::absolute(path).map_err(FleetError::io_error(path))
    }
}

/// Carries out these runs, in their order, each at the first site that is free. `tell` receives each run that ended with
/// its site, or why it did not. A site that fails twice gets no further run.
///
/// # Errors
/// Fails when a site of the inventory has a device, since the runs bring their own, and when Slurm does not answer.
pub fn carry_out_whole_runs(
    runs: &[SharedRun],
    fleet: &Fleet,
    tell: &(dyn Fn(&SharedRun, &SiteEntry, Option<Reason>) + Sync),
) -> Result<(), FleetError> {
    if let Some(site) = fleet.sites.iter().find(|site| site.device.is_some() || site.erase.is_some()) {
        let what = format!("the site {} of the inventory names a device", site.name);
        let hint = "these runs are of modelled devices: leave `device` and `erase` out";
        return Err(FleetError::Engine(Reason::new(what, hint)));
    }
    match fleet.on {
        SiteTransport::Ssh => {
            carry_out_over_ssh(runs, fleet, tell);
            Ok(())
        }
        SiteTransport::Slurm => carry_out_through_slurm(runs, fleet, tell),
    }
}

/// A thread for each site takes the next run when the one before has ended.
fn carry_out_over_ssh(
    runs: &[SharedRun],
    fleet: &Fleet,
    tell: &(dyn Fn(&SharedRun, &SiteEntry, Option<Reason>) + Sync),
) {
    let queue: Mutex<VecDeque<&SharedRun>> = Mutex::new(runs.iter().collect());
    let take_next = || queue.lock().ok()?.pop_front();
    std::thread::scope(|scope| {
        for site in &fleet.sites {
            scope.spawn(move || {
                while let Some(run) = take_next() {
                    // A connection may break, so that each run is tried twice.
                    let carry_out = || carry_out_once(run, site);
                    match carry_out().or_else(|_| carry_out()) {
                        Ok(()) => tell(run, site, None),
                        Err(error) => {
                            tell(run, site, Some(error.reason()));
                            return;
                        }
                    }
                }
            });
        }
    });
}

/// Carries out a run at a site. That its command fails is no error if the run has ended: one without a verdict has a
/// status of its own.
fn carry_out_once(run: &SharedRun, site: &SiteEntry) -> Result<(), FleetError> {
    let time = run.plan.protocol.budget.map_or(Duration::MAX, |time| time.saturating_add(MARGIN));
    let limit = site.within.unwrap_or(time);
    let outcome = carry_out_run_at(site, run.folder.handle(), &run.path()?, limit);
    if run.has_ended() {
        return Ok(());
    }
    let unended = || FleetError::Engine(Reason::plain("its run did not end there"));
    outcome.and_then(|()| Err(unended()))
}

/// Every run is a job of its own; sites take turns.
fn carry_out_through_slurm(
    runs: &[SharedRun],
    fleet: &Fleet,
    tell: &(dyn Fn(&SharedRun, &SiteEntry, Option<Reason>) + Sync),
) -> Result<(), FleetError> {
    let name = |run: &SharedRun| format!("fsverdict-run-{}", run.folder.plan_digest());
    let mut waiting: BTreeMap<String, (&SharedRun, &SiteEntry)> =
        runs.iter().zip(fleet.sites.iter().cycle()).map(|(run, site)| (name(run), (run, site))).collect();
    // Jobs of a conducting process that has ended are still there.
    let names: Vec<String> = runs.iter().map(name).collect();
    let mut queued = queued_jobs(&names)?;
    for name in &names {
        let (Some((run, site)), false) = (waiting.get(name), queued.contains(name)) else { continue };
        submit_run(site, run.folder.handle(), &run.path()?, name)?;
    }
    while !waiting.is_empty() {
        std::thread::sleep(PAUSE);
        queued = queued_jobs(&names)?;
        let gone: Vec<String> = waiting.keys().filter(|name| !queued.contains(name)).cloned().collect();
        for (run, site) in gone.iter().filter_map(|name| waiting.remove(name)) {
            let log = fleet.on.describe_log_place(run.folder.path());
            let unended = || Reason::new("its run did not end there".to_owned(), log);
            tell(run, site, (!run.has_ended()).then(unended));
        }
    }
    Ok(())
}

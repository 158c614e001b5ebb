//! Examines the faults of a run's plan, power cuts and bit rot, on each of its candidates, and records the results in
//! the run's journal.

use crate::study::{FaultTime, Permission, RunFolder, SessionError};
use fsverdict_faults::{CutProgress, FaultError, PowerCutting};
use fsverdict_folders::FolderHandle;
use fsverdict_judgement::journal::{
    CandidateStatus, Event, JournalError, OpenJournal, PowerCuts, RottenBlocks, Run,
};
use fsverdict_judgement::plan::{Candidate, Plan};
use fsverdict_judgement::verdict::Judgement;
use fsverdict_lab::lab::choose_lab;

/// The faults that are examined after the trials, each on every candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    PowerCuts,
    Rot,
}

/// News of an examination, as it goes on.
#[derive(Debug, Clone, Copy)]
pub enum FaultNews<'a> {
    CutProgress {
        candidate: &'a str,
        progress: CutProgress,
    },
    CutsExamined(&'a PowerCuts),
    /// `done` of `all` blocks with bit rot were examined.
    RotProgress {
        candidate: &'a str,
        done: usize,
        all: usize,
    },
    RotExamined(&'a RottenBlocks),
    /// The candidate cannot be examined; the others can.
    Failed {
        fault: FaultKind,
        candidate: &'a str,
        error: &'a FaultError,
    },
    /// These candidates are not examined, because the time is up.
    TimeUp {
        fault: FaultKind,
        folder: &'a RunFolder,
        candidates: &'a [&'a Candidate],
    },
}

/// Prepares the faults of this plan for the run in this folder.
///
/// # Errors
/// When the plan has no faults, or its lab or devices cannot be used.
pub fn prepare_power_cutting<'a>(
    plan: &'a Plan,
    run: &FolderHandle,
) -> Result<PowerCutting<'a>, SessionError> {
    PowerCutting::new(plan, run, || {
        let attachments = Permission::NONE.claim_devices(plan)?;
        Ok((choose_lab(plan, plan.lab)?, attachments))
    })
}

/// The faults of a run that are to be examined.
pub struct FaultExamination<'a> {
    pub folder: &'a RunFolder,
    pub plan: &'a Plan,
    pub time: FaultTime,
    /// Only this candidate; otherwise all.
    pub only: Option<&'a Candidate>,
    /// Whether candidates are examined again that were examined before.
    pub again: bool,
    pub tell: &'a (dyn Fn(FaultNews<'_>) + Sync),
}

impl FaultExamination<'_> {
    /// Examines the faults that the plan asks for, or power cuts if it asks for none.
    ///
    /// # Errors
    /// Fails when this machine or the folder of the run does not allow it. A candidate that cannot be examined is no
    /// error.
    pub fn examine(&self) -> Result<(), SessionError> {
        let rots = self.plan.faults.is_some_and(|faults| faults.rot > 0);
        if self.plan.faults.is_none_or(|faults| faults.power_cuts > 0) {
            let time = if rots { self.time.share(2) } else { self.time };
            self.examine_candidates(FaultKind::PowerCuts, time)?;
        }
        if rots {
            self.examine_candidates(FaultKind::Rot, self.time)?;
        }
        Ok(())
    }

    /// Examines one fault on every candidate for which that is still to be done.
    fn examine_candidates(&self, fault: FaultKind, time: FaultTime) -> Result<(), SessionError> {
        let mut wanted = self.candidates_to_examine(fault)?;
        if wanted.is_empty() {
            return Ok(());
        }
        let mut cutting = prepare_power_cutting(self.plan, self.folder.handle())?;
        while !wanted.is_empty() {
            self.sort_by_chance(&mut wanted)?;
            if time.is_up() {
                (self.tell)(FaultNews::TimeUp { fault, folder: self.folder, candidates: &wanted });
                break;
            }
            cutting.set_time(time.for_one_of(wanted.len()));
            let candidate = wanted.remove(0);
            let examined = match fault {
                FaultKind::PowerCuts => self.cut_power(&cutting, candidate),
                FaultKind::Rot => self.rot_blocks(&cutting, candidate),
            };
            match examined {
                Ok(event) => {
                    self.record_event(event)?;
                    if fault == FaultKind::PowerCuts {
                        cutting.remove_leftovers(candidate)?;
                    }
                }
                // The next candidate would fare no better.
                Err(error) if error.is_of_this_machine() => return Err(error.into()),
                Err(error) => {
                    (self.tell)(FaultNews::Failed { fault, candidate: &candidate.name, error: &error });
                }
            }
        }
        Ok(())
    }

    /// The candidates that are still to be examined. A candidate that was skipped has no measurements, and is left out.
    fn candidates_to_examine(&self, fault: FaultKind) -> Result<Vec<&Candidate>, JournalError> {
        let run = Run::read_in_folder(self.plan, &self.folder.journal())?;
        let is_wanted = |candidate: &&Candidate| {
            self.only.is_none_or(|only| only.name == candidate.name)
                && !is_skipped(&run, &candidate.name)
                && (self.again || !is_examined(&run, fault, &candidate.name))
        };
        Ok(self.plan.candidates.iter().filter(is_wanted).collect())
    }

    /// Sorts candidates by their chance to be recommended, as examined so far: the leader of each protection
    /// level before any other, and last those that are shown to be worse than their leader.
    fn sort_by_chance(&self, wanted: &mut [&Candidate]) -> Result<(), JournalError> {
        if wanted.len() < 2 {
            return Ok(());
        }
        let verdict =
            Judgement::from_run(self.plan, &Run::read_in_folder(self.plan, &self.folder.journal())?).verdict;
        wanted.sort_by_key(|candidate| {
            let name = &candidate.name;
            (verdict.is_behind(name), verdict.place_in_ranking(name).unwrap_or(usize::MAX))
        });
        Ok(())
    }

    fn cut_power(&self, cutting: &PowerCutting<'_>, candidate: &Candidate) -> Result<Event, FaultError> {
        let name = &candidate.name;
        let tell = |progress| (self.tell)(FaultNews::CutProgress { candidate: name, progress });
        let cuts = cutting.examine_power_cuts(candidate, self.again, &tell)?;
        (self.tell)(FaultNews::CutsExamined(&cuts));
        Ok(Event::PowerCut(cuts))
    }

    fn rot_blocks(&self, cutting: &PowerCutting<'_>, candidate: &Candidate) -> Result<Event, FaultError> {
        let name = &candidate.name;
        let tell = |done, all| (self.tell)(FaultNews::RotProgress { candidate: name, done, all });
        let rotten = cutting.examine_rot(candidate, &tell)?;
        (self.tell)(FaultNews::RotExamined(&rotten));
        Ok(Event::Rotten(rotten))
    }

    fn record_event(&self, event: Event) -> Result<(), JournalError> {
        OpenJournal::resume(self.plan, &self.folder.journal())?.append(None, event)?;
        Ok(())
    }
}

fn is_skipped(run: &Run, candidate: &str) -> bool {
    let state = run.candidates.iter().find(|state| state.name == candidate);
    state.is_some_and(|state| state.status == CandidateStatus::Skipped)
}

fn is_examined(run: &Run, fault: FaultKind, candidate: &str) -> bool {
    match fault {
        FaultKind::PowerCuts => run.power_cuts.iter().any(|cuts| cuts.candidate == candidate),
        FaultKind::Rot => run.rotten.iter().any(|rotten| rotten.candidate == candidate),
    }
}

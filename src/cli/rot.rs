//! Rotten blocks, as a plan asks for them, and the image of a device with one.

use std::io::Write;
use std::path::{Path, PathBuf};

use crate::study::{RunFolder, prepare_power_cutting};
use fsverdict_disk::crash::RottenBlock;
use fsverdict_faults::{CutName, WrittenRot};
use fsverdict_judgement::journal::{CandidateStatus, Event, OpenJournal, RotOutcome, RottenBlocks, Run};
use fsverdict_judgement::plan::{Candidate, Plan};
use fsverdict_linux::host::results::result_writer;
use fsverdict_linux::host::talk::print_line;

use super::fault_time::{FaultTime, report_unexamined, sort_by_rank};
use super::opened::read_run;
use super::{CliError, Exit};

/// A state of a device by its name: after a cut of power, or with a rotten block.
#[derive(Debug, Clone, Copy)]
pub(super) enum FaultState {
    Cut(CutName),
    Rot(RottenBlock),
}

impl std::str::FromStr for FaultState {
    type Err = String;

    fn from_str(name: &str) -> Result<FaultState, String> {
        match name.starts_with("rot-") {
            true => name
                .parse()
                .map(FaultState::Rot)
                .map_err(|error: fsverdict_disk::crash::RotNameError| error.to_string()),
            false => name
                .parse()
                .map(FaultState::Cut)
                .map_err(|error: fsverdict_disk::crash::StateNameError| error.to_string()),
        }
    }
}

/// Lets blocks of every candidate rot that was not checked yet, or of this one.
pub(super) fn rot_all(
    folder: &RunFolder,
    plan: &Plan,
    time: FaultTime,
    only: Option<&Candidate>,
    again: bool,
    quiet: bool,
) -> Result<(), CliError> {
    let run = read_run(folder, plan)?;
    let known = |name: &str| run.rotten.iter().any(|rotten| rotten.candidate == name);
    let mut wanted = tried(&run, plan, only);
    wanted.retain(|candidate| again || !known(&candidate.name));
    if wanted.is_empty() {
        return Ok(());
    }
    sort_by_rank(plan, &run, &mut wanted);
    let mut cutting = prepare_power_cutting(plan, folder.handle()).map_err(CliError::failed)?;
    for (at, candidate) in wanted.iter().enumerate() {
        let left = wanted.get(at..).unwrap_or_default();
        if time.is_up() {
            report_unexamined(folder, "rot", left);
            break;
        }
        cutting.set_time(time.for_one_of(left.len()));
        let tell = |done: usize, all: usize| {
            if !quiet {
                print_line(&format!("rot: {}: {done} of {all} rotten blocks looked at", candidate.name));
            }
        };
        match cutting.examine_rot(candidate, &tell) {
            Ok(rotten) => {
                if !quiet {
                    print_line(&told(&rotten));
                }
                let mut journal = OpenJournal::resume(plan, &folder.journal()).map_err(CliError::failed)?;
                journal.append(None, Event::Rotten(rotten)).map_err(CliError::failed)?;
            }
            // The next candidate would fare no better.
            Err(error) if error.is_of_this_machine() => return Err(CliError::failed(error)),
            Err(error) => print_line(&format!("rot: {}: not done: {error}", candidate.name)),
        }
    }
    Ok(())
}

/// The candidates that could be tried, or of them this one: whom nothing could be measured of there is nothing to be done to.
pub(super) fn tried<'a>(run: &Run, plan: &'a Plan, only: Option<&Candidate>) -> Vec<&'a Candidate> {
    let skipped = |candidate: &&Candidate| {
        let state = run.candidates.iter().find(|state| state.name == candidate.name);
        state.is_some_and(|state| state.status == CandidateStatus::Skipped)
    };
    let wanted = |candidate: &&Candidate| only.is_none_or(|only| only.name == candidate.name);
    plan.candidates.iter().filter(wanted).filter(|candidate| !skipped(candidate)).collect()
}

fn told(rotten: &RottenBlocks) -> String {
    let each: Vec<String> = RotOutcome::ALL
        .iter()
        .filter(|outcome| rotten.count(**outcome) > 0)
        .map(|outcome| format!("{} {}", rotten.count(*outcome), outcome.words()))
        .collect();
    let stopped = rotten.stopped.as_ref();
    let stopped =
        stopped.map_or(String::new(), |stopped| format!("; its layout was not read to its end ({stopped})"));
    format!("rot: {}: {} rotten blocks: {}{stopped}", rotten.candidate, rotten.looked, each.join(", "))
}

/// Writes the image of a device with a rotten block, and lists its required content.
pub(super) fn write_rot(
    image: Option<&Path>,
    folder: &RunFolder,
    plan: &Plan,
    candidate: &Candidate,
    rotten: RottenBlock,
) -> Result<Exit, CliError> {
    let image =
        image.map_or_else(|| PathBuf::from(format!("{}-{rotten}.img", candidate.name)), Path::to_owned);
    let cutting = prepare_power_cutting(plan, folder.handle()).map_err(CliError::failed)?;
    let WrittenRot { held, stopped, must } =
        cutting.write_rot(candidate, rotten, &image).map_err(CliError::failed)?;
    if let Some(stopped) = stopped {
        print_line(&format!("caution: the layout of this device was not read to its end ({stopped})"));
    }
    let held = held.map_or("nothing that is known to be in use", |held| held.words());
    let what = match rotten.decay.changes_content() {
        true => {
            format!("with block {} (of 4096 bytes, which held: {held}) {}", rotten.block, rotten.decay.word())
        }
        false => format!(
            "as it was left; that block {} (of 4096 bytes, which held: {held}) is {} no image shows: dm-dust does, or dm-error",
            rotten.block,
            rotten.decay.word()
        ),
    };
    let mut text = format!(
        "{}: the device of {} {what} ({rotten})\nthe image must contain:\n",
        image.display(),
        candidate.name
    );
    must.iter().for_each(|line| text.push_str(&format!("  {line}\n")));
    result_writer().write_all(text.as_bytes())?;
    Ok(Exit::Done)
}

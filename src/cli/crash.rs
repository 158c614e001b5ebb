//! `fsverdict crash`: cuts of power and rotten blocks, as a plan asks for them, and the image of one state that they left.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::runner::{FaultExamination, FaultNews, prepare_power_cutting};
use crate::study::{FaultTime, RunFolder};
use fsverdict_disk::crash::{RotNameError, RottenBlock, StateNameError};
use fsverdict_faults::{CutName, MinimisedState, PowerCutting, WrittenRot, WrittenState};
use fsverdict_folders::{Existing, OutputFile};
use fsverdict_judgement::plan::{Candidate, Plan};
use fsverdict_linux::host::messages::print_line;
use fsverdict_linux::host::results::result_writer;
use fsverdict_report::count;
use fsverdict_text::{Hinted, Reason};

use super::consent::Consent;
use super::fault_news::print_fault_news;
use super::open_run::{find_candidate, open_to_carry_out};
use super::run_report::show_result;
use super::{CliError, Exit};

/// A state of a device by its name: after a cut of power, or with a rotten block.
#[derive(Debug, Clone, Copy)]
enum FaultState {
    Cut(CutName),
    Rot(RottenBlock),
}

/// A name that no state of a device has.
#[derive(Debug, thiserror::Error)]
enum FaultStateError {
    #[error(transparent)]
    Cut(#[from] StateNameError),
    #[error(transparent)]
    Rot(#[from] RotNameError),
}

impl std::str::FromStr for FaultState {
    type Err = FaultStateError;

    fn from_str(name: &str) -> Result<FaultState, FaultStateError> {
        Ok(match name.starts_with("rot-") {
            true => FaultState::Rot(name.parse()?),
            false => FaultState::Cut(name.parse()?),
        })
    }
}

#[derive(Debug, Args)]
pub(super) struct CrashArguments {
    /// The folder of a run whose plan has `[faults]`
    run: PathBuf,
    /// Examine only this candidate
    candidate: Option<String>,
    /// Write the image of this state, by its name in the report (1234-first3, rot-77-zero), and list what it must contain
    #[arg(requires = "candidate")]
    state: Option<FaultState>,
    /// The image's file [default: CANDIDATE-STATE.img]
    #[arg(long, value_name = "FILE", requires = "state")]
    image: Option<PathBuf>,
    /// Reduce that state to the fewest calls or files and the fewest lost writes, and write it as a shell script that
    /// reproduces it on any machine
    #[arg(long, value_name = "FILE", requires = "state", conflicts_with = "image")]
    script: Option<PathBuf>,
    /// Write all writes of the candidate in the format of dm-log-writes, for replay-log; several recordings (sequences, trials)
    /// go into FILE.0, FILE.1 and so on
    #[arg(long, value_name = "FILE", requires = "candidate")]
    export: Option<PathBuf>,
    /// Only this recording of several, as in the names of states (2:1234-none); 0 is the first
    #[arg(long, value_name = "N", requires = "export")]
    part: Option<u32>,
    /// Examine candidates again that were examined before
    #[arg(long)]
    again: bool,
    /// Run a plan of another user without asking for confirmation
    #[arg(long)]
    yes: bool,
    /// Let the commands of such a plan use this machine's network
    #[arg(long)]
    allow_network: bool,
    /// Print only the result
    #[arg(long, short)]
    quiet: bool,
    /// Every table
    #[arg(long)]
    all: bool,
}

pub(super) fn run(arguments: &CrashArguments) -> Result<Exit, CliError> {
    let CrashArguments { yes, allow_network: network, quiet, .. } = *arguments;
    let (folder, plan) = open_to_carry_out(&arguments.run, Consent { yes, network, quiet })?;
    let candidate = arguments.candidate.as_deref().map(|name| find_candidate(&plan, name)).transpose()?;
    match (candidate, arguments.state) {
        (Some(candidate), Some(FaultState::Cut(state))) => {
            return match &arguments.script {
                Some(path) => write_script(&folder, &plan, candidate, state, path, quiet),
                None => write_state(arguments, &folder, &plan, candidate, state),
            };
        }
        (Some(_), Some(FaultState::Rot(_))) if arguments.script.is_some() => {
            return Err(CliError::usage(Reason::new(
                "a state with a corrupted block has no calls or lost writes to reduce",
                "leave out --script to write the image instead",
            )));
        }
        (Some(candidate), Some(FaultState::Rot(rotten))) => {
            return write_rot(arguments.image.as_deref(), &folder, &plan, candidate, rotten);
        }
        _ => {}
    }
    if let (Some(candidate), Some(path)) = (candidate, &arguments.export) {
        let cutting = prepare_power_cutting(&plan, folder.handle()).map_err(CliError::failed)?;
        return export(&cutting, candidate, path, arguments.part);
    }
    let tell = |news: FaultNews<'_>| print_fault_news(news, quiet);
    let examination = FaultExamination {
        folder: &folder,
        plan: &plan,
        time: FaultTime::default(),
        only: candidate,
        again: arguments.again,
        tell: &tell,
    };
    let examined = examination.examine().map_err(CliError::failed);
    let shown = show_result(&folder, &plan, arguments.all)?;
    examined.map(|()| shown)
}

/// Writes the recordings that there are, or this one, and says into which files.
fn export(
    cutting: &PowerCutting<'_>,
    candidate: &Candidate,
    path: &Path,
    part: Option<u32>,
) -> Result<Exit, CliError> {
    let recorded = cutting.recorded_parts(candidate);
    let wanted: Vec<u32> =
        recorded.iter().copied().filter(|recorded| part.is_none_or(|part| part == *recorded)).collect();
    if wanted.is_empty() {
        let what = match part {
            Some(part) => format!("nothing was recorded of part {part} of {}", candidate.name),
            None => format!("no writes of {} were recorded", candidate.name),
        };
        let recorded_parts: Vec<String> = recorded.iter().map(u32::to_string).collect();
        let hint = match recorded_parts.is_empty() {
            true => format!("`fsverdict crash RUN {}` records it", candidate.name),
            false => format!(
                "kept are: {}; of sequences, parts that lost nothing are not",
                recorded_parts.join(", ")
            ),
        };
        return Err(CliError::failed(Reason::new(what, hint)));
    }
    for number in wanted {
        let numbered = || PathBuf::from(format!("{}.{number}", path.display()));
        let file = if part.is_some() || recorded.len() == 1 { path.to_owned() } else { numbered() };
        let files = cutting.export_log(candidate, number, &file).map_err(CliError::failed)?;
        for (device, file) in (1..).zip(&files) {
            let to = if files.len() > 1 { format!(" to its device {device}") } else { String::new() };
            let line = format!("{}: what {} wrote{to}, part {number}\n", file.display(), candidate.name);
            result_writer().write_all(line.as_bytes())?;
        }
    }
    Ok(Exit::Done)
}

fn write_state(
    arguments: &CrashArguments,
    folder: &RunFolder,
    plan: &Plan,
    candidate: &Candidate,
    state: CutName,
) -> Result<Exit, CliError> {
    let image = arguments.image.clone();
    let image = image.unwrap_or_else(|| PathBuf::from(format!("{}-{state}.img", candidate.name)));
    let cutting = prepare_power_cutting(plan, folder.handle()).map_err(CliError::failed)?;
    let WrittenState { at_s, images, must } =
        cutting.write_state(candidate, state, &image).map_err(CliError::failed)?;
    let images: Vec<String> = images.iter().map(|image| image.display().to_string()).collect();
    let devices = if images.len() > 1 { "devices" } else { "device" };
    let text = format!(
        "{}: the {devices} of {} when power was cut {at_s:.6} s after its start ({state})",
        images.join(", "),
        candidate.name
    );
    print_required_content(&text, &must)
}

/// Prints a line about an image, and the files that the image must contain.
fn print_required_content(line: &str, must: &[String]) -> Result<Exit, CliError> {
    let mut text = format!("{line}\nthe image must contain:\n");
    must.iter().for_each(|line| text.push_str(&format!("  {line}\n")));
    result_writer().write_all(text.as_bytes())?;
    Ok(Exit::Done)
}

fn write_script(
    folder: &RunFolder,
    plan: &Plan,
    candidate: &Candidate,
    state: CutName,
    path: &Path,
    quiet: bool,
) -> Result<Exit, CliError> {
    if !candidate.layers.is_empty() || plan.device.count() > 1 {
        return Err(CliError::usage(Reason::new(
            format!(
                "`{}` has layers or several devices, and a script can only write one plain image",
                candidate.name
            ),
            "leave --script out, and the image of each device is written",
        )));
    }
    let cutting = prepare_power_cutting(plan, folder.handle()).map_err(CliError::failed)?;
    let failed = |error: std::io::Error| {
        let hint = error.hint().unwrap_or_else(|| "remove it, or name another file".to_owned());
        let failure = format!("cannot make {}: {error}", path.display());
        CliError::failed(Reason::new(failure, hint))
    };
    let output = OutputFile::create_executable(path, Existing::Keep).map_err(failed)?;
    let tell = |what: &str| {
        if !quiet {
            print_line(&format!("minimising: {what}"));
        }
    };
    let minimised = cutting.minimise_state(candidate, state, &tell).map_err(CliError::failed)?;
    output.file().write_all(minimised.script.as_bytes()).and_then(|()| output.finish()).map_err(failed)?;
    let MinimisedState { name, finding, did, lost, came_twice, .. } = &minimised;
    let twice = match came_twice {
        true => "a second run of all steps gave the same outcome",
        false => "a second run gave another outcome, so it depends on more than these steps",
    };
    let mut text = format!("{}: {name}: {}: {}\n", path.display(), finding.outcome.words(), finding.seen);
    did.iter().for_each(|call| text.push_str(&format!("  {call}\n")));
    text.push_str(&format!("{} lost; {twice}\n", count(lost.len(), "write")));
    result_writer().write_all(text.as_bytes())?;
    Ok(Exit::Done)
}

/// Writes the image of a device with a rotten block, and lists its required content.
fn write_rot(
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
    let held_words = held.map_or("nothing that is known to be in use", |held| held.words());
    let what = match rotten.decay.changes_content() {
        true => {
            format!(
                "with block {} (of 4096 bytes, which held: {held_words}) {}",
                rotten.block,
                rotten.decay.word()
            )
        }
        false => format!(
            "as it was left; that block {} (of 4096 bytes, which held: {held_words}) is {} no image shows: dm-dust does, or dm-error",
            rotten.block,
            rotten.decay.word()
        ),
    };
    let text = format!("{}: the device of {} {what} ({rotten})", image.display(), candidate.name);
    print_required_content(&text, &must)
}

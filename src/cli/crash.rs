//! `fsverdict crash`: cuts of power and rotten blocks, as a plan asks for them, and the image of one state that they left.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::runner::{FaultExamination, FaultNews, prepare_power_cutting};
use crate::study::{FaultTime, RunFolder};
use fsverdict_faults::{CutName, MinimisedState, PowerCutting, WrittenState};
use fsverdict_folders::{Existing, OutputFile};
use fsverdict_judgement::plan::{Candidate, Plan};
use fsverdict_linux::host::results::result_writer;
use fsverdict_linux::host::talk::print_line;
use fsverdict_report::count;
use fsverdict_text::{Hinted, suggest};

use super::consent::Consent;
use super::fault_news::print_fault_news;
use super::recorded::open_to_carry_out;
use super::report::show_result;
use super::rot::{FaultState, write_rot};
use super::{CliError, Exit};

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
    let candidate = arguments.candidate.as_deref().map(|name| find(&plan, name)).transpose()?;
    match (candidate, arguments.state) {
        (Some(candidate), Some(FaultState::Cut(state))) => {
            return match &arguments.script {
                Some(path) => write_script(&folder, &plan, candidate, state, path, quiet),
                None => write_state(arguments, &folder, &plan, candidate, state),
            };
        }
        (Some(_), Some(FaultState::Rot(_))) if arguments.script.is_some() => {
            return Err(CliError::usage(fsverdict_text::Reason::new(
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
        recorded.iter().copied().filter(|one| part.is_none_or(|part| part == *one)).collect();
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
        return Err(CliError::failed(fsverdict_text::Reason::new(what, hint)));
    }
    for one in wanted {
        let numbered = || PathBuf::from(format!("{}.{one}", path.display()));
        let file = if part.is_some() || recorded.len() == 1 { path.to_owned() } else { numbered() };
        let files = cutting.export_log(candidate, one, &file).map_err(CliError::failed)?;
        for (device, file) in (1..).zip(&files) {
            let to = if files.len() > 1 { format!(" to its device {device}") } else { String::new() };
            let line = format!("{}: what {} wrote{to}, part {one}\n", file.display(), candidate.name);
            result_writer().write_all(line.as_bytes())?;
        }
    }
    Ok(Exit::Done)
}

fn find<'a>(plan: &'a Plan, name: &str) -> Result<&'a Candidate, CliError> {
    let names: Vec<&str> = plan.candidates.iter().map(|candidate| candidate.name.as_str()).collect();
    let found = plan.candidates.iter().find(|candidate| candidate.name == name);
    found.ok_or_else(|| {
        CliError::usage(fsverdict_text::Reason::new(
            format!("the run has no candidate `{name}`"),
            suggest(name, &names),
        ))
    })
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
    let mut text = format!(
        "{}: the {devices} of {} when power was cut {at_s:.6} s after its start ({state})\nthe image must contain:\n",
        images.join(", "),
        candidate.name
    );
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
        return Err(CliError::usage(fsverdict_text::Reason::new(
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
        CliError::failed(fsverdict_text::Reason::new(failure, hint))
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

//! `fsverdict run --settle-size`: a plan with four times the data again and again, until the answer no longer moves.

use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::runner::{RunOutcome, RunRequest, Session};
use crate::study::FolderRequest;
use fsverdict_judgement::plan::{DeviceSource, Overrides, Plan, bytes_written};
use fsverdict_judgement::verdict::Slice;
use fsverdict_linux::guard::LeftDevice;
use fsverdict_linux::host::messages::print_line;
use fsverdict_report::{Format, SizeReport, TerminalLook};
use fsverdict_text::{Bytes, Hinted, Reason, duration_text, quoted};

use super::consent::{check_erase_option, confirm_plan};
use super::open_run::open_run;
use super::output::{write_to, written};
use super::run::{RunArguments, default_folder};
use super::run_view::TerminalView;
use super::vocabulary::plan_and_origin;
use super::{CliError, Exit};

/// How much more data each size has than the one before.
const STEP: f64 = 4.0;

/// Carries out a plan at growing sizes, at most so many.
pub(super) fn run(arguments: &RunArguments, most: u32) -> Result<Exit, CliError> {
    if arguments.sites.fleet()?.is_some() {
        return Err(CliError::usage("--settle-size runs on one machine only".to_owned()));
    }
    let read = |times: f64| {
        let grown = Some(times).filter(|times| *times > 1.0);
        plan_and_origin(arguments.plan(), &Overrides { grown, ..arguments.overrides() })
    };
    let (first, origin) = read(1.0)?;
    check_erase_option(&arguments.erase, &first.device.source)?;
    confirm_plan(&first, &origin, arguments.conduct.consent())?;
    let folder = arguments.out.clone().unwrap_or_else(|| default_folder(arguments.plan()));
    std::fs::create_dir_all(folder.parent().unwrap_or(Path::new("")))
        .and_then(|()| std::fs::create_dir(&folder))
        .map_err(|error| {
            let hint = "with --settle-size, --out names a new folder";
            CliError::usage(Reason::new(format!("cannot make {}: {error}", folder.display()), hint))
        })?;
    let view = TerminalView { forecasts: false, ..arguments.conduct.view() };
    let began = Instant::now();
    let budget = first.protocol.budget;
    let (mut runs, mut ended, mut times, mut left) = (Vec::new(), None, 1.0, Vec::new());
    for number in 0..most {
        let mut plan = match read(times) {
            Ok((plan, _)) => plan,
            Err(error) if number > 0 => {
                ended = Some(format!(
                    "the plan is not valid with {times} times the data: {}",
                    error.reason().what
                ));
                break;
            }
            Err(error) => return Err(error),
        };
        if number > 0
            && let Some(why) = too_large(&plan)
        {
            ended = Some(why);
            break;
        }
        if let Some(budget) = budget {
            let time_left = budget.saturating_sub(began.elapsed());
            if number > 0 && time_left < budget / 10 {
                ended = Some(format!("the time was up ({})", duration_text(budget)));
                break;
            }
            // Half of the remaining time: the sizes that follow need more.
            plan.protocol.budget = Some(time_left / 2);
        }
        let place = folder.join(format!("size-{times}"));
        print_line(&format!(
            "size {} of at most {most}: {times} times the data, in {}",
            number + 1,
            place.display()
        ));
        let request = RunRequest { folder: FolderRequest::Named(place), ..arguments.request(plan)? };
        let RunOutcome { plan, result, .. } = carry_out(request, &view, &mut left)?;
        runs.push(Slice { key: times, plan, run: result.into_run() });
        let settled = SizeReport::of(&runs, None).is_some_and(|report| report.is_settled());
        if settled {
            break;
        }
        times *= STEP;
        ended = Some(format!("{most} sizes were tried (--settle-size={} tries one more)", most + 1));
    }
    show(&runs, ended)?;
    print_line(&format!(
        "each size is a run of its own: fsverdict report {}",
        quoted(&folder.join("size-1").to_string_lossy())
    ));
    Ok(Exit::Done)
}

/// Sets runs that are there side by side, the smallest first.
pub(super) fn of_runs(paths: &[PathBuf]) -> Result<Exit, CliError> {
    let mut runs = Vec::new();
    for path in paths {
        let (_, plan, run) = open_run(path)?;
        runs.push(Slice { key: 1.0, plan, run });
    }
    let size = |one: &Slice<f64>| bytes_written(&one.plan).0;
    runs.sort_by_key(size);
    let first = runs.first().map_or(1, size).max(1);
    for one in &mut runs {
        one.key = (bytes_written(&one.plan).0 as f64 / first as f64 * 100.0).round() / 100.0;
    }
    let names = |one: &Slice<f64>| -> Vec<String> {
        one.plan.phases.iter().map(|phase| phase.name.clone()).chain([one.plan.title.clone()]).collect()
    };
    if runs.windows(2).any(|pair| names(&pair[0]) != names(&pair[1])) {
        return Err(CliError::usage(Reason::new(
            "these runs are not runs of one plan with different amounts of data",
            "`fsverdict run PLAN --settle-size` creates such runs",
        )));
    }
    show(&runs, None)?;
    Ok(Exit::Done)
}

fn show(runs: &[Slice<f64>], ended: Option<String>) -> Result<(), CliError> {
    let report =
        SizeReport::of(runs, ended).ok_or_else(|| CliError::failed("no size was tried".to_owned()))?;
    let format = Format::Terminal(TerminalLook::of_stdout(false));
    write_to(None, &[], None, &mut |out| written(report.write(format, out)))
}

/// Why the data of a plan do not fit its device.
fn too_large(plan: &Plan) -> Option<String> {
    let (DeviceSource::Image(size) | DeviceSource::Model { size, .. }) = &plan.device.source else {
        return None;
    };
    let (wanted, _) = bytes_written(plan);
    (wanted.saturating_add(wanted / 4) > size.0).then(|| {
        format!(
            "the next size writes {}, and the device has only {size}; name a larger one with --device",
            Bytes(wanted)
        )
    })
}

/// Carries out one size. The devices must be as the size before `left` them, because the user's consent to erase them
/// is given once for all sizes.
fn carry_out(
    request: RunRequest,
    view: &TerminalView,
    left: &mut Vec<LeftDevice>,
) -> Result<RunOutcome, CliError> {
    let session = Session::begin(request, view)?;
    session.check_left(left).map_err(CliError::failed)?;
    let devices = session.attachments();
    let outcome = session.conduct(view)?;
    *left = devices.describe_left();
    Ok(outcome)
}

//! `fsverdict block` and `merge`: a run that several machines share.

use std::ffi::OsString;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread::scope;

use clap::Args;

use crate::fleet::{BlockEnd, BlockOrder, Site, conduct_block, merge_blocks, shared_run};
use crate::study::{Permission, RunFolder};
use fsverdict_judgement::plan::{DeviceSource, Overrides};
use fsverdict_judgement::verdict::Slice;
use fsverdict_linux::host::messages::print_line;
use fsverdict_report::DeviceReport;
use fsverdict_text::{Reason, quoted};

use super::consent::{ask_identity, check_erase_option, confirm_plan};
use super::fleet::{end_with_input, print_settled};
use super::open_run::{open_run, open_to_carry_out};
use super::output::{ReportFormat, write_to, written};
use super::run::Conduct;
use super::run_report::{gather_report, show_gathered_report};
use super::vocabulary::{PathOrAmong, plan_and_origin, preset_names};
use super::{CliError, Exit};

/// A block of a run that several machines share.
#[derive(Debug, Args)]
pub(super) struct BlockArguments {
    /// The run's folder; or, with --out, a preset or a plan to begin a run with
    #[arg(value_name = "RUN|PLAN.toml", value_parser = PathOrAmong(preset_names), hide_possible_values = true)]
    run: OsString,
    /// The name of this machine with this device, unique within the run
    #[arg(long, value_name = "NAME", value_parser = |name: &str| name.parse::<Site>())]
    site: Site,
    /// The number of this site's block, from 1
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000), allow_negative_numbers = true)]
    block: u32,
    /// The run's folder; it is created when missing
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// This site's device if it differs from the plan's; its content is destroyed
    #[arg(long, value_name = "image:SIZE|PATH")]
    device: Option<DeviceSource>,
    /// Allow the content of this block device to be destroyed: its identity, as the refusal prints it
    #[arg(long, value_name = "IDENTITY")]
    erase: Vec<String>,
    /// What may be erased was named once for all blocks
    #[arg(long, hide = true)]
    standing: bool,
    /// End when standard input does: who asked for the block is then gone
    #[arg(long, hide = true)]
    attended: bool,
    #[command(flatten)]
    conduct: Conduct,
}

pub(super) fn block(arguments: &BlockArguments) -> Result<Exit, CliError> {
    if arguments.attended {
        end_with_input();
    }
    let (folder, plan) = match &arguments.out {
        Some(path) => {
            let (plan, origin) = plan_and_origin(&arguments.run, &Overrides::default())?;
            confirm_plan(&plan, &origin, arguments.conduct.consent())?;
            (shared_run(path, &plan)?, plan)
        }
        None => {
            let path: &Path = arguments.run.as_ref();
            if path.is_file() || preset_names().iter().any(|name| arguments.run == *name) && !path.exists() {
                return Err(CliError::Usage(Reason::new(
                    format!("{} is a plan, but a block needs the folder of its run", path.display()),
                    "name the folder with --out DIR; it is created when missing",
                )));
            }
            open_to_carry_out(path, arguments.conduct.consent())?
        }
    };
    let source = arguments.device.as_ref().unwrap_or(&plan.device.source);
    check_erase_option(&arguments.erase, source)?;
    let (site, number) = (arguments.site.clone(), arguments.block);
    let asked = BlockOrder {
        site: site.clone(),
        block: number,
        device: arguments.device.clone(),
        jobs: arguments.conduct.jobs(),
        is_standing: arguments.standing,
    };
    let permission = Permission { erase: &arguments.erase, ask: &ask_identity };
    let mut observer = arguments.conduct.view().progress();
    let end = conduct_block(&folder, &plan, asked, &permission, observer.as_mut())?;
    drop(observer);
    let run = quoted(&folder.path().to_string_lossy());
    print_line(&match end {
        BlockEnd::Done => {
            format!(
                "block {number} of site {site} is done; `fsverdict merge {run}` shows the result of all sites"
            )
        }
        BlockEnd::Already => format!("block {number} of site {site} was done before"),
        BlockEnd::Settled(reason) => format!("nothing is left to find out: {reason}"),
        BlockEnd::Disturbed => {
            return Err(CliError::failed(Reason::new(
                format!(
                    "block {number} of site {site} does not count, because the machine was too busy at every attempt"
                ),
                "run the same command again when the machine is idle",
            )));
        }
    });
    Ok(Exit::Done)
}

/// The blocks of all sites as one run.
#[derive(Debug, Args)]
pub(super) struct MergeArguments {
    /// The run's folder; or several runs of one plan on different devices, as folders or bundles, for a table of devices
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<PathBuf>,
    /// Leave these sites out
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', value_parser = |name: &str| name.parse::<Site>(), conflicts_with_all = ["format", "output"])]
    without: Vec<Site>,
    /// Only report whether more blocks are needed: exit status 0 if not, 1 if so
    #[arg(long, conflicts_with_all = ["format", "output"])]
    settled: bool,
    /// Show every table: costs, rates and the steps around the phases
    #[arg(long, conflicts_with_all = ["format", "output"])]
    all: bool,
    /// The format of the table of devices [default: terminal]
    #[arg(long, value_enum)]
    format: Option<ReportFormat>,
    /// Write the table of devices into this file
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(super) fn merged(arguments: &MergeArguments) -> Result<Exit, CliError> {
    let [run] = arguments.runs.as_slice() else { return devices(arguments) };
    if run.is_file() || arguments.format.is_some() || arguments.output.is_some() {
        return Err(CliError::usage(Reason::new(
            "a table of devices needs more than one run",
            "name the other runs as well; `fsverdict report` shows a single run",
        )));
    }
    let (folder, plan) = RunFolder::open(run).map_err(CliError::usage)?;
    let merged = merge_blocks(&folder, &plan, &arguments.without)?;
    if arguments.settled {
        return Ok(print_settled(&merged, &plan));
    }
    // Writing is the disk's work, and judging the processor's.
    let report = scope(|scope| {
        let writing = scope.spawn(|| merged.write_journal(&folder));
        let report = gather_report(Some(&folder), &plan, &merged.run, true);
        writing.join().unwrap_or_else(|panic| resume_unwind(panic)).map(|()| report)
    });
    show_gathered_report(&folder, report?, arguments.all)
}

/// Several runs as a table of devices.
fn devices(arguments: &MergeArguments) -> Result<Exit, CliError> {
    if arguments.settled || !arguments.without.is_empty() || arguments.all {
        return Err(CliError::usage(
            "--without, --settled and --all apply to one run of several sites only".to_owned(),
        ));
    }
    let source = |path: &PathBuf| {
        let (_, plan, run) = open_run(path)?;
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        Ok(Slice { key: name, plan, run })
    };
    let sources = arguments.runs.iter().map(source).collect::<Result<Vec<Slice>, CliError>>()?;
    let report = DeviceReport::of(sources).map_err(|obstacles| {
        CliError::usage(Reason::new(
            format!("these runs cannot be compared:\n  {}", obstacles.join("\n  ")),
            "leave out the runs that do not match the others",
        ))
    })?;
    let format = arguments.format.unwrap_or(ReportFormat::Terminal).format(arguments.output.is_some(), true);
    let reads: Vec<&Path> = arguments.runs.iter().map(PathBuf::as_path).collect();
    write_to(arguments.output.as_deref(), &reads, None, &mut |out| written(report.write(format, out)))?;
    Ok(Exit::Done)
}

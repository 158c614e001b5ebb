//! `fsverdict compare`: runs of the same plan, before and after a change, or one after the other.

use std::path::{Path, PathBuf};

use clap::Args;

use fsverdict_judgement::journal::Run;
use fsverdict_judgement::verdict::Slice;
use fsverdict_report::ComparisonReport;
use fsverdict_text::{Hinted, Reason};

use super::open_run::open_run;
use super::output::{ReportFormat, write_to, written};
use super::pager::PagerArguments;
use super::{CliError, Exit, settle_size};

#[derive(Debug, Args)]
pub(super) struct CompareArguments {
    /// Folders or bundles of runs, the oldest first: before and after a change, or a longer series
    #[arg(required = true, num_args = 2.., value_name = "RUN")]
    runs: Vec<PathBuf>,
    /// How much the times of two equal runs differ on this machine, as a standard deviation: 0.02 or 2% [default: 3%, and 0 in
    /// simulated time]
    #[arg(long, value_name = "SHARE", value_parser = share, allow_hyphen_values = true)]
    between_runs: Option<f64>,
    /// The format
    #[arg(long, value_enum, default_value = "terminal")]
    format: ReportFormat,
    /// Write into this file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Treat the runs as one plan with growing data, and report from which size on the answer no longer changes
    #[arg(long, conflicts_with_all = ["bisect", "between_runs"])]
    sizes: bool,
    /// For `git bisect run`: exit with 0 only if nothing became slower, and with 125 (skip) if the runs cannot tell
    #[arg(long)]
    bisect: bool,
    #[command(flatten)]
    pager: PagerArguments,
}

/// The exit status by which `git bisect run` skips a revision that cannot be tested.
fn cannot_tell(error: &CliError) -> CliError {
    CliError::CannotTell(error.reason())
}

pub(super) fn run(arguments: &CompareArguments) -> Result<Exit, CliError> {
    if arguments.sizes {
        return settle_size::of_runs(&arguments.runs);
    }
    let outcome = compare(arguments);
    if arguments.bisect { outcome.map_err(|error| cannot_tell(&error)) } else { outcome }
}

fn compare(arguments: &CompareArguments) -> Result<Exit, CliError> {
    let mut opened: Vec<Slice> = Vec::new();
    for path in &arguments.runs {
        let one = open(path)?;
        if let Some(at) = opened.iter().position(|known| known.key == one.key) {
            return Err(CliError::usage(Reason::new(
                format!("{} and {} are the same run", arguments.runs[at].display(), path.display()),
                "name the run before the change, then the run after it",
            )));
        }
        opened.push(one);
    }
    let history = fsverdict_judgement::verdict::compare_runs(&opened, arguments.between_runs)
        .map_err(CliError::failed)?;
    let runs: Vec<&Run> = opened.iter().map(|opened| &opened.run).collect();
    let [before, between @ .., after] = runs.as_slice() else {
        return Err(CliError::usage("compare needs at least two runs".to_owned()));
    };
    let report = ComparisonReport { before, between, after, found: &history };
    let pager = (arguments.format == ReportFormat::Terminal).then_some(arguments.pager);
    let format = arguments.format.format(arguments.output.is_some(), true);
    let reads: Vec<&Path> = arguments.runs.iter().map(PathBuf::as_path).collect();
    write_to(arguments.output.as_deref(), &reads, pager, &mut |out| written(report.write(format, out)))?;
    Ok(match history.has_regression() {
        true => Exit::Regression,
        false if arguments.bisect && !history.is_decided() => Exit::CannotTell,
        false => Exit::Done,
    })
}

/// The run at this path, with its one true path.
fn open(path: &Path) -> Result<Slice, CliError> {
    let (_, plan, run) = open_run(path)?;
    let path = std::fs::canonicalize(path).map_err(CliError::failed)?;
    Ok(Slice { key: path.to_string_lossy().into_owned(), plan, run })
}

/// `0.02`, `2%`.
fn share(text: &str) -> Result<f64, String> {
    let (number, unit) = text.strip_suffix('%').map_or((text, 1.0), |number| (number, 0.01));
    match number.trim().parse::<f64>() {
        Ok(share) if (0.0..=1.0).contains(&(share * unit)) => Ok(share * unit),
        _ => Err("the value must be a share between 0 and 1, such as 0.02 or 2%".to_owned()),
    }
}

//! `fsverdict compare`: two runs of the same plan, before and after a change.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::journal::Run;
use crate::plan::Plan;
use crate::report::{ComparisonFormat, ComparisonReport, Look, ReportError, write_comparison};
use crate::study::RunFolder;
use crate::verdict::Side;

use super::report::read_run;
use super::{CliError, Outcome};

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The folder of the run before the change
    before: PathBuf,
    /// The folder of the run after it
    after: PathBuf,
    /// In which form
    #[arg(long, value_enum, default_value = "terminal")]
    format: FormatArgument,
    /// Into this file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum FormatArgument {
    /// A page of text
    Terminal,
    /// A table for a pull request
    Markdown,
    /// The stable, versioned data format
    Json,
}

impl FormatArgument {
    fn format(self, to_file: bool) -> ComparisonFormat {
        match self {
            FormatArgument::Terminal if to_file => {
                ComparisonFormat::Terminal(Look::suited(false, None, true, |_| None))
            }
            FormatArgument::Terminal => ComparisonFormat::Terminal(Look::of_stdout(true)),
            FormatArgument::Markdown => ComparisonFormat::Markdown,
            FormatArgument::Json => ComparisonFormat::Json,
        }
    }
}

pub(super) fn run(arguments: &Arguments) -> Result<Outcome, CliError> {
    let (one, other) = (open(&arguments.before)?, open(&arguments.after)?);
    if one.0 == other.0 {
        return Err(CliError::Usage(format!(
            "{} and {} are the same run\nhint: name the run before the change, then the run after it",
            arguments.before.display(),
            arguments.after.display()
        )));
    }
    let [(_, before_plan, before), (_, after_plan, after)] = [&one, &other];
    let found = crate::verdict::compare(
        Side { plan: before_plan, run: before },
        Side { plan: after_plan, run: after },
    )
    .map_err(CliError::failed)?;
    let report = ComparisonReport { before, after, found: &found };
    match &arguments.output {
        None => write_out(report, arguments.format.format(false), &mut std::io::stdout().lock())?,
        Some(path) => {
            let failed =
                |error: std::io::Error| CliError::Failed(format!("cannot write {}: {error}", path.display()));
            let mut file = std::io::BufWriter::new(std::fs::File::create(path).map_err(failed)?);
            write_out(report, arguments.format.format(true), &mut file)?;
            file.flush().map_err(failed)?;
        }
    }
    Ok(if found.has_regression() { Outcome::Regression } else { Outcome::Done })
}

/// The run in this folder, with the folder's one true path.
fn open(path: &Path) -> Result<(PathBuf, Plan, Run), CliError> {
    let (folder, plan) = RunFolder::open(path).map_err(CliError::usage)?;
    let run = read_run(&folder, &plan)?;
    let path = std::fs::canonicalize(path).map_err(CliError::failed)?;
    Ok((path, plan, run))
}

fn write_out(
    report: ComparisonReport<'_>,
    format: ComparisonFormat,
    out: &mut dyn Write,
) -> Result<(), CliError> {
    write_comparison(report, format, out).map_err(|error| match error {
        ReportError::Io(error) => CliError::Output(error),
        ReportError::Json(error) => CliError::failed(error),
    })
}

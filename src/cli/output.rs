//! Writes results in the format that the user asks for, to standard output or into a file. Refuses output files that the
//! command reads, or that a run needs.

use std::ffi::OsStr;
use std::fs::{Metadata, metadata};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::fleet::{ROSTER, RUN_KEY, SITES};
use crate::study::{PLAN_FILE, RunFolder};
use fsverdict_faults::CUTS;
use fsverdict_folders::{Existing, write_output};
use fsverdict_judgement::journal::FILE_NAME;
use fsverdict_lab::lab::TRACES;
use fsverdict_linux::host::results::result_writer;
use fsverdict_report::{ForeignFormat, Format, ReportError, TerminalLook};
use fsverdict_text::{Hinted, Reason, quoted};

use super::CliError;
use super::pager::{PagedOutput, PagerArguments};

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum ReportFormat {
    /// Text for the terminal
    Terminal,
    /// One self-contained page with charts
    Html,
    /// Tables for a pull request or a forum
    Markdown,
    /// One row per number
    Csv,
    /// A stable, versioned data format
    Json,
    /// OpenMetrics, for Prometheus and its kin
    Openmetrics,
    /// The result file of the Phoronix Test Suite
    Phoronix,
}

impl ReportFormat {
    pub(super) fn format(self, to_file: bool, all: bool) -> Format {
        match self {
            ReportFormat::Terminal if to_file => {
                Format::Terminal(TerminalLook::suited(false, None, all, |_| None))
            }
            ReportFormat::Terminal => Format::Terminal(TerminalLook::of_stdout(all)),
            ReportFormat::Html => Format::Html,
            ReportFormat::Markdown => Format::Markdown,
            ReportFormat::Csv => Format::Csv,
            ReportFormat::Json => Format::Json,
            ReportFormat::Openmetrics => Format::Foreign(ForeignFormat::OpenMetrics),
            ReportFormat::Phoronix => Format::Foreign(ForeignFormat::Phoronix),
        }
    }
}

/// Into this file, or to standard output: a text for people through their pager, if it is long. The file is none of
/// those that the command `reads`.
pub(super) fn write_to(
    file: Option<&Path>,
    reads: &[&Path],
    pager: Option<PagerArguments>,
    write: &mut dyn FnMut(&mut dyn Write) -> Result<(), CliError>,
) -> Result<(), CliError> {
    let Some(path) = file else {
        let Some(pager) = pager else { return write(&mut result_writer()) };
        let mut out = PagedOutput::new(pager);
        write(&mut out)?;
        return out.show().map_err(CliError::Output);
    };
    check_output(path, reads)?;
    write_output(path, Existing::Replace, |out| write(out)).map_err(|error| match error {
        CliError::Output(error) => unwritten(path, &error),
        other => other,
    })
}

/// A file that a user named could not be written.
pub(super) fn unwritten(path: &Path, error: &std::io::Error) -> CliError {
    let hint = error.hint().unwrap_or_else(|| {
        "name a file in an existing folder that you may write to, or leave --output out".to_owned()
    });
    CliError::Failed(Reason::new(format!("cannot write {}: {error}", path.display()), hint))
}

/// A closed pipe is no failure of the report.
pub(super) fn written<T>(result: Result<T, ReportError>) -> Result<T, CliError> {
    result.map_err(|error| match error {
        ReportError::Io(error) => CliError::Output(error),
        ReportError::Json(error) => CliError::failed(error),
        error @ ReportError::OnlyOfRun => {
            CliError::usage(Reason::new(error, "choose terminal, html, markdown, csv or json"))
        }
    })
}

/// So many folders above a file are looked at: the deepest file of a run lies two folders below it.
const FOLDERS_ABOVE: usize = 4;

/// Files right in the folder of a run that are nowhere else: nothing can make them again.
const NEEDED: [&str; 4] = [PLAN_FILE, FILE_NAME, ROSTER, RUN_KEY];

/// Whether a file at this path below the folder of a run is one that a run needs, and no report, which can be made again.
fn is_needed(below: &Path) -> bool {
    let mut parts = below.iter().map(OsStr::to_string_lossy);
    match (parts.next(), parts.next()) {
        (Some(name), None) => NEEDED.contains(&&*name) || name.starts_with("slurm"),
        (Some(folder), Some(_)) => [SITES, TRACES, CUTS].contains(&&*folder),
        (None, _) => false,
    }
}

/// Fails if `file` is one of those that a command `reads`, or a file that a run cannot be without, under whichever name.
pub(super) fn check_output(file: &Path, reads: &[&Path]) -> Result<(), CliError> {
    let Some(known) = metadata(file).ok().filter(Metadata::is_file) else { return Ok(()) };
    let is_it = |path: &Path| {
        metadata(path).is_ok_and(|other| (other.dev(), other.ino()) == (known.dev(), known.ino()))
    };
    let read =
        reads.iter().copied().find(|path| is_it(path) || NEEDED.iter().any(|name| is_it(&path.join(name))));
    if let Some(read) = read {
        return Err(refused(file, &format!("it is a file of what is read here, {}", shown(read))));
    }
    let path = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let run = path
        .ancestors()
        .skip(1)
        .take(FOLDERS_ABOVE)
        .find(|above| RunFolder::has_plan(above) && path.strip_prefix(above).is_ok_and(is_needed));
    run.map_or(Ok(()), |run| Err(refused(file, &format!("it is a file of the run in {}", shown(run)))))
}

fn refused(file: &Path, why: &str) -> CliError {
    CliError::usage(Reason::new(
        format!("{} is not replaced: {why}", shown(file)),
        "name another file as output",
    ))
}

fn shown(path: &Path) -> String {
    quoted(&path.to_string_lossy()).to_string()
}

//! `fsverdict report`: prints the results of a run in one of several forms.

use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread::scope;

use clap::Args;

use crate::runner::{RunOutcome, RunResult};
use crate::study::RunFolder;
use fsverdict_folders::{Existing, FolderFile, write_output};
use fsverdict_judgement::journal::{CandidateStatus, Run, map_in_parallel};
use fsverdict_judgement::plan::Plan;
use fsverdict_linux::host::results::result_writer;
use fsverdict_linux::host::talk::print_line;
use fsverdict_report::{Format, Report, ReportError, TerminalLook, in_lines, packed_rows, wrap};
use fsverdict_text::{Hinted, Reason, quoted};

use super::fleet::print_settled;
use super::guarantees::guarantees;
use super::open_run::{open_run, read_run};
use super::output::check_output;
use super::pager::{PagedOutput, PagerArguments, screen};
use super::request_picture::requests_of_run;
use super::to_use::to_use;
use super::{CliError, Exit};

#[derive(Debug, Args)]
pub(super) struct ReportArguments {
    /// The run's folder, or a bundle
    run: PathBuf,
    /// The format [default: terminal]
    #[arg(long, value_enum)]
    format: Option<ReportFormat>,
    /// Write into this file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write the HTML page (into the run's folder unless -o names a file) and open it in the browser
    #[arg(long)]
    open: bool,
    /// Show every table: costs, rates and the steps around the phases
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    pager: PagerArguments,
}

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
        }
    }
}

pub(super) fn run(arguments: &ReportArguments) -> Result<Exit, CliError> {
    let (folder, plan, run) = open_run(&arguments.run)?;
    let format = match (arguments.format, arguments.open) {
        (None | Some(ReportFormat::Html), true) => ReportFormat::Html,
        (Some(_), true) => {
            return Err(CliError::usage(Reason::new(
                "only an HTML page can be opened in the browser",
                "use --open with --format html or without --format",
            )));
        }
        (format, false) => format.unwrap_or(ReportFormat::Terminal),
    };
    let mut report = gather_report(folder.as_ref(), &plan, &run, format == ReportFormat::Html);
    let page = folder.as_ref().map(|folder| folder.file(PAGE));
    if let (None, true, Some(page)) = (&arguments.output, arguments.open, &page) {
        replace(&report, Format::Html, page)?;
        open_page(&page.path());
        return Ok(Exit::Done);
    }
    let beside = || arguments.run.with_extension("html");
    let file = arguments.output.clone().or_else(|| arguments.open.then(beside));
    if file.is_none() {
        report.page = match page {
            Some(page) => Some(page).filter(FolderFile::is_there).map(|page| page.path()),
            None => Some(beside()).filter(|page| page.exists()),
        };
    }
    let is_page_of_text = format == ReportFormat::Terminal;
    let format = format.format(file.is_some(), arguments.all);
    let pager = is_page_of_text.then_some(arguments.pager);
    if let Some(page) = file.as_deref().filter(|_| arguments.output.is_none()) {
        refuse_link(page)?;
    }
    let reads = [arguments.run.as_path()];
    write_to(file.as_deref(), &reads, pager, &mut |out| {
        written(fsverdict_report::write(&report, format, out))
    })?;
    if let Some(file) = file.filter(|_| arguments.open) {
        open_page(&file);
    }
    // The report was printed. Only `run` and `resume` end with a status for the outcome of the run.
    Ok(Exit::Done)
}

/// The width of the labels at the foot of a report.
const LABEL: usize = 10;

/// The name of the page in the run's folder.
pub(super) const PAGE: &str = "report.html";

/// The forms in which the result is kept in the run's folder.
pub(super) const REPORTS: [ReportFormat; 3] =
    [ReportFormat::Html, ReportFormat::Markdown, ReportFormat::Json];

/// The file name of a form in the run's folder.
pub(super) fn name_of_report(form: ReportFormat) -> &'static str {
    match form {
        ReportFormat::Html => PAGE,
        ReportFormat::Markdown => "report.md",
        ReportFormat::Json => "report.json",
        ReportFormat::Terminal => "report.txt",
        ReportFormat::Csv => "report.csv",
    }
}

/// Opens a page in the browser; where that cannot be, the page is there all the same.
pub(super) fn open_page(page: &Path) {
    let page = std::path::absolute(page).unwrap_or_else(|_| page.to_owned());
    if let Err(error) = super::viewer::open(&page) {
        let hint = format!("open {} in a browser yourself", page.display());
        print_line(&Reason::new(format!("warning: {error}"), hint).to_string());
    }
}

/// Prints the table after a run, and writes the reports into its folder. An error in writing those does not withhold
/// the result.
pub(super) fn show_result(folder: &RunFolder, plan: &Plan, all: bool) -> Result<Exit, CliError> {
    show_run(folder, plan, &read_run(folder, plan)?, all)
}

/// The report with facts from outside of plan and journal; for a page, also the requests to modelled devices.
pub(super) fn gather_report<'a>(
    folder: Option<&RunFolder>,
    plan: &'a Plan,
    run: &'a Run,
    page: bool,
) -> Report<'a> {
    let mut report = scope(|scope| {
        let packing = page.then(|| scope.spawn(|| packed_rows(plan, run)));
        let mut report = Report::new(plan, run, folder.map(|folder| folder.path().to_owned()));
        let packed = packing.map(|packing| packing.join().unwrap_or_else(|panic| resume_unwind(panic)));
        report.rows = packed.and_then(Result::ok);
        report
    });
    if let Some(folder) = folder.filter(|_| page) {
        report.requests = requests_of_run(folder.handle(), plan, run);
    }
    report.guarantees = guarantees(plan);
    report.to_use = report.taken().and_then(|candidate| to_use(candidate, plan.device.count()));
    report
}

/// The same of a run that is known already.
pub(super) fn show_run(folder: &RunFolder, plan: &Plan, run: &Run, all: bool) -> Result<Exit, CliError> {
    show_gathered_report(folder, gather_report(Some(folder), plan, run, true), all)
}

/// Prints a gathered report after a run, and writes its forms into the run's folder.
pub(super) fn show_gathered_report(
    folder: &RunFolder,
    mut report: Report<'_>,
    all: bool,
) -> Result<Exit, CliError> {
    let kept = map_in_parallel(&REPORTS, |form| {
        replace(&report, form.format(true, all), &folder.file(name_of_report(*form)))
    });
    let kept: Result<(), CliError> = kept.into_iter().collect();
    report.page = Some(folder.file(PAGE)).filter(FolderFile::is_there).map(|page| page.path());
    let look = TerminalLook::of_stdout(all);
    let mut text = Vec::new();
    written(fsverdict_report::write(&report, Format::Terminal(look), &mut text))?;
    // The beginning has left the screen, so the verdict is repeated at the end.
    if screen().is_some_and(|screen| screen.lines_of(&text) >= screen.rows) {
        let verdict = wrap(&in_lines(&report.sentence), look.columns.saturating_sub(LABEL));
        let verdict = verdict.join(&format!("\n{:LABEL$}", ""));
        text.extend_from_slice(format!("\n{:LABEL$}{verdict}\n", "Verdict").as_bytes());
    }
    result_writer().write_all(&text)?;
    kept.map_err(|error| {
        let run = quoted(&folder.path().to_string_lossy());
        let hint = format!(
            "the journal is complete; `fsverdict report {run} --format html --output FILE` writes the page elsewhere"
        );
        CliError::Failed(error.reason().and_hint(hint))
    })?;
    Ok(exit_of_run(report.judged.run))
}

/// Shows the result of a run that was carried out. A run at several sites that needs further blocks is an error, after its
/// result is shown.
pub(super) fn show_outcome(outcome: &RunOutcome, all: bool) -> Result<Exit, CliError> {
    let RunOutcome { folder, plan, result } = outcome;
    let exit = show_run(folder, plan, result.run(), all)?;
    match result {
        RunResult::Sites { merged, log_place } if merged.settled.is_none() => {
            print_settled(merged, plan);
            let run = quoted(&folder.path().to_string_lossy());
            Err(CliError::failed(Reason::new(
                "no site has a block under way, and the run is not settled",
                format!("{log_place}; `fsverdict resume {run}` runs the missing blocks"),
            )))
        }
        RunResult::Here(_) | RunResult::Sites { .. } => Ok(exit),
    }
}

/// Writes a report in the place of an earlier one, in one step: somebody may be looking at that. It is on disk when this
/// returns, lest its writing be measured; where it cannot be, nothing of it stays to take the journal's room.
pub(super) fn replace(report: &Report<'_>, format: Format, file: &FolderFile) -> Result<(), CliError> {
    let write = |file: &mut dyn Write| {
        fsverdict_report::write(report, format, file).map_err(|error| match error {
            ReportError::Io(error) => error,
            ReportError::Json(error) => error.into(),
        })
    };
    file.replace(write).map_err(|error| {
        let what = format!("cannot write {}: ", quoted(&file.path().to_string_lossy()));
        CliError::Failed(error.reason().after(what))
    })
}

/// Fails if there is a link, or anything but a plain file, where a page is to be written whose place no user named:
/// another user may have put it there.
fn refuse_link(page: &Path) -> Result<(), CliError> {
    match page.symlink_metadata() {
        Ok(known) if !(known.is_file() && known.nlink() == 1) => Err(CliError::usage(Reason::new(
            format!("{} is a link, or no plain file", page.display()),
            "look where it leads; -o names another file for the page",
        ))),
        _ => Ok(()),
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
pub(super) fn written(result: Result<(), ReportError>) -> Result<(), CliError> {
    result.map_err(|error| match error {
        ReportError::Io(error) => CliError::Output(error),
        ReportError::Json(error) => CliError::failed(error),
    })
}

fn exit_of_run(run: &Run) -> Exit {
    let with = |status: CandidateStatus| run.candidates.iter().filter(|state| state.status == status).count();
    match with(CandidateStatus::Ok) {
        _ if run.was_too_disturbed() => Exit::NoVerdict,
        0 => Exit::NoVerdict,
        ok if ok == run.candidates.len() => Exit::Done,
        _ => Exit::Incomplete,
    }
}

//! `fsverdict report`: prints the results of a run in one of several forms.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use clap::Args;

use fsverdict_folders::FolderFile;
use fsverdict_judgement::journal::Run;
use fsverdict_judgement::plan::Plan;
use fsverdict_report::{Card, Format};
use fsverdict_text::Reason;

use super::atlas::compute_content;
use super::open_run::open_run;
use super::output::{ReportFormat, write_to, written};
use super::pager::PagerArguments;
use super::run_report::{PAGE, gather_report, open_page, replace};
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
    /// Write the answer as a picture of 1200×630 pixels, for previews in forums
    #[arg(long, value_name = "FILE.png", conflicts_with_all = ["format", "output", "open", "all"])]
    card: Option<PathBuf>,
    /// Show every table: costs, rates and the steps around the phases
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    pager: PagerArguments,
}

pub(super) fn run(arguments: &ReportArguments) -> Result<Exit, CliError> {
    let (folder, plan, run) = open_run(&arguments.run)?;
    if let Some(card) = &arguments.card {
        return write_card(card, arguments, &plan, &run);
    }
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

/// Writes the answer of a run as a picture.
fn write_card(file: &Path, arguments: &ReportArguments, plan: &Plan, run: &Run) -> Result<Exit, CliError> {
    let cell = compute_content(plan, run);
    let picture = written(Card { question: &run.header.title, cell: &cell }.render_png())?;
    write_to(Some(file), &[arguments.run.as_path()], None, &mut |out| Ok(out.write_all(&picture)?))?;
    Ok(Exit::Done)
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

//! The report of a run: gathered, written into the run's folder, and shown after a run was carried out.

use std::io::Write;
use std::panic::resume_unwind;
use std::path::Path;
use std::thread::scope;

use crate::runner::{RunOutcome, RunResult};
use crate::study::RunFolder;
use fsverdict_folders::FolderFile;
use fsverdict_judgement::journal::{CandidateStatus, Run, map_in_parallel};
use fsverdict_judgement::plan::{Candidate, Plan, ProtectionFeature};
use fsverdict_linux::host::messages::print_line;
use fsverdict_linux::host::results::result_writer;
use fsverdict_report::{Format, Report, ReportError, TerminalLook, ToUse, packed_rows};
use fsverdict_text::{Hinted, Reason, join_names, quoted};

use super::fleet::print_settled;
use super::guarantees::guarantees;
use super::open_run::read_run;
use super::output::{ReportFormat, written};
use super::request_picture::requests_of_run;
use super::to_use::{role_of, to_use};
use super::{CliError, Exit};

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
        ReportFormat::Openmetrics => "report.prom",
        ReportFormat::Phoronix => "report.xml",
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

/// The note below commands that make no encrypted disk, where encrypted candidates are offered, too.
fn describe_unencrypted(instead: &[ToUse]) -> String {
    let names: Vec<&str> = instead.iter().map(|to_use| to_use.candidate.as_str()).collect();
    format!(
        "What these commands make is not encrypted: `--all` has those for {}",
        join_names(&names, 3, "or")
    )
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
    let set_up = |candidate: &Candidate| to_use(candidate, plan.device.count(), role_of(plan, candidate));
    // The question what a protection costs is asked by someone who wants it.
    let find = |name: &str| plan.find_candidate(name);
    if let Some(trade) = report.judged.verdict.asked_cost() {
        let [wanted, instead] = [&trade.protected, &trade.other].map(|name| find(name).and_then(set_up));
        (report.to_use, report.to_use_instead) = (wanted, instead.into_iter().collect());
        return report;
    }
    report.to_use = report.taken().and_then(set_up);
    let trades = report.judged.verdict.trades.iter();
    let instead = trades
        .filter(|trade| !trade.takes_protected() && trade.keeps.contains(&ProtectionFeature::Encrypted))
        .filter_map(|trade| find(&trade.protected));
    report.to_use_instead = instead.filter_map(set_up).collect();
    if let Some(to_use) = report.to_use.as_mut().filter(|_| !report.to_use_instead.is_empty()) {
        to_use.notes.push(describe_unencrypted(&report.to_use_instead));
    }
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
    let mut text = Vec::new();
    written(fsverdict_report::write(&report, Format::Terminal(TerminalLook::of_stdout(all)), &mut text))?;
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
            ReportError::OnlyOfRun => std::io::ErrorKind::Unsupported.into(),
        })
    };
    file.replace(write).map_err(|error| {
        let what = format!("cannot write {}: ", quoted(&file.path().to_string_lossy()));
        CliError::Failed(error.reason().after(what))
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

//! The view of a run on the terminal: questions, the forecast, the progress of trials and faults, and the live page.

use crate::fleet::Merged;
use crate::runner::{FaultNews, RunView, SiteNews};
use crate::study::{Observer, Outlook, PreparedTrials, Prospect, RunFolder, Silent};
use fsverdict_judgement::journal::{Event, Run, TrialId};
use fsverdict_judgement::plan::Plan;
use fsverdict_linux::guard::Refusal;
use fsverdict_linux::host::messages::print_line;
use fsverdict_report::{Format, TerminalLook, wrap};
use fsverdict_text::{Hinted, Reason, quoted};

use super::CliError;
use super::consent::ask_identity;
use super::fault_news::print_fault_news;
use super::forecast::forecast;
use super::interrupt;
use super::progress::Bar;
use super::run_report::{PAGE, gather_report, open_page, replace};

/// Shows a run on the terminal.
#[derive(Debug, Clone, Copy)]
pub(super) struct TerminalView {
    /// Whether no progress is shown.
    pub(super) quiet: bool,
    /// Whether the cost of a run is forecast when it begins.
    pub(super) forecasts: bool,
    /// Whether the report is opened in the browser when the run begins.
    pub(super) open: bool,
    /// Whether questions are asked; `--yes` answers none of them.
    pub(super) asks: bool,
}

impl TerminalView {
    /// The observer that shows the progress of trials.
    pub(super) fn progress(self) -> Box<dyn Observer> {
        if self.quiet { Box::new(Silent) } else { Box::new(Bar::new()) }
    }
}

impl RunView for TerminalView {
    fn ask_identity(&self, refusal: &Refusal) -> Option<String> {
        if self.asks { ask_identity(refusal) } else { None }
    }

    fn session_begins(&self, prepared: &PreparedTrials, folder: &RunFolder, run: &Run) -> Result<(), Reason> {
        let PreparedTrials { plan, choice, attachments } = prepared;
        if self.forecasts && !self.quiet {
            let prospect = Prospect::for_device(plan, choice.lab.as_ref(), Some(attachments.size()));
            let lines: Vec<String> = forecast(plan, choice, &prospect)
                .into_iter()
                .map(|(label, text)| format!("{label}: {text}"))
                .collect();
            print_line(&wrap(&lines.join("; "), TerminalLook::of_stdout(false).columns).join("\n"));
        }
        if self.open {
            write_page(folder, plan, run).map_err(|error| error.reason())?;
            open_page(&folder.file(PAGE).path());
        }
        Ok(())
    }

    fn observe_trials<'a>(&'a self, folder: &'a RunFolder, plan: &'a Plan) -> Box<dyn Observer + 'a> {
        let inner = self.progress();
        interrupt::explain_signals(folder, plan);
        Box::new(Live { inner, folder, plan })
    }

    fn already_complete(&self, reason: &str) {
        print_line(&format!("this run is complete ({reason}); --more BLOCKS adds blocks to it"));
    }

    fn tell_faults(&self, news: FaultNews<'_>) {
        print_fault_news(news, self.quiet);
    }

    fn tell_sites(&self, news: SiteNews<'_>) {
        let line = match news {
            SiteNews::NotKept(caution) => format!("warning: {caution}"),
            SiteNews::Begins { folder, fleet } => {
                let names: Vec<String> = fleet.sites.iter().map(|site| site.name.to_string()).collect();
                format!(
                    "blocks are done at {}; {}, `fsverdict resume {}` comes back",
                    names.join(", "),
                    fleet.on.describe_interruption(),
                    quoted(&folder.path().to_string_lossy())
                )
            }
            SiteNews::BlocksArrived(Merged { done, rounds, .. }) => {
                let each: Vec<String> =
                    done.iter().map(|(site, blocks)| format!("{site} {blocks}")).collect();
                format!("blocks done: {}; complete rounds: {rounds}", each.join(", "))
            }
        };
        print_line(&line);
    }
}

/// Writes the page after each block, and passes every event on to another observer.
struct Live<'a> {
    inner: Box<dyn Observer>,
    folder: &'a RunFolder,
    plan: &'a Plan,
}

impl Observer for Live<'_> {
    fn expect_trials(&mut self, outlook: Outlook) {
        self.inner.expect_trials(outlook);
    }

    fn observe_event(&mut self, trial: Option<&TrialId>, event: &Event) {
        self.inner.observe_event(trial, event);
    }

    fn block_ended(&mut self, run: &Run) {
        self.inner.block_ended(run);
        // The journal is the record; a page that cannot be written now is written, or reported, at the end.
        let _ = write_page(self.folder, self.plan, run);
    }
}

/// Replaces the page by one with the present results.
fn write_page(folder: &RunFolder, plan: &Plan, run: &Run) -> Result<(), CliError> {
    let mut report = gather_report(Some(folder), plan, run, true);
    report.live = true;
    replace(&report, Format::Html, &folder.file(PAGE))
}

#[cfg(test)]
mod tests {
    use super::super::open_run::read_run;
    use super::write_page;
    use crate::study::RunFolder;
    use fsverdict_judgement::plan::Plan;

    /// A folder for the recorded run, without its journal.
    fn place() -> (tempfile::TempDir, Plan, RunFolder) {
        let place = tempfile::tempdir().unwrap();
        let plan = serde_json::from_str(include_str!("../../tests/runs/demo/plan.json")).unwrap();
        let folder = RunFolder::create(place.path(), &plan).unwrap();
        (place, plan, folder)
    }

    #[test]
    fn of_a_page_that_cannot_be_written_nothing_stays() {
        let (place, plan, folder) = place();
        std::fs::write(folder.journal().path(), include_str!("../../tests/runs/demo/journal.jsonl")).unwrap();
        // The object in its place cannot be replaced by a file.
        std::fs::create_dir_all(place.path().join("report.html/in-the-way")).unwrap();
        let error = write_page(&folder, &plan, &read_run(&folder, &plan).unwrap()).unwrap_err();
        assert!(error.to_string().contains("report.html"), "{error}");
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 3, "the journal has all the room");
    }

    #[test]
    fn the_page_is_replaced_and_nothing_else_stays() {
        let (place, plan, folder) = place();
        let recorded = include_str!("../../tests/runs/demo/journal.jsonl");
        std::fs::write(folder.journal().path(), recorded.lines().next().unwrap().to_owned() + "\n").unwrap();
        write_page(&folder, &plan, &read_run(&folder, &plan).unwrap()).unwrap();
        let page = || std::fs::read_to_string(place.path().join("report.html")).unwrap();
        assert!(page().contains("No result yet") && page().contains("http-equiv=\"refresh\""));
        std::fs::write(folder.journal().path(), recorded).unwrap();
        write_page(&folder, &plan, &read_run(&folder, &plan).unwrap()).unwrap();
        assert!(!page().contains("No result yet") && page().contains("reiserfs"));
        let mut names: Vec<String> = std::fs::read_dir(place.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names, ["journal.jsonl", "plan.json", "report.html"]);
    }
}

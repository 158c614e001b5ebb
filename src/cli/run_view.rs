//! The view of a run on the terminal: questions, the forecast, the progress of trials and faults, and the live page.

use crate::fleet::Merged;
use crate::runner::{FaultNews, RunView, SiteNews};
use crate::study::{Observer, PreparedTrials, Prospect, RunFolder, Silent};
use fsverdict_judgement::journal::Run;
use fsverdict_judgement::plan::Plan;
use fsverdict_linux::guard::Refusal;
use fsverdict_linux::host::talk::print_line;
use fsverdict_report::{TerminalLook, wrap};
use fsverdict_text::{Hinted, Reason, quoted};

use super::device::ask_identity;
use super::fault_news::print_fault_news;
use super::forecast::forecast;
use super::interrupt;
use super::live::{Live, write_page};
use super::progress::Bar;
use super::report::{PAGE, open_page};

/// Shows a run on the terminal.
#[derive(Debug, Clone, Copy)]
pub(super) struct TerminalView {
    /// Whether no progress is shown.
    pub(super) quiet: bool,
    /// Whether the cost of a run is forecast when it begins.
    pub(super) forecasts: bool,
    /// Whether the report is opened in the browser when the run begins.
    pub(super) open: bool,
}

impl TerminalView {
    /// The observer that shows the progress of trials.
    pub(super) fn progress(self) -> Box<dyn Observer> {
        if self.quiet { Box::new(Silent) } else { Box::new(Bar::new()) }
    }
}

impl RunView for TerminalView {
    fn ask_identity(&self, refusal: &Refusal) -> Option<String> {
        ask_identity(refusal)
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

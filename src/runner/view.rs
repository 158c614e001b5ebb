//! The interface to the user while a run is carried out: questions, and news of its progress.

use crate::fleet::{Fleet, Merged};
use crate::study::{Observer, PreparedTrials, RunFolder};
use fsverdict_judgement::journal::Run;
use fsverdict_judgement::plan::Plan;
use fsverdict_linux::guard::Refusal;
use fsverdict_text::Reason;

use super::faults::FaultNews;

/// Tells the user how a run goes on, and asks where the user must decide.
pub trait RunView: Sync {
    /// Asks for the identity that lifts a refusal; returns `None` if there is no user to ask or no answer.
    fn ask_identity(&self, refusal: &Refusal) -> Option<String>;

    /// A new run is ready: its trials come next.
    ///
    /// # Errors
    /// Fails when the page that the user wants to see cannot be written.
    fn session_begins(&self, prepared: &PreparedTrials, folder: &RunFolder, run: &Run) -> Result<(), Reason>;

    /// The observer of the trials of this run.
    fn observe_trials<'a>(&'a self, folder: &'a RunFolder, plan: &'a Plan) -> Box<dyn Observer + 'a>;

    /// The run that is to be continued has already ended, for this reason.
    fn already_complete(&self, reason: &str);

    fn tell_faults(&self, news: FaultNews<'_>);

    fn tell_sites(&self, news: SiteNews<'_>);
}

/// News of a run at several sites.
#[derive(Clone, Copy)]
pub enum SiteNews<'a> {
    /// The inventory cannot be kept for `resume`, for this reason.
    NotKept(&'a str),
    Begins {
        folder: &'a RunFolder,
        fleet: &'a Fleet,
    },
    /// Blocks have arrived, and were merged.
    BlocksArrived(&'a Merged),
}

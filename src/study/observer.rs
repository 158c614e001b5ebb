//! The interface to an observer of a study, such as the display of its progress.

use fsverdict_judgement::journal::{Event, Run, TrialId};

use super::time::Outlook;

/// Receives the events of a study while it is conducted.
pub trait Observer {
    /// Announces the remaining work and the leader at the beginning of a block.
    fn expect_trials(&mut self, outlook: Outlook);
    /// Receives an event, with its trial if it belongs to one.
    fn observe_event(&mut self, trial: Option<&TrialId>, event: &Event);
    /// Receives the run as it is known at the end of a block.
    fn block_ended(&mut self, _run: &Run) {}
}

/// An observer that ignores all events.
#[derive(Debug, Default)]
pub struct Silent;

impl Observer for Silent {
    fn expect_trials(&mut self, _outlook: Outlook) {}
    fn observe_event(&mut self, _trial: Option<&TrialId>, _event: &Event) {}
}

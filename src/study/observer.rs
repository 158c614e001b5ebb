//! Who hears what happens while a study is conducted.

use fsverdict_judgement::journal::{Event, Run, TrialId};

/// Hears what happens while a study is conducted.
pub trait Observer {
    /// These candidates' trials are still to come, unless the study ends early; each as often as it will be tried.
    fn expect(&mut self, trials: Vec<String>);
    /// An event, with its trial if it belongs to one.
    fn event(&mut self, trial: Option<&TrialId>, event: &Event);
    /// A block has ended, and this is what is known.
    fn block_ended(&mut self, _run: &Run) {}
}

/// Hears nothing.
#[derive(Debug, Default)]
pub struct Silent;

impl Observer for Silent {
    fn expect(&mut self, _trials: Vec<String>) {}
    fn event(&mut self, _trial: Option<&TrialId>, _event: &Event) {}
}

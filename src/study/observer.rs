//! Who hears what happens while a study is conducted.

use crate::journal::{Event, Run, TrialId};

/// Hears what happens while a study is conducted.
pub trait Observer {
    /// `trials` more trials are expected in all, unless the study ends early.
    fn expect(&mut self, trials: u64);
    /// An event, with its trial if it belongs to one.
    fn event(&mut self, trial: Option<&TrialId>, event: &Event);
    /// A block has ended, and this is what is known.
    fn block_ended(&mut self, _run: &Run) {}
}

/// Hears nothing.
#[derive(Debug, Default)]
pub struct Silent;

impl Observer for Silent {
    fn expect(&mut self, _trials: u64) {}
    fn event(&mut self, _trial: Option<&TrialId>, _event: &Event) {}
}

//! Decides after each try of a trial whether it is tried again.

use fsverdict_lab::lab::{ATTEMPTS, Interruption, TrialEnd};

/// The results of a trial's tries before the current one.
#[derive(Debug, Default)]
pub(super) struct EarlierTries {
    /// The interruptions of tries that were ended from outside.
    pub(super) interruptions: Vec<Interruption>,
    /// Whether an earlier try crashed; after a second crash the trial has failed.
    pub(super) crashed: bool,
    /// Why the most recent try ended; `None` before the first end.
    pub(super) reason: Option<String>,
}

impl EarlierTries {
    /// Adds the end of one more try. Returns whether the trial is to be tried again.
    pub(super) fn add_try(&mut self, end: &TrialEnd) -> bool {
        let tried_before = self.reason.replace(end.reason.clone()).is_some();
        match end.interrupted {
            Some(interruption) => {
                self.interruptions.push(interruption);
                interruption.can_pass()
                    && self.interruptions.len() < ATTEMPTS
                    && !(end.unheard && tried_before)
            }
            None => {
                end.killed && !std::mem::replace(&mut self.crashed, true) && !(end.unheard && tried_before)
            }
        }
    }
}

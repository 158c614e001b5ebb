//! Counts how often a guest that is no trial of the run is ended from outside: it is started again, and after some times the
//! command stops, because nothing is known of the candidate by then.

use fsverdict_lab::lab::{ATTEMPTS, Interruption, LabError, TrialEnd, describe_interruptions};
use fsverdict_text::Reason;

use crate::error::FaultError;

/// What to do about a guest that is ended again and again.
const HINT: &str = "see who ended it (`dmesg` names what ran out of memory), and give the same command again";

#[derive(Debug, Default)]
pub(crate) struct Interruptions(Vec<Interruption>);

impl Interruptions {
    /// Takes in the end of a guest. Whether something outside ended it, so that it is to be started again.
    ///
    /// # Errors
    /// When that has happened too often.
    pub(crate) fn take(&mut self, end: &TrialEnd) -> Result<bool, FaultError> {
        // What a damaged filesystem makes its kernel do, memory that it takes included, is what is looked for.
        let from_outside = |interruption: &Interruption| interruption.can_pass();
        let Some(interruption) = end.interrupted.filter(from_outside) else { return Ok(false) };
        self.0.push(interruption);
        if self.0.len() < ATTEMPTS {
            return Ok(true);
        }
        let text = format!("{}: {}", describe_interruptions(&self.0), end.reason);
        let hint = if end.hint.is_empty() { HINT } else { &end.hint };
        Err(LabError::Machine(Reason::new(text, hint)).into())
    }
}

#[cfg(test)]
mod tests {
    use super::Interruptions;
    use fsverdict_judgement::journal::Status;
    use fsverdict_lab::lab::{Interruption, TrialEnd};

    fn end(interrupted: Option<Interruption>) -> TrialEnd {
        TrialEnd {
            status: Status::Failed,
            reason: "r".to_owned(),
            hint: String::new(),
            wall: 1.0,
            killed: interrupted.is_some(),
            interrupted,
            unheard: false,
            stopped: false,
            device_error: None,
        }
    }

    #[test]
    fn a_guest_that_is_killed_is_started_again_twice_and_then_nobody_is_blamed() {
        let mut seen = Interruptions::default();
        let killed = end(Some(Interruption::Signal(9)));
        assert!(!seen.take(&end(None)).unwrap());
        assert!(seen.take(&killed).unwrap() && seen.take(&killed).unwrap());
        let error = seen.take(&killed).unwrap_err().to_string();
        assert!(error.contains("killed by signal 9 three times: r"), "{error}");
        assert!(!Interruptions::default().take(&end(Some(Interruption::GuestOutOfMemory))).unwrap());
    }
}

//! Decides whether a guest that examines states and ended early is started again: when it was ended from outside, and after its
//! first death at a state. After several interruptions the command stops, because nothing is known of the candidate by then.

use fsverdict_lab::lab::{ATTEMPTS, Interruption, LabError, TrialEnd, describe_interruptions};
use fsverdict_text::Reason;

use crate::error::FaultError;

/// The hint for a guest that was ended repeatedly.
const HINT: &str = "find out what ended it (`dmesg` shows processes killed for lack of memory), and run the same command again";

#[derive(Debug, Default)]
pub(crate) struct Interruptions {
    from_outside: Vec<Interruption>,
    /// The state at which a guest died last.
    died_at: Option<usize>,
}

impl Interruptions {
    /// Takes in the end of a guest. Whether something outside ended it, so that it is to be started again.
    ///
    /// # Errors
    /// When that has happened too often.
    pub(crate) fn count_interruption(&mut self, end: &TrialEnd) -> Result<bool, FaultError> {
        // A kernel crash or memory shortage caused by a damaged filesystem is a finding, not an interruption.
        let from_outside = |interruption: &Interruption| interruption.can_pass();
        let Some(interruption) = end.interrupted.filter(from_outside) else { return Ok(false) };
        self.from_outside.push(interruption);
        if self.from_outside.len() < ATTEMPTS {
            return Ok(true);
        }
        let text = format!("{}: {}", describe_interruptions(&self.from_outside), end.reason);
        let hint = if end.hint.is_empty() { HINT } else { &end.hint };
        Err(LabError::Machine(Reason::new(text, hint)).into())
    }

    /// Takes in the end of a guest. Whether something outside may have changed its reports, so that all of them are to be
    /// examined again.
    ///
    /// # Errors
    /// When a guest was ended from outside too often.
    pub(crate) fn count_spoiled(&mut self, end: &TrialEnd) -> Result<bool, FaultError> {
        match end.interrupted {
            Some(interruption) if interruption.spoils_reports() => self.count_interruption(end),
            _ => Ok(false),
        }
    }

    /// Whether this is the first death at this state, which a guest is to examine once more: a process of the guest's that somebody
    /// kills can make its kernel panic or spin, and only a death that is repeated is the filesystem's.
    pub(crate) fn is_first_death_at(&mut self, state: usize) -> bool {
        self.died_at.replace(state) != Some(state)
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
        assert!(!seen.count_interruption(&end(None)).unwrap());
        assert!(seen.count_interruption(&killed).unwrap() && seen.count_interruption(&killed).unwrap());
        let error = seen.count_interruption(&killed).unwrap_err().to_string();
        assert!(error.contains("killed by signal 9 three times: r"), "{error}");
        assert!(
            !Interruptions::default().count_interruption(&end(Some(Interruption::GuestOutOfMemory))).unwrap()
        );
    }

    #[test]
    fn reports_of_a_guest_that_lost_a_process_are_not_believed_and_of_one_that_was_killed_are() {
        let mut seen = Interruptions::default();
        let lost = end(Some(Interruption::GuestProcess(9)));
        assert!(!seen.count_spoiled(&end(Some(Interruption::Signal(9)))).unwrap());
        assert!(seen.count_spoiled(&lost).unwrap() && seen.count_spoiled(&lost).unwrap());
        let error = seen.count_spoiled(&lost).unwrap_err().to_string();
        assert!(error.contains("a process of its guest got signal 9 three times: r"), "{error}");
    }

    #[test]
    fn only_a_second_death_at_the_same_state_is_the_filesystems() {
        let mut deaths = Interruptions::default();
        let first = [3, 3, 4, 9, 9].map(|state| deaths.is_first_death_at(state));
        assert_eq!(first, [true, false, true, true, false]);
    }
}

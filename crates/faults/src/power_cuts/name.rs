//! The name of a power-cut state: the recorded part of the candidate, and the surviving writes.

use std::fmt;
use std::str::FromStr;

use fsverdict_disk::crash::{CrashState, StateNameError};

/// `1234-first3`, or, where work takes several trials, `2:1234-first3`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct CutName {
    /// From 0.
    pub part: u32,
    pub state: CrashState,
}

impl fmt::Display for CutName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.part > 0 {
            write!(formatter, "{}:", self.part)?;
        }
        self.state.fmt(formatter)
    }
}

impl FromStr for CutName {
    type Err = StateNameError;

    fn from_str(name: &str) -> Result<CutName, StateNameError> {
        let numbered = name.split_once(':').and_then(|(part, state)| Some((part.parse().ok()?, state)));
        let (part, state) = numbered.unwrap_or((0, name));
        // An error message quotes the whole name.
        let state = state.parse().map_err(|_| StateNameError::for_text(name))?;
        Ok(CutName { part, state })
    }
}

#[cfg(test)]
mod tests {
    use super::CutName;

    #[test]
    fn a_name_says_which_trial_and_which_state() {
        for name in ["1234-none", "3:12-torn0.8", "70:1-all"] {
            assert_eq!(name.parse::<CutName>().unwrap().to_string(), name);
        }
        assert_eq!("0:5-all".parse::<CutName>().unwrap().to_string(), "5-all");
        for wrong in ["", ":", "1:", "x:1-all", "1:2:3-all", "1-everything"] {
            assert!(wrong.parse::<CutName>().unwrap_err().to_string().contains(wrong), "{wrong}");
        }
    }
}

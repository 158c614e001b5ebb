//! One state in which a device may be found when its power comes back, and its name, from which it can be made again.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::device::random::mix;

/// When power is cut, and what of the uncertain writes survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct CrashState {
    /// How many requests of the log are completed.
    pub cut: usize,
    pub survivors: Survivors,
}

/// Which of the writes survive that may be lost. They are counted from 0 in the order of their completion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Survivors {
    None,
    All,
    /// So many of the first.
    First(u32),
    /// One alone.
    Only(u32),
    /// All but one.
    Without(u32),
    /// Each or not, by chance of this seed.
    Some(u32),
    /// Those before this one, and so many sectors of it.
    Torn {
        before: u32,
        sectors: u32,
    },
}

/// What is no name of a state.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no name of a state: it is a number and what survived, as in 1234-first3")]
pub struct StateNameError(String);

impl StateNameError {
    /// About this text, of which the beginning is told.
    pub fn of(name: &str) -> StateNameError {
        StateNameError(name.chars().take(40).collect())
    }
}

impl Survivors {
    /// How much of the uncertain write of this number, of so many sectors, is there, in sectors; none where it was lost.
    pub(super) fn keeps(self, number: u32, sectors: u32) -> Option<u32> {
        let whole = match self {
            Survivors::None => false,
            Survivors::All => true,
            Survivors::First(count) => number < count,
            Survivors::Only(one) => number == one,
            Survivors::Without(one) => number != one,
            Survivors::Some(seed) => mix(mix(u64::from(seed)) ^ u64::from(number)) & 1 == 1,
            Survivors::Torn { before, sectors: kept } if number == before => return Some(kept.min(sectors)),
            Survivors::Torn { before, .. } => number < before,
        };
        whole.then_some(sectors)
    }
}

impl fmt::Display for CrashState {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}-", self.cut)?;
        match self.survivors {
            Survivors::None => formatter.write_str("none"),
            Survivors::All => formatter.write_str("all"),
            Survivors::First(count) => write!(formatter, "first{count}"),
            Survivors::Only(one) => write!(formatter, "only{one}"),
            Survivors::Without(one) => write!(formatter, "without{one}"),
            Survivors::Some(seed) => write!(formatter, "some{seed}"),
            Survivors::Torn { before, sectors } => write!(formatter, "torn{before}.{sectors}"),
        }
    }
}

impl FromStr for CrashState {
    type Err = StateNameError;

    fn from_str(name: &str) -> Result<CrashState, StateNameError> {
        let read = || {
            let (cut, survivors) = name.split_once('-')?;
            let at = survivors.find(|letter: char| letter.is_ascii_digit()).unwrap_or(survivors.len());
            let (word, number) = survivors.split_at(at);
            let survivors = match (word, number) {
                ("none", "") => Survivors::None,
                ("all", "") => Survivors::All,
                ("first", count) => Survivors::First(count.parse().ok()?),
                ("only", one) => Survivors::Only(one.parse().ok()?),
                ("without", one) => Survivors::Without(one.parse().ok()?),
                ("some", seed) => Survivors::Some(seed.parse().ok()?),
                ("torn", both) => {
                    let (before, sectors) = both.split_once('.')?;
                    Survivors::Torn { before: before.parse().ok()?, sectors: sectors.parse().ok()? }
                }
                _ => return None,
            };
            Some(CrashState { cut: cut.parse().ok()?, survivors })
        };
        read().ok_or_else(|| StateNameError::of(name))
    }
}

impl From<CrashState> for String {
    fn from(state: CrashState) -> String {
        state.to_string()
    }
}

impl TryFrom<String> for CrashState {
    type Error = StateNameError;

    fn try_from(name: String) -> Result<CrashState, StateNameError> {
        name.parse()
    }
}

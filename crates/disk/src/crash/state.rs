//! One crash state that a device may be in when its power returns, and its name, from which it can be built again.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::device::random::mix_bits;

/// The time of a power cut, and the uncertain writes that survive it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct CrashState {
    /// Number of requests of the log that are completed.
    pub cut: usize,
    pub survivors: Survivors,
}

/// The uncertain writes that survive. They are counted from 0 in the order of their completion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Survivors {
    None,
    All,
    /// The first ones, as many as this.
    First(u32),
    /// Only this one.
    Only(u32),
    /// All but this one.
    Without(u32),
    /// Each survives or not, by a hash of this seed.
    Some(u32),
    /// All before this one, and this many sectors of it.
    Torn {
        before: u32,
        sectors: u32,
    },
}

/// A text that does not name a crash state.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no name of a state: it is a number and what survived, as in 1234-first3")]
pub struct StateNameError(String);

impl StateNameError {
    /// For this text, of which the error quotes the beginning.
    pub fn for_text(name: &str) -> StateNameError {
        StateNameError(name.chars().take(40).collect())
    }
}

impl Survivors {
    /// Number of sectors that survive of the uncertain write `number`, which has `sectors`; `None` where it is lost.
    pub(super) fn surviving_sectors(self, number: u32, sectors: u32) -> Option<u32> {
        let survives = match self {
            Survivors::None => false,
            Survivors::All => true,
            Survivors::First(count) => number < count,
            Survivors::Only(index) => number == index,
            Survivors::Without(index) => number != index,
            Survivors::Some(seed) => mix_bits(mix_bits(u64::from(seed)) ^ u64::from(number)) & 1 == 1,
            Survivors::Torn { before, sectors: written } if number == before => {
                return Some(written.min(sectors));
            }
            Survivors::Torn { before, .. } => number < before,
        };
        survives.then_some(sectors)
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
        let parse_parts = || {
            let (cut, survivors) = name.split_once('-')?;
            let digits_start =
                survivors.find(|letter: char| letter.is_ascii_digit()).unwrap_or(survivors.len());
            let (word, number) = survivors.split_at(digits_start);
            let survivors = match (word, number) {
                ("none", "") => Survivors::None,
                ("all", "") => Survivors::All,
                ("first", count) => Survivors::First(count.parse().ok()?),
                ("only", one) => Survivors::Only(one.parse().ok()?),
                ("without", one) => Survivors::Without(one.parse().ok()?),
                ("some", seed) => Survivors::Some(seed.parse().ok()?),
                ("torn", parts) => {
                    let (before, sectors) = parts.split_once('.')?;
                    Survivors::Torn { before: before.parse().ok()?, sectors: sectors.parse().ok()? }
                }
                _ => return None,
            };
            Some(CrashState { cut: cut.parse().ok()?, survivors })
        };
        parse_parts().ok_or_else(|| StateNameError::for_text(name))
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

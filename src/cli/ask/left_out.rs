//! The candidates of a plan that a question is not asked of, and why.

use std::collections::BTreeMap;

use fsverdict_judgement::plan::RequiredProperty;

/// Why candidates are not tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LeftOutReason {
    /// They lack a required property, or one that is compared.
    Unable,
    /// They are encrypted, and the question does not mention encryption.
    Encrypted,
    /// They are designed for flash, and the device is a disk.
    ForFlash,
    /// The preset took a protection away from them.
    Weakened,
}

impl LeftOutReason {
    /// For the user, after the names.
    pub(super) fn describe(self) -> &'static str {
        match self {
            LeftOutReason::Unable => "they lack what is required or compared",
            LeftOutReason::Encrypted => {
                "encryption was not asked for (`encrypted` asks for it, `with and without encryption` compares)"
            }
            LeftOutReason::ForFlash => {
                "designed for flash, and a trial does not show how files are scattered on a disk over time (name it to try it)"
            }
            LeftOutReason::Weakened => {
                "a protection was taken away from them, to show what it is worth (`fsverdict run` with the preset tries them)"
            }
        }
    }
}

/// Names of candidates by the reason why they are not tried.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct LeftOutCandidates {
    names: BTreeMap<LeftOutReason, Vec<String>>,
    /// Of the required properties those that at least one of them lacks.
    pub(super) lacked: Vec<RequiredProperty>,
}

impl LeftOutCandidates {
    pub(super) fn add(&mut self, reason: LeftOutReason, names: impl IntoIterator<Item = String>) {
        self.names.entry(reason).or_default().extend(names);
    }

    /// The names of each reason for which there are some.
    pub(super) fn groups(&self) -> impl Iterator<Item = (LeftOutReason, &[String])> {
        self.names
            .iter()
            .map(|(reason, names)| (*reason, names.as_slice()))
            .filter(|(_, names)| !names.is_empty())
    }

    #[cfg(test)]
    pub(super) fn names(&self, reason: LeftOutReason) -> &[String] {
        self.names.get(&reason).map_or(&[], Vec::as_slice)
    }
}

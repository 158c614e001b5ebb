//! The labs that a plan can name, one row each: the keyword, and the requests that a plan may make of the lab. The lab
//! crate implements them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use fsverdict_text::Reason;

use fsverdict_text::choose_by_name;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LabChoice {
    /// The first of native, uml that may and can run every candidate.
    Auto,
    /// This machine's kernel, as root.
    Native,
    /// A Linux kernel as an ordinary process (User-Mode Linux).
    Uml,
    Vm,
}

/// The owner of the kernel on which trials run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KernelOwner {
    /// Unknown until the lab is chosen.
    Open,
    /// This machine's kernel: a plan can set neither the kernel nor its memory.
    Machine,
    /// A guest's kernel, without access to this machine's folders or network.
    Guest,
}

/// The requests that a plan may make of a lab.
pub(super) struct Offer {
    lab: LabChoice,
    word: &'static str,
    pub(super) kernel: KernelOwner,
    pub(super) has_models: bool,
    /// Why its clock cannot be a modelled device's, where that has to be said of the lab itself.
    pub(super) against_simulation: Option<&'static str>,
}

const OFFERS: &[Offer] = &[
    Offer {
        lab: LabChoice::Auto,
        word: "auto",
        kernel: KernelOwner::Open,
        has_models: true,
        against_simulation: None,
    },
    Offer {
        lab: LabChoice::Native,
        word: "native",
        kernel: KernelOwner::Machine,
        has_models: false,
        against_simulation: None,
    },
    Offer {
        lab: LabChoice::Uml,
        word: "uml",
        kernel: KernelOwner::Guest,
        has_models: true,
        against_simulation: None,
    },
    Offer {
        lab: LabChoice::Vm,
        word: "vm",
        kernel: KernelOwner::Guest,
        has_models: true,
        against_simulation: Some("a virtual machine's clock is this machine's"),
    },
];

impl LabChoice {
    /// Every lab, `auto` first.
    pub fn all() -> impl Iterator<Item = LabChoice> {
        OFFERS.iter().map(|offer| offer.lab)
    }

    /// The keyword in a plan and on the command line.
    pub fn word(self) -> &'static str {
        self.lab_offer().word
    }

    pub(super) fn lab_offer(self) -> &'static Offer {
        OFFERS.iter().find(|offer| offer.lab == self).unwrap_or(&OFFERS[0])
    }

    /// The labs with a guest's kernel, for a hint: each word within `around`.
    pub(super) fn guest_labs(around: [&str; 2]) -> String {
        let [before, after] = around;
        let guests = OFFERS.iter().filter(|offer| offer.kernel == KernelOwner::Guest);
        guests.map(|offer| format!("{before}{}{after}", offer.word)).collect::<Vec<_>>().join(" or ")
    }
}

impl fmt::Display for LabChoice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.word())
    }
}

impl FromStr for LabChoice {
    type Err = Reason;

    fn from_str(word: &str) -> Result<Self, Reason> {
        let words: Vec<_> = LabChoice::all().map(|lab| (lab.word(), lab)).collect();
        choose_by_name(word, &words, "there is no lab")
    }
}

#[cfg(test)]
mod tests {
    use super::LabChoice;

    #[test]
    fn labs_are_read_as_they_are_shown_and_stored() {
        for lab in LabChoice::all() {
            assert_eq!(lab.word().parse::<LabChoice>().unwrap(), lab);
            assert_eq!(serde_json::to_value(lab).unwrap(), lab.word());
        }
        let error = "umll".parse::<LabChoice>().unwrap_err();
        assert_eq!(error.to_string(), "there is no lab `umll`\nhint: did you mean `uml`?");
    }

    #[test]
    fn hints_name_the_labs_with_guests() {
        assert_eq!(LabChoice::guest_labs(["--lab ", ""]), "--lab uml or --lab vm");
    }
}

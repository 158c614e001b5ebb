//! The labs that a plan can name, one row each: the keyword, and the requests that a plan may make of the lab. The lab
//! crate implements them.

use std::fmt;

use super::choice_words::choice_words;

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
    pub(super) kernel: KernelOwner,
    pub(super) has_models: bool,
    /// Why its clock cannot be a modelled device's, where that has to be said of the lab itself.
    pub(super) against_simulation: Option<&'static str>,
}

const fn offer(kernel: KernelOwner, has_models: bool, against_simulation: Option<&'static str>) -> Offer {
    Offer { kernel, has_models, against_simulation }
}

choice_words! {
    #[derive(Default)]
    pub enum LabChoice -> (pub(super) lab_offer: Offer), unknown "there is no lab" {
        /// The first of native, uml that may and can run every candidate.
        #[default]
        Auto = "auto" => offer(KernelOwner::Open, true, None),
        /// This machine's kernel, as root.
        Native = "native" => offer(KernelOwner::Machine, false, None),
        /// A Linux kernel as an ordinary process (User-Mode Linux).
        Uml = "uml" => offer(KernelOwner::Guest, true, None),
        Vm = "vm" => offer(KernelOwner::Guest, true, Some("a virtual machine's clock is this machine's")),
    }
}

impl LabChoice {
    /// The labs with a guest's kernel, for a hint: each word within `around`.
    pub(super) fn guest_labs(around: [&str; 2]) -> String {
        let [before, after] = around;
        let guests = Self::ALL.into_iter().filter(|lab| lab.lab_offer().kernel == KernelOwner::Guest);
        guests.map(|lab| format!("{before}{}{after}", lab.word())).collect::<Vec<_>>().join(" or ")
    }
}

impl fmt::Display for LabChoice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.word())
    }
}

#[cfg(test)]
mod tests {
    use super::LabChoice;

    #[test]
    fn labs_are_read_as_they_are_shown_and_stored() {
        for lab in LabChoice::ALL {
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

//! What stands in the table of labs.

use fsverdict_judgement::plan::{DeviceSource, LabChoice, Plan};

use super::guest::Arrival;
use super::{Intent, Lab, LabError};

/// What a lab says of itself before it is asked for; each stands in the lab's own file.
pub struct LabEntry {
    pub(super) choice: LabChoice,
    pub summary: &'static str,
    /// Whether what a plan names as its device can be attached there.
    pub(super) takes: fn(&DeviceSource) -> bool,
    pub(super) prepare: Prepare,
    /// Where trials run in guests of ours.
    pub(super) arrival: Option<Arrival>,
}

pub(super) type Prepare = fn(&Plan, Intent) -> Result<Box<dyn Lab>, LabError>;

impl LabEntry {
    /// `native`, `uml` …
    pub fn name(&self) -> &'static str {
        self.choice.word()
    }

    pub(super) fn lab(&self, plan: &Plan, intent: Intent) -> Result<Box<dyn Lab>, LabError> {
        let source = &plan.device.source;
        if (self.takes)(source) {
            (self.prepare)(plan, intent)
        } else {
            Err(LabError::NoSuchDevice { lab: self.name(), wanted: source.clone() })
        }
    }
}

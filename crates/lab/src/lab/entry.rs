//! An entry in the table of labs.

use fsverdict_judgement::plan::{DeviceSource, LabChoice, Plan};

use super::guest::Arrival;
use super::{Intent, Lab, LabError};

/// The static description of a lab; each lab's file defines its own.
pub struct LabEntry {
    pub(super) choice: LabChoice,
    pub summary: &'static str,
    /// Whether a lab supports this source of devices.
    pub(super) takes: fn(&DeviceSource) -> bool,
    pub(super) prepare: Prepare,
    /// How guests start, in labs that run them.
    pub(super) arrival: Option<Arrival>,
}

pub(super) type Prepare = fn(&Plan, Intent) -> Result<Box<dyn Lab>, LabError>;

impl LabEntry {
    /// `native`, `uml` …
    pub fn name(&self) -> &'static str {
        self.choice.word()
    }

    pub(super) fn prepare_lab(&self, plan: &Plan, intent: Intent) -> Result<Box<dyn Lab>, LabError> {
        let source = &plan.device.source;
        if (self.takes)(source) {
            (self.prepare)(plan, intent)
        } else {
            Err(LabError::NoSuchDevice { lab: self.name(), wanted: source.clone() })
        }
    }
}

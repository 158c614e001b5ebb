//! Typed facts about the start of a run and about a trial that the program itself uses. The other facts, by name, are
//! only displayed.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use fsverdict_text::{DrawnNumbers, bounded_map};

use super::ProcessorModel;
use crate::plan::stored_table;

/// The maximum number of kinds of access that a journal may name; there are seven.
const MOST_KINDS: usize = 32;

stored_table! {
    /// Facts about a run; unknown values are omitted.
    #[derive(Debug, Clone, Default, PartialEq)]
    pub struct Beginning {
        /// The seed of the order of trials.
        order_seed?: u64,
        /// Whether the circumstances are drawn for each block.
        drawn?: bool,
        /// The memory in bytes where trials run: the smallest of the guests' sizes, or else the machine's.
        memory?: u64,
        /// The bytes of that memory that datasets use.
        memory_of_datasets?: u64,
        /// The size of the device in bytes.
        device_size?: u64,
        /// In a journal that was merged from several sites: the names of the sites.
        sites?: Vec<String>,
        /// In simulated time: the processor models that price computation. Without one, computation takes no time.
        processors!: Vec<ProcessorModel>,
        /// On modelled devices: by how much the models' times may be wrong, by kind of access (one standard deviation of
        /// the logarithm). Of several models it is the largest.
        access_errors in "bounded_map::<_, _, MOST_KINDS>": BTreeMap<String, f64>,
    }
}

stored_table! {
    /// Facts about a trial; unknown values are omitted.
    #[derive(Debug, Clone, Default, PartialEq)]
    pub struct Learnt {
        /// The simulated seconds that the trial took on its device.
        device_seconds?: f64,
        /// The content of each of the user's folders when it was staged, by dataset: number of files, bytes and digest.
        held!: BTreeMap<String, String>,
        /// The times that calibration measured on the device, in the form of `fsverdict_disk::calibrate`. No judgement uses
        /// them.
        calibration?: serde_json::Value,
        /// The parameters that were drawn for this device of a class of devices.
        drawn!: DrawnNumbers,
        /// Background work of the filesystem while phases were timed.
        background!: Vec<BackgroundWork>,
    }
}

impl Learnt {
    /// Adds the facts that were learnt later.
    pub(super) fn add(&mut self, later: Learnt) {
        self.device_seconds = later.device_seconds.or(self.device_seconds);
        self.held.extend(later.held);
        self.calibration = later.calibration.or(self.calibration.take());
        self.drawn.extend(later.drawn);
        self.background.extend(later.background);
    }
}

/// Background I/O of the device that no call of the phase requested.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackgroundWork {
    /// The phases in which the work was detected.
    pub phases: BTreeSet<String>,
    /// The predicate of a sentence that begins with "the device".
    pub does: String,
    /// Whether each mount causes the work once.
    #[serde(rename = "once_a_mount")]
    pub once_per_mount: bool,
    /// How to avoid the work.
    pub avoided_by: String,
}

#[cfg(test)]
mod tests {
    use super::Learnt;
    use crate::journal::{Event, Facts};

    #[test]
    fn a_journal_says_nothing_of_what_is_not_known() {
        let event = Event::Facts { facts: Facts::new(), learnt: Learnt::default() };
        assert_eq!(serde_json::to_string(&event).unwrap(), r#"{"event":"facts","facts":{}}"#);
        assert_eq!(serde_json::from_str::<Event>(r#"{"event":"facts","facts":{}}"#).unwrap(), event);
        let started = crate::journal::made::started();
        let text = serde_json::to_string(&started).unwrap();
        assert!(!text.contains("beginning"), "{text}");
        assert_eq!(serde_json::from_str::<Event>(&text).unwrap(), started);
    }
}

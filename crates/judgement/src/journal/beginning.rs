//! Typed facts about the start of a run and about a trial that the program itself uses. The other facts, by name, are
//! only displayed.
//!
//! Journals of earlier versions contain only the untyped facts: if a typed field is missing, this file, and no other,
//! reads it from them.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use fsverdict_text::{DrawnNumbers, bounded_map};

use super::{DATASET_FACT, Event, Facts, MERGED_FACT, ProcessorModel};

/// The maximum number of kinds of access that a journal may name; there are seven.
const MOST_KINDS: usize = 32;

/// Facts about a run; unknown values are omitted.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Beginning {
    /// The seed of the order of trials.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order_seed: Option<u64>,
    /// Whether the circumstances are drawn for each block.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drawn: Option<bool>,
    /// The memory in bytes where trials run: the smallest of the guests' sizes, or else the machine's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<u64>,
    /// The bytes of that memory that datasets use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_of_datasets: Option<u64>,
    /// The size of the device in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_size: Option<u64>,
    /// In a journal that was merged from several sites: the names of the sites.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sites: Option<Vec<String>>,
    /// In simulated time: the processor models that price computation. Without one, computation takes no time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub processors: Vec<ProcessorModel>,
    /// On modelled devices: by how much the models' times may be wrong, by kind of access (one standard deviation of
    /// the logarithm). Of several models it is the largest.
    #[serde(
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "bounded_map::<_, _, MOST_KINDS>"
    )]
    pub access_errors: BTreeMap<String, f64>,
}

impl Beginning {
    /// The facts in the first record of a run; `None` if the record is another event.
    pub fn from_event(first: &Event) -> Option<Self> {
        match first {
            Event::RunStarted { beginning, environment, .. } => {
                Some(beginning.clone().fill_from_untyped_facts(environment))
            }
            _ => None,
        }
    }

    pub(super) fn is_unknown(&self) -> bool {
        *self == Beginning::default()
    }

    /// Fills fields that are missing in a journal of an earlier version from the facts by name.
    fn fill_from_untyped_facts(self, facts: &Facts) -> Self {
        // If there are several values, the first is used.
        let number = |name: &str| facts.get(name)?.split(',').next()?.parse::<u64>().ok();
        let names = || facts.get(MERGED_FACT).map(|names| names.split(", ").map(str::to_owned).collect());
        Beginning {
            order_seed: self.order_seed.or_else(|| number("order.seed")),
            drawn: self.drawn.or_else(|| facts.get("circumstances").map(|choice| choice == "drawn")),
            memory: self.memory.or_else(|| number("lab.memory")).or_else(|| number("memory.total")),
            memory_of_datasets: self.memory_of_datasets.or_else(|| number("lab.memory_of_datasets")),
            device_size: self.device_size.or_else(|| number("device.size")),
            sites: self.sites.or_else(names),
            processors: self.processors,
            access_errors: self.access_errors,
        }
    }
}

/// Facts about a trial; unknown values are omitted.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Learnt {
    /// The simulated seconds that the trial took on its device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_seconds: Option<f64>,
    /// The content of each of the user's folders when it was staged, by dataset: number of files, bytes and digest.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub held: BTreeMap<String, String>,
    /// The times that calibration measured on the device, in the form of `fsverdict_disk::calibrate`. No judgement uses
    /// them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calibration: Option<serde_json::Value>,
    /// The parameters that were drawn for this device of a class of devices.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub drawn: DrawnNumbers,
    /// Background work of the filesystem while phases were timed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub background: Vec<BackgroundWork>,
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

impl Learnt {
    pub(super) fn is_nothing(&self) -> bool {
        *self == Learnt::default()
    }

    /// Fills fields that are missing in a journal of an earlier version from the facts by name.
    pub(super) fn fill_from_untyped_facts(mut self, facts: &Facts) -> Self {
        let seconds = || facts.get("device.seconds")?.parse().ok();
        self.device_seconds = self.device_seconds.or_else(seconds);
        for (name, held) in facts {
            if let Some(dataset) = name.strip_prefix(DATASET_FACT) {
                self.held.entry(dataset.to_owned()).or_insert_with(|| held.clone());
            }
        }
        self
    }

    /// Adds the facts that were learnt later.
    pub(super) fn add(&mut self, later: Learnt) {
        self.device_seconds = later.device_seconds.or(self.device_seconds);
        self.held.extend(later.held);
        self.calibration = later.calibration.or(self.calibration.take());
        self.drawn.extend(later.drawn);
        self.background.extend(later.background);
    }
}

#[cfg(test)]
mod tests {
    use super::{Beginning, Learnt};
    use crate::journal::{Event, Facts};

    fn facts(facts: &[(&str, &str)]) -> Facts {
        facts.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn a_field_is_taken_before_a_fact_and_a_fact_where_there_is_no_field() {
        let told = facts(&[
            ("order.seed", "7"),
            ("circumstances", "drawn"),
            ("lab.memory", "1024, 2048"),
            ("memory.total", "9"),
            ("device.size", "512"),
            ("merged.sites", "a, b"),
        ]);
        let old = Beginning::default().fill_from_untyped_facts(&told);
        let sites = Some(vec!["a".to_owned(), "b".to_owned()]);
        let wanted = Beginning {
            order_seed: Some(7),
            drawn: Some(true),
            memory: Some(1024),
            memory_of_datasets: None,
            device_size: Some(512),
            sites,
            processors: Vec::new(),
            access_errors: std::collections::BTreeMap::new(),
        };
        assert_eq!(old, wanted);
        let new = Beginning { order_seed: Some(8), drawn: Some(false), ..Beginning::default() };
        let new = new.fill_from_untyped_facts(&told);
        assert_eq!((new.order_seed, new.drawn, new.device_size), (Some(8), Some(false), Some(512)));
        assert_eq!(
            Beginning::default().fill_from_untyped_facts(&facts(&[("memory.total", "9")])).memory,
            Some(9)
        );
    }

    #[test]
    fn what_a_trial_learnt_is_read_from_either() {
        let told = facts(&[("device.seconds", "2460.04"), ("dataset.docs", "3 files"), ("device.size", "1")]);
        let old = Learnt::default().fill_from_untyped_facts(&told);
        assert_eq!((old.device_seconds, old.held.len()), (Some(2460.04), 1));
        assert_eq!(old.held["docs"], "3 files");
        let mut new =
            Learnt { device_seconds: Some(1.0), ..Learnt::default() }.fill_from_untyped_facts(&told);
        assert_eq!(new.device_seconds, Some(1.0));
        new.add(Learnt::default());
        assert_eq!(new.device_seconds, Some(1.0));
    }

    #[test]
    fn a_journal_says_nothing_of_what_is_not_known() {
        let event = Event::Facts { facts: Facts::new(), learnt: Learnt::default() };
        assert_eq!(serde_json::to_string(&event).unwrap(), r#"{"event":"facts","facts":{}}"#);
        assert_eq!(serde_json::from_str::<Event>(r#"{"event":"facts","facts":{}}"#).unwrap(), event);
        let started = crate::journal::made::started();
        let text = serde_json::to_string(&started).unwrap();
        assert!(!text.contains("beginning"), "{text}");
        assert_eq!(serde_json::from_str::<Event>(&text).unwrap(), started);
        assert_eq!(Beginning::from_event(&started), Some(Beginning::default()));
    }
}

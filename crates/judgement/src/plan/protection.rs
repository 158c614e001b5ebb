//! The protection level of a candidate: the features that its layers and options add to a filesystem that is consistent
//! after a power cut, and those that it lacks. Candidates of different levels are not ranked against each other.
//!
//! The stack crate interprets the options of a candidate; a plan stores the result, so that a run is judged by the
//! levels it began with.

use std::collections::{BTreeMap, BTreeSet};

use fsverdict_text::value::filled_text;
use fsverdict_text::{Node, Reason};
use serde::{Deserialize, Serialize};

use super::choice_words::choice_words;
use super::{Candidate, Goal, Plan};

/// What is known of a feature.
struct FeatureRow {
    is_weaker: bool,
    is_of_level: bool,
    present: &'static str,
    absent: &'static str,
    /// The feature that the better protected of two candidates has.
    noun: &'static str,
}

/// A feature that protects more than usual.
const fn stronger_than_usual(present: &'static str, absent: &'static str, noun: &'static str) -> FeatureRow {
    FeatureRow { is_weaker: false, is_of_level: true, present, absent, noun }
}

/// A feature that protects less than usual.
const fn weaker_than_usual(present: &'static str, absent: &'static str, noun: &'static str) -> FeatureRow {
    FeatureRow { is_weaker: true, ..stronger_than_usual(present, absent, noun) }
}

/// A property that filesystems have or lack by nature.
const fn inherent_property(present: &'static str, absent: &'static str, noun: &'static str) -> FeatureRow {
    FeatureRow { is_of_level: false, ..stronger_than_usual(present, absent, noun) }
}

choice_words! {
    /// One way in which the protection of a candidate differs from that of a journalling or copy-on-write filesystem with
    /// default options on a bare device.
    #[derive(PartialOrd, Ord)]
    pub enum ProtectionFeature -> (row: FeatureRow) {
        /// The device contains no readable data.
        Encrypted = "encrypted" => stronger_than_usual("encrypted", "unencrypted", "encryption"),
        /// The data survive the loss of one device.
        Redundant = "redundant" => stronger_than_usual("redundant", "not redundant", "redundancy"),
        /// One device has two copies of the data.
        DuplicatedData = "duplicated_data" => stronger_than_usual("two copies of data", "one copy of data", "a second copy of the data"),
        /// A layer checks the checksum of each sector when it is read.
        CheckedSectors = "checked_sectors" => stronger_than_usual("checksums of sectors", "no checksums of sectors", "checksums of sectors"),
        /// A layer refuses data that were changed since they were sealed.
        SealedData = "sealed_data" => stronger_than_usual("sealed", "not sealed", "sealing"),
        /// The content of files goes through the journal, too.
        JournalledData = "journalled_data" => stronger_than_usual("data in the journal", "data outside the journal", "data in the journal"),
        /// Every write is on the device when the call returns.
        SynchronousWrites = "synchronous_writes" => stronger_than_usual("synchronous writes", "cached writes", "writing synchronously"),
        /// There is neither a journal nor copy-on-write, or a layer below undoes their effect.
        NotCrashSafe = "not_crash_safe" => weaker_than_usual("not crash-safe", "crash-safe", "crash safety"),
        /// The device is not told to flush its cache, so that a power cut loses data that were synced.
        NoFlushes = "no_flushes" => weaker_than_usual("without flushes", "with flushes", "flushing the device's cache"),
        /// Metadata may reach the device before the data that they describe.
        UnorderedWrites = "unordered_writes" => weaker_than_usual("unordered writes", "ordered writes", "writing data before their metadata"),
        /// Calls that make data durable return before they are (ZFS, `sync=disabled`).
        IgnoredSync = "ignored_sync" => weaker_than_usual("fsync ignored", "fsync obeyed", "obeying fsync"),
        /// The filesystem checks the checksum of data when they are read.
        DataChecksums = "data_checksums" => inherent_property("checksums of data", "no checksums of data", "checksums of data"),
        /// The filesystem checks the checksum of metadata when they are read.
        MetadataChecksums = "metadata_checksums" => inherent_property("checksums of metadata", "no checksums of metadata", "checksums of metadata"),
        /// One device has two copies of the metadata.
        MetadataCopies = "metadata_copies" => inherent_property("two copies of metadata", "one copy of metadata", "a second copy of the metadata"),
        /// A file that was renamed over another has its content after a power cut.
        RenamedContent = "renamed_content" => inherent_property("renamed files whole", "renamed files may be empty", "the content of renamed files"),
        /// An fsync of a file makes its names durable, too.
        SyncedNames = "synced_names" => inherent_property("names synced", "names not synced", "names that fsync makes durable"),
    }
}

impl ProtectionFeature {
    /// Whether a candidate with it is protected less than one without it.
    pub const fn is_weaker(self) -> bool {
        self.row().is_weaker
    }

    /// Whether candidates that differ in it belong to different levels. The others are properties that filesystems have
    /// or lack by nature, and decide only between equals (`goal.safeguards`).
    pub const fn is_of_level(self) -> bool {
        self.row().is_of_level
    }

    /// A candidate that has the feature, in a word or two, such as `encrypted`.
    pub const fn adjective(self) -> &'static str {
        self.row().present
    }

    /// The feature that a candidate with more protection has, such as `encryption`.
    pub const fn noun(self) -> &'static str {
        self.row().noun
    }
}

/// The features of a candidate; none for a journalling or copy-on-write filesystem as it is made by default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Protection(BTreeSet<ProtectionFeature>);

impl FromIterator<ProtectionFeature> for Protection {
    fn from_iter<I: IntoIterator<Item = ProtectionFeature>>(features: I) -> Self {
        Self(features.into_iter().collect())
    }
}

impl Protection {
    pub fn has(&self, feature: ProtectionFeature) -> bool {
        self.0.contains(&feature)
    }

    pub fn features(&self) -> impl Iterator<Item = ProtectionFeature> {
        self.0.iter().copied()
    }

    pub(super) fn is_usual(&self) -> bool {
        self.0.is_empty()
    }

    /// The feature that is all the difference between two levels.
    pub fn only_difference(&self, other: &Self) -> Option<ProtectionFeature> {
        let mut different = self.0.symmetric_difference(&other.0);
        different.next().copied().filter(|_| different.next().is_none())
    }

    /// The key by which groups are sorted: full protection first, then added features, then missing ones.
    fn sort_key(&self) -> (Vec<ProtectionFeature>, Vec<ProtectionFeature>) {
        self.0.iter().partition(|feature| feature.is_weaker())
    }
}

/// The most features by which levels differ for which a title says of each whether it is there.
const MOST_NAMED: usize = 2;

/// `goal.groups`: whether it ranks all candidates against each other.
pub(super) fn read_grouping(node: &Node) -> Result<bool, Reason> {
    match filled_text(node)?.as_str() {
        "protection" => Ok(false),
        "one" => Ok(true),
        other => Err(Reason::new(
            format!("there is no grouping `{other}`"),
            "\"protection\" ranks candidates of the same protection, \"one\" ranks all against each other",
        )),
    }
}

/// Candidates of the same protection level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProtectionGroup {
    pub protection: Protection,
    /// Its difference from the other groups of the plan, such as `encrypted, not crash-safe`.
    pub title: String,
}

/// Stores the levels of a plan's candidates in its goal, unless all are the same.
pub(super) fn assign_protection(plan: &mut Plan, protection: fn(&Candidate) -> Protection) {
    plan.goal.protection = unusual_levels(&plan.candidates, protection);
}

/// The levels by candidate, without the usual one; empty where all are the same.
fn unusual_levels(
    candidates: &[Candidate],
    protection: fn(&Candidate) -> Protection,
) -> BTreeMap<String, Protection> {
    let all: Vec<(String, Protection)> =
        candidates.iter().map(|candidate| (candidate.name.clone(), protection(candidate))).collect();
    let differ = all.windows(2).any(|pair| pair[0].1 != pair[1].1);
    all.into_iter().filter(|(_, level)| differ && !level.is_usual()).collect()
}

impl Goal {
    /// The protection level of a candidate; the usual one for all where a plan asks for one ranking.
    pub fn protection_of(&self, candidate: &str) -> Protection {
        self.protection.get(candidate).cloned().unwrap_or_default()
    }
}

impl Plan {
    /// The protection levels of its candidates, each with its title; empty where there is only one.
    pub fn protection_groups(&self) -> Vec<ProtectionGroup> {
        let mut levels: Vec<Protection> = Vec::new();
        for candidate in &self.candidates {
            let level = self.goal.protection_of(&candidate.name);
            if !levels.contains(&level) {
                levels.push(level);
            }
        }
        if levels.len() < 2 {
            return Vec::new();
        }
        levels.sort_by_key(Protection::sort_key);
        let every: BTreeSet<ProtectionFeature> = levels.iter().flat_map(|level| level.0.clone()).collect();
        let varying: Vec<ProtectionFeature> =
            every.into_iter().filter(|feature| levels.iter().any(|level| !level.has(*feature))).collect();
        let group = |protection: Protection| {
            let words = |feature: &ProtectionFeature| match protection.has(*feature) {
                true => feature.row().present,
                false => feature.row().absent,
            };
            // Of many features, those that a level lacks would hide the ones that it has.
            let is_named =
                |feature: &&ProtectionFeature| varying.len() <= MOST_NAMED || protection.has(**feature);
            let title = varying.iter().filter(is_named).map(words).collect::<Vec<_>>().join(", ");
            let title = if title.is_empty() { "usual protection".to_owned() } else { title };
            ProtectionGroup { title, protection }
        };
        levels.into_iter().map(group).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{Protection, ProtectionFeature};
    use crate::journal::made;
    use serde_json::json;

    fn group_titles(protection: &serde_json::Value) -> Vec<String> {
        let candidate = |name: &str| json!({ "name": name, "filesystem": "ext4", "encryption": "none" });
        let candidates = ["a", "b", "c", "d"].map(candidate);
        let plan = made::plan(&json!({
            "candidates": candidates,
            "goal": { "metric": "durable", "weights": { "write": 1.0 }, "protection": protection },
        }));
        plan.protection_groups().into_iter().map(|group| group.title).collect()
    }

    #[test]
    fn groups_are_titled_by_what_differs_and_full_protection_comes_first() {
        assert_eq!(group_titles(&json!({})), Vec::<String>::new());
        assert_eq!(group_titles(&json!({ "b": ["encrypted"] })), ["unencrypted", "encrypted"]);
        assert_eq!(
            group_titles(&json!({
                "a": ["not_crash_safe"], "b": ["encrypted"], "c": ["encrypted", "not_crash_safe"],
            })),
            [
                "unencrypted, crash-safe",
                "encrypted, crash-safe",
                "unencrypted, not crash-safe",
                "encrypted, not crash-safe"
            ]
        );
        assert_eq!(
            group_titles(
                &json!({ "a": ["duplicated_data"], "b": ["not_crash_safe"], "c": ["encrypted", "no_flushes"] })
            ),
            ["usual protection", "two copies of data", "not crash-safe", "encrypted, without flushes"]
        );
        // What all have distinguishes none.
        let levels = json!({
            "a": ["encrypted"], "b": ["encrypted", "redundant"], "c": ["encrypted"], "d": ["encrypted"],
        });
        assert_eq!(group_titles(&levels), ["not redundant", "redundant"]);
    }

    #[test]
    fn a_difference_is_named_only_if_it_is_the_only_one() {
        use ProtectionFeature::{Encrypted, NotCrashSafe};
        let level = |features: &[ProtectionFeature]| features.iter().copied().collect::<Protection>();
        let plain = Protection::default();
        assert_eq!(plain.only_difference(&level(&[Encrypted])), Some(Encrypted));
        assert_eq!(
            level(&[Encrypted, NotCrashSafe]).only_difference(&level(&[Encrypted])),
            Some(NotCrashSafe)
        );
        assert_eq!(plain.only_difference(&level(&[Encrypted, NotCrashSafe])), None);
        assert_eq!(plain.only_difference(&plain), None);
    }
}

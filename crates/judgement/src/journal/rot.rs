//! The results of block corruption for a candidate: the uses of the blocks, the outcomes, the parts that may detect the
//! corruption, the answers of fsync to a refused write, their counts, and why the candidate is excluded.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::labelled::labelled;
use super::power_cut::LossReason;
use super::reading::ReadingStopped;
use crate::plan::stored_table;

labelled! {
    /// The use of a block before it was corrupted.
    pub enum BlockUse {
        /// The structure from which all others are found, and its copies.
        Superblock = "superblock",
        /// Journal, log, or checkpoint.
        Journal = "journal",
        /// Inodes, in any structure that holds them.
        Inode = "inodes",
        /// Directory entries.
        Directory = "directory",
        /// Metadata that locates data and free space: bitmaps, trees, indirect blocks, checksums.
        Map = "map",
        /// File content.
        Data = "data",
        /// The block is in use, but its content is not known: it lies below a layer, or in a filesystem with a layout that
        /// the program does not read.
        Unknown = "unknown",
        /// The block is free. It serves as a control: its corruption must have no effect.
        Unused = "unused",
    }
}

labelled! {
    /// The outcome for a filesystem with one corrupted block, best first.
    pub enum RotOutcome {
        /// All data are intact, and nothing detected the corruption.
        Unharmed = "unharmed",
        /// All data are intact; the filesystem detected the corruption, and its checker finds no errors afterwards.
        Healed = "healed",
        /// All data are intact after the checker repaired the filesystem.
        Repaired = "repaired",
        /// All data are intact, but a fault remains: the checker reports errors, or the filesystem cannot be written to.
        Impaired = "impaired",
        /// Data are lost, and an error was reported when the data were read or earlier.
        LossReported = "loss reported",
        /// A read returned wrong data without an error, and only the checker reported the corruption.
        LossFound = "loss found late",
        /// A read returned wrong data, or data are lost, and nothing reported an error.
        SilentLoss = "silent loss",
        /// The filesystem could not be mounted, even after its checker ran.
        Unmountable = "unmountable",
        /// The kernel computed or waited without end.
        Hang = "hang",
        /// The kernel panicked.
        Panic = "panic",
    }
}

impl RotOutcome {
    /// Whether the user lost some or all data.
    pub const fn is_loss(self) -> bool {
        !matches!(
            self,
            RotOutcome::Unharmed | RotOutcome::Healed | RotOutcome::Repaired | RotOutcome::Impaired
        )
    }

    /// Whether a program read wrong data without an error, or the kernel did not survive.
    pub const fn is_grave(self) -> bool {
        matches!(self, RotOutcome::LossFound | RotOutcome::SilentLoss | RotOutcome::Hang | RotOutcome::Panic)
    }
}

labelled! {
    /// Which part of the system detected the corruption (the levels of detection of Prabhakaran et al., SOSP '05, as far as
    /// they are visible from outside).
    pub enum RotWitness {
        /// The mount failed.
        Mount = "mount",
        /// A read returned an error.
        Read = "reader",
        /// A write returned an error.
        Write = "writer",
        /// The kernel logged a message, or a pool counted errors of its devices.
        Kernel = "kernel's log",
        /// The checker reported errors in the unmounted filesystem.
        Checker = "checker",
    }
}

labelled! {
    /// The answer of fsync to writes that the device refused, and whether the data were there after the next mount; the
    /// best first. Linux reports a failed write to each open file once (Documentation/filesystems/vfs.rst, errseq_t), so a
    /// second fsync may succeed. Rebello et al., ATC '20, study how programs can handle that.
    pub enum SyncAnswer {
        /// fsync succeeded, and the data are there: the write went elsewhere, or the test did not access the block.
        Kept = "kept",
        /// The first fsync failed, the second succeeded, and the data are there.
        Recovered = "failed, then kept",
        /// Both the first and the second fsync failed.
        ToldAgain = "failed twice",
        /// The first fsync failed and the second succeeded, but the data are not there.
        ToldOnce = "failed, then untrue",
        /// As `ToldOnce`, and until the next mount reads returned the written data as if they were stored.
        ToldOnceAndShown = "… and read as written",
        /// The first fsync succeeded, but the data are not there.
        NeverTold = "untrue at once",
    }
}

stored_table! {
    /// The result of corrupting one block.
    #[derive(Debug, Clone, PartialEq)]
    pub struct RotFinding {
        /// The block: first its number among the blocks that were examined together, later its name.
        state: String,
        outcome: RotOutcome,
        noticed!: Vec<RotWitness>,
        /// The names of the promises that were broken.
        broken!: Vec<String>,
        /// A description of the fault; empty if nothing is wrong.
        seen!: String,
        /// The answer of fsync, if the block refused writes.
        sync?: SyncAnswer,
    }
}

/// A finding, with the use of its block.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlacedRot {
    pub held: BlockUse,
    #[serde(flatten)]
    pub finding: RotFinding,
}

/// The results of all corrupted blocks of the same use or with the same kind of corruption.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RotTally {
    /// How many blocks of this use exist.
    pub blocks: u32,
    /// How many corrupted blocks were examined.
    pub looked: u32,
    pub outcomes: BTreeMap<RotOutcome, u32>,
    /// Counts by detector; several may detect the same corruption.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub noticed: BTreeMap<RotWitness, u32>,
    /// Counts by the answer of fsync, for blocks that refused writes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub syncs: BTreeMap<SyncAnswer, u32>,
}

impl RotTally {
    /// How many blocks had this outcome.
    pub fn count(&self, outcome: RotOutcome) -> u32 {
        self.outcomes.get(&outcome).copied().unwrap_or(0)
    }

    fn count_outcomes(&self, is: impl Fn(RotOutcome) -> bool) -> u32 {
        self.outcomes.iter().filter(|(outcome, _)| is(**outcome)).map(|(_, count)| count).sum()
    }

    /// In how many cases the user lost some or all data.
    pub fn count_losses(&self) -> u32 {
        self.count_outcomes(RotOutcome::is_loss)
    }

    /// In how many cases a program read wrong data without an error, or the kernel did not survive.
    pub fn count_grave(&self) -> u32 {
        self.count_outcomes(RotOutcome::is_grave)
    }
}

stored_table! {
    /// The results of block corruption for one candidate.
    #[derive(Debug, Clone, PartialEq)]
    pub struct RottenBlocks {
        candidate: String,
        /// How many corrupted blocks were examined, one at a time.
        looked: u32,
        /// Results by the use of the blocks.
        held: BTreeMap<BlockUse, RotTally>,
        /// Results by the name of the kind of corruption.
        decays: BTreeMap<String, RotTally>,
        /// The first examples of blocks with grave outcomes: a few, at most one for each use and kind of corruption.
        first!: Vec<PlacedRot>,
        /// Where the layout reader stopped, if it did not finish: the use of the blocks that it did not reach is unknown.
        stopped?: ReadingStopped,
        /// Whether the plan accepts the candidate although it loses data.
        accepted!: bool,
        /// The digest of the requests in the recorded trial: equal digests mean equal traces.
        trace: String,
    }
}

impl RottenBlocks {
    /// How many blocks had this outcome.
    pub fn count(&self, outcome: RotOutcome) -> u32 {
        self.held.values().map(|tally| tally.count(outcome)).sum()
    }

    /// In how many cases the user lost some or all data.
    pub fn count_losses(&self) -> u32 {
        self.held.values().map(RotTally::count_losses).sum()
    }

    /// In how many cases a program read wrong data without an error, or the kernel did not survive.
    pub fn count_grave(&self) -> u32 {
        self.held.values().map(RotTally::count_grave).sum()
    }

    /// Why the candidate is excluded from recommendation: it returned wrong data without an error, or its kernel did
    /// not survive. `None` if it is not excluded.
    pub fn why_out(&self) -> Option<LossReason> {
        let each: Vec<String> = RotOutcome::ALL
            .iter()
            .filter(|outcome| outcome.is_grave() && self.count(**outcome) > 0)
            .map(|outcome| format!("{} in {}", outcome.words(), self.count(*outcome)))
            .collect();
        let example = self.first.first().map(|PlacedRot { held, finding }| {
            // The sentence quotes only the first observation; the table lists the rest.
            let seen = finding.seen.split("; ").next().unwrap_or_default();
            format!("first of {}, {}: {seen}", held.words(), finding.state)
        });
        (!each.is_empty() && !self.accepted).then(|| LossReason {
            summary: format!("of {} rotten blocks: {}", self.looked, each.join(", ")),
            brief: match self.count(RotOutcome::SilentLoss) {
                0 => "they did not survive rotten blocks",
                _ => "they returned wrong content from rotten blocks",
            },
            example,
        })
    }
}

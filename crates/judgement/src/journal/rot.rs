//! What was found of a candidate of which single blocks had rotted: how often which kind of block came to what, who noticed, and the
//! first that lost something without a word.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::reading::ReadingStopped;

/// What a block held before it rotted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BlockUse {
    /// Where everything else is found from; copies of it, too.
    Superblock,
    /// Journal, log, or checkpoint.
    Journal,
    /// Inodes, in whatever they lie.
    Inode,
    /// Names.
    Directory,
    /// What says where things are and what is free: bitmaps, trees, indirect blocks, checksums.
    Map,
    /// Content of files.
    Data,
    /// Something, and what is not known: it lies below a layer, or in a filesystem whose layout is not read.
    Unknown,
    /// Nothing: a control, of which nothing may come.
    Unused,
}

impl BlockUse {
    /// Every one.
    pub const ALL: [BlockUse; 8] = [
        BlockUse::Superblock,
        BlockUse::Journal,
        BlockUse::Inode,
        BlockUse::Directory,
        BlockUse::Map,
        BlockUse::Data,
        BlockUse::Unknown,
        BlockUse::Unused,
    ];

    /// For people.
    pub const fn words(self) -> &'static str {
        match self {
            BlockUse::Superblock => "superblock",
            BlockUse::Journal => "journal",
            BlockUse::Inode => "inodes",
            BlockUse::Directory => "directory",
            BlockUse::Map => "map",
            BlockUse::Data => "data",
            BlockUse::Unknown => "unknown",
            BlockUse::Unused => "unused",
        }
    }
}

/// What became of a filesystem of which a block had rotted, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RotOutcome {
    /// All is there, and nobody noticed anything.
    Unharmed,
    /// All is there; the filesystem noticed, and its checker finds nothing wrong any more.
    Healed,
    /// … once its checker had repaired it.
    Repaired,
    /// All is there, but something is wrong still: its checker complains, or it cannot be written to.
    Impaired,
    /// Something is gone, and somebody said so when it was read, or before.
    LossReported,
    /// Something wrong was read as if it were right, and only the checker said so.
    LossFound,
    /// Something wrong was read, or something is gone, and nobody said a word.
    SilentLoss,
    /// It could not be mounted, not even after its checker.
    Unmountable,
    /// Its kernel computed or waited without an end.
    Hang,
    /// Its kernel gave up.
    Panic,
}

impl RotOutcome {
    /// Every one, the best first.
    pub const ALL: [RotOutcome; 10] = [
        RotOutcome::Unharmed,
        RotOutcome::Healed,
        RotOutcome::Repaired,
        RotOutcome::Impaired,
        RotOutcome::LossReported,
        RotOutcome::LossFound,
        RotOutcome::SilentLoss,
        RotOutcome::Unmountable,
        RotOutcome::Hang,
        RotOutcome::Panic,
    ];

    /// For people, as the head of a column.
    pub const fn words(self) -> &'static str {
        match self {
            RotOutcome::Unharmed => "unharmed",
            RotOutcome::Healed => "healed",
            RotOutcome::Repaired => "repaired",
            RotOutcome::Impaired => "impaired",
            RotOutcome::LossReported => "loss reported",
            RotOutcome::LossFound => "loss found late",
            RotOutcome::SilentLoss => "silent loss",
            RotOutcome::Unmountable => "unmountable",
            RotOutcome::Hang => "hang",
            RotOutcome::Panic => "panic",
        }
    }

    /// Whether a user has lost something, or all.
    pub const fn is_loss(self) -> bool {
        !matches!(
            self,
            RotOutcome::Unharmed | RotOutcome::Healed | RotOutcome::Repaired | RotOutcome::Impaired
        )
    }

    /// Whether a program was given wrong content for right, or its kernel did not survive.
    pub const fn is_grave(self) -> bool {
        matches!(self, RotOutcome::LossFound | RotOutcome::SilentLoss | RotOutcome::Hang | RotOutcome::Panic)
    }
}

/// Who noticed that something is wrong (the levels of detection of Prabhakaran et al., SOSP '05, as far as they show from outside).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RotWitness {
    /// It was not mounted.
    Mount,
    /// A program was given an error for what it read …
    Read,
    /// … or wrote.
    Write,
    /// The kernel said something in its log.
    Kernel,
    /// The checker complained of the unmounted filesystem.
    Checker,
}

impl RotWitness {
    /// Every one.
    pub const ALL: [RotWitness; 5] =
        [RotWitness::Mount, RotWitness::Read, RotWitness::Write, RotWitness::Kernel, RotWitness::Checker];

    /// For people.
    pub const fn words(self) -> &'static str {
        match self {
            RotWitness::Mount => "mount",
            RotWitness::Read => "reader",
            RotWitness::Write => "writer",
            RotWitness::Kernel => "kernel's log",
            RotWitness::Checker => "checker",
        }
    }
}

/// What fsync said of writes that the device refused, and what was there after the next mount; the best first. Linux tells each open file
/// of a failed write once (Documentation/filesystems/vfs.rst, errseq_t), so that a second fsync may say that all is done; what a program
/// can make of that is the subject of Rebello et al., ATC '20.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SyncAnswer {
    /// It said that all is done, and it is: the write went elsewhere, or the block was not asked for.
    Kept,
    /// The first failed, the second said that all is done, and it is.
    Recovered,
    /// The first failed, and so did the second.
    ToldAgain,
    /// The first failed, and the second said that all is done: it is not.
    ToldOnce,
    /// … and until it was mounted anew what was written was read, as if it were there.
    ToldOnceAndShown,
    /// The first said that all is done, and it is not.
    NeverTold,
}

impl SyncAnswer {
    /// Every one, the best first.
    pub const ALL: [SyncAnswer; 6] = [
        SyncAnswer::Kept,
        SyncAnswer::Recovered,
        SyncAnswer::ToldAgain,
        SyncAnswer::ToldOnce,
        SyncAnswer::ToldOnceAndShown,
        SyncAnswer::NeverTold,
    ];

    /// For people, as the head of a column.
    pub const fn words(self) -> &'static str {
        match self {
            SyncAnswer::Kept => "kept",
            SyncAnswer::Recovered => "failed, then kept",
            SyncAnswer::ToldAgain => "failed twice",
            SyncAnswer::ToldOnce => "failed, then untrue",
            SyncAnswer::ToldOnceAndShown => "… and read as written",
            SyncAnswer::NeverTold => "untrue at once",
        }
    }
}

/// What came of one rotten block.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RotFinding {
    /// The block: its number among those that were looked at together, and later its name.
    pub state: String,
    pub outcome: RotOutcome,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub noticed: Vec<RotWitness>,
    /// The names of the promises that were not kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub broken: Vec<String>,
    /// What was seen, in words; empty where nothing is wrong.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub seen: String,
    /// What fsync said, where the block took no writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sync: Option<SyncAnswer>,
}

/// A finding, of a block that held this.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlacedRot {
    pub held: BlockUse,
    #[serde(flatten)]
    pub finding: RotFinding,
}

/// What came of the blocks that held the same.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RotTally {
    /// Blocks of this use that there are.
    pub blocks: u32,
    /// Rotten ones that were looked at.
    pub looked: u32,
    pub outcomes: BTreeMap<RotOutcome, u32>,
    /// By who noticed; of one, several may have.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub noticed: BTreeMap<RotWitness, u32>,
    /// Of those that took no writes: by what fsync said.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub syncs: BTreeMap<SyncAnswer, u32>,
}

impl RotTally {
    /// How many came to this.
    pub fn count(&self, outcome: RotOutcome) -> u32 {
        self.outcomes.get(&outcome).copied().unwrap_or(0)
    }

    fn sum(&self, is: impl Fn(RotOutcome) -> bool) -> u32 {
        self.outcomes.iter().filter(|(outcome, _)| is(**outcome)).map(|(_, count)| count).sum()
    }

    /// How many lost something, or all.
    pub fn losses(&self) -> u32 {
        self.sum(RotOutcome::is_loss)
    }

    /// In how many wrong content was given for right, or the kernel did not survive.
    pub fn grave(&self) -> u32 {
        self.sum(RotOutcome::is_grave)
    }
}

/// What the rot of one candidate came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RottenBlocks {
    pub candidate: String,
    /// Rotten blocks that were looked at, one at a time.
    pub looked: u32,
    /// By what they held.
    pub held: BTreeMap<BlockUse, RotTally>,
    /// By what was wrong with them: the word for it.
    pub decays: BTreeMap<String, RotTally>,
    /// The first that were given for right; few, and of each use and decay one at most.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub first: Vec<PlacedRot>,
    /// Where the reading of the layout stopped, if it did not come to its end: what blocks held that it did not reach is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<ReadingStopped>,
    /// Whether the plan has it taken although it loses something.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub accepted: bool,
    /// Of the requests of the trial that was recorded: equal digests mean equal traces.
    pub trace: String,
}

impl RottenBlocks {
    /// How many came to this.
    pub fn count(&self, outcome: RotOutcome) -> u32 {
        self.held.values().map(|tally| tally.count(outcome)).sum()
    }

    /// How many lost something, or all.
    pub fn losses(&self) -> u32 {
        self.held.values().map(RotTally::losses).sum()
    }

    /// In how many wrong content was given for right, or the kernel did not survive.
    pub fn grave(&self) -> u32 {
        self.held.values().map(RotTally::grave).sum()
    }

    /// Why nobody is to take the candidate, if so: it gave wrong content for right, or its kernel did not survive.
    pub fn why_out(&self) -> Option<String> {
        let each: Vec<String> = RotOutcome::ALL
            .iter()
            .filter(|outcome| outcome.is_grave() && self.count(**outcome) > 0)
            .map(|outcome| format!("{} in {}", outcome.words(), self.count(*outcome)))
            .collect();
        let first = self.first.first().map_or(String::new(), |PlacedRot { held, finding }| {
            // What was seen first; the rest stands in the table.
            let seen = finding.seen.split("; ").next().unwrap_or_default();
            format!(" (first of {}, {}: {seen})", held.words(), finding.state)
        });
        (!each.is_empty() && !self.accepted)
            .then(|| format!("of {} rotten blocks: {}{first}", self.looked, each.join(", ")))
    }
}

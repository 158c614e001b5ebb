//! Names the uses of a corrupted block, the outcomes of the corruption, the parts that may detect it, and the answers of
//! fsync to a refused write.

use serde::{Deserialize, Serialize};

/// The use of a block before it was corrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BlockUse {
    /// The structure from which all others are found, and its copies.
    Superblock,
    /// Journal, log, or checkpoint.
    Journal,
    /// Inodes, in any structure that holds them.
    Inode,
    /// Directory entries.
    Directory,
    /// Metadata that locates data and free space: bitmaps, trees, indirect blocks, checksums.
    Map,
    /// File content.
    Data,
    /// The block is in use, but its content is not known: it lies below a layer, or in a filesystem with a layout that
    /// the program does not read.
    Unknown,
    /// The block is free. It serves as a control: its corruption must have no effect.
    Unused,
}

impl BlockUse {
    /// Every use.
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

    /// The label in reports.
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

/// The outcome for a filesystem with one corrupted block, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RotOutcome {
    /// All data are intact, and nothing detected the corruption.
    Unharmed,
    /// All data are intact; the filesystem detected the corruption, and its checker finds no errors afterwards.
    Healed,
    /// All data are intact after the checker repaired the filesystem.
    Repaired,
    /// All data are intact, but a fault remains: the checker reports errors, or the filesystem cannot be written to.
    Impaired,
    /// Data are lost, and an error was reported when the data were read or earlier.
    LossReported,
    /// A read returned wrong data without an error, and only the checker reported the corruption.
    LossFound,
    /// A read returned wrong data, or data are lost, and nothing reported an error.
    SilentLoss,
    /// The filesystem could not be mounted, even after its checker ran.
    Unmountable,
    /// The kernel computed or waited without end.
    Hang,
    /// The kernel panicked.
    Panic,
}

impl RotOutcome {
    /// Every outcome, the best first.
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

    /// The label in reports, as a column head.
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

/// Which part of the system detected the corruption (the levels of detection of Prabhakaran et al., SOSP '05, as far as
/// they are visible from outside).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RotWitness {
    /// The mount failed.
    Mount,
    /// A read returned an error.
    Read,
    /// A write returned an error.
    Write,
    /// The kernel logged a message, or a pool counted errors of its devices.
    Kernel,
    /// The checker reported errors in the unmounted filesystem.
    Checker,
}

impl RotWitness {
    /// Every detector.
    pub const ALL: [RotWitness; 5] =
        [RotWitness::Mount, RotWitness::Read, RotWitness::Write, RotWitness::Kernel, RotWitness::Checker];

    /// The label in reports.
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

/// The answer of fsync to writes that the device refused, and whether the data were there after the next mount; the
/// best first. Linux reports a failed write to each open file once (Documentation/filesystems/vfs.rst, errseq_t), so a
/// second fsync may succeed. Rebello et al., ATC '20, study how programs can handle that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SyncAnswer {
    /// fsync succeeded, and the data are there: the write went elsewhere, or the test did not access the block.
    Kept,
    /// The first fsync failed, the second succeeded, and the data are there.
    Recovered,
    /// Both the first and the second fsync failed.
    ToldAgain,
    /// The first fsync failed and the second succeeded, but the data are not there.
    ToldOnce,
    /// As `ToldOnce`, and until the next mount reads returned the written data as if they were stored.
    ToldOnceAndShown,
    /// The first fsync succeeded, but the data are not there.
    NeverTold,
}

impl SyncAnswer {
    /// Every answer, the best first.
    pub const ALL: [SyncAnswer; 6] = [
        SyncAnswer::Kept,
        SyncAnswer::Recovered,
        SyncAnswer::ToldAgain,
        SyncAnswer::ToldOnce,
        SyncAnswer::ToldOnceAndShown,
        SyncAnswer::NeverTold,
    ];

    /// The label in reports, as a column head.
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

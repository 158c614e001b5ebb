//! The built-in workload operations, one row each: every property that is known before a run. The workload crate
//! implements and verifies each operation.

mod rows;

use std::fmt;

use super::choice_words::choice_words;
use super::{Dataset, Precondition};
pub use rows::Operation;
use rows::TABLE;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    BareDevice,
    Mounted,
    /// With a filesystem that is formatted but not mounted.
    Unmounted,
}

/// The direction in which file content flows; it decides which bytes count as an operation's logical bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Flow {
    Reads,
    Writes,
    /// Only names and metadata: there are no logical bytes.
    #[default]
    Neither,
}

choice_words! {
    /// A kind of dataset, its description, and the key of a plan that makes one.
    #[derive(PartialOrd, Ord, Hash)]
    pub enum OperationKind -> (pub(super) describe_kind: &'static str) {
        Tree = "tree" => "a tree (profile … or path)",
        /// One directory of small files.
        Flat = "flat" => "one directory of small files (flat)",
        File = "file" => "one big file (file)",
        /// One of the user's real directories.
        Folder = "folder" => "a real directory (path)",
        /// Files, and the system calls that are replayed on them.
        Trace = "trace" => "a trace of calls (calls)",
    }
}

/// An ability that only some filesystems have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FilesystemAbility {
    /// Files that share their blocks until one of them is written (reflinks).
    Clones,
    /// Snapshots of the whole filesystem.
    Snapshots,
    /// A rollback of the filesystem to a snapshot.
    Rollback,
    /// Snapshots that are sent as a stream of bytes, and received elsewhere.
    Streams,
    /// Hard links.
    HardLinks,
}

/// How often an operation syncs the data that it writes before it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Syncs {
    /// Never: only the end of the phase makes its data durable.
    AtEnd,
    /// A thread syncs after so many of its calls, unless the plan says otherwise; 0: only at the end.
    Calls(u32),
    /// A thread syncs after so many files, unless the plan says otherwise; 0: only at the end.
    Files(u32),
    /// After each file.
    EachFile,
}

/// The state that an operation leaves behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperationEffect {
    /// Everything is as it was.
    Nothing,
    /// The files of its dataset, in its folder.
    MakesFiles,
    /// The same files, or some of them, with other content or names.
    ChangesFiles,
    /// As `ChangesFiles`, and the time of each save is recorded: the files that must survive a power cut are known.
    SavesFiles,
    /// As `ChangesFiles`, by the calls of a trace; the time of each of its syncs is recorded.
    Replays,
    /// A tree that a history of changes has made different from its dataset.
    Ages,
    RemovesFolder,
    /// The first generation of a backup.
    StartsGenerations,
    /// Copies of the dataset that fill the filesystem.
    MakesCopies,
    /// A clone of the dataset, in a folder beside it.
    Clones,
    WritesDevice,
    KeepsSnapshot,
    DropsSnapshot,
    RollsBack,
    SendsSnapshot,
    ReceivesSnapshot,
}

/// How much data an operation moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Amount {
    /// Every byte of its dataset: a phase that moved less did not do its work.
    Dataset,
    /// No more than its dataset, if it writes anything at all.
    Unknown,
    /// Only names and attributes.
    Names,
    /// The share `changed` of its dataset.
    Changed,
    /// Until the share `to` of the device is in use.
    UntilFull,
    /// The share `changed` of its dataset with each pull.
    Pulls,
    /// The bytes that the calls of its trace write.
    Calls,
}

/// Declares the properties of an operation, each with the function that returns it.
macro_rules! operation_columns {
    ($($(#[$documentation:meta])* $column:ident: $kind:ty,)*) => {
        /// Every property of an operation that is known before a run.
        struct OperationRow {
            operation: Operation,
            /// The keys of `[[phase]]` that it takes although other operations do not.
            keys: &'static [&'static str],
            $($column: $kind,)*
        }

        impl Operation {
            $($(#[$documentation])* pub fn $column(self) -> $kind {
                self.operation_row().$column
            })*
        }
    };
}

operation_columns! {
    name: &'static str,
    summary: &'static str,
    needs: Needs,
    flow: Flow,
    /// The kinds of datasets that the operation accepts; empty if it works on the whole filesystem.
    dataset_kinds: &'static [OperationKind],
    /// The default chunk size in bytes: the record size of etcd's log, or a page.
    usual_piece: u64,
    syncs: Syncs,
    /// The state that an earlier phase must have left; `None` if the operation makes its own data.
    precondition: Option<Precondition>,
    effect: OperationEffect,
    amount: Amount,
    /// The ability that the operation needs and that only some filesystems have.
    ability: Option<FilesystemAbility>,
    /// Whether the files of its dataset are looked for after a power cut that follows its sync.
    is_checked_after_cut: bool,
}

impl Operation {
    pub fn all() -> impl Iterator<Item = Operation> {
        TABLE.iter().map(|row| row.operation)
    }

    fn operation_row(self) -> &'static OperationRow {
        &TABLE[self as usize]
    }

    /// Whether the operation takes this key of `[[phase]]`, which not all operations take.
    pub fn takes(self, key: &str) -> bool {
        self.operation_row().keys.contains(&key)
    }

    /// Whether the operation can be repeated on the same files because it only reads or checks them.
    pub fn leaves_all_as_it_was(self) -> bool {
        self.takes("repeat") && !self.needs_fresh_files()
    }

    /// Whether the files that the operation works on are written again, untimed, before it is repeated.
    pub fn needs_fresh_files(self) -> bool {
        self.effect() == OperationEffect::Replays
    }

    /// Whether the operation prepares or checks a filesystem, so that its time counts only if the goal names it.
    pub(super) fn is_aside(self) -> bool {
        self.needs() == Needs::Unmounted || self.takes("to")
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl From<Operation> for &'static str {
    fn from(operation: Operation) -> Self {
        operation.name()
    }
}

impl TryFrom<String> for Operation {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        Operation::all()
            .find(|operation| operation.name() == name)
            .ok_or_else(|| format!("there is no operation `{name}`"))
    }
}

impl Dataset {
    pub fn kind(&self) -> OperationKind {
        match self {
            Dataset::Tree(_) => OperationKind::Tree,
            Dataset::Flat { .. } => OperationKind::Flat,
            Dataset::File { .. } => OperationKind::File,
            Dataset::Folder { .. } => OperationKind::Folder,
            Dataset::Trace { .. } => OperationKind::Trace,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::keys::key_names;
    use super::super::phase::PHASE;
    use super::rows::TABLE;
    use super::{Flow, Needs, Operation, Syncs};

    #[test]
    fn every_row_stands_in_its_place_under_a_name_of_its_own() {
        for (place, row) in TABLE.iter().enumerate() {
            assert_eq!(row.operation as usize, place, "{}", row.name);
            assert_eq!(Operation::try_from(row.name.to_owned()), Ok(row.operation));
            assert!(row.summary.len() > 20, "{}", row.name);
            let is_whole = row.needs == Needs::Unmounted || row.operation == Operation::Sequences;
            assert_eq!(row.dataset_kinds.is_empty(), is_whole, "{}", row.name);
            assert!(row.needs != Needs::BareDevice || row.flow != Flow::Neither, "{}", row.name);
            assert!(row.keys.iter().all(|key| key_names(PHASE).contains(key)), "{}", row.name);
            let has_count = matches!(row.syncs, Syncs::Calls(_) | Syncs::Files(_));
            assert_eq!(row.keys.contains(&"sync_every"), has_count, "{}", row.name);
        }
        assert!(serde_json::from_str::<Operation>("\"tree.wright\"").is_err());
    }
}

//! The built-in workload operations, one row each: their properties that are known before a run. The workload crate
//! implements and verifies each operation.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Dataset;

/// A built-in operation. In JSON it appears as its name, for example `tree.write`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "&'static str", try_from = "String")]
#[expect(missing_docs, reason = "the table below says what each does")]
pub enum Operation {
    TreeWrite,
    TreeRead,
    TreeOverwrite,
    TreeRemove,
    StreamWrite,
    StreamRead,
    StreamRewrite,
    AppendFsync,
    RandomRead,
    RandomWrite,
    RenameReplace,
    DirectoryFill,
    DirectoryList,
    DirectoryEmpty,
    DirectorySave,
    DirectoryReplace,
    RotationCreate,
    RotationNext,
    RotationClone,
    RotationDrop,
    CopyReflink,
    SnapshotCreate,
    SnapshotDelete,
    SnapshotRollback,
    SnapshotSend,
    SnapshotReceive,
    SpaceFill,
    SpaceFree,
    AgePull,
    AgeChurn,
    TraceReplay,
    DeviceWrite,
    DeviceRead,
    DeviceReplay,
    Sequences,
    Fsck,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    BareDevice,
    Mounted,
    /// With a filesystem that is formatted but not mounted.
    Unmounted,
}

/// The direction in which file content flows; it decides which bytes count as an operation's logical bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    Reads,
    Writes,
    /// Only names and metadata: there are no logical bytes.
    Neither,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OperationKind {
    Tree,
    /// One directory of small files.
    Flat,
    File,
    /// One of the user's real directories.
    Folder,
    /// Files, and the system calls that are replayed on them.
    Trace,
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

struct OperationRow {
    operation: Operation,
    name: &'static str,
    needs: Needs,
    flow: Flow,
    takes: &'static [OperationKind],
    summary: &'static str,
}

/// The state of the device that an operation needs, and the direction of its data.
#[derive(Clone, Copy)]
struct Access {
    needs: Needs,
    flow: Flow,
}

const fn operation_row(
    operation: Operation,
    name: &'static str,
    access: Access,
    takes: &'static [OperationKind],
    summary: &'static str,
) -> OperationRow {
    let Access { needs, flow } = access;
    OperationRow { operation, name, needs, flow, takes, summary }
}

const READS: Access = Access { needs: Needs::Mounted, flow: Flow::Reads };
const WRITES: Access = Access { needs: Needs::Mounted, flow: Flow::Writes };
const NAMES: Access = Access { needs: Needs::Mounted, flow: Flow::Neither };

const TREES: &[OperationKind] = &[OperationKind::Tree, OperationKind::Folder];
/// Datasets that can be written and removed as they are.
const WRITABLE: &[OperationKind] = &[OperationKind::Tree, OperationKind::Folder, OperationKind::Trace];
const TRACES: &[OperationKind] = &[OperationKind::Trace];
const GENERATED: &[OperationKind] = &[OperationKind::Tree];
const FILES: &[OperationKind] = &[OperationKind::File];
const FLATS: &[OperationKind] = &[OperationKind::Flat];
const LOGS: &[OperationKind] = &[OperationKind::File, OperationKind::Flat];
/// Datasets with more than one file.
const MANY: &[OperationKind] = &[OperationKind::Tree, OperationKind::Folder, OperationKind::Flat];
const ANY: &[OperationKind] =
    &[OperationKind::Tree, OperationKind::Folder, OperationKind::Flat, OperationKind::File];

/// The rows are in the order of [`Operation`].
#[rustfmt::skip]
static TABLE: [OperationRow; 36] = [
    operation_row(Operation::TreeWrite, "tree.write", WRITES, WRITABLE,
        "writes every directory, file and link of a tree into a new folder"),
    operation_row(Operation::TreeRead, "tree.read", READS, TREES,
        "reads every file of a tree in the order its directories list them, and checksums it"),
    operation_row(Operation::TreeOverwrite, "tree.overwrite", WRITES, TREES,
        "truncates every file of a tree and writes it again, as a second cp over the first does; the bytes of generated files change"),
    operation_row(Operation::TreeRemove, "tree.remove", NAMES, WRITABLE,
        "removes a tree and its folder in the order its directories list it, as rm -r does"),
    operation_row(Operation::StreamWrite, "stream.write", WRITES, FILES,
        "writes one big file from beginning to end"),
    operation_row(Operation::StreamRead, "stream.read", READS, FILES,
        "reads one big file from beginning to end, and does nothing with it"),
    operation_row(Operation::StreamRewrite, "stream.rewrite", WRITES, FILES,
        "writes other bytes over one big file, in place, without truncating it"),
    operation_row(Operation::AppendFsync, "append.fsync", WRITES, LOGS,
        "lets one file, or each of a directory, grow from nothing in pieces of 2300 bytes with an fdatasync after each, as a database's log does (etcd's)"),
    operation_row(Operation::RandomRead, "random.read", READS, FILES,
        "reads one big file in pieces of 4 KiB, each once, in random order"),
    operation_row(Operation::RandomWrite, "random.write", WRITES, FILES,
        "writes other bytes over one big file in pieces of 4 KiB, each once, in random order"),
    operation_row(Operation::RenameReplace, "rename.replace", WRITES, FLATS,
        "replaces every file of a directory: new contents into another file, fdatasync, rename over the old one, as editors and package managers do"),
    operation_row(Operation::DirectoryFill, "directory.fill", WRITES, FLATS,
        "creates many small files in one directory"),
    operation_row(Operation::DirectoryList, "directory.list", NAMES, FLATS,
        "reads a directory of many files and asks for the status of each, as ls -l does"),
    operation_row(Operation::DirectoryEmpty, "directory.empty", NAMES, FLATS,
        "removes all files of a directory, in the order it lists them, and keeps the directory"),
    operation_row(Operation::DirectorySave, "directory.save", WRITES, FLATS,
        "saves every file of a directory again as a careful program does: written under another name, fsync, renamed over the old one, fsync of the directory"),
    operation_row(Operation::DirectoryReplace, "directory.replace", WRITES, FLATS,
        "does the same without any fsync: no interface promises what survives a power cut"),
    operation_row(Operation::RotationCreate, "rotation.create", WRITES, MANY,
        "writes the first generation of a backup: every directory, file and link"),
    operation_row(Operation::RotationNext, "rotation.next", WRITES, MANY,
        "makes the next generation: new directories, hard links to unchanged files of the one before, and the share `changed` written again"),
    operation_row(Operation::RotationClone, "rotation.clone", WRITES, MANY,
        "makes the next generation: clones of unchanged files of the one before, which share their blocks until one is written (cp --reflink), and the share `changed` written again"),
    operation_row(Operation::RotationDrop, "rotation.drop", NAMES, MANY,
        "removes the oldest generation, as rm -r does; files that later generations hold lose a link"),
    operation_row(Operation::CopyReflink, "copy.reflink", NAMES, MANY,
        "copies a tree beside itself without its bytes, as cp --reflink=always does: each file is a clone, which shares its blocks with the original until one of them is written"),
    operation_row(Operation::SnapshotCreate, "snapshot.create", NAMES, ANY,
        "keeps the whole filesystem as it is now, read-only, by its own snapshots; what it keeps of the dataset is verified"),
    operation_row(Operation::SnapshotDelete, "snapshot.delete", NAMES, ANY,
        "gives up the oldest snapshot that is kept"),
    operation_row(Operation::SnapshotRollback, "snapshot.rollback", NAMES, ANY,
        "puts the whole filesystem back to what it was when the newest snapshot was made, and mounts it again; what must then be there is verified"),
    operation_row(Operation::SnapshotSend, "snapshot.send", READS, ANY,
        "sends the newest snapshot as a stream of bytes into memory: all of it, or what changed since the last one that was sent"),
    operation_row(Operation::SnapshotReceive, "snapshot.receive", WRITES, ANY,
        "receives the last stream that was sent, beside what is there, as a backup's disk does; the dataset in it is verified where it can be seen"),
    operation_row(Operation::SpaceFill, "space.fill", WRITES, MANY,
        "writes copies of the files, and removes some on the way, until the share `to` of the filesystem is in use or it takes no more"),
    operation_row(Operation::SpaceFree, "space.free", NAMES, MANY,
        "removes such copies until no more than the share `to` is in use"),
    operation_row(Operation::AgePull, "age.pull", WRITES, GENERATED,
        "changes a tree as so many pulls of a version control system do, each of which is synced: the share `changed` of the files removed and written again, with the objects beside them"),
    operation_row(Operation::AgeChurn, "age.churn", WRITES, GENERATED,
        "writes new files into a tree until the share `to` of the filesystem is in use, and then, for each, removes others, mostly young ones, until so many times what lies there was written"),
    operation_row(Operation::TraceReplay, "trace.replay", WRITES, TRACES,
        "makes the calls of a trace again, in their order, on the files that tree.write wrote for it"),
    operation_row(Operation::DeviceWrite, "device.write", Access { needs: Needs::BareDevice, flow: Flow::Writes }, FILES,
        "writes the bytes of a big file to the bare device, before mkfs: a reference rate"),
    operation_row(Operation::DeviceRead, "device.read", Access { needs: Needs::BareDevice, flow: Flow::Reads }, FILES,
        "reads them back from the bare device, as hdparm -t does: a reference rate"),
    operation_row(Operation::DeviceReplay, "device.replay", Access { needs: Needs::BareDevice, flow: Flow::Writes }, TRACES,
        "makes the requests of a trace again on the bare device, before mkfs"),
    operation_row(Operation::Sequences, "sequences", NAMES, &[],
        "does every sequence of one, two or three calls on a few names (create, link, rename, write, fallocate, fsync …): what must be found of each after a cut of power is known"),
    operation_row(Operation::Fsck, "fsck", Access { needs: Needs::Unmounted, flow: Flow::Neither }, &[],
        "checks the unmounted filesystem with its own checker"),
];

impl Operation {
    pub fn all() -> impl Iterator<Item = Operation> {
        TABLE.iter().map(|row| row.operation)
    }

    fn operation_row(self) -> &'static OperationRow {
        &TABLE[self as usize]
    }

    pub fn name(self) -> &'static str {
        self.operation_row().name
    }

    pub fn summary(self) -> &'static str {
        self.operation_row().summary
    }

    pub fn needs(self) -> Needs {
        self.operation_row().needs
    }

    pub fn flow(self) -> Flow {
        self.operation_row().flow
    }

    /// The kinds of datasets that the operation accepts; empty if it works on the whole filesystem.
    pub fn dataset_kinds(self) -> &'static [OperationKind] {
        self.operation_row().takes
    }

    /// Whether the operation can be repeated on the same files because it only reads or checks them.
    pub fn leaves_all_as_it_was(self) -> bool {
        use Operation::{DirectoryList, Fsck, RandomRead, StreamRead, TreeRead};
        matches!(self, TreeRead | StreamRead | RandomRead | DirectoryList | Fsck)
    }

    /// Whether a phase may set the chunk size.
    pub fn takes_piece(self) -> bool {
        use Operation::{AppendFsync, RandomRead, RandomWrite};
        matches!(self, AppendFsync | RandomRead | RandomWrite)
    }

    /// The default chunk size in bytes: the record size of etcd's log, or a page.
    pub fn usual_piece(self) -> u64 {
        if self == Operation::AppendFsync { 2300 } else { 4096 }
    }

    /// Whether a phase may set how often the operation syncs.
    pub fn takes_sync(self) -> bool {
        use Operation::{AppendFsync, DirectoryReplace, RandomWrite, RenameReplace};
        matches!(self, AppendFsync | DirectoryReplace | RandomWrite | RenameReplace)
    }

    /// Whether a phase may set an idle time between two files.
    pub fn takes_pause(self) -> bool {
        matches!(self, Operation::DirectorySave | Operation::DirectoryReplace)
    }

    /// The default number of calls between syncs; 0: only at the end of the phase.
    pub fn usual_sync(self) -> u32 {
        u32::from(matches!(self, Operation::AppendFsync | Operation::RenameReplace))
    }

    /// Whether a phase must set the number of calls in each sequence.
    pub fn takes_steps(self) -> bool {
        self == Operation::Sequences
    }

    /// Whether several threads can share the operation.
    pub fn takes_threads(self) -> bool {
        use Operation::{
            AppendFsync, CopyReflink, DeviceReplay, DirectoryEmpty, DirectoryFill, DirectoryList, RandomRead,
            RandomWrite, RenameReplace, TraceReplay, TreeRead, TreeWrite,
        };
        matches!(
            self,
            AppendFsync
                | CopyReflink
                | RandomRead
                | RandomWrite
                | RenameReplace
                | DirectoryFill
                | DirectoryList
                | DirectoryEmpty
                | TreeWrite
                | TreeRead
                | TraceReplay
                | DeviceReplay
        )
    }

    /// Whether a thread can have several calls in flight at once.
    pub fn takes_depth(self) -> bool {
        matches!(self, Operation::RandomRead | Operation::RandomWrite)
    }

    /// Whether the operation replays calls with recorded times.
    pub fn takes_pace(self) -> bool {
        matches!(self, Operation::TraceReplay | Operation::DeviceReplay)
    }

    /// Whether a phase may set the share of files that changed.
    pub fn takes_changed(self) -> bool {
        matches!(self, Operation::RotationNext | Operation::RotationClone | Operation::AgePull)
    }

    /// Whether the operation ages the filesystem with a history of changes, which leaves a tree that differs from the
    /// dataset.
    pub fn is_aging(self) -> bool {
        matches!(self, Operation::AgePull | Operation::AgeChurn)
    }

    /// Whether a phase may start on a fresh filesystem with a copy of the data to read.
    pub fn takes_remake(self) -> bool {
        matches!(self, Operation::TreeRead | Operation::DirectoryList)
    }

    /// Whether the operation creates another folder beside the one with its dataset.
    pub(super) fn makes_another(self) -> bool {
        self == Operation::CopyReflink
    }

    /// The ability that the operation needs and that only some filesystems have.
    pub fn asks_for(self) -> Option<FilesystemAbility> {
        match self {
            Operation::RotationNext => Some(FilesystemAbility::HardLinks),
            Operation::RotationClone | Operation::CopyReflink => Some(FilesystemAbility::Clones),
            Operation::SnapshotCreate | Operation::SnapshotDelete => Some(FilesystemAbility::Snapshots),
            Operation::SnapshotRollback => Some(FilesystemAbility::Rollback),
            Operation::SnapshotSend | Operation::SnapshotReceive => Some(FilesystemAbility::Streams),
            _ => None,
        }
    }

    /// Whether a phase must set the target share of the filesystem in use.
    pub fn takes_to(self) -> bool {
        matches!(self, Operation::SpaceFill | Operation::SpaceFree | Operation::AgeChurn)
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

impl OperationKind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Tree => "tree",
            Self::Flat => "flat",
            Self::File => "file",
            Self::Folder => "folder",
            Self::Trace => "trace",
        }
    }

    /// A description of the kind, and the key of a plan that makes one.
    pub(super) fn describe_kind(self) -> &'static str {
        match self {
            Self::Tree => "a tree (profile … or path)",
            Self::Flat => "one directory of small files (flat)",
            Self::File => "one big file (file)",
            Self::Folder => "a real directory (path)",
            Self::Trace => "a trace of calls (calls)",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Flow, Needs, Operation, TABLE};

    #[test]
    fn every_row_stands_in_its_place_under_a_name_of_its_own() {
        for (place, row) in TABLE.iter().enumerate() {
            assert_eq!(row.operation as usize, place, "{}", row.name);
            assert_eq!(Operation::try_from(row.name.to_owned()), Ok(row.operation));
            assert!(row.summary.len() > 20, "{}", row.name);
            let is_whole = row.needs == Needs::Unmounted || row.operation == Operation::Sequences;
            assert_eq!(row.takes.is_empty(), is_whole, "{}", row.name);
            assert!(row.needs != Needs::BareDevice || row.flow != Flow::Neither, "{}", row.name);
        }
        assert!(serde_json::from_str::<Operation>("\"tree.wright\"").is_err());
    }
}

//! The built-in operations, one row each: what is known of one before it runs. How each is carried out and verified
//! stands in the workload room, which matches on the same type.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Dataset;

/// A built-in operation. In JSON its name, `tree.write`.
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
    /// With the filesystem made, but not mounted.
    Unmounted,
}

/// Which way the content of files goes: this is what an operation's logical bytes count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    Reads,
    Writes,
    /// Only names and metadata: no logical bytes.
    Neither,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OperationKind {
    Tree,
    /// One directory of small files.
    Flat,
    File,
    /// A real folder of the user's.
    Folder,
    /// Files, and calls that are made of them.
    Trace,
}

/// What some filesystems can do, and others cannot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FilesystemAbility {
    /// Files that share their blocks until one of them is written.
    Clones,
    /// Keeping a state of the whole filesystem.
    Snapshots,
    /// Going back to such a state.
    Rollback,
    /// Several names of one file.
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

/// What of the device an operation has, and which way data go.
#[derive(Clone, Copy)]
struct Access {
    needs: Needs,
    flow: Flow,
}

const fn row(
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
/// What can be written, and removed, as it is.
const WRITABLE: &[OperationKind] = &[OperationKind::Tree, OperationKind::Folder, OperationKind::Trace];
const TRACES: &[OperationKind] = &[OperationKind::Trace];
const GENERATED: &[OperationKind] = &[OperationKind::Tree];
const FILES: &[OperationKind] = &[OperationKind::File];
const FLATS: &[OperationKind] = &[OperationKind::Flat];
const LOGS: &[OperationKind] = &[OperationKind::File, OperationKind::Flat];
/// Anything with more than one file.
const MANY: &[OperationKind] = &[OperationKind::Tree, OperationKind::Folder, OperationKind::Flat];
const ANY: &[OperationKind] =
    &[OperationKind::Tree, OperationKind::Folder, OperationKind::Flat, OperationKind::File];

/// In the order of [`Operation`].
#[rustfmt::skip]
static TABLE: [OperationRow; 34] = [
    row(Operation::TreeWrite, "tree.write", WRITES, WRITABLE,
        "writes every directory, file and link of a tree into a new folder"),
    row(Operation::TreeRead, "tree.read", READS, TREES,
        "reads every file of a tree in the order its directories list them, and checksums it"),
    row(Operation::TreeOverwrite, "tree.overwrite", WRITES, TREES,
        "truncates every file of a tree and writes it again, as a second cp over the first does; the bytes of generated files change"),
    row(Operation::TreeRemove, "tree.remove", NAMES, WRITABLE,
        "removes a tree and its folder in the order its directories list it, as rm -r does"),
    row(Operation::StreamWrite, "stream.write", WRITES, FILES,
        "writes one big file from beginning to end"),
    row(Operation::StreamRead, "stream.read", READS, FILES,
        "reads one big file from beginning to end, and does nothing with it"),
    row(Operation::StreamRewrite, "stream.rewrite", WRITES, FILES,
        "writes other bytes over one big file, in place, without truncating it"),
    row(Operation::AppendFsync, "append.fsync", WRITES, LOGS,
        "lets one file, or each of a directory, grow from nothing in pieces of 2300 bytes with an fdatasync after each, as a database's log does (etcd's)"),
    row(Operation::RandomRead, "random.read", READS, FILES,
        "reads one big file in pieces of 4 KiB, each once, in random order"),
    row(Operation::RandomWrite, "random.write", WRITES, FILES,
        "writes other bytes over one big file in pieces of 4 KiB, each once, in random order"),
    row(Operation::RenameReplace, "rename.replace", WRITES, FLATS,
        "replaces every file of a directory: new contents into another file, fdatasync, rename over the old one, as editors and package managers do"),
    row(Operation::DirectoryFill, "directory.fill", WRITES, FLATS,
        "creates many small files in one directory"),
    row(Operation::DirectoryList, "directory.list", NAMES, FLATS,
        "reads a directory of many files and asks for the status of each, as ls -l does"),
    row(Operation::DirectoryEmpty, "directory.empty", NAMES, FLATS,
        "removes all files of a directory, in the order it lists them, and keeps the directory"),
    row(Operation::DirectorySave, "directory.save", WRITES, FLATS,
        "saves every file of a directory again as a careful program does: written under another name, fsync, renamed over the old one, fsync of the directory"),
    row(Operation::DirectoryReplace, "directory.replace", WRITES, FLATS,
        "does the same without any fsync: no interface promises what survives a power cut"),
    row(Operation::RotationCreate, "rotation.create", WRITES, MANY,
        "writes the first generation of a backup: every directory, file and link"),
    row(Operation::RotationNext, "rotation.next", WRITES, MANY,
        "makes the next generation: new directories, hard links to unchanged files of the one before, and the share `changed` written again"),
    row(Operation::RotationClone, "rotation.clone", WRITES, MANY,
        "makes the next generation: clones of unchanged files of the one before, which share their blocks until one is written (cp --reflink), and the share `changed` written again"),
    row(Operation::RotationDrop, "rotation.drop", NAMES, MANY,
        "removes the oldest generation, as rm -r does; files that later generations hold lose a link"),
    row(Operation::CopyReflink, "copy.reflink", NAMES, MANY,
        "copies a tree beside itself without its bytes, as cp --reflink=always does: each file is a clone, which shares its blocks with the original until one of them is written"),
    row(Operation::SnapshotCreate, "snapshot.create", NAMES, ANY,
        "keeps the whole filesystem as it is now, read-only, by its own snapshots; what it keeps of the dataset is verified"),
    row(Operation::SnapshotDelete, "snapshot.delete", NAMES, ANY,
        "gives up the oldest snapshot that is kept"),
    row(Operation::SnapshotRollback, "snapshot.rollback", NAMES, ANY,
        "puts the whole filesystem back to what it was when the newest snapshot was made, and mounts it again; what must then be there is verified"),
    row(Operation::SpaceFill, "space.fill", WRITES, MANY,
        "writes copies of the files, and removes some on the way, until the share `to` of the filesystem is in use or it takes no more"),
    row(Operation::SpaceFree, "space.free", NAMES, MANY,
        "removes such copies until no more than the share `to` is in use"),
    row(Operation::AgePull, "age.pull", WRITES, GENERATED,
        "changes a tree as so many pulls of a version control system do, each of which is synced: the share `changed` of the files removed and written again, with the objects beside them"),
    row(Operation::AgeChurn, "age.churn", WRITES, GENERATED,
        "writes new files into a tree until the share `to` of the filesystem is in use, and then, for each, removes others, mostly young ones, until so many times what lies there was written"),
    row(Operation::TraceReplay, "trace.replay", WRITES, TRACES,
        "makes the calls of a trace again, in their order, on the files that tree.write wrote for it"),
    row(Operation::DeviceWrite, "device.write", Access { needs: Needs::BareDevice, flow: Flow::Writes }, FILES,
        "writes the bytes of a big file to the bare device, before mkfs: a reference rate"),
    row(Operation::DeviceRead, "device.read", Access { needs: Needs::BareDevice, flow: Flow::Reads }, FILES,
        "reads them back from the bare device, as hdparm -t does: a reference rate"),
    row(Operation::DeviceReplay, "device.replay", Access { needs: Needs::BareDevice, flow: Flow::Writes }, TRACES,
        "makes the requests of a trace again on the bare device, before mkfs"),
    row(Operation::Sequences, "sequences", NAMES, &[],
        "does every sequence of one, two or three calls on a few names (create, link, rename, write, fallocate, fsync …): what must be found of each after a cut of power is known"),
    row(Operation::Fsck, "fsck", Access { needs: Needs::Unmounted, flow: Flow::Neither }, &[],
        "checks the unmounted filesystem with its own checker"),
];

impl Operation {
    pub fn all() -> impl Iterator<Item = Operation> {
        TABLE.iter().map(|row| row.operation)
    }

    fn row(self) -> &'static OperationRow {
        &TABLE[self as usize]
    }

    pub fn name(self) -> &'static str {
        self.row().name
    }

    pub fn summary(self) -> &'static str {
        self.row().summary
    }

    pub fn needs(self) -> Needs {
        self.row().needs
    }

    pub fn flow(self) -> Flow {
        self.row().flow
    }

    /// The kinds of datasets it works on; empty for one that works on the whole filesystem.
    pub fn takes(self) -> &'static [OperationKind] {
        self.row().takes
    }

    /// Whether it can be done again on the same files: it reads or checks.
    pub fn leaves_all_as_it_was(self) -> bool {
        use Operation::{DirectoryList, Fsck, RandomRead, StreamRead, TreeRead};
        matches!(self, TreeRead | StreamRead | RandomRead | DirectoryList | Fsck)
    }

    /// Whether a phase of it may say in pieces of how many bytes it works.
    pub fn takes_piece(self) -> bool {
        use Operation::{AppendFsync, RandomRead, RandomWrite};
        matches!(self, AppendFsync | RandomRead | RandomWrite)
    }

    /// Bytes of a piece where a phase does not say: those of etcd's log, and a page.
    pub fn usual_piece(self) -> u64 {
        if self == Operation::AppendFsync { 2300 } else { 4096 }
    }

    /// Whether a phase of it may say how often it syncs.
    pub fn takes_sync(self) -> bool {
        use Operation::{AppendFsync, DirectoryReplace, RandomWrite, RenameReplace};
        matches!(self, AppendFsync | DirectoryReplace | RandomWrite | RenameReplace)
    }

    /// Whether a phase of it may say how long nothing is done between two files.
    pub fn takes_pause(self) -> bool {
        matches!(self, Operation::DirectorySave | Operation::DirectoryReplace)
    }

    /// After how many calls it syncs where a phase does not say; 0: not before the phase ends.
    pub fn usual_sync(self) -> u32 {
        u32::from(matches!(self, Operation::AppendFsync | Operation::RenameReplace))
    }

    /// Whether a phase of it has to say how many calls its sequences have.
    pub fn takes_steps(self) -> bool {
        self == Operation::Sequences
    }

    /// Whether several threads can share it.
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

    /// Whether a thread of it can have several calls under way at once.
    pub fn takes_depth(self) -> bool {
        matches!(self, Operation::RandomRead | Operation::RandomWrite)
    }

    /// Whether it makes calls of which it is known when they were made.
    pub fn takes_pace(self) -> bool {
        matches!(self, Operation::TraceReplay | Operation::DeviceReplay)
    }

    /// Whether a phase of it may say which share of the files has changed.
    pub fn takes_changed(self) -> bool {
        matches!(self, Operation::RotationNext | Operation::RotationClone | Operation::AgePull)
    }

    /// Whether it goes through a history of changes, which leaves another tree than the dataset's.
    pub fn ages(self) -> bool {
        matches!(self, Operation::AgePull | Operation::AgeChurn)
    }

    /// Whether a phase of it may begin on a fresh filesystem with a copy of what is read.
    pub fn takes_remake(self) -> bool {
        matches!(self, Operation::TreeRead | Operation::DirectoryList)
    }

    /// Whether it makes another folder beside that in which its dataset lies.
    pub(super) fn makes_another(self) -> bool {
        self == Operation::CopyReflink
    }

    /// What a filesystem must be able to do for it that not all can.
    pub fn asks_for(self) -> Option<FilesystemAbility> {
        match self {
            Operation::RotationNext => Some(FilesystemAbility::HardLinks),
            Operation::RotationClone | Operation::CopyReflink => Some(FilesystemAbility::Clones),
            Operation::SnapshotCreate | Operation::SnapshotDelete => Some(FilesystemAbility::Snapshots),
            Operation::SnapshotRollback => Some(FilesystemAbility::Rollback),
            _ => None,
        }
    }

    /// Whether a phase of it has to say how full the filesystem is to be.
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

    /// What it is, and which key of a plan makes one.
    pub(super) fn described(self) -> &'static str {
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

//! The rows of the operations: see [`OperationRow`] for the meaning of each field.

use super::super::Precondition;
use super::{
    Amount, FilesystemAbility, Flow, Needs, Operation, OperationEffect, OperationKind, OperationRow, Syncs,
};

/// The default chunk size.
const PAGE: u64 = 4096;

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
pub(super) static TABLE: [OperationRow; 36] = [
    OperationRow {
        operation: Operation::TreeWrite, name: "tree.write", needs: Needs::Mounted, flow: Flow::Writes, datasets: WRITABLE,
        keys: &["threads"], piece: PAGE, syncs: Syncs::AtEnd,
        precondition: None, effect: OperationEffect::MakesFiles, amount: Amount::Dataset, ability: None,
        summary: "writes every directory, file and link of a tree into a new folder",
    },
    OperationRow {
        operation: Operation::TreeRead, name: "tree.read", needs: Needs::Mounted, flow: Flow::Reads, datasets: TREES,
        keys: &["repeat", "remake", "threads"], piece: PAGE, syncs: Syncs::AtEnd,
        precondition: Some(Precondition::Files), effect: OperationEffect::Nothing, amount: Amount::Dataset, ability: None,
        summary: "reads every file of a tree in the order its directories list them, and checksums it",
    },
    OperationRow {
        operation: Operation::TreeOverwrite, name: "tree.overwrite", needs: Needs::Mounted, flow: Flow::Writes, datasets: TREES,
        keys: &[], piece: PAGE, syncs: Syncs::AtEnd,
        precondition: Some(Precondition::Files), effect: OperationEffect::ChangesFiles, amount: Amount::Dataset, ability: None,
        summary: "truncates every file of a tree and writes it again, as a second cp over the first does; the bytes of generated files change",
    },
    OperationRow {
        operation: Operation::TreeRemove, name: "tree.remove", needs: Needs::Mounted, flow: Flow::Neither, datasets: WRITABLE,
        keys: &[], piece: PAGE, syncs: Syncs::AtEnd,
        precondition: Some(Precondition::Files), effect: OperationEffect::RemovesFolder, amount: Amount::Unknown, ability: None,
        summary: "removes a tree and its folder in the order its directories list it, as rm -r does",
    },
    OperationRow {
        operation: Operation::StreamWrite, name: "stream.write", needs: Needs::Mounted, flow: Flow::Writes, datasets: FILES,
        keys: &[], piece: PAGE, syncs: Syncs::AtEnd,
        precondition: None, effect: OperationEffect::MakesFiles, amount: Amount::Dataset, ability: None,
        summary: "writes one big file from beginning to end",
    },
    OperationRow {
        operation: Operation::StreamRead, name: "stream.read", needs: Needs::Mounted, flow: Flow::Reads, datasets: FILES,
        keys: &["repeat"], piece: PAGE, syncs: Syncs::AtEnd,
        precondition: Some(Precondition::Files), effect: OperationEffect::Nothing, amount: Amount::Dataset, ability: None,
        summary: "reads one big file from beginning to end, and does nothing with it",
    },
    OperationRow {
        operation: Operation::StreamRewrite, name: "stream.rewrite", needs: Needs::Mounted, flow: Flow::Writes, datasets: FILES,
        keys: &[], piece: PAGE, syncs: Syncs::AtEnd,
        precondition: Some(Precondition::Files), effect: OperationEffect::ChangesFiles, amount: Amount::Dataset, ability: None,
        summary: "writes other bytes over one big file, in place, without truncating it",
    },
    OperationRow {
        operation: Operation::AppendFsync, name: "append.fsync", needs: Needs::Mounted, flow: Flow::Writes, datasets: LOGS,
        keys: &["piece", "sync_every", "threads"], piece: 2300, syncs: Syncs::Calls(1),
        precondition: None, effect: OperationEffect::MakesFiles, amount: Amount::Dataset, ability: None,
        summary: "lets one file, or each of a directory, grow from nothing in pieces of 2300 bytes with an fdatasync after each, as a database's log does (etcd's)",
    },
    OperationRow {
        operation: Operation::RandomRead, name: "random.read", needs: Needs::Mounted, flow: Flow::Reads, datasets: FILES,
        keys: &["repeat", "piece", "threads", "depth"], piece: PAGE, syncs: Syncs::AtEnd,
        precondition: Some(Precondition::Files), effect: OperationEffect::Nothing, amount: Amount::Unknown, ability: None,
        summary: "reads one big file in pieces of 4 KiB, each once, in random order",
    },
    OperationRow {
        operation: Operation::RandomWrite, name: "random.write", needs: Needs::Mounted, flow: Flow::Writes, datasets: FILES,
        keys: &["piece", "sync_every", "threads", "depth"], piece: PAGE, syncs: Syncs::Calls(0),
        precondition: Some(Precondition::Files), effect: OperationEffect::ChangesFiles, amount: Amount::Unknown, ability: None,
        summary: "writes other bytes over one big file in pieces of 4 KiB, each once, in random order",
    },
    OperationRow {
        operation: Operation::RenameReplace, name: "rename.replace", needs: Needs::Mounted, flow: Flow::Writes, datasets: FLATS,
        keys: &["sync_every", "threads"], piece: PAGE, syncs: Syncs::Files(1),
        precondition: Some(Precondition::Files), effect: OperationEffect::ChangesFiles, amount: Amount::Dataset, ability: None,
        summary: "replaces every file of a directory: new contents into another file, fdatasync, rename over the old one, as editors and package managers do",
    },
    OperationRow {
        operation: Operation::DirectoryFill, name: "directory.fill", needs: Needs::Mounted, flow: Flow::Writes, datasets: FLATS,
        keys: &["threads"], piece: PAGE, syncs: Syncs::AtEnd,
        precondition: None, effect: OperationEffect::MakesFiles, amount: Amount::Dataset, ability: None,
        summary: "creates many small files in one directory",
    },
    OperationRow {
        operation: Operation::DirectoryList, name: "directory.list", needs: Needs::Mounted, flow: Flow::Neither, datasets: FLATS,
        keys: &["repeat", "remake", "threads"], piece: PAGE, syncs: Syncs::AtEnd,
        precondition: Some(Precondition::Files), effect: OperationEffect::Nothing, amount: Amount::Unknown, ability: None,
        summary: "reads a directory of many files and asks for the status of each, as ls -l does",
    },
    OperationRow {
        operation: Operation::DirectoryEmpty, name: "directory.empty", needs: Needs::Mounted, flow: Flow::Neither, datasets: FLATS,
        keys: &["threads"], piece: PAGE, syncs: Syncs::AtEnd,
        precondition: Some(Precondition::Files), effect: OperationEffect::ChangesFiles, amount: Amount::Unknown, ability: None,
        summary: "removes all files of a directory, in the order it lists them, and keeps the directory",
    },
    OperationRow {
        operation: Operation::DirectorySave, name: "directory.save", needs: Needs::Mounted, flow: Flow::Writes, datasets: FLATS,
        keys: &["pause"], piece: PAGE, syncs: Syncs::EachFile,
        precondition: Some(Precondition::Files), effect: OperationEffect::SavesFiles, amount: Amount::Dataset, ability: None,
        summary: "saves every file of a directory again as a careful program does: written under another name, fsync, renamed over the old one, fsync of the directory",
    },
    OperationRow {
        operation: Operation::DirectoryReplace, name: "directory.replace", needs: Needs::Mounted, flow: Flow::Writes, datasets: FLATS,
        keys: &["sync_every", "pause"], piece: PAGE, syncs: Syncs::Files(0),
        precondition: Some(Precondition::Files), effect: OperationEffect::SavesFiles, amount: Amount::Dataset, ability: None,
        summary: "does the same without any fsync: no interface promises what survives a power cut",
    },
    OperationRow {
        operation: Operation::RotationCreate, name: "rotation.create", needs: Needs::Mounted, flow: Flow::Writes, datasets: MANY,
        keys: &[], piece: PAGE, syncs: Syncs::AtEnd,
        precondition: None, effect: OperationEffect::StartsGenerations, amount: Amount::Unknown, ability: None,
        summary: "writes the first generation of a backup: every directory, file and link",
    },
    OperationRow {
        operation: Operation::RotationNext, name: "rotation.next", needs: Needs::Mounted, flow: Flow::Writes, datasets: MANY,
        keys: &["changed"], piece: PAGE, syncs: Syncs::AtEnd,
        precondition: Some(Precondition::Generations), effect: OperationEffect::ChangesFiles, amount: Amount::Changed, ability: Some(FilesystemAbility::HardLinks),
        summary: "makes the next generation: new directories, hard links to unchanged files of the one before, and the share `changed` written again",
    },
    OperationRow {
        operation: Operation::RotationClone, name: "rotation.clone", needs: Needs::Mounted, flow: Flow::Writes, datasets: MANY,
        keys: &["changed"], piece: PAGE, syncs: Syncs::AtEnd,
        precondition: Some(Precondition::Generations), effect: OperationEffect::ChangesFiles, amount: Amount::Changed, ability: Some(FilesystemAbility::Clones),
        summary: "makes the next generation: clones of unchanged files of the one before, which share their blocks until one is written (cp --reflink), and the share `changed` written again",
    },
    OperationRow {
        operation: Operation::RotationDrop, name: "rotation.drop", needs: Needs::Mounted, flow: Flow::Neither, datasets: MANY,
        keys: &[], piece: PAGE, syncs: Syncs::AtEnd,
        precondition: Some(Precondition::Generations), effect: OperationEffect::ChangesFiles, amount: Amount::Unknown, ability: None,
        summary: "removes the oldest generation, as rm -r does; files that later generations hold lose a link",
    },
    OperationRow {
        operation: Operation::CopyReflink, name: "copy.reflink", needs: Needs::Mounted, flow: Flow::Neither, datasets: MANY,
        keys: &["threads"], piece: PAGE, syncs: Syncs::AtEnd,
        precondition: Some(Precondition::Original), effect: OperationEffect::Clones, amount: Amount::Names, ability: Some(FilesystemAbility::Clones),
        summary: "copies a tree beside itself without its bytes, as cp --reflink=always does: each file is a clone, which shares its blocks with the original until one of them is written",
    },
    OperationRow {
        operation: Operation::SnapshotCreate, name: "snapshot.create", needs: Needs::Mounted, flow: Flow::Neither, datasets: ANY,
        keys: &[], piece: PAGE, syncs: Syncs::AtEnd,
        precondition: None, effect: OperationEffect::KeepsSnapshot, amount: Amount::Unknown, ability: Some(FilesystemAbility::Snapshots),
        summary: "keeps the whole filesystem as it is now, read-only, by its own snapshots; what it keeps of the dataset is verified",
    },
    OperationRow {
        operation: Operation::SnapshotDelete, name: "snapshot.delete", needs: Needs::Mounted, flow: Flow::Neither, datasets: ANY,
        keys: &[], piece: PAGE, syncs: Syncs::AtEnd,
        precondition: Some(Precondition::Snapshot), effect: OperationEffect::DropsSnapshot, amount: Amount::Unknown, ability: Some(FilesystemAbility::Snapshots),
        summary: "gives up the oldest snapshot that is kept",
    },
    OperationRow {
        operation: Operation::SnapshotRollback, name: "snapshot.rollback", needs: Needs::Mounted, flow: Flow::Neither, datasets: ANY,
        keys: &[], piece: PAGE, syncs: Syncs::AtEnd,
        precondition: Some(Precondition::Snapshot), effect: OperationEffect::RollsBack, amount: Amount::Unknown, ability: Some(FilesystemAbility::Rollback),
        summary: "puts the whole filesystem back to what it was when the newest snapshot was made, and mounts it again; what must then be there is verified",
    },
    OperationRow {
        operation: Operation::SnapshotSend, name: "snapshot.send", needs: Needs::Mounted, flow: Flow::Reads, datasets: ANY,
        keys: &[], piece: PAGE, syncs: Syncs::AtEnd,
        precondition: Some(Precondition::Snapshot), effect: OperationEffect::SendsSnapshot, amount: Amount::Unknown, ability: Some(FilesystemAbility::Streams),
        summary: "sends the newest snapshot as a stream of bytes into memory: all of it, or what changed since the last one that was sent",
    },
    OperationRow {
        operation: Operation::SnapshotReceive, name: "snapshot.receive", needs: Needs::Mounted, flow: Flow::Writes, datasets: ANY,
        keys: &[], piece: PAGE, syncs: Syncs::AtEnd,
        precondition: Some(Precondition::SentSnapshot), effect: OperationEffect::ReceivesSnapshot, amount: Amount::Unknown, ability: Some(FilesystemAbility::Streams),
        summary: "receives the last stream that was sent, beside what is there, as a backup's disk does; the dataset in it is verified where it can be seen",
    },
    OperationRow {
        operation: Operation::SpaceFill, name: "space.fill", needs: Needs::Mounted, flow: Flow::Writes, datasets: MANY,
        keys: &["to"], piece: PAGE, syncs: Syncs::AtEnd,
        precondition: None, effect: OperationEffect::MakesCopies, amount: Amount::UntilFull, ability: None,
        summary: "writes copies of the files, and removes some on the way, until the share `to` of the filesystem is in use or it takes no more",
    },
    OperationRow {
        operation: Operation::SpaceFree, name: "space.free", needs: Needs::Mounted, flow: Flow::Neither, datasets: MANY,
        keys: &["to"], piece: PAGE, syncs: Syncs::AtEnd,
        precondition: Some(Precondition::Copies), effect: OperationEffect::ChangesFiles, amount: Amount::Unknown, ability: None,
        summary: "removes such copies until no more than the share `to` is in use",
    },
    OperationRow {
        operation: Operation::AgePull, name: "age.pull", needs: Needs::Mounted, flow: Flow::Writes, datasets: GENERATED,
        keys: &["changed", "pulls"], piece: PAGE, syncs: Syncs::AtEnd,
        precondition: Some(Precondition::Files), effect: OperationEffect::Ages, amount: Amount::Pulls, ability: None,
        summary: "changes a tree as so many pulls of a version control system do, each of which is synced: the share `changed` of the files removed and written again, with the objects beside them",
    },
    OperationRow {
        operation: Operation::AgeChurn, name: "age.churn", needs: Needs::Mounted, flow: Flow::Writes, datasets: GENERATED,
        keys: &["rounds", "to"], piece: PAGE, syncs: Syncs::AtEnd,
        precondition: Some(Precondition::Files), effect: OperationEffect::Ages, amount: Amount::UntilFull, ability: None,
        summary: "writes new files into a tree until the share `to` of the filesystem is in use, and then, for each, removes others, mostly young ones, until so many times what lies there was written",
    },
    OperationRow {
        operation: Operation::TraceReplay, name: "trace.replay", needs: Needs::Mounted, flow: Flow::Writes, datasets: TRACES,
        keys: &["repeat", "threads", "pace"], piece: PAGE, syncs: Syncs::AtEnd,
        precondition: Some(Precondition::Files), effect: OperationEffect::Replays, amount: Amount::Calls, ability: None,
        summary: "makes the calls of a trace again, in their order, on the files that tree.write wrote for it",
    },
    OperationRow {
        operation: Operation::DeviceWrite, name: "device.write", needs: Needs::BareDevice, flow: Flow::Writes, datasets: FILES,
        keys: &[], piece: PAGE, syncs: Syncs::AtEnd,
        precondition: None, effect: OperationEffect::WritesDevice, amount: Amount::Unknown, ability: None,
        summary: "writes the bytes of a big file to the bare device, before mkfs: a reference rate",
    },
    OperationRow {
        operation: Operation::DeviceRead, name: "device.read", needs: Needs::BareDevice, flow: Flow::Reads, datasets: FILES,
        keys: &[], piece: PAGE, syncs: Syncs::AtEnd,
        precondition: Some(Precondition::DeviceBytes), effect: OperationEffect::Nothing, amount: Amount::Unknown, ability: None,
        summary: "reads them back from the bare device, as hdparm -t does: a reference rate",
    },
    OperationRow {
        operation: Operation::DeviceReplay, name: "device.replay", needs: Needs::BareDevice, flow: Flow::Writes, datasets: TRACES,
        keys: &["threads", "pace"], piece: PAGE, syncs: Syncs::AtEnd,
        precondition: None, effect: OperationEffect::WritesDevice, amount: Amount::Calls, ability: None,
        summary: "makes the requests of a trace again on the bare device, before mkfs",
    },
    OperationRow {
        operation: Operation::Sequences, name: "sequences", needs: Needs::Mounted, flow: Flow::Neither, datasets: &[],
        keys: &["steps", "sequences"], piece: PAGE, syncs: Syncs::AtEnd,
        precondition: None, effect: OperationEffect::SavesFiles, amount: Amount::Unknown, ability: None,
        summary: "does every sequence of one, two or three calls on a few names (create, link, rename, write, fallocate, fsync …): what must be found of each after a cut of power is known",
    },
    OperationRow {
        operation: Operation::Fsck, name: "fsck", needs: Needs::Unmounted, flow: Flow::Neither, datasets: &[],
        keys: &["repeat"], piece: PAGE, syncs: Syncs::AtEnd,
        precondition: None, effect: OperationEffect::Nothing, amount: Amount::Unknown, ability: None,
        summary: "checks the unmounted filesystem with its own checker",
    },
];

//! The operations, one row each: see the columns in `operation.rs` for the meaning of each property.

use serde::{Deserialize, Serialize};

use super::super::Precondition;
use super::{Amount, FilesystemAbility, Flow, Needs, OperationEffect, OperationKind, OperationRow, Syncs};

/// Declares [`Operation`] and its table. No property has a default, so that the compiler asks for each when a row is added.
macro_rules! operations {
    ($(#[$attribute:meta])* pub enum $enumeration:ident; $($operation:ident $name:literal $summary:literal {
        needs: $needs:ident, flow: $flow:ident, datasets: [$($kind:ident)*],
        keys: [$($key:literal)*], piece: $piece:literal, syncs: $syncs:ident $(($usual:literal))?,
        precondition: [$($precondition:ident)?], effect: $effect:ident, amount: $amount:ident,
        ability: [$($ability:ident)?], checked_after_cut: $checked:literal
    })*) => {
        $(#[$attribute])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(into = "&'static str", try_from = "String")]
        pub enum $enumeration {
            $(#[doc = $summary] $operation,)*
        }

        /// In the order of [`Operation`].
        pub(super) static TABLE: [OperationRow; [$($name),*].len()] = [$(OperationRow {
            operation: $enumeration::$operation,
            name: $name,
            summary: $summary,
            needs: Needs::$needs,
            flow: Flow::$flow,
            dataset_kinds: &[$(OperationKind::$kind),*],
            keys: &[$($key),*],
            usual_piece: $piece,
            syncs: Syncs::$syncs $(($usual))?,
            precondition: optional!($($precondition, Precondition)?),
            effect: OperationEffect::$effect,
            amount: Amount::$amount,
            ability: optional!($($ability, FilesystemAbility)?),
            is_checked_after_cut: $checked,
        }),*];
    };
}

/// A property that an operation may have or not.
macro_rules! optional {
    () => {
        None
    };
    ($case:ident, $kind:ident) => {
        Some($kind::$case)
    };
}

operations! {
    /// A built-in operation. In JSON it appears as its name, for example `tree.write`.
    pub enum Operation;

    TreeWrite "tree.write" "writes every directory, file and link of a tree into a new folder" {
        needs: Mounted, flow: Writes, datasets: [Tree Folder Trace], keys: ["threads"], piece: 4096, syncs: AtEnd,
        precondition: [], effect: MakesFiles, amount: Dataset, ability: [], checked_after_cut: true }
    TreeRead "tree.read" "reads every file of a tree in the order its directories list them, and checksums it" {
        needs: Mounted, flow: Reads, datasets: [Tree Folder], keys: ["repeat" "remake" "threads"], piece: 4096, syncs: AtEnd,
        precondition: [Files], effect: Nothing, amount: Dataset, ability: [], checked_after_cut: false }
    TreeOverwrite "tree.overwrite" "truncates every file of a tree and writes it again, as a second cp over the first does; the bytes of generated files change" {
        needs: Mounted, flow: Writes, datasets: [Tree Folder], keys: [], piece: 4096, syncs: AtEnd,
        precondition: [Files], effect: ChangesFiles, amount: Dataset, ability: [], checked_after_cut: false }
    TreeRemove "tree.remove" "removes a tree and its folder in the order its directories list it, as rm -r does" {
        needs: Mounted, flow: Neither, datasets: [Tree Folder Trace], keys: [], piece: 4096, syncs: AtEnd,
        precondition: [Files], effect: RemovesFolder, amount: Unknown, ability: [], checked_after_cut: false }
    StreamWrite "stream.write" "writes one big file from beginning to end" {
        needs: Mounted, flow: Writes, datasets: [File], keys: [], piece: 4096, syncs: AtEnd,
        precondition: [], effect: MakesFiles, amount: Dataset, ability: [], checked_after_cut: false }
    StreamRead "stream.read" "reads one big file from beginning to end, and does nothing with it" {
        needs: Mounted, flow: Reads, datasets: [File], keys: ["repeat"], piece: 4096, syncs: AtEnd,
        precondition: [Files], effect: Nothing, amount: Dataset, ability: [], checked_after_cut: false }
    StreamRewrite "stream.rewrite" "writes other bytes over one big file, in place, without truncating it" {
        needs: Mounted, flow: Writes, datasets: [File], keys: [], piece: 4096, syncs: AtEnd,
        precondition: [Files], effect: ChangesFiles, amount: Dataset, ability: [], checked_after_cut: false }
    AppendFsync "append.fsync" "lets one file, or each of a directory, grow from nothing in pieces of 2300 bytes with an fdatasync after each, as a database's log does (etcd's)" {
        needs: Mounted, flow: Writes, datasets: [File Flat], keys: ["piece" "sync_every" "threads"], piece: 2300, syncs: Calls(1),
        precondition: [], effect: MakesFiles, amount: Dataset, ability: [], checked_after_cut: false }
    RandomRead "random.read" "reads one big file in pieces of 4 KiB, each once, in random order" {
        needs: Mounted, flow: Reads, datasets: [File], keys: ["repeat" "piece" "threads" "depth"], piece: 4096, syncs: AtEnd,
        precondition: [Files], effect: Nothing, amount: Unknown, ability: [], checked_after_cut: false }
    RandomWrite "random.write" "writes other bytes over one big file in pieces of 4 KiB, each once, in random order" {
        needs: Mounted, flow: Writes, datasets: [File], keys: ["piece" "sync_every" "threads" "depth"], piece: 4096, syncs: Calls(0),
        precondition: [Files], effect: ChangesFiles, amount: Unknown, ability: [], checked_after_cut: false }
    RenameReplace "rename.replace" "replaces every file of a directory: new contents into another file, fdatasync, rename over the old one, as editors and package managers do" {
        needs: Mounted, flow: Writes, datasets: [Flat], keys: ["sync_every" "threads"], piece: 4096, syncs: Files(1),
        precondition: [Files], effect: ChangesFiles, amount: Dataset, ability: [], checked_after_cut: false }
    DirectoryFill "directory.fill" "creates many small files in one directory" {
        needs: Mounted, flow: Writes, datasets: [Flat], keys: ["threads"], piece: 4096, syncs: AtEnd,
        precondition: [], effect: MakesFiles, amount: Dataset, ability: [], checked_after_cut: true }
    DirectoryList "directory.list" "reads a directory of many files and asks for the status of each, as ls -l does" {
        needs: Mounted, flow: Neither, datasets: [Flat], keys: ["repeat" "remake" "threads"], piece: 4096, syncs: AtEnd,
        precondition: [Files], effect: Nothing, amount: Unknown, ability: [], checked_after_cut: false }
    DirectoryEmpty "directory.empty" "removes all files of a directory, in the order it lists them, and keeps the directory" {
        needs: Mounted, flow: Neither, datasets: [Flat], keys: ["threads"], piece: 4096, syncs: AtEnd,
        precondition: [Files], effect: ChangesFiles, amount: Unknown, ability: [], checked_after_cut: false }
    DirectorySave "directory.save" "saves every file of a directory again as a careful program does: written under another name, fsync, renamed over the old one, fsync of the directory" {
        needs: Mounted, flow: Writes, datasets: [Flat], keys: ["pause"], piece: 4096, syncs: EachFile,
        precondition: [Files], effect: SavesFiles, amount: Dataset, ability: [], checked_after_cut: false }
    DirectoryReplace "directory.replace" "does the same without any fsync: no interface promises what survives a power cut" {
        needs: Mounted, flow: Writes, datasets: [Flat], keys: ["sync_every" "pause"], piece: 4096, syncs: Files(0),
        precondition: [Files], effect: SavesFiles, amount: Dataset, ability: [], checked_after_cut: false }
    RotationCreate "rotation.create" "writes the first generation of a backup: every directory, file and link" {
        needs: Mounted, flow: Writes, datasets: [Tree Folder Flat], keys: [], piece: 4096, syncs: AtEnd,
        precondition: [], effect: StartsGenerations, amount: Unknown, ability: [], checked_after_cut: false }
    RotationNext "rotation.next" "makes the next generation: new directories, hard links to unchanged files of the one before, and the share `changed` written again" {
        needs: Mounted, flow: Writes, datasets: [Tree Folder Flat], keys: ["changed"], piece: 4096, syncs: AtEnd,
        precondition: [Generations], effect: ChangesFiles, amount: Changed, ability: [HardLinks], checked_after_cut: false }
    RotationClone "rotation.clone" "makes the next generation: clones of unchanged files of the one before, which share their blocks until one is written (cp --reflink), and the share `changed` written again" {
        needs: Mounted, flow: Writes, datasets: [Tree Folder Flat], keys: ["changed"], piece: 4096, syncs: AtEnd,
        precondition: [Generations], effect: ChangesFiles, amount: Changed, ability: [Clones], checked_after_cut: false }
    RotationDrop "rotation.drop" "removes the oldest generation, as rm -r does; files that later generations hold lose a link" {
        needs: Mounted, flow: Neither, datasets: [Tree Folder Flat], keys: [], piece: 4096, syncs: AtEnd,
        precondition: [Generations], effect: ChangesFiles, amount: Unknown, ability: [], checked_after_cut: false }
    CopyReflink "copy.reflink" "copies a tree beside itself without its bytes, as cp --reflink=always does: each file is a clone, which shares its blocks with the original until one of them is written" {
        needs: Mounted, flow: Neither, datasets: [Tree Folder Flat], keys: ["threads"], piece: 4096, syncs: AtEnd,
        precondition: [Original], effect: Clones, amount: Names, ability: [Clones], checked_after_cut: false }
    SnapshotCreate "snapshot.create" "keeps the whole filesystem as it is now, read-only, by its own snapshots; what it keeps of the dataset is verified" {
        needs: Mounted, flow: Neither, datasets: [Tree Folder Flat File], keys: [], piece: 4096, syncs: AtEnd,
        precondition: [], effect: KeepsSnapshot, amount: Unknown, ability: [Snapshots], checked_after_cut: false }
    SnapshotDelete "snapshot.delete" "gives up the oldest snapshot that is kept" {
        needs: Mounted, flow: Neither, datasets: [Tree Folder Flat File], keys: [], piece: 4096, syncs: AtEnd,
        precondition: [Snapshot], effect: DropsSnapshot, amount: Unknown, ability: [Snapshots], checked_after_cut: false }
    SnapshotRollback "snapshot.rollback" "puts the whole filesystem back to what it was when the newest snapshot was made, and mounts it again; what must then be there is verified" {
        needs: Mounted, flow: Neither, datasets: [Tree Folder Flat File], keys: [], piece: 4096, syncs: AtEnd,
        precondition: [Snapshot], effect: RollsBack, amount: Unknown, ability: [Rollback], checked_after_cut: false }
    SnapshotSend "snapshot.send" "sends the newest snapshot as a stream of bytes into memory: all of it, or what changed since the last one that was sent" {
        needs: Mounted, flow: Reads, datasets: [Tree Folder Flat File], keys: [], piece: 4096, syncs: AtEnd,
        precondition: [Snapshot], effect: SendsSnapshot, amount: Unknown, ability: [Streams], checked_after_cut: false }
    SnapshotReceive "snapshot.receive" "receives the last stream that was sent, beside what is there, as a backup's disk does; the dataset in it is verified where it can be seen" {
        needs: Mounted, flow: Writes, datasets: [Tree Folder Flat File], keys: [], piece: 4096, syncs: AtEnd,
        precondition: [SentSnapshot], effect: ReceivesSnapshot, amount: Unknown, ability: [Streams], checked_after_cut: false }
    SpaceFill "space.fill" "writes copies of the files, and removes some on the way, until the share `to` of the filesystem is in use or it takes no more" {
        needs: Mounted, flow: Writes, datasets: [Tree Folder Flat], keys: ["to"], piece: 4096, syncs: AtEnd,
        precondition: [], effect: MakesCopies, amount: UntilFull, ability: [], checked_after_cut: false }
    SpaceFree "space.free" "removes such copies until no more than the share `to` is in use" {
        needs: Mounted, flow: Neither, datasets: [Tree Folder Flat], keys: ["to"], piece: 4096, syncs: AtEnd,
        precondition: [Copies], effect: ChangesFiles, amount: Unknown, ability: [], checked_after_cut: false }
    AgePull "age.pull" "changes a tree as so many pulls of a version control system do, each of which is synced: the share `changed` of the files removed and written again, with the objects beside them" {
        needs: Mounted, flow: Writes, datasets: [Tree], keys: ["changed" "pulls"], piece: 4096, syncs: AtEnd,
        precondition: [Files], effect: Ages, amount: Pulls, ability: [], checked_after_cut: false }
    AgeChurn "age.churn" "writes new files into a tree until the share `to` of the filesystem is in use, and then, for each, removes others, mostly young ones, until so many times what lies there was written" {
        needs: Mounted, flow: Writes, datasets: [Tree], keys: ["rounds" "to"], piece: 4096, syncs: AtEnd,
        precondition: [Files], effect: Ages, amount: UntilFull, ability: [], checked_after_cut: false }
    TraceReplay "trace.replay" "makes the calls of a trace again, in their order, on the files that tree.write wrote for it" {
        needs: Mounted, flow: Writes, datasets: [Trace], keys: ["repeat" "threads" "pace"], piece: 4096, syncs: AtEnd,
        precondition: [Files], effect: Replays, amount: Calls, ability: [], checked_after_cut: false }
    DeviceWrite "device.write" "writes the bytes of a big file to the bare device, before mkfs: a reference rate" {
        needs: BareDevice, flow: Writes, datasets: [File], keys: [], piece: 4096, syncs: AtEnd,
        precondition: [], effect: WritesDevice, amount: Unknown, ability: [], checked_after_cut: false }
    DeviceRead "device.read" "reads them back from the bare device, as hdparm -t does: a reference rate" {
        needs: BareDevice, flow: Reads, datasets: [File], keys: [], piece: 4096, syncs: AtEnd,
        precondition: [DeviceBytes], effect: Nothing, amount: Unknown, ability: [], checked_after_cut: false }
    DeviceReplay "device.replay" "makes the requests of a trace again on the bare device, before mkfs" {
        needs: BareDevice, flow: Writes, datasets: [Trace], keys: ["threads" "pace"], piece: 4096, syncs: AtEnd,
        precondition: [], effect: WritesDevice, amount: Calls, ability: [], checked_after_cut: false }
    Sequences "sequences" "does every sequence of one, two or three calls on a few names (create, link, rename, write, fallocate, fsync …): what must be found of each after a cut of power is known" {
        needs: Mounted, flow: Neither, datasets: [], keys: ["steps" "sequences"], piece: 4096, syncs: AtEnd,
        precondition: [], effect: SavesFiles, amount: Unknown, ability: [], checked_after_cut: false }
    Fsck "fsck" "checks the unmounted filesystem with its own checker" {
        needs: Unmounted, flow: Neither, datasets: [], keys: ["repeat"], piece: 4096, syncs: AtEnd,
        precondition: [], effect: Nothing, amount: Unknown, ability: [], checked_after_cut: false }
}

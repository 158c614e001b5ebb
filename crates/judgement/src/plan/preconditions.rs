//! The needs of an operation that another one leaves (`directory.save` needs the files of `directory.fill`), checked
//! over the phases of a plan in their order. In a trial it would fail every candidate.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use fsverdict_text::{Node, Problems, TomlValue};

use super::{Dataset, Operation, OperationEffect, OperationKind, Phase, PhaseWork};

/// The state before an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precondition {
    /// The files of its dataset in its folder, which a command may have made, too.
    Files,
    /// The files of its dataset in the folder of the dataset's name.
    Original,
    /// Generations of a backup in its folder.
    Generations,
    /// Copies of its dataset in its folder, which fill the filesystem.
    Copies,
    /// The bytes of its dataset on the bare device.
    DeviceBytes,
    /// A snapshot that is kept.
    Snapshot,
    /// A snapshot that was sent and not yet received.
    SentSnapshot,
}

impl Precondition {
    /// The operation that brings it about, for datasets of this kind.
    pub fn made_by(self, kind: OperationKind) -> Operation {
        match (self, kind) {
            (Self::Files | Self::Original, OperationKind::Flat) => Operation::DirectoryFill,
            (Self::Files | Self::Original, OperationKind::File) => Operation::StreamWrite,
            (Self::Files | Self::Original, _) => Operation::TreeWrite,
            (Self::Generations, _) => Operation::RotationCreate,
            (Self::Copies, _) => Operation::SpaceFill,
            (Self::DeviceBytes, _) => Operation::DeviceWrite,
            (Self::Snapshot, _) => Operation::SnapshotCreate,
            (Self::SentSnapshot, _) => Operation::SnapshotSend,
        }
    }

    fn describe(self, dataset: &str, folder: &str) -> String {
        match self {
            Self::Files => format!("the files of `{dataset}` in the folder `{folder}`"),
            Self::Original => format!("the files of `{dataset}` in the folder `{dataset}`"),
            Self::Generations => format!("a generation of `{dataset}` in the folder `{folder}`"),
            Self::Copies => format!("copies of `{dataset}` in the folder `{folder}`"),
            Self::DeviceBytes => format!("the bytes of `{dataset}` on the device"),
            Self::Snapshot => "a snapshot".to_owned(),
            Self::SentSnapshot => "a snapshot that was sent".to_owned(),
        }
    }
}

/// The files that the phases so far leave on the filesystem.
#[derive(Debug, Default)]
pub(super) struct LeftByPhases {
    /// A command has run, which may have made any file.
    any_file: bool,
    /// Folders with files.
    folders: BTreeSet<String>,
    /// Folders that an operation keeps account of, with their dataset.
    accounts: BTreeMap<(&'static str, String), String>,
    on_device: bool,
    /// The folders with files at the time of each snapshot that is kept.
    snapshots: Vec<BTreeSet<String>>,
    sent: bool,
}

impl LeftByPhases {
    /// The files before the first phase, where services may make some, too.
    pub(super) fn new(has_services: bool) -> Self {
        LeftByPhases { any_file: has_services, ..LeftByPhases::default() }
    }

    /// Follows a phase that cannot be read: it may leave anything.
    pub(super) fn follow_unreadable_phase(&mut self) {
        self.any_file = true;
    }

    /// Checks that all that a phase needs is there, and follows it.
    pub(super) fn check_phase(
        &mut self,
        phase: &Phase,
        node: &Node,
        dataset: Option<&Dataset>,
        problems: &Problems,
    ) {
        self.any_file |= phase.before.is_some() || phase.beside.is_some();
        let PhaseWork::Operation(operation) = phase.work else {
            self.any_file = true;
            return;
        };
        let folder = phase.into.clone().unwrap_or_default();
        let name = phase.dataset.as_deref().unwrap_or_default();
        if let (Some(needed), Some(dataset)) = (operation.precondition(), dataset)
            && !self.is_met(needed, name, &folder)
        {
            let at = match &node.value {
                TomlValue::Table(table) => table.get("operation").map_or(node.at, |entry| entry.node.at),
                _ => node.at,
            };
            let place = match needed {
                Precondition::Files | Precondition::Generations | Precondition::Copies if folder != name => {
                    format!(", into = \"{folder}\"")
                }
                _ => String::new(),
            };
            let maker = needed.made_by(dataset.kind());
            problems.add(
                at,
                format!(
                    "`{operation}` needs {}, and no phase before it leaves that",
                    needed.describe(name, &folder)
                ),
                format!("put a phase before it: operation = \"{maker}\", dataset = \"{name}\"{place}"),
            );
        }
        self.follow_operation(operation, phase, name, folder);
        self.any_file |= phase.after.is_some();
    }

    fn is_met(&self, needed: Precondition, dataset: &str, folder: &str) -> bool {
        let has_account = |kind: &'static str| {
            self.accounts.get(&(kind, folder.to_owned())).is_some_and(|known| known == dataset)
        };
        match needed {
            Precondition::Files => self.has_files(folder),
            Precondition::Original => self.has_files(dataset),
            Precondition::Generations => has_account("generations"),
            Precondition::Copies => has_account("copies"),
            Precondition::DeviceBytes => self.on_device,
            Precondition::Snapshot => !self.snapshots.is_empty(),
            Precondition::SentSnapshot => self.sent,
        }
    }

    /// Whether files may lie here: in this folder, above or below it, or in a snapshot, whose name begins with a dot.
    fn has_files(&self, folder: &str) -> bool {
        let folder = Path::new(folder);
        let is_near = |made: &String| folder.starts_with(made) || Path::new(made).starts_with(folder);
        let is_kept = || !self.snapshots.is_empty() && folder.to_string_lossy().starts_with('.');
        self.any_file || self.folders.iter().any(is_near) || is_kept()
    }

    fn follow_operation(&mut self, operation: Operation, phase: &Phase, dataset: &str, folder: String) {
        if phase.remake.is_some() {
            // The filesystem is made again, with this folder alone.
            *self = LeftByPhases { any_file: self.any_file, ..LeftByPhases::default() };
            self.folders.insert(folder);
            return;
        }
        match operation.effect() {
            OperationEffect::MakesFiles | OperationEffect::Clones => drop(self.folders.insert(folder)),
            OperationEffect::StartsGenerations => self.keep_account("generations", folder, dataset),
            OperationEffect::MakesCopies => self.keep_account("copies", folder, dataset),
            OperationEffect::RemovesFolder => {
                self.folders.retain(|made| !Path::new(made).starts_with(&folder));
            }
            OperationEffect::WritesDevice => self.on_device = true,
            OperationEffect::KeepsSnapshot => self.snapshots.push(self.folders.clone()),
            OperationEffect::DropsSnapshot => drop(self.snapshots.drain(..self.snapshots.len().min(1))),
            OperationEffect::RollsBack => {
                if let Some(newest) = self.snapshots.pop() {
                    self.folders = newest;
                }
                self.snapshots.clear();
                self.sent = false;
            }
            OperationEffect::SendsSnapshot => self.sent = true,
            OperationEffect::ReceivesSnapshot => self.sent = false,
            OperationEffect::Nothing
            | OperationEffect::ChangesFiles
            | OperationEffect::Replays
            | OperationEffect::SavesFiles
            | OperationEffect::Ages => {}
        }
    }

    fn keep_account(&mut self, kind: &'static str, folder: String, dataset: &str) {
        self.folders.insert(folder.clone());
        self.accounts.insert((kind, folder), dataset.to_owned());
    }
}

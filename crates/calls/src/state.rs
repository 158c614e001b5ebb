//! Applies the calls of a trace to the model of files, and rejects a call on objects that do not exist.

use std::collections::BTreeMap;
use std::ops::Range;

use super::content::{FileContent, SegmentOrigin};
use super::fault::CallFault;
use super::history::{FileHistory, PromisedPart};
use super::model::{FileModel, NameKey, NodeKind};
use super::{CallWork, LARGEST_CALL, MOST_NAMES, MOST_OPEN, NameBefore, OpenFlags, TracedName};
use fsverdict_text::limits;

/// The maximum depth of directories; each level costs an open file.
const DEEPEST: usize = 100;
/// The maximum length of a path in bytes, including the generated numbers.
const LONGEST_PATH: usize = 3000;
/// The maximum length of a name in bytes (NAME_MAX).
const LONGEST_NAME: u16 = 255;

/// The names and files after some call of the trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceState {
    parents: Vec<u32>,
    /// A name's label is its number.
    model: FileModel,
    /// The node of each open file, and whether its writes are synced.
    open: BTreeMap<u32, OpenedFile>,
    /// The number of the bytes that are written now; where it grows with each sync, lost writes are told apart.
    writing: u32,
    periods: WritePeriods,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct OpenedFile {
    node: usize,
    synced: bool,
}

/// Whether bytes that are written over others differ from them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WritePeriods {
    /// All that a trace writes to a place is the same.
    One,
    /// Bytes that are written after a sync differ from those before it.
    BetweenSyncs,
}

impl TraceState {
    /// Before the first call.
    ///
    /// # Errors Describes the fault of a name.
    pub fn initial_state(names: &[TracedName], periods: WritePeriods) -> Result<Self, CallFault> {
        if names.len() > MOST_NAMES {
            return Err(CallFault::TooManyNames(names.len()));
        }
        let model = FileModel::default();
        let mut state = TraceState { parents: vec![0], model, open: BTreeMap::new(), writing: 1, periods };
        let (mut depths, mut lengths) = (vec![0_usize], vec![0_usize]);
        for (number, name) in (1_usize..).zip(names) {
            let parent = name.parent as usize;
            let wrong = |fault| Err(CallFault::Name { number, fault });
            if parent >= number {
                return wrong("its directory must be listed before it");
            }
            if !(1..=LONGEST_NAME).contains(&name.length) {
                return wrong("a name has 1 to 255 bytes");
            }
            let depth = depths[parent] + 1;
            // The digits of a number may be longer than the name was.
            let length = lengths[parent] + usize::from(name.length).max(6) + 1;
            if depth > DEEPEST || length > LONGEST_PATH {
                return wrong("it lies too deep");
            }
            depths.push(depth);
            lengths.push(length);
            state.parents.push(name.parent);
            let kind = match name.before {
                NameBefore::Nothing => continue,
                NameBefore::Directory => NodeKind::Directory,
                NameBefore::File(size) if size > limits::SIZE => return wrong("it is larger than 1 PiB"),
                NameBefore::File(_) => NodeKind::File,
            };
            let made = state.key_of(number as u32).and_then(|key| state.model.make_node(key, kind));
            let Some(node) = made else {
                return wrong("it exists before the trace, but its parent is not a directory");
            };
            if let NameBefore::File(size @ 1..) = name.before {
                state.write(node, 0..size, 0);
            }
        }
        Ok(state)
    }

    /// The files and names.
    pub fn model(&self) -> &FileModel {
        &self.model
    }

    /// Keeps a history of the model from now on.
    pub fn start_history(&mut self) -> FileHistory {
        FileHistory::new(&mut self.model)
    }

    /// Notes the changes of the last call in a history.
    pub fn note_call(&mut self, history: &mut FileHistory) {
        history.note_step(&mut self.model);
    }

    /// Notes the promises of the last call in a history, since it has returned.
    pub fn note_return(&self, history: &mut FileHistory, work: CallWork) {
        let node_of = |file| self.open.get(&file).map(|opened: &OpenedFile| opened.node);
        match work {
            CallWork::SyncFilesystem => history.promise_all(),
            CallWork::SyncDirectory { name } => {
                if let Some(node) = self.node_named(name) {
                    history.promise_node(&self.model, node, PromisedPart::Everything);
                }
            }
            CallWork::Fsync { file } => {
                if let Some(node) = node_of(file) {
                    history.promise_node(&self.model, node, PromisedPart::Everything);
                }
            }
            CallWork::Fdatasync { file } => {
                if let Some(node) = node_of(file) {
                    history.promise_node(&self.model, node, PromisedPart::Data);
                }
            }
            CallWork::Write { file, .. } => {
                if let Some(opened) = self.open.get(&file).filter(|opened| opened.synced) {
                    history.promise_node(&self.model, opened.node, PromisedPart::Data);
                }
            }
            _ => {}
        }
    }

    /// The file that has a name; its number is that of its contents.
    pub fn file_of(&self, name: u32) -> Option<(u32, &FileContent)> {
        self.file_at(self.node_named(name)?)
    }

    fn file_at(&self, node: usize) -> Option<(u32, &FileContent)> {
        let node = self.model.node(node).filter(|node| node.kind == NodeKind::File)?;
        Some((node.file, &node.content))
    }

    /// The node of an existing name; 0 is the folder itself.
    pub fn node_named(&self, name: u32) -> Option<usize> {
        if name == 0 { Some(0) } else { self.model.node_named(self.key_of(name)?) }
    }

    fn key_of(&self, name: u32) -> Option<NameKey> {
        let directory = self.node_named(*self.parents.get(name as usize)?)?;
        self.model.is_directory(directory).then_some(NameKey { directory, label: name })
    }

    pub fn is_directory(&self, name: u32) -> bool {
        self.node_named(name).is_some_and(|node| self.model.is_directory(node))
    }

    /// The file that is open under a number; its own number is that of its contents.
    pub fn open_file(&self, file: u32) -> Option<(u32, &FileContent)> {
        self.file_at(self.open.get(&file)?.node)
    }

    /// How many names of a directory exist.
    pub fn entries_in(&self, name: u32) -> u32 {
        self.node_named(name).map_or(0, |node| self.model.entries_of(node).count() as u32)
    }

    /// The node that has this name, if any has.
    fn find_node(&self, name: u32) -> Result<Option<usize>, CallFault> {
        match name {
            0 => Err(CallFault::UnknownName(0)),
            name if name as usize >= self.parents.len() => Err(CallFault::UnknownName(name)),
            name => Ok(self.node_named(name)),
        }
    }

    /// The file that has this name.
    fn find_file(&self, name: u32) -> Result<Option<usize>, CallFault> {
        Ok(self.find_node(name)?.filter(|node| self.model.is_file(*node)))
    }

    /// A name that no node has, in a directory.
    fn free_key(&self, name: u32) -> Result<NameKey, CallFault> {
        match self.find_node(name)? {
            Some(_) => Err(CallFault::NameExists(name)),
            None => self.key_of(name).ok_or(CallFault::ParentIsNoDirectory(name)),
        }
    }

    fn write(&mut self, node: usize, bytes: Range<u64>, written: u32) {
        let file = self.model.node(node).map_or(0, |node| node.file);
        self.model.overwrite(node, bytes, Some(SegmentOrigin { file, shift: 0, written }));
    }

    fn size_of(&self, node: usize) -> u64 {
        self.model.node(node).map_or(0, |node| node.content.size)
    }

    /// Does one call.
    ///
    /// # Errors Fails if the call does not find its object, or is out of bounds. The state is unchanged then.
    pub fn apply(&mut self, work: CallWork) -> Result<(), CallFault> {
        match work {
            CallWork::Open { file, name, flags } => self.open(file, name, flags)?,
            CallWork::Close { file } => {
                self.open.remove(&file).ok_or(CallFault::NotOpen(file))?;
            }
            CallWork::Read { file, offset, length } => {
                let end = end_of(offset, length)?;
                let size = self.size_of(self.opened_node(file)?);
                if end > size {
                    return Err(CallFault::ReadsBeyondEnd { end, size });
                }
            }
            CallWork::Write { file, offset, length } => {
                let end = end_of(offset, length)?;
                self.write(self.opened_node(file)?, offset..end, self.writing);
            }
            CallWork::Fsync { file } | CallWork::Fdatasync { file } => drop(self.opened_node(file)?),
            CallWork::Truncate { file, size } => {
                if size > limits::SIZE {
                    return Err(CallFault::FileTooLarge);
                }
                self.model.set_size(self.opened_node(file)?, size);
            }
            CallWork::Reserve { file, offset, length } => {
                let end = offset.checked_add(length).filter(|end| *end <= limits::SIZE && length > 0);
                let end = end.ok_or(CallFault::ReservedRange)?;
                self.model.grow_to(self.opened_node(file)?, end);
            }
            CallWork::MakeDirectory { name } => {
                let key = self.free_key(name)?;
                self.model.make_node(key, NodeKind::Directory);
            }
            CallWork::RemoveFile { name } => {
                self.find_file(name)?.ok_or(CallFault::NotFile(name))?;
                self.key_of(name).and_then(|key| self.model.unlink(key));
            }
            CallWork::RemoveDirectory { name } => {
                self.find_node(name)?;
                let removed = self.key_of(name).and_then(|key| self.model.remove_directory(key));
                removed.ok_or(CallFault::NotEmptyDirectory(name))?;
            }
            CallWork::Rename { from, to } => {
                let (file, over) = (self.find_file(from)?, self.find_node(to)?);
                let is_wrong = over.is_some_and(|over| !self.model.is_file(over));
                let node = file.filter(|_| !is_wrong).ok_or(CallFault::Rename { from, to })?;
                // Of two names of one file both stay (rename(2)).
                if over != Some(node) {
                    let keys = self.key_of(from).zip(self.key_of(to));
                    let (old, new) = keys.ok_or(CallFault::ParentIsNoDirectory(to))?;
                    self.model.rename(old, new);
                }
            }
            CallWork::Link { from, to } => match (self.find_file(from)?, self.find_node(to)?) {
                (Some(node), None) => {
                    let key = self.free_key(to)?;
                    self.model.link_node(node, key);
                }
                _ => return Err(CallFault::Link { from, to }),
            },
            // 0 is the folder itself.
            CallWork::Look { name: 0 } => {}
            CallWork::Look { name } => drop(self.find_node(name)?),
            CallWork::List { name } | CallWork::SyncDirectory { name } => {
                if !self.is_directory(name) {
                    return Err(CallFault::NotDirectory(name));
                }
            }
            CallWork::SyncFilesystem => {}
            CallWork::OpenUnnamed { file, directory } => {
                if !self.is_directory(directory) {
                    return Err(CallFault::NotDirectory(directory));
                }
                self.may_open(file)?;
                let node = self.model.new_node(NodeKind::File);
                self.open.insert(file, OpenedFile { node, synced: false });
            }
            CallWork::LinkOpen { file, name } => {
                let node = self.opened_node(file)?;
                let key = self.free_key(name)?;
                self.model.link_node(node, key);
            }
            CallWork::Copy { from, from_offset, file, offset, length, .. } => {
                self.copy_range((from, from_offset), (file, offset), length)?;
            }
        }
        if self.periods == WritePeriods::BetweenSyncs && work.is_sync() {
            self.writing += 1;
        }
        Ok(())
    }

    /// The node of the file that is open so.
    fn opened_node(&self, file: u32) -> Result<usize, CallFault> {
        self.open.get(&file).map(|opened| opened.node).ok_or(CallFault::NotOpen(file))
    }

    fn copy_range(&mut self, from: (u32, u64), to: (u32, u64), length: u64) -> Result<(), CallFault> {
        let (from_end, end) = (copy_end(from.1, length)?, copy_end(to.1, length)?);
        let (source, target) = (self.opened_node(from.0)?, self.opened_node(to.0));
        let size = self.size_of(source);
        if from_end > size {
            return Err(CallFault::ReadsBeyondEnd { end: from_end, size });
        }
        let target = target?;
        if source == target && from.1 < end && to.1 < from_end {
            return Err(CallFault::CopyOverlaps);
        }
        self.model.copy_range((source, from.1), (target, to.1), length);
        Ok(())
    }

    fn may_open(&self, file: u32) -> Result<(), CallFault> {
        if self.open.len() >= MOST_OPEN {
            return Err(CallFault::TooManyOpen);
        }
        if self.open.contains_key(&file) {
            return Err(CallFault::OpenAlready(file));
        }
        Ok(())
    }

    fn open(&mut self, file: u32, name: u32, flags: OpenFlags) -> Result<(), CallFault> {
        self.may_open(file)?;
        let node = match self.find_node(name)? {
            Some(node) if self.model.is_file(node) => node,
            None if flags.create => {
                let key = self.free_key(name)?;
                self.model.make_node(key, NodeKind::File).ok_or(CallFault::NotFile(name))?
            }
            _ => return Err(CallFault::NotFile(name)),
        };
        self.open.insert(file, OpenedFile { node, synced: flags.synced });
        if flags.truncate {
            self.model.set_size(node, 0);
        }
        Ok(())
    }
}

fn end_of(offset: u64, length: u64) -> Result<u64, CallFault> {
    let end = offset.checked_add(length).filter(|end| *end <= limits::SIZE);
    match end {
        Some(end) if (1..=LARGEST_CALL).contains(&length) => Ok(end),
        _ => Err(CallFault::MovedRange { offset, length }),
    }
}

/// Where a copy ends; it may be of a whole file.
fn copy_end(offset: u64, length: u64) -> Result<u64, CallFault> {
    let end = offset.checked_add(length).filter(|end| *end <= limits::SIZE && length > 0);
    end.ok_or(CallFault::CopiedRange { offset, length })
}

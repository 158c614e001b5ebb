//! Simulates the filesystem state after each call of a trace: names, files, and the origin of their bytes. It rejects a
//! call on objects that do not exist.

use std::collections::BTreeMap;

use super::fault::CallFault;
use super::segments::{SegmentOrigin, TracedFile, TracedSegment};
use super::{CallWork, LARGEST_CALL, MOST_NAMES, MOST_OPEN, NameBefore, OpenFlags, TracedName};
use fsverdict_text::limits;

/// The maximum depth of directories; each level costs an open file.
const DEEPEST: usize = 100;
/// The maximum length of a path in bytes, including the generated numbers.
const LONGEST_PATH: usize = 3000;
/// The maximum length of a name in bytes (NAME_MAX).
const LONGEST_NAME: u16 = 255;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NamedObject {
    Nothing,
    Directory,
    File(u32),
}

/// The names and files after some call of the trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceState {
    parents: Vec<u32>,
    /// Indexed by the name's number; 0 is the folder itself.
    objects: Vec<NamedObject>,
    /// The number of existing names in each directory.
    inside: Vec<u32>,
    files: Vec<TracedFile>,
    open: BTreeMap<u32, u32>,
    bytes: u64,
}

impl TraceState {
    /// Before the first call.
    ///
    /// # Errors Describes the fault of a name.
    pub fn initial_state(names: &[TracedName]) -> Result<Self, CallFault> {
        if names.len() > MOST_NAMES {
            return Err(CallFault::TooManyNames(names.len()));
        }
        let mut state = TraceState {
            parents: vec![0],
            objects: vec![NamedObject::Directory],
            inside: vec![0; names.len() + 1],
            files: Vec::new(),
            open: BTreeMap::new(),
            bytes: 0,
        };
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
            let object = match name.before {
                NameBefore::Nothing => NamedObject::Nothing,
                NameBefore::Directory => NamedObject::Directory,
                NameBefore::File(size) if size > limits::SIZE => return wrong("it is larger than 1 PiB"),
                NameBefore::File(size) => NamedObject::File(state.new_file(size)),
            };
            if object != NamedObject::Nothing {
                if state.objects[parent] != NamedObject::Directory {
                    return wrong("it exists before the trace, but its parent is not a directory");
                }
                state.inside[parent] += 1;
            }
            state.parents.push(name.parent);
            state.objects.push(object);
        }
        Ok(state)
    }

    fn new_file(&mut self, size: u64) -> u32 {
        let mut file = TracedFile { size, segments: BTreeMap::new() };
        if size > 0 {
            let origin = SegmentOrigin { file: self.files.len() as u32, shift: 0, written: false };
            file.segments.insert(0, TracedSegment { end: size, origin });
        }
        self.bytes = self.bytes.saturating_add(size);
        self.files.push(file);
        (self.files.len() - 1) as u32
    }

    /// Bytes of all files that were ever there, as they are now.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The file that has a name.
    pub fn file_of(&self, name: u32) -> Option<(u32, &TracedFile)> {
        match self.objects.get(name as usize)? {
            NamedObject::File(file) => Some((*file, self.files.get(*file as usize)?)),
            _ => None,
        }
    }

    pub fn is_directory(&self, name: u32) -> bool {
        self.objects.get(name as usize) == Some(&NamedObject::Directory)
    }

    /// The file that is open under a number; its own number is that of its contents.
    pub fn open_file(&self, file: u32) -> Option<(u32, &TracedFile)> {
        let number = *self.open.get(&file)?;
        Some((number, self.files.get(number as usize)?))
    }

    /// How many names of a directory exist.
    pub fn entries_in(&self, name: u32) -> u32 {
        self.inside.get(name as usize).copied().unwrap_or(0)
    }

    /// The object that has this name.
    fn object_named(&self, name: u32) -> Result<NamedObject, CallFault> {
        match self.objects.get(name as usize) {
            Some(object) if name > 0 => Ok(*object),
            _ => Err(CallFault::UnknownName(name)),
        }
    }

    fn rebind_name(&mut self, name: u32, object: NamedObject) -> Result<(), CallFault> {
        let parent = self.parents[name as usize] as usize;
        if self.objects[parent] != NamedObject::Directory {
            return Err(CallFault::ParentIsNoDirectory(name));
        }
        let before = std::mem::replace(&mut self.objects[name as usize], object);
        self.inside[parent] -= u32::from(before != NamedObject::Nothing);
        self.inside[parent] += u32::from(object != NamedObject::Nothing);
        Ok(())
    }

    fn file(&mut self, file: u32) -> Result<&mut TracedFile, CallFault> {
        let number = self.number_of(file)?;
        self.files.get_mut(number as usize).ok_or(CallFault::NotOpen(file))
    }

    /// Does one call.
    ///
    /// # Errors Fails if the call does not find its object, or is out of bounds. The state is unchanged then.
    pub fn apply(&mut self, work: CallWork) -> Result<(), CallFault> {
        let free = |object, name| match object {
            NamedObject::Nothing => Ok(()),
            _ => Err(CallFault::NameExists(name)),
        };
        match work {
            CallWork::Open { file, name, flags } => self.open(file, name, flags)?,
            CallWork::Close { file } => {
                self.open.remove(&file).ok_or(CallFault::NotOpen(file))?;
            }
            CallWork::Read { file, offset, length } => {
                let end = end_of(offset, length)?;
                let size = self.file(file)?.size;
                if end > size {
                    return Err(CallFault::ReadsBeyondEnd { end, size });
                }
            }
            CallWork::Write { file, offset, length } => {
                let end = end_of(offset, length)?;
                let number = self.number_of(file)?;
                let origin = SegmentOrigin { file: number, shift: 0, written: true };
                let (before, after) = self.file(file)?.overwrite_range(offset, end, Some(origin));
                self.bytes = self.bytes.saturating_add(after).saturating_sub(before);
            }
            CallWork::Fsync { file } | CallWork::Fdatasync { file } => drop(self.file(file)?.size),
            CallWork::Truncate { file, size } => {
                if size > limits::SIZE {
                    return Err(CallFault::FileTooLarge);
                }
                let file = self.file(file)?;
                let (before, after) = file.overwrite_range(size, u64::MAX, None);
                file.size = size;
                self.bytes = self.bytes.saturating_add(after).saturating_sub(before);
            }
            CallWork::Reserve { file, offset, length } => {
                let end = offset.checked_add(length).filter(|end| *end <= limits::SIZE && length > 0);
                let end = end.ok_or(CallFault::ReservedRange)?;
                let file = self.file(file)?;
                file.size = file.size.max(end);
            }
            CallWork::MakeDirectory { name } => {
                free(self.object_named(name)?, name)?;
                self.rebind_name(name, NamedObject::Directory)?;
            }
            CallWork::RemoveFile { name } => match self.object_named(name)? {
                NamedObject::File(_) => self.rebind_name(name, NamedObject::Nothing)?,
                _ => return Err(CallFault::NotFile(name)),
            },
            CallWork::RemoveDirectory { name } => match self.object_named(name)? {
                NamedObject::Directory if self.entries_in(name) == 0 => {
                    self.rebind_name(name, NamedObject::Nothing)?;
                }
                _ => return Err(CallFault::NotEmptyDirectory(name)),
            },
            CallWork::Rename { from, to } => match (self.object_named(from)?, self.object_named(to)?) {
                // Of two names of one file both stay (rename(2)).
                (NamedObject::File(file), NamedObject::File(other)) if file == other => {}
                (NamedObject::File(file), NamedObject::File(_) | NamedObject::Nothing) => {
                    self.rebind_name(to, NamedObject::File(file))?;
                    self.rebind_name(from, NamedObject::Nothing)?;
                }
                _ => return Err(CallFault::Rename { from, to }),
            },
            CallWork::Link { from, to } => match (self.object_named(from)?, self.object_named(to)?) {
                (NamedObject::File(file), NamedObject::Nothing) => {
                    self.rebind_name(to, NamedObject::File(file))?;
                }
                _ => return Err(CallFault::Link { from, to }),
            },
            // 0 is the folder itself.
            CallWork::Look { name: 0 } => {}
            CallWork::Look { name } => drop(self.object_named(name)?),
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
                let number = self.new_file(0);
                self.open.insert(file, number);
            }
            CallWork::LinkOpen { file, name } => {
                let number = self.number_of(file)?;
                free(self.object_named(name)?, name)?;
                self.rebind_name(name, NamedObject::File(number))?;
            }
            CallWork::Copy { from, from_offset, file, offset, length, .. } => {
                self.copy_range((from, from_offset), (file, offset), length)?;
            }
        }
        Ok(())
    }

    /// The number of the file that is open so.
    fn number_of(&self, file: u32) -> Result<u32, CallFault> {
        self.open.get(&file).copied().ok_or(CallFault::NotOpen(file))
    }

    fn copy_range(&mut self, from: (u32, u64), to: (u32, u64), length: u64) -> Result<(), CallFault> {
        let (from_end, end) = (copy_end(from.1, length)?, copy_end(to.1, length)?);
        let source = self.file(from.0)?;
        if from_end > source.size {
            return Err(CallFault::ReadsBeyondEnd { end: from_end, size: source.size });
        }
        let copied = source.segments_in(from.1, from_end);
        if self.number_of(from.0)? == self.number_of(to.0)? && from.1 < end && to.1 < from_end {
            return Err(CallFault::CopyOverlaps);
        }
        let target = self.file(to.0)?;
        // A copy of a hole is a hole.
        let (mut before, mut after) = target.overwrite_range(to.1, end, None);
        for (start, segment) in copied {
            let shift = to.1 as i64 - from.1 as i64;
            let moved = |at: u64| at.saturating_add_signed(shift);
            let origin =
                SegmentOrigin { shift: segment.origin.shift.saturating_add(shift), ..segment.origin };
            let (was, is) = target.overwrite_range(moved(start), moved(segment.end), Some(origin));
            (before, after) = (before + was, after + is);
        }
        target.size = target.size.max(end);
        self.bytes = self.bytes.saturating_add(after).saturating_sub(before);
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
        let number = match self.object_named(name)? {
            NamedObject::File(number) => number,
            NamedObject::Nothing if flags.create => {
                let number = self.files.len() as u32;
                self.rebind_name(name, NamedObject::File(number))?;
                self.new_file(0)
            }
            _ => return Err(CallFault::NotFile(name)),
        };
        self.open.insert(file, number);
        if flags.truncate
            && let Some(opened) = self.files.get_mut(number as usize)
        {
            let (before, _) = opened.overwrite_range(0, u64::MAX, None);
            opened.size = 0;
            self.bytes = self.bytes.saturating_sub(before);
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

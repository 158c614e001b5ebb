//! Infers the state of names and files while a recording is read: which existed before, which exist now, and their
//! sizes.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::ops::Range;
use std::path::{Component, Path};

use fsverdict_judgement::plan::{MOST_NAMES, NameBefore, OpenFlags};

/// The length of the name for recordings without opens and names.
const USUAL_LENGTH: u16 = 8;

/// The current knowledge about a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NameKind {
    /// Nothing was done to it that tells.
    Unknown,
    Gone,
    Directory,
    /// A file of this number.
    File(usize),
}

#[derive(Debug)]
pub(super) struct Named {
    pub(super) parent: u32,
    pub(super) length: u16,
    pub(super) before: NameBefore,
    now: NameKind,
}

/// A file: how large it is now, and the name that it had before everything, if it was there.
#[derive(Debug, Clone, Default)]
struct Grown {
    size: u64,
    before: Option<u32>,
    /// Whether its beginning is as it was: it was not cut short.
    whole: bool,
    /// Calls that appended to it while it was not known how large it was before.
    appended: Vec<AppendedCall>,
    /// The number of bytes by which the first appended data moved since its offset was first computed.
    shift: u64,
    /// Whether its size is known, and not only that it is no smaller.
    exact: bool,
}

/// A call that appended to a file of unknown size: its place among the calls, and the shift of the file that it knew.
#[derive(Debug, Clone, Copy)]
struct AppendedCall {
    slot: usize,
    before: u64,
}

impl Grown {
    fn take_shifts(&mut self) -> Vec<(usize, u64)> {
        let shift = self.shift;
        std::mem::take(&mut self.appended)
            .into_iter()
            .map(|call| (call.slot, shift.saturating_sub(call.before)))
            .collect()
    }
}

/// Names and files.
#[derive(Debug, Default)]
pub(super) struct RecordedFiles {
    pub(super) names: Vec<Named>,
    /// Keyed by the number of the directory and the name.
    numbers: HashMap<u32, HashMap<OsString, u32>>,
    files: Vec<Grown>,
    full: bool,
}

impl RecordedFiles {
    /// Whether there are as many names as a trace may have.
    pub(super) fn is_full(&self) -> bool {
        self.full
    }

    /// The number of a relative path, and of all directories above it; `None` where it is no plain path.
    pub(super) fn number_of_path(&mut self, path: &Path) -> Option<u32> {
        let mut at = 0;
        for component in path.components() {
            let Component::Normal(part) = component else { return None };
            let known = self.numbers.get(&at).and_then(|inside| inside.get(part)).copied();
            at = match known {
                Some(number) => number,
                None => {
                    if self.names.len() >= MOST_NAMES {
                        self.full = true;
                        return None;
                    }
                    let length = u16::try_from(part.len()).ok().filter(|length| *length <= 255)?;
                    self.new_name(at, part, length)
                }
            };
        }
        (at > 0).then_some(at)
    }

    fn new_name(&mut self, parent: u32, text: &OsStr, length: u16) -> u32 {
        self.names.push(Named { parent, length, before: NameBefore::Nothing, now: NameKind::Unknown });
        let number = self.names.len() as u32;
        self.numbers.entry(parent).or_default().insert(text.to_owned(), number);
        number
    }

    pub(super) fn lone_file(&mut self, size: u64) -> u32 {
        let number = self.new_name(0, OsStr::new("1"), USUAL_LENGTH);
        if let Some(file) = self.file_named(number) {
            self.learn_size(file, size);
        }
        number
    }

    fn name_mut(&mut self, number: u32) -> Option<&mut Named> {
        self.names.get_mut((number as usize).checked_sub(1)?)
    }

    pub(super) fn kind_of(&self, number: u32) -> NameKind {
        match (number as usize).checked_sub(1) {
            Some(at) => self.names.get(at).map_or(NameKind::Unknown, |name| name.now),
            None => NameKind::Directory,
        }
    }

    fn set_bearer(&mut self, number: u32, bearer: NameKind) {
        if let Some(name) = self.name_mut(number) {
            name.now = bearer;
        }
    }

    /// The directories above a name are there.
    fn note_parent_directories(&mut self, number: u32) {
        let mut at = number;
        while let Some(parent) = self.name_mut(at).map(|name| name.parent).filter(|parent| *parent > 0) {
            self.is_directory(parent);
            at = parent;
        }
    }

    pub(super) fn is_directory(&mut self, number: u32) {
        if let Some(name) = self.name_mut(number)
            && name.now == NameKind::Unknown
        {
            (name.before, name.now) = (NameBefore::Directory, NameKind::Directory);
        }
    }

    /// Whether a name is that of a directory: one was made or listed there, or something lies below it.
    pub(super) fn is_known_directory(&self, number: u32) -> bool {
        match self.kind_of(number) {
            NameKind::Directory => true,
            NameKind::Unknown => self.numbers.get(&number).is_some_and(|inside| !inside.is_empty()),
            _ => false,
        }
    }

    /// It is a directory, and so are all above it.
    pub(super) fn note_directory(&mut self, number: u32) {
        self.note_parent_directories(number);
        self.is_directory(number);
    }

    pub(super) fn note_file(&mut self, number: u32) {
        self.note_parent_directories(number);
        let file = self.files.len();
        let Some(name) = self.name_mut(number) else { return };
        if name.now == NameKind::Unknown {
            (name.before, name.now) = (NameBefore::File(0), NameKind::File(file));
            self.files.push(Grown { before: Some(number), whole: true, ..Grown::default() });
        }
    }

    /// A name of which it was only supposed that it is a file turned out to be a directory.
    pub(super) fn turn_into_directory(&mut self, number: u32) {
        if let Some(name) = self.name_mut(number) {
            (name.before, name.now) = (NameBefore::Directory, NameKind::Directory);
        }
    }

    /// The file that bears a name; it is one, if nothing is known of it.
    pub(super) fn file_named(&mut self, number: u32) -> Option<usize> {
        self.note_file(number);
        match self.kind_of(number) {
            NameKind::File(file) => Some(file),
            _ => None,
        }
    }

    pub(super) fn new_file(&mut self) -> usize {
        self.files.push(Grown { exact: true, ..Grown::default() });
        self.files.len() - 1
    }

    pub(super) fn size_of(&self, file: usize) -> u64 {
        self.files.get(file).map_or(0, |file| file.size)
    }

    /// Opens a file by its name; gives its number, or why it cannot be opened.
    pub(super) fn open_file(
        &mut self,
        name: u32,
        flags: OpenFlags,
        exclusive: bool,
    ) -> Result<usize, &'static str> {
        self.note_parent_directories(name);
        let bearer = self.kind_of(name);
        let fresh = match bearer {
            NameKind::Directory => return Err("files where a directory was"),
            NameKind::File(_) => false,
            NameKind::Gone => true,
            NameKind::Unknown => flags.create,
        };
        if fresh && !flags.create {
            return Err("files that came there unseen");
        }
        if fresh {
            // O_CREAT alone does not tell whether the file existed: it did if a read returns bytes that no recorded
            // call wrote.
            let sure = exclusive || flags.truncate || bearer == NameKind::Gone;
            let before = (!sure).then_some(name);
            self.set_bearer(name, NameKind::File(self.files.len()));
            self.files.push(Grown { before, whole: !sure, exact: sure, ..Grown::default() });
        } else {
            self.note_file(name);
        }
        let NameKind::File(file) = self.kind_of(name) else { return Err("files that came there unseen") };
        if flags.truncate {
            self.truncate_to(file, 0);
        }
        Ok(file)
    }

    /// Notes the current size of an open file; returns by how many bytes previously appended data moves.
    pub(super) fn learn_size(&mut self, file: usize, size: u64) -> u64 {
        let shift = self.note_read(file, size).unwrap_or(0);
        if let Some(file) = self.files.get_mut(file) {
            file.exact = true;
        }
        shift
    }

    /// The calls that appended to a file while its size was unknown, with how much further on each lies: once the size is known.
    pub(super) fn take_appended(&mut self, file: usize) -> Vec<(usize, u64)> {
        match self.files.get_mut(file) {
            Some(file) if file.exact => file.take_shifts(),
            _ => Vec::new(),
        }
    }

    /// Those of all files, at the end of a recording.
    pub(super) fn take_all_appended(&mut self) -> Vec<(usize, u64)> {
        self.files.iter_mut().flat_map(Grown::take_shifts).collect()
    }

    pub(super) fn note_appended(&mut self, file: usize, slots: Range<usize>) {
        if let Some(file) = self.files.get_mut(file)
            && !file.exact
            && file.before.is_some()
        {
            let before = file.shift;
            file.appended.extend(slots.map(|slot| AppendedCall { slot, before }));
        }
    }

    /// Notes a read up to `end`: the bytes existed before unless a recorded call wrote them; `None` if they cannot
    /// have. Returns by how many bytes previously appended data moves.
    pub(super) fn note_read(&mut self, file: usize, end: u64) -> Option<u64> {
        let Grown { size, before, whole, exact, .. } = self.files.get(file)?;
        let (size, exact) = (*size, *exact);
        let Some(number) = before.filter(|_| *whole) else { return (end <= size).then_some(0) };
        if end <= size {
            return Some(0);
        }
        let shift = match self.files.get(file).map(|file| file.appended.is_empty()) {
            Some(false) if !exact => end - size,
            _ => 0,
        };
        let to = match (shift, self.names.get(number as usize - 1).map(|name| name.before)) {
            // Appended data comes after all earlier content.
            (1.., Some(NameBefore::File(before))) => before.saturating_add(shift),
            (1.., _) => shift,
            _ => end,
        };
        self.grow_before(number, to);
        if let Some(file) = self.files.get_mut(file) {
            file.size = end;
            file.shift = file.shift.saturating_add(shift);
        }
        Some(shift)
    }

    fn grow_before(&mut self, number: u32, to: u64) {
        if let Some(name) = self.name_mut(number) {
            name.before = match name.before {
                NameBefore::File(size) => NameBefore::File(size.max(to)),
                NameBefore::Nothing => NameBefore::File(to),
                NameBefore::Directory => return,
            };
        }
    }

    /// A write up to a place in a file that was there before, and of which no call asks how large it is, is over bytes that were there,
    /// too: a program that does not ask where a file ends does not extend it (a database's log is laid out before it is written).
    pub(super) fn note_overwrite(&mut self, file: usize, end: u64) {
        let Some(Grown { size, before: Some(number), whole: true, exact: false, appended, .. }) =
            self.files.get(file)
        else {
            return;
        };
        let there = self.names.get(*number as usize - 1).map(|name| name.before);
        if end > *size && appended.is_empty() && matches!(there, Some(NameBefore::File(_))) {
            self.note_read(file, end);
        }
    }

    pub(super) fn grow_to(&mut self, file: usize, end: u64) {
        if let Some(file) = self.files.get_mut(file) {
            file.size = file.size.max(end);
        }
    }

    pub(super) fn truncate_to(&mut self, file: usize, size: u64) {
        if let Some(file) = self.files.get_mut(file) {
            file.whole &= size >= file.size;
            file.size = size;
            file.exact = true;
        }
    }

    pub(super) fn make_directory(&mut self, name: u32) {
        self.note_parent_directories(name);
        self.set_bearer(name, NameKind::Directory);
    }

    pub(super) fn remove_file(&mut self, name: u32) {
        self.note_file(name);
        self.set_bearer(name, NameKind::Gone);
    }

    pub(super) fn remove_directory(&mut self, name: u32) {
        self.note_directory(name);
        self.set_bearer(name, NameKind::Gone);
    }

    pub(super) fn rename_file(&mut self, from: u32, to: u32) {
        self.note_file(from);
        self.note_parent_directories(to);
        let standing = self.kind_of(from);
        if self.kind_of(to) != standing {
            self.set_bearer(from, NameKind::Gone);
        }
        self.set_bearer(to, standing);
    }

    pub(super) fn link_names(&mut self, from: u32, to: u32) {
        self.note_file(from);
        self.note_parent_directories(to);
        self.set_bearer(to, self.kind_of(from));
    }

    pub(super) fn link_file(&mut self, file: usize, name: u32) {
        self.note_parent_directories(name);
        self.set_bearer(name, NameKind::File(file));
    }

    pub(super) fn note_missing(&mut self, number: u32) {
        if self.kind_of(number) == NameKind::Unknown {
            self.set_bearer(number, NameKind::Gone);
        }
    }
}

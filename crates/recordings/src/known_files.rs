//! Infers the state of names and files while a recording is read: which existed before, which exist now, and their
//! sizes.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::path::{Component, Path};

use fsverdict_calls::{MOST_NAMES, NameBefore, OpenFlags};

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
pub(super) struct RecordedFile {
    pub(super) size: u64,
    pub(super) before: Option<u32>,
    /// Whether its beginning is as it was: it was not cut short.
    pub(super) whole: bool,
    /// Calls that appended to it while it was not known how large it was before.
    pub(super) appended: Vec<AppendedCall>,
    /// The number of bytes by which the first appended data moved since its offset was first computed.
    pub(super) shift: u64,
    /// Whether its size is known, and not only that it is no smaller.
    pub(super) exact: bool,
}

/// A call that appended to a file of unknown size: its place among the calls, and the shift of the file that it knew.
#[derive(Debug, Clone, Copy)]
pub(super) struct AppendedCall {
    pub(super) slot: usize,
    pub(super) before: u64,
}

impl RecordedFile {
    pub(super) fn take_shifts(&mut self) -> Vec<(usize, u64)> {
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
    pub(super) files: Vec<RecordedFile>,
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

    pub(super) fn name_mut(&mut self, number: u32) -> Option<&mut Named> {
        self.names.get_mut((number as usize).checked_sub(1)?)
    }

    pub(super) fn kind_of(&self, number: u32) -> NameKind {
        match (number as usize).checked_sub(1) {
            Some(at) => self.names.get(at).map_or(NameKind::Unknown, |name| name.now),
            None => NameKind::Directory,
        }
    }

    fn set_kind(&mut self, number: u32, kind: NameKind) {
        if let Some(name) = self.name_mut(number) {
            name.now = kind;
        }
    }

    /// The directories above a name are there.
    fn note_parent_directories(&mut self, number: u32) {
        let mut at = number;
        while let Some(parent) = self.name_mut(at).map(|name| name.parent).filter(|parent| *parent > 0) {
            self.note_is_directory(parent);
            at = parent;
        }
    }

    pub(super) fn note_is_directory(&mut self, number: u32) {
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
        self.note_is_directory(number);
    }

    pub(super) fn note_file(&mut self, number: u32) {
        self.note_parent_directories(number);
        let file = self.files.len();
        let Some(name) = self.name_mut(number) else { return };
        if name.now == NameKind::Unknown {
            (name.before, name.now) = (NameBefore::File(0), NameKind::File(file));
            self.files.push(RecordedFile { before: Some(number), whole: true, ..RecordedFile::default() });
        }
    }

    /// A name of which it was only supposed that it is a file turned out to be a directory.
    pub(super) fn turn_into_directory(&mut self, number: u32) {
        if let Some(name) = self.name_mut(number) {
            (name.before, name.now) = (NameBefore::Directory, NameKind::Directory);
        }
    }

    /// The file that has a name; it is one, if nothing is known of it.
    pub(super) fn file_named(&mut self, number: u32) -> Option<usize> {
        self.note_file(number);
        match self.kind_of(number) {
            NameKind::File(file) => Some(file),
            _ => None,
        }
    }

    pub(super) fn new_file(&mut self) -> usize {
        self.files.push(RecordedFile { exact: true, ..RecordedFile::default() });
        self.files.len() - 1
    }

    /// Opens a file by its name; gives its number, or why it cannot be opened.
    pub(super) fn open_file(
        &mut self,
        name: u32,
        flags: OpenFlags,
        exclusive: bool,
    ) -> Result<usize, &'static str> {
        self.note_parent_directories(name);
        let kind = self.kind_of(name);
        let fresh = match kind {
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
            let sure = exclusive || flags.truncate || kind == NameKind::Gone;
            let before = (!sure).then_some(name);
            self.set_kind(name, NameKind::File(self.files.len()));
            self.files.push(RecordedFile { before, whole: !sure, exact: sure, ..RecordedFile::default() });
        } else {
            self.note_file(name);
        }
        let NameKind::File(file) = self.kind_of(name) else { return Err("files that came there unseen") };
        if flags.truncate {
            self.truncate_to(file, 0);
        }
        Ok(file)
    }

    pub(super) fn make_directory(&mut self, name: u32) {
        self.note_parent_directories(name);
        self.set_kind(name, NameKind::Directory);
    }

    pub(super) fn remove_file(&mut self, name: u32) {
        self.note_file(name);
        self.set_kind(name, NameKind::Gone);
    }

    pub(super) fn remove_directory(&mut self, name: u32) {
        self.note_directory(name);
        self.set_kind(name, NameKind::Gone);
    }

    pub(super) fn rename_file(&mut self, from: u32, to: u32) {
        self.note_file(from);
        self.note_parent_directories(to);
        let standing = self.kind_of(from);
        if self.kind_of(to) != standing {
            self.set_kind(from, NameKind::Gone);
        }
        self.set_kind(to, standing);
    }

    pub(super) fn link_names(&mut self, from: u32, to: u32) {
        self.note_file(from);
        self.note_parent_directories(to);
        self.set_kind(to, self.kind_of(from));
    }

    pub(super) fn link_file(&mut self, file: usize, name: u32) {
        self.note_parent_directories(name);
        self.set_kind(name, NameKind::File(file));
    }

    pub(super) fn note_missing(&mut self, number: u32) {
        if self.kind_of(number) == NameKind::Unknown {
            self.set_kind(number, NameKind::Gone);
        }
    }
}

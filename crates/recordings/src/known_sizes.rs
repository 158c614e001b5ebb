//! Infers the sizes of recorded files: how large they are, how large they were before, and by how much appended data moves.

use std::ops::Range;

use fsverdict_calls::NameBefore;

use super::known_files::{AppendedCall, RecordedFile, RecordedFiles};

impl RecordedFiles {
    pub(super) fn size_of(&self, file: usize) -> u64 {
        self.files.get(file).map_or(0, |file| file.size)
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
        self.files.iter_mut().flat_map(RecordedFile::take_shifts).collect()
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
        let RecordedFile { size, before, whole, exact, .. } = self.files.get(file)?;
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
        let Some(RecordedFile { size, before: Some(number), whole: true, exact: false, appended, .. }) =
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
}

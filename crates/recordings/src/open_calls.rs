//! Records the calls that open and close files, and appends to open files.

use fsverdict_calls::{CallWork, LARGEST_CALL, MOST_OPEN, OpenFlags};

use super::account::{BEYOND, CallOutcome};

use super::calls::CallRecorder;

impl CallRecorder {
    /// Opens a file, or says why the trace cannot; `exclusive` is that it cannot have been there. Gives the number that it is open
    /// under.
    pub(super) fn open_file(
        &mut self,
        times: (u64, u64),
        name: u32,
        flags: OpenFlags,
        exclusive: bool,
    ) -> Result<u32, &'static str> {
        self.check_can_open()?;
        let file = self.files.open_file(name, flags, exclusive)?;
        Ok(self.add_open_file(times, file, |number| CallWork::Open { file: number, name, flags }))
    }

    /// Opens a file without a name in a directory.
    pub(super) fn open_unnamed(&mut self, times: (u64, u64), directory: u32) -> Result<u32, &'static str> {
        self.check_can_open()?;
        self.files.note_directory(directory);
        let file = self.files.new_file();
        Ok(self.add_open_file(times, file, |number| CallWork::OpenUnnamed { file: number, directory }))
    }

    fn check_can_open(&self) -> Result<(), &'static str> {
        if self.is_full() {
            return Err(BEYOND);
        }
        if self.open.len() >= MOST_OPEN {
            return Err("files that were open beside 512 others");
        }
        Ok(())
    }

    fn add_open_file(&mut self, times: (u64, u64), file: usize, work: impl FnOnce(u32) -> CallWork) -> u32 {
        self.next_open += 1;
        self.open.insert(self.next_open, file);
        self.push(times, work(self.next_open));
        self.next_open
    }

    /// The index of the file that is open under a number.
    pub(super) fn file_of(&self, open: u32) -> Option<usize> {
        self.open.get(&open).copied()
    }

    /// A file that was opened is none: its opening is taken out of the calls.
    pub(super) fn forget_open(&mut self, open: u32) {
        self.open.remove(&open);
    }

    /// Closes a file, as far as there is room for calls.
    pub(super) fn close_file(&mut self, times: (u64, u64), open: u32) {
        self.open.remove(&open);
        if !self.is_full() {
            self.push(times, CallWork::Close { file: open });
        }
    }

    /// A write where the file ends.
    pub(super) fn append_to_file(&mut self, times: (u64, u64), open: u32, length: u64) -> CallOutcome {
        let before = self.slots.len();
        let offset = self.end_of(open);
        if let Some(file) = self.file_of(open) {
            // It extends the file, and overwrites nothing.
            self.files.grow_to(file, offset.saturating_add(length));
        }
        let outcome = self.add_file_call(times, CallWork::Write { file: open, offset, length });
        if let Some(file) = self.file_of(open) {
            self.files.note_appended(file, before..self.slots.len());
        }
        outcome
    }

    /// A read or write, in several where it is larger than a call of a trace.
    pub(super) fn push_in_pieces(&mut self, times: (u64, u64), work: CallWork) -> CallOutcome {
        let (CallWork::Read { file, offset, length } | CallWork::Write { file, offset, length }) = work
        else {
            return CallOutcome::Kept;
        };
        let mut at = 0;
        while at < length && !self.is_full() {
            let piece = (length - at).min(LARGEST_CALL);
            let (offset, length) = (offset + at, piece);
            let work = match work {
                CallWork::Read { .. } => CallWork::Read { file, offset, length },
                _ => CallWork::Write { file, offset, length },
            };
            self.push(times, work);
            at += piece;
        }
        CallOutcome::Kept
    }
}

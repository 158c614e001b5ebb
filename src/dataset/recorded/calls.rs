//! Puts calls together into a trace: names become numbers, and what must have been there before is found from what was done to it.

use std::collections::{BTreeMap, HashMap};
use std::path::{Component, Path, PathBuf};

use fsverdict_judgement::plan::{
    CallTrace, CallWork, LARGEST_CALL, LONGEST_PAUSE_US, MOST_CALLS, MOST_NAMES, MOST_OPEN, NameBefore,
    OpenFlags, TraceState, TracedCall, TracedName,
};
use fsverdict_text::Reason;

use super::account::Account;
use super::{CapturedCalls, MOST_TEXT};

/// A pause shorter than this is the program's own call after call, in nanoseconds.
const SHORTEST_PAUSE_NS: u64 = 10_000;
/// What a record with neither opening nor name is of, as a name's length.
const USUAL_LENGTH: u16 = 8;

/// What is known of a name so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NameBearer {
    /// Nothing was done to it that tells.
    Unknown,
    Gone,
    Directory,
    /// A file of this number.
    File(usize),
}

#[derive(Debug)]
struct Named {
    parent: u32,
    length: u16,
    before: NameBefore,
    now: NameBearer,
}

/// A file: how large it is now, and the name that it had before everything, if it was there.
#[derive(Debug, Clone, Copy, Default)]
struct Grown {
    size: u64,
    before: Option<u32>,
    /// Whether its beginning is as it was: it was not cut short.
    whole: bool,
}

/// Gathers calls.
#[derive(Debug)]
pub(super) struct CallRecorder {
    names: Vec<Named>,
    numbers: HashMap<(u32, PathBuf), u32>,
    files: Vec<Grown>,
    calls: Vec<TracedCall>,
    open: BTreeMap<u32, usize>,
    next_open: u32,
    /// When the call before ended.
    idle_since_ns: Option<u64>,
    pub(super) left_out: BTreeMap<String, u64>,
    pub(super) notes: Vec<String>,
    /// A pause that is shorter is not kept, in nanoseconds.
    shortest_pause_ns: u64,
    /// Its reader counts every call or request here.
    pub(super) account: Account,
    full: bool,
}

impl CallRecorder {
    /// `unit` is what the recording is of: "calls" or "requests".
    pub(super) fn new(unit: &'static str) -> Self {
        CallRecorder {
            names: Vec::new(),
            numbers: HashMap::new(),
            files: Vec::new(),
            calls: Vec::new(),
            open: BTreeMap::new(),
            next_open: 0,
            idle_since_ns: None,
            left_out: BTreeMap::new(),
            notes: Vec::new(),
            shortest_pause_ns: SHORTEST_PAUSE_NS,
            account: Account::new(unit),
            full: false,
        }
    }

    /// Keeps pauses of any length: the recording says when each call is to begin.
    pub(super) fn keep_short_pauses(&mut self) {
        self.shortest_pause_ns = 0;
    }

    pub(super) fn leave_out(&mut self, what: &str) {
        // Strangers' words are counted, but not without end.
        if self.left_out.len() < 200 || self.left_out.contains_key(what) {
            *self.left_out.entry(what.to_owned()).or_insert(0) += 1;
        }
    }

    /// Whether it takes no more.
    pub(super) fn is_full(&self) -> bool {
        self.full
    }

    /// The number of a relative path, and of all directories above it; `None` where it is no plain path.
    pub(super) fn number(&mut self, path: &Path) -> Option<u32> {
        let mut at = 0;
        for component in path.components() {
            let Component::Normal(part) = component else { return None };
            let key = (at, PathBuf::from(part));
            at = match self.numbers.get(&key) {
                Some(number) => *number,
                None => {
                    if self.names.len() >= MOST_NAMES {
                        self.full = true;
                        return None;
                    }
                    let length = u16::try_from(part.len()).ok().filter(|length| *length <= 255)?;
                    self.named(key, length)
                }
            };
        }
        (at > 0).then_some(at)
    }

    fn named(&mut self, key: (u32, PathBuf), length: u16) -> u32 {
        let parent = key.0;
        self.names.push(Named { parent, length, before: NameBefore::Nothing, now: NameBearer::Unknown });
        let number = self.names.len() as u32;
        self.numbers.insert(key, number);
        number
    }

    /// A file without a name of its own, that is there with this size.
    pub(super) fn lone_file(&mut self, size: u64) -> u32 {
        let number = self.named((0, PathBuf::from("1")), USUAL_LENGTH);
        self.is_file(number);
        self.grow_before(number, size);
        number
    }

    fn name(&mut self, number: u32) -> Option<&mut Named> {
        self.names.get_mut((number as usize).checked_sub(1)?)
    }

    /// The directories above a name are there.
    fn above(&mut self, number: u32) {
        let mut at = number;
        while let Some(parent) = self.name(at).map(|name| name.parent).filter(|parent| *parent > 0) {
            self.is_directory(parent);
            at = parent;
        }
    }

    /// It is a directory, and if nothing made it, it was one before.
    pub(super) fn is_directory(&mut self, number: u32) {
        if let Some(name) = self.name(number)
            && name.now == NameBearer::Unknown
        {
            (name.before, name.now) = (NameBefore::Directory, NameBearer::Directory);
        }
    }

    /// It is a file, and if nothing made it, it was one before.
    pub(super) fn is_file(&mut self, number: u32) {
        self.above(number);
        let file = self.files.len();
        let Some(name) = self.name(number) else { return };
        if name.now == NameBearer::Unknown {
            (name.before, name.now) = (NameBefore::File(0), NameBearer::File(file));
            self.files.push(Grown { size: 0, before: Some(number), whole: true });
        }
    }

    /// It had this size at some moment: before everything, if nothing was written to it.
    pub(super) fn has_size(&mut self, number: u32, size: u64) {
        self.is_file(number);
        if let Some(NameBearer::File(file)) = self.name(number).map(|name| name.now) {
            self.reaches(file, size);
        }
    }

    /// Bytes of the file of this name, as far as is known.
    pub(super) fn size_of(&mut self, number: u32) -> u64 {
        match self.name(number).map(|name| name.now) {
            Some(NameBearer::File(file)) => self.files.get(file).map_or(0, |file| file.size),
            _ => 0,
        }
    }

    /// Where an open file ends.
    pub(super) fn end_of(&self, open: u32) -> u64 {
        self.open.get(&open).and_then(|file| self.files.get(*file)).map_or(0, |file| file.size)
    }

    /// What is read there was there before, if nobody is known to have written it.
    fn reaches(&mut self, file: usize, end: u64) -> bool {
        let Some(Grown { size, before: Some(number), whole: true }) = self.files.get(file).copied() else {
            return self.files.get(file).is_some_and(|file| end <= file.size);
        };
        if end > size {
            self.grow_before(number, end);
            if let Some(file) = self.files.get_mut(file) {
                file.size = end;
            }
        }
        true
    }

    fn grow_before(&mut self, number: u32, to: u64) {
        if let Some(name) = self.name(number) {
            name.before = match name.before {
                NameBefore::File(size) => NameBefore::File(size.max(to)),
                NameBefore::Nothing => NameBefore::File(to),
                NameBefore::Directory => return,
            };
        }
        if let Some(NameBearer::File(file)) = self.name(number).map(|name| name.now)
            && let Some(file) = self.files.get_mut(file)
        {
            file.size = file.size.max(to);
        }
    }

    /// Adds a call that began and ended at these times, in nanoseconds.
    fn push(&mut self, began_ns: u64, ended_ns: u64, work: CallWork) {
        if self.calls.len() >= MOST_CALLS {
            self.full = true;
            return;
        }
        let waited = self.idle_since_ns.map_or(0, |since| began_ns.saturating_sub(since));
        let pause_us =
            if waited < self.shortest_pause_ns { 0 } else { (waited / 1000).min(LONGEST_PAUSE_US) };
        self.idle_since_ns = Some(self.idle_since_ns.unwrap_or(0).max(ended_ns.max(began_ns)));
        self.calls.push(TracedCall { pause_us, work });
    }

    /// Opens a file; `exclusive` is that it cannot have been there. Gives the number that it is open under.
    pub(super) fn open(
        &mut self,
        times: (u64, u64),
        name: u32,
        flags: OpenFlags,
        exclusive: bool,
    ) -> Option<u32> {
        if self.open.len() >= MOST_OPEN {
            self.leave_out("files that were open beside 512 others");
            return None;
        }
        self.above(name);
        let made = self.files.len();
        let known = self.name(name)?;
        let fresh = match known.now {
            NameBearer::Directory => return None,
            NameBearer::File(_) => false,
            NameBearer::Gone => true,
            NameBearer::Unknown => flags.create,
        };
        if fresh && !flags.create {
            return None;
        }
        if fresh {
            // O_CREAT alone does not tell whether it was there: it was if something is read that nobody wrote.
            let sure = exclusive || flags.truncate || known.now == NameBearer::Gone;
            known.now = NameBearer::File(made);
            self.files.push(Grown { size: 0, before: (!sure).then_some(name), whole: !sure });
        } else {
            self.is_file(name);
        }
        let Some(NameBearer::File(file)) = self.name(name).map(|name| name.now) else { return None };
        if flags.truncate
            && let Some(file) = self.files.get_mut(file)
        {
            (file.size, file.whole) = (0, false);
        }
        self.next_open += 1;
        let number = self.next_open;
        self.open.insert(number, file);
        self.push(times.0, times.1, CallWork::Open { file: number, name, flags });
        Some(number)
    }

    /// A call on an open file.
    pub(super) fn on_file(&mut self, times: (u64, u64), work: CallWork) {
        let (CallWork::Read { file, .. }
        | CallWork::Write { file, .. }
        | CallWork::Fsync { file }
        | CallWork::Fdatasync { file }
        | CallWork::Truncate { file, .. }
        | CallWork::Reserve { file, .. }
        | CallWork::Close { file }) = work
        else {
            return;
        };
        let Some(place) = self.open.get(&file).copied() else { return };
        match work {
            CallWork::Read { offset, length, .. } => {
                let Some(end) = offset.checked_add(length) else { return };
                if length == 0 || !self.reaches(place, end) {
                    return self.leave_out(
                        "reads of what came into a file unseen (mmap, other programs), or of nothing",
                    );
                }
                return self.pieces(times, work);
            }
            CallWork::Write { offset, length, .. } => {
                let Some(end) = offset.checked_add(length).filter(|_| length > 0) else { return };
                if let Some(file) = self.files.get_mut(place) {
                    file.size = file.size.max(end);
                }
                return self.pieces(times, work);
            }
            CallWork::Truncate { size, .. } => {
                if let Some(file) = self.files.get_mut(place) {
                    file.whole &= size >= file.size;
                    file.size = size;
                }
            }
            CallWork::Reserve { offset, length, .. } => {
                let end = offset.saturating_add(length);
                if let Some(file) = self.files.get_mut(place) {
                    file.size = file.size.max(end);
                }
            }
            CallWork::Close { file } => drop(self.open.remove(&file)),
            _ => {}
        }
        self.push(times.0, times.1, work);
    }

    /// A read or write, in several where it is larger than a call of a trace.
    fn pieces(&mut self, times: (u64, u64), work: CallWork) {
        let (CallWork::Read { file, offset, length } | CallWork::Write { file, offset, length }) = work
        else {
            return;
        };
        let mut at = 0;
        while at < length && !self.full {
            let piece = (length - at).min(LARGEST_CALL);
            let (offset, length) = (offset + at, piece);
            let work = match work {
                CallWork::Read { .. } => CallWork::Read { file, offset, length },
                _ => CallWork::Write { file, offset, length },
            };
            self.push(times.0, times.1, work);
            at += piece;
        }
    }

    /// A call on names that succeeded.
    pub(super) fn on_names(&mut self, times: (u64, u64), work: CallWork) {
        match work {
            CallWork::MakeDirectory { name } => {
                self.above(name);
                let Some(name) = self.name(name) else { return };
                name.now = NameBearer::Directory;
            }
            CallWork::RemoveFile { name } => {
                self.is_file(name);
                self.gone(name);
            }
            CallWork::RemoveDirectory { name } => {
                self.above(name);
                self.is_directory(name);
                self.gone(name);
            }
            CallWork::Rename { from, to } => {
                if self.name(from).is_some_and(|name| name.now == NameBearer::Directory) {
                    return self.leave_out("renames of directories");
                }
                self.is_file(from);
                self.above(to);
                let Some(standing) = self.name(from).map(|name| name.now) else { return };
                let same = self.name(to).is_some_and(|to| to.now == standing);
                if !same {
                    self.gone(from);
                }
                let Some(to) = self.name(to) else { return };
                to.now = standing;
            }
            CallWork::Link { from, to } => {
                self.is_file(from);
                self.above(to);
                let Some(standing) = self.name(from).map(|name| name.now) else { return };
                let Some(to) = self.name(to) else { return };
                to.now = standing;
            }
            CallWork::List { name } => {
                self.above(name);
                self.is_directory(name);
            }
            _ => {}
        }
        self.push(times.0, times.1, work);
    }

    /// A name that was looked for and not found.
    pub(super) fn is_missing(&mut self, number: u32) {
        if let Some(name) = self.name(number)
            && name.now == NameBearer::Unknown
        {
            name.now = NameBearer::Gone;
        }
    }

    fn gone(&mut self, number: u32) {
        if let Some(name) = self.name(number) {
            name.now = NameBearer::Gone;
        }
    }

    /// The trace of it all, as far as there is room.
    pub(super) fn finish(mut self, form: &'static str) -> Result<CapturedCalls, Reason> {
        let names: Vec<TracedName> = self
            .names
            .iter()
            .map(|name| TracedName { parent: name.parent, length: name.length.max(1), before: name.before })
            .collect();
        let mut names = names;
        for at in 0..names.len() {
            let parent = names[at].parent as usize;
            // What came unseen into a directory that was made on the way cannot be there before it.
            if parent > 0 && names[parent - 1].before != NameBefore::Directory {
                names[at].before = NameBefore::Nothing;
            }
        }
        let mut state = TraceState::before(&names).map_err(|what| {
            Reason::new(what, "give a part of it, or a folder further down: --below FOLDER")
        })?;
        let all = self.calls.len();
        let mut kept = Vec::with_capacity(all);
        for call in std::mem::take(&mut self.calls) {
            match state.apply(call.work) {
                Ok(()) => kept.push(call),
                Err(_) => self.leave_out("calls that do not follow from the ones before"),
            }
        }
        if kept.is_empty() {
            return Err(Reason::new(
                "there is no call in it that can be kept",
                "it must hold reads, writes or what is done with names, and with --below the folder where they are",
            ));
        }
        let whole = CallTrace::new(names.clone(), kept)?;
        let trace = fitting(whole, &names)?;
        if self.full || trace.calls().len() < all {
            let of = if self.full { "more than ".to_owned() } else { String::new() };
            self.notes.push(format!("Shortened: its first {} calls of {of}{all}.", trace.calls().len()));
        }
        Ok(CapturedCalls { trace, form, notes: self.notes, left_out: self.left_out, account: self.account })
    }
}

/// As many calls of it as a plan can hold, and the names that they need.
fn fitting(trace: CallTrace, names: &[TracedName]) -> Result<CallTrace, Reason> {
    let mut trace = trace;
    loop {
        let text = trace.to_string().len();
        if text <= MOST_TEXT {
            return Ok(trace);
        }
        let calls = trace.calls();
        let fewer = (calls.len() as f64 * MOST_TEXT as f64 / text as f64 * 0.95) as usize;
        let calls = calls[..fewer.max(1).min(calls.len() - 1)].to_vec();
        if calls.is_empty() {
            return Err(Reason::new(
                "its names alone are more than a plan may hold",
                "name a folder further down: --below FOLDER",
            ));
        }
        trace = CallTrace::new(names.to_vec(), calls)?;
    }
}

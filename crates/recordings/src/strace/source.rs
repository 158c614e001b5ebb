//! The lines of a recording, one after the other, without keeping more of it in memory than a line: of one file, or of one file for each
//! process (strace -ff), in the order of their times.

use std::collections::{BinaryHeap, VecDeque};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom};
use std::path::PathBuf;

use fsverdict_folders::{Links, open_regular};
use rustix::fs::{CWD, OFlags};

use super::clock::{RecordingClock, TimeForm};
use super::line::split_prefix;

/// Bytes of a line that are looked at.
pub(super) const LONGEST_LINE: usize = 1 << 20;
/// Bytes that are read at once of each of many files.
const PIECE: usize = 64 << 10;

/// A line and its source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SourceLine {
    pub(super) number: u64,
    text: Vec<u8>,
    /// Where the text goes on behind its process and time.
    rest: usize,
    pub(super) process: Option<u32>,
    pub(super) now_ns: u64,
}

impl SourceLine {
    fn new(number: u64, text: Vec<u8>, process: Option<u32>, clock: &mut RecordingClock) -> Self {
        let (prefix, rest) = split_prefix(&text);
        let rest = text.len() - rest.len();
        let now_ns = clock.advance_to(prefix.time);
        Self { number, rest, process: process.or(prefix.process), now_ns, text }
    }

    /// The line without its process and time.
    pub(super) fn rest(&self) -> &[u8] {
        &self.text[self.rest..]
    }
}

/// Gives lines.
pub(super) trait LineSource {
    /// The next line; `None` at the end.
    fn next_line(&mut self) -> io::Result<Option<SourceLine>>;
    /// Whether its lines have times.
    fn is_timed(&self) -> bool;
    /// How often its times went back.
    fn steps_taken(&self) -> u64;
}

/// Reads a line up to the longest that is looked at; the rest of a longer one is skipped. Gives whether there was one.
fn read_line(input: &mut dyn BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    let mut any = false;
    loop {
        let piece = input.fill_buf()?;
        if piece.is_empty() {
            return Ok(any);
        }
        any = true;
        let end = piece.iter().position(|byte| *byte == b'\n');
        let used = end.map_or(piece.len(), |end| end + 1);
        let text = &piece[..end.unwrap_or(piece.len())];
        let room = LONGEST_LINE - line.len();
        line.extend_from_slice(&text[..text.len().min(room)]);
        input.consume(used);
        if end.is_some() {
            return Ok(true);
        }
    }
}

/// One file.
pub(super) struct OneFile<'a> {
    input: Box<dyn BufRead + 'a>,
    clock: RecordingClock,
    number: u64,
}

impl<'a> OneFile<'a> {
    pub(super) fn new(input: Box<dyn BufRead + 'a>, form: TimeForm) -> Self {
        Self { input, clock: RecordingClock::new(form), number: 0 }
    }
}

impl LineSource for OneFile<'_> {
    fn next_line(&mut self) -> io::Result<Option<SourceLine>> {
        let mut text = Vec::new();
        if !read_line(&mut *self.input, &mut text)? {
            return Ok(None);
        }
        self.number += 1;
        Ok(Some(SourceLine::new(self.number, text, None, &mut self.clock)))
    }

    fn is_timed(&self) -> bool {
        self.clock.is_timed()
    }

    fn steps_taken(&self) -> u64 {
        self.clock.steps
    }
}

/// A file of one process, of which a piece is in memory, and which is open only while the next is read.
struct ProcessFile {
    path: PathBuf,
    process: u32,
    offset: u64,
    clock: RecordingClock,
    number: u64,
    ready: VecDeque<SourceLine>,
    ended: bool,
}

impl ProcessFile {
    fn fill_buffer(&mut self) -> io::Result<()> {
        if self.ended || !self.ready.is_empty() {
            return Ok(());
        }
        // A pipe in the place of one is not waited for.
        let mut file = open_regular(CWD, &self.path, OFlags::RDONLY, Links::Follow)?;
        file.seek(SeekFrom::Start(self.offset))?;
        let mut input = BufReader::with_capacity(PIECE, file);
        let (mut read, mut text) = (0, Vec::new());
        while read < PIECE {
            if !read_line(&mut input, &mut text)? {
                self.ended = true;
                break;
            }
            read += text.len() + 1;
            self.number += 1;
            let line = SourceLine::new(self.number, text.clone(), Some(self.process), &mut self.clock);
            self.ready.push_back(line);
        }
        self.offset = input.stream_position()?;
        Ok(())
    }
}

/// One file for each process.
pub(super) struct ManyFiles {
    files: Vec<ProcessFile>,
    /// Files by the time of their next line, the earliest first.
    next: BinaryHeap<std::cmp::Reverse<(u64, usize)>>,
}

impl ManyFiles {
    pub(super) fn new(files: Vec<(PathBuf, u32)>, form: TimeForm) -> io::Result<Self> {
        let mut many = ManyFiles { files: Vec::new(), next: BinaryHeap::new() };
        for (at, (path, process)) in files.into_iter().enumerate() {
            let clock = RecordingClock::new(form);
            let ready = VecDeque::new();
            let mut file = ProcessFile { path, process, offset: 0, clock, number: 0, ready, ended: false };
            file.fill_buffer()?;
            if let Some(first) = file.ready.front() {
                many.next.push(std::cmp::Reverse((first.now_ns, at)));
            }
            many.files.push(file);
        }
        Ok(many)
    }
}

impl LineSource for ManyFiles {
    fn next_line(&mut self) -> io::Result<Option<SourceLine>> {
        let Some(std::cmp::Reverse((_, at))) = self.next.pop() else { return Ok(None) };
        let Some(file) = self.files.get_mut(at) else { return Ok(None) };
        let line = file.ready.pop_front();
        file.fill_buffer()?;
        if let Some(next) = file.ready.front() {
            self.next.push(std::cmp::Reverse((next.now_ns, at)));
        }
        Ok(line)
    }

    fn is_timed(&self) -> bool {
        self.files.iter().any(|file| file.clock.is_timed())
    }

    fn steps_taken(&self) -> u64 {
        self.files.iter().map(|file| file.clock.steps).sum()
    }
}

/// Lines that were read ahead, and those behind them.
pub(super) struct Lookahead<'a> {
    source: &'a mut dyn LineSource,
    ahead: VecDeque<SourceLine>,
}

impl<'a> Lookahead<'a> {
    pub(super) fn new(source: &'a mut dyn LineSource) -> Self {
        Self { source, ahead: VecDeque::new() }
    }

    pub(super) fn next_line(&mut self) -> io::Result<Option<SourceLine>> {
        match self.ahead.pop_front() {
            Some(line) => Ok(Some(line)),
            None => self.source.next_line(),
        }
    }

    /// The line that is so far ahead.
    pub(super) fn peek_line(&mut self, distance: usize) -> io::Result<Option<&SourceLine>> {
        while self.ahead.len() <= distance {
            match self.source.next_line()? {
                Some(line) => self.ahead.push_back(line),
                None => return Ok(None),
            }
        }
        Ok(self.ahead.get(distance))
    }
}

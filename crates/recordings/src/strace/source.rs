//! The lines of a recording, one after the other, without keeping more of it in memory than the lines that were read ahead.

use std::collections::VecDeque;
use std::io::{self, BufRead};

use super::line::split_line;

/// Bytes of a line that are looked at.
const LONGEST_LINE: usize = 1 << 20;
/// Lines of processes that run side by side may be this much out of order.
const DISORDER_NS: u64 = 1_000_000;

/// A line behind its process and time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SourceLine {
    pub(super) number: u64,
    text: Vec<u8>,
    /// Where the text goes on behind its process and time.
    rest: usize,
    /// `None` where it does not begin with a process and a time.
    pub(super) process: Option<u32>,
    pub(super) now_ns: u64,
    /// Whether the recording ends within the line, without a line end.
    pub(super) is_torn: bool,
}

impl SourceLine {
    pub(super) fn text(&self) -> &[u8] {
        &self.text
    }

    /// The line without its process and time.
    pub(super) fn rest(&self) -> &[u8] {
        &self.text[self.rest..]
    }
}

/// Follows the printed times, so that they never run backwards.
#[derive(Debug, Clone, Default)]
struct RecordingClock {
    /// The offset added to a printed time.
    offset_ns: u64,
    last_printed_ns: u64,
    now_ns: u64,
    /// How often the printed time went back.
    steps: u64,
}

impl RecordingClock {
    fn advance_to(&mut self, at_ns: u64) -> u64 {
        let back = self.last_printed_ns.saturating_sub(at_ns);
        if back > DISORDER_NS {
            // The clock was set back: it goes on from where it was.
            self.offset_ns = self.offset_ns.saturating_add(back);
            self.steps += 1;
        }
        self.last_printed_ns = at_ns;
        self.now_ns = self.now_ns.max(at_ns.saturating_add(self.offset_ns));
        self.now_ns
    }
}

/// Gives the lines of a recording, and those ahead.
pub(super) struct LineSource<'a> {
    input: Box<dyn BufRead + 'a>,
    clock: RecordingClock,
    number: u64,
    ahead: VecDeque<SourceLine>,
}

impl<'a> LineSource<'a> {
    pub(super) fn new(input: Box<dyn BufRead + 'a>) -> Self {
        Self { input, clock: RecordingClock::default(), number: 0, ahead: VecDeque::new() }
    }

    /// The next line; `None` at the end.
    pub(super) fn next_line(&mut self) -> io::Result<Option<SourceLine>> {
        match self.ahead.pop_front() {
            Some(line) => Ok(Some(line)),
            None => self.read_line(),
        }
    }

    /// The line that is so far ahead.
    pub(super) fn peek_line(&mut self, distance: usize) -> io::Result<Option<&SourceLine>> {
        while self.ahead.len() <= distance {
            match self.read_line()? {
                Some(line) => self.ahead.push_back(line),
                None => return Ok(None),
            }
        }
        Ok(self.ahead.get(distance))
    }

    /// How often the clock of the recorded machine was set back.
    pub(super) fn clock_steps(&self) -> u64 {
        self.clock.steps
    }

    fn read_line(&mut self) -> io::Result<Option<SourceLine>> {
        let mut text = Vec::new();
        let Some(is_torn) = read_bounded_line(&mut *self.input, &mut text)? else { return Ok(None) };
        self.number += 1;
        let (process, rest, now_ns) = match split_line(&text) {
            Some(split) => {
                (Some(split.process), text.len() - split.rest.len(), self.clock.advance_to(split.at_ns))
            }
            None => (None, 0, self.clock.now_ns),
        };
        Ok(Some(SourceLine { number: self.number, text, rest, process, now_ns, is_torn }))
    }
}

/// Reads a line up to the longest that is looked at; the rest of a longer one is skipped. Returns whether its end is
/// missing; `None` where there is no line.
fn read_bounded_line(input: &mut dyn BufRead, line: &mut Vec<u8>) -> io::Result<Option<bool>> {
    let mut any = false;
    loop {
        let piece = input.fill_buf()?;
        if piece.is_empty() {
            return Ok(any.then_some(true));
        }
        any = true;
        let end = piece.iter().position(|byte| *byte == b'\n');
        let used = end.map_or(piece.len(), |end| end + 1);
        let text = &piece[..end.unwrap_or(piece.len())];
        let room = LONGEST_LINE - line.len();
        line.extend_from_slice(&text[..text.len().min(room)]);
        input.consume(used);
        if end.is_some() {
            return Ok(Some(false));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::RecordingClock;

    #[test]
    fn a_clock_that_is_set_back_goes_on_from_where_it_was() {
        let mut clock = RecordingClock::default();
        let second = 1_000_000_000;
        let times = [100, 101, 50, 52].map(|at| clock.advance_to(at * second) / second);
        assert_eq!((times, clock.steps), ([100, 101, 101, 103], 1));
    }
}

//! A trace of calls as text: one name or call to a line, in words and numbers, so that users can see the content before
//! they share it.

use std::fmt;
use std::str::SplitAsciiWhitespace;

use fsverdict_text::Reason;

use super::fault::CallLineFault;
use super::work::{CallNumber, CallWork};
use super::{
    CallTrace, LARGEST_CALL, LONGEST_PAUSE_US, MOST_CALLS, MOST_NAMES, NameBefore, TracedCall, TracedName,
};

/// The numbers of a line.
struct Numbers<'a>(SplitAsciiWhitespace<'a>);

impl Numbers<'_> {
    fn next(&mut self) -> Result<u64, CallLineFault> {
        let word = self.0.next().ok_or(CallLineFault::NumberMissing)?;
        word.parse().map_err(|_| CallLineFault::of_word(word, "is no whole number"))
    }

    fn small(&mut self) -> Result<u32, CallLineFault> {
        let number = self.next()?;
        u32::try_from(number).map_err(|_| CallLineFault::LargeNumber(number))
    }

    fn end(mut self) -> Result<(), CallLineFault> {
        self.0.next().map_or(Ok(()), |word| Err(CallLineFault::of_word(word, "is too much")))
    }
}

impl std::str::FromStr for CallTrace {
    type Err = Reason;

    fn from_str(text: &str) -> Result<Self, Reason> {
        let (mut names, mut calls) = (Vec::new(), Vec::new());
        for (at, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let line_reason = |fault: CallLineFault| {
                let hint = "docs/reference/plan-format.md says what may stand there";
                Reason::new(format!("line {} of its calls: {fault}", at + 1), hint)
            };
            match parse_name(line).map_err(line_reason)? {
                Some(_) if !calls.is_empty() => return Err(line_reason(CallLineFault::NameAfterCall)),
                Some(name) => names.push(name),
                None => parse_calls(line, &mut calls).map_err(line_reason)?,
            }
            if names.len() > MOST_NAMES || calls.len() > MOST_CALLS {
                return Err(line_reason(CallLineFault::TooMany));
            }
        }
        if calls.is_empty() {
            return Err(Reason::new(
                "there is no call in it",
                "`fsverdict capture --trace FILE` writes a list of calls",
            ));
        }
        CallTrace::new(names, calls)
    }
}

impl TryFrom<String> for CallTrace {
    type Error = Reason;

    fn try_from(text: String) -> Result<Self, Reason> {
        text.parse()
    }
}

/// The name that a line describes, if it does.
fn parse_name(line: &str) -> Result<Option<TracedName>, CallLineFault> {
    let mut words = line.split_ascii_whitespace();
    let kind = words.next().unwrap_or_default();
    if !["dir", "file", "name"].contains(&kind) {
        return Ok(None);
    }
    let mut numbers = Numbers(words);
    let parent = numbers.small()?;
    let length = numbers.next()?;
    let length = u16::try_from(length).map_err(|_| CallLineFault::LongName(length))?;
    let before = match kind {
        "dir" => NameBefore::Directory,
        "file" => NameBefore::File(numbers.next()?),
        _ => NameBefore::Nothing,
    };
    numbers.end()?;
    Ok(Some(TracedName { parent, length, before }))
}

/// Adds the call of a line, or the several that go on from each other.
fn parse_calls(line: &str, calls: &mut Vec<TracedCall>) -> Result<(), CallLineFault> {
    let mut words = line.split_ascii_whitespace();
    let mut verb = words.next().unwrap_or_default();
    let mut pause_us = 0;
    if let Some(pause) = verb.strip_prefix('+') {
        pause_us = pause.parse().map_err(|_| CallLineFault::of_word(verb, "is no pause in µs"))?;
        if pause_us > LONGEST_PAUSE_US {
            return Err(CallLineFault::LongPause(pause_us));
        }
        verb = words.next().ok_or(CallLineFault::CallMissing)?;
    }
    let mut work = CallWork::with_verb(verb).ok_or_else(|| CallLineFault::UnknownCall(verb.to_owned()))?;
    let mut numbers = Numbers(words);
    for number in work.numbers_mut() {
        match number {
            CallNumber::Opened(small) | CallNumber::File(small) | CallNumber::Name(small) => {
                *small = numbers.small()?;
            }
            CallNumber::Bytes(bytes) => *bytes = numbers.next()?,
        }
    }
    if let CallWork::Open { flags, .. } = &mut work {
        for word in numbers.0.by_ref() {
            let flag = flags.words_mut().into_iter().find(|(name, _)| *name == word);
            let (_, is_set) = flag.ok_or_else(|| CallLineFault::of_word(word, "is no way to open a file"))?;
            *is_set = true;
        }
    }
    let mut times = 1;
    if let CallWork::Read { length, .. } | CallWork::Write { length, .. } = work {
        let mut rest = numbers.0.clone();
        if let Some(word) = rest.next() {
            let count = word.strip_prefix('x').and_then(|count| count.parse().ok());
            times = count.filter(|count| (1..=MOST_CALLS).contains(count)).ok_or_else(|| {
                let wanted = format!(
                    "is not a repeat count: write x and a number from 1 to {MOST_CALLS}, such as x25"
                );
                CallLineFault::of_word(word, wanted)
            })?;
            numbers.0 = rest;
        }
        if length == 0 || length > LARGEST_CALL || calls.len() + times > MOST_CALLS {
            return Err(CallLineFault::RepeatedCalls { times, length });
        }
    }
    for _ in 0..times {
        calls.push(TracedCall { pause_us: std::mem::take(&mut pause_us), work });
        if let CallWork::Read { offset, length, .. } | CallWork::Write { offset, length, .. } = &mut work {
            *offset = offset.saturating_add(*length);
        }
    }
    numbers.end()
}

impl fmt::Display for CallTrace {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for TracedName { parent, length, before } in &self.names {
            match before {
                NameBefore::Nothing => writeln!(out, "name {parent} {length}")?,
                NameBefore::Directory => writeln!(out, "dir {parent} {length}")?,
                NameBefore::File(size) => writeln!(out, "file {parent} {length} {size}")?,
            }
        }
        let mut rest = self.calls.as_slice();
        while let [call, ..] = rest {
            let times = run_of(rest);
            if call.pause_us > 0 {
                write!(out, "+{} ", call.pause_us)?;
            }
            write_call(out, call.work)?;
            if times > 1 {
                write!(out, " x{times}")?;
            }
            writeln!(out)?;
            rest = &rest[times..];
        }
        Ok(())
    }
}

/// How many of the calls, from the first on, each go on where the one before ended.
fn run_of(calls: &[TracedCall]) -> usize {
    let piece = |work| match work {
        CallWork::Read { file, offset, length } => Some((false, file, offset, length)),
        CallWork::Write { file, offset, length } => Some((true, file, offset, length)),
        _ => None,
    };
    let goes_on = |pair: &&[TracedCall]| match (piece(pair[0].work), piece(pair[1].work)) {
        (Some((way, file, offset, length)), Some(next)) => {
            pair[1].pause_us == 0 && next == (way, file, offset.saturating_add(length), length)
        }
        _ => false,
    };
    1 + calls.windows(2).take_while(goes_on).count()
}

fn write_call(out: &mut fmt::Formatter<'_>, mut work: CallWork) -> fmt::Result {
    out.write_str(work.verb())?;
    for number in work.numbers_mut() {
        match number {
            CallNumber::Opened(small) | CallNumber::File(small) | CallNumber::Name(small) => {
                write!(out, " {small}")?;
            }
            CallNumber::Bytes(bytes) => write!(out, " {bytes}")?,
        }
    }
    if let CallWork::Open { flags, .. } = &mut work {
        for (word, _) in flags.words_mut().into_iter().filter(|(_, is_set)| **is_set) {
            write!(out, " {word}")?;
        }
    }
    Ok(())
}

impl From<CallTrace> for String {
    fn from(trace: CallTrace) -> String {
        trace.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::CallTrace;
    use crate::WritePeriods;

    const TRACE: &str = "\
file 0 12 8192
dir 0 3
name 2 200
name 2 7
open 1 1 direct
+150 read 1 0 4096 x2
write 1 8192 4096
fdatasync 1
open 2 3 create truncate synced
write 2 0 10
close 2
truncate 1 100
reserve 1 0 5000
stat 3
list 2
fsyncdir 0
fsyncdir 2
syncfs
opentmp 3 2
write 3 0 100
copy 1 0 3 50 100
clone 1 0 3 0 5000
linkopen 3 4
close 3
link 3 1
";

    #[test]
    fn what_is_written_is_read_again_and_counted() {
        let text = TRACE.replace("link 3 1\n", "unlink 3\nmkdir 3\nrmdir 3\n");
        let trace: CallTrace = text.parse().unwrap();
        assert_eq!(trace.to_string(), text);
        let totals = trace.totals();
        assert_eq!((totals.files, totals.bytes, totals.directories), (1, 8192, 2));
        assert_eq!((totals.read, totals.written, totals.most_bytes), (13_292, 9306, 12_298));
        assert_eq!((trace.calls().len(), trace.name_text(3).len()), (24, 200));
        assert!(!trace.only_moves_bytes() && !trace.suits_a_device());
        let end = trace.final_state(WritePeriods::One).unwrap();
        assert_eq!((end.file_of(1).unwrap().1.size, end.entries_in(2), end.model().bytes()), (5000, 1, 210));
    }

    #[test]
    fn what_does_not_find_its_file_or_is_no_call_is_refused_with_its_line() {
        for (line, words) in [
            ("link 3 1", "there already"),
            ("read 1 0 5001", "reads up to 5001"),
            ("read 1 0 1 y", "is not a repeat count"),
            ("write 1 0 0", "out of bounds"),
            ("write 1 1125899906842624 1", "no call is of"),
            ("read 9 0 1", "file 9 is not open"),
            ("open 1 1", "open already"),
            ("open 3 2", "no file"),
            ("open 3 7", "no name 7"),
            ("open 3 1 quickly", "no way to open"),
            ("unlink 2", "no file"),
            ("rmdir 2", "no empty directory"),
            ("rename 2 1", "no file"),
            ("mkdir 0", "no name 0"),
            ("fsyncdir 1", "no directory"),
            ("opentmp 9 1", "no directory"),
            ("opentmp 1 0", "open already"),
            ("linkopen 9 1", "file 9 is not open"),
            ("linkopen 1 4", "there already"),
            ("copy 1 0 9 0 1", "file 9 is not open"),
            ("copy 1 5000 1 0 1", "reads up to 5001"),
            ("copy 1 0 1 50 100", "overlap"),
            ("burn 1", "no call"),
            ("file 0 3 3", "names come before"),
            ("+99999999999 fsync 1", "longer than an hour"),
            ("fsync 1 1", "too much"),
            ("close", "a number is missing"),
        ] {
            let text = TRACE.replace("link 3 1", line);
            let what = text.parse::<CallTrace>().map(|_| ()).unwrap_err().what;
            assert!(what.contains(words), "{line}: {what}");
        }
        for names in ["file 0 0 1", "dir 5 1", "file 0 300 1", "file 0 1 9999999999999999", "dir 0"] {
            assert!(format!("{names}\nstat 1").parse::<CallTrace>().is_err(), "{names}");
        }
        assert!("".parse::<CallTrace>().is_err());
    }
}

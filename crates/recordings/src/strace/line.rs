//! Parses one line of strace output: process, time, and a call, the beginning or the rest of one, or other content.
//!
//! strace(1) prints before a call, each where it was asked for: the process (`7`, `[pid 7]`, with -Y `7<name>`), the time (-t, -tt, -ttt,
//! -r), the number of the system call (-n), and the instruction pointer (-i).

/// Larger than any process number (pid_max of Linux): a number of seconds.
const MOST_PROCESSES: u64 = 1 << 22;

/// Letters of the name of a system call.
const LONGEST_NAME: usize = 64;

/// A time as it is printed, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PrintedTime {
    /// Since midnight (-t, -tt).
    OfDay(u64),
    /// Seconds since 1970 (-ttt), or since the line before (-r).
    Seconds(u64),
}

/// The text before a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Prefix {
    pub(super) process: Option<u32>,
    pub(super) time: Option<PrintedTime>,
}

/// The content of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineKind<'a> {
    Whole(&'a [u8]),
    /// It goes on in a later line of the same process.
    Unfinished(&'a [u8]),
    /// The name of a call that was begun before, and the rest of it.
    Resumed(&'a [u8], &'a [u8]),
    /// The process is gone.
    Ended,
    /// Its threads are gone: it goes on as the process of this number.
    Superseded(u32),
    /// Signals, messages of strace's own, and stack traces (-k).
    Nothing,
}

/// Removes the prefix before a call from a line.
pub(super) fn split_prefix(line: &[u8]) -> (Prefix, &[u8]) {
    let (process, mut rest) = split_process(trim_spaces(line));
    let mut time = None;
    if let Some((word, after)) = split_word(rest)
        && let Some(printed) = parse_time(word)
    {
        (time, rest) = (Some(printed), after);
        // With -t and -r both are printed: `12:00:00 (+     0.000100)`.
        if rest.starts_with(b"(+")
            && let Some(end) = find_bytes(rest, b")")
        {
            rest = trim_spaces(&rest[end + 1..]);
        }
    }
    // -n, --secontext and -i print `[ 257]`, `[context]` and `[00007f0000000000]`.
    for _ in 0..3 {
        match rest.strip_prefix(b"[").and_then(|inner| find_bytes(inner, b"] ").map(|end| (inner, end))) {
            Some((inner, end)) => rest = trim_spaces(&inner[end + 1..]),
            None => break,
        }
    }
    (Prefix { process, time }, rest)
}

/// `[pid 7]`, `[pid 7<name>]`, `7`, or `7<name>`: a name may hold blanks and brackets.
fn split_process(line: &[u8]) -> (Option<u32>, &[u8]) {
    if let Some(inner) = line.strip_prefix(b"[pid") {
        let inner = trim_spaces(inner);
        let digits = count_digits(inner);
        let Some(process) = parse_u64(&inner[..digits]) else { return (None, line) };
        let after = skip_name(&inner[digits..]);
        let Some(after) = after.strip_prefix(b"]") else { return (None, line) };
        return (u32::try_from(process).ok(), trim_spaces(after));
    }
    let digits = count_digits(line);
    match parse_u64(&line[..digits]) {
        Some(process) if process <= MOST_PROCESSES => {
            let after = skip_name(&line[digits..]);
            match after.first() {
                Some(b' ') => (Some(process as u32), trim_spaces(after)),
                _ => (None, line),
            }
        }
        _ => (None, line),
    }
}

/// Skips the name of a program in angle brackets: it ends before a blank, `]`, or the time.
fn skip_name(text: &[u8]) -> &[u8] {
    let Some(inner) = text.strip_prefix(b"<") else { return text };
    let mut at = 0;
    while let Some(end) = find_bytes(&inner[at..], b">") {
        let after = &inner[at + end + 1..];
        let ends = match after {
            [b']', ..] => true,
            [b' ', rest @ ..] => may_follow_a_process(trim_spaces(rest)),
            _ => false,
        };
        if ends {
            return after;
        }
        at += end + 1;
    }
    text
}

/// Whether a text can follow a process number: a time, a number or pointer in brackets, or an event.
fn may_follow_a_process(text: &[u8]) -> bool {
    let word = split_word(text).map_or(text, |(word, _)| word);
    let marks = [&b"["[..], b"<... ", b"+++ ", b"--- ", b"????"];
    parse_time(word).is_some() || starts_call(text) || marks.iter().any(|mark| text.starts_with(mark))
}

/// Seconds with or without a fraction, or a time of day.
pub(super) fn parse_time(word: &[u8]) -> Option<PrintedTime> {
    let (whole, fraction) = match find_bytes(word, b".") {
        Some(dot) => (&word[..dot], Some(&word[dot + 1..])),
        None => (word, None),
    };
    let fraction_ns = fraction.map_or(Some(0), parse_fraction)?;
    let mut parts = whole.split(|byte| *byte == b':');
    let first = parse_u64(parts.next()?)?;
    let (Some(second), third, None) = (parts.next(), parts.next(), parts.next()) else {
        // A bare whole number is the number of a system call or a process.
        let certain = fraction.is_some() || first > MOST_PROCESSES;
        return certain
            .then_some(PrintedTime::Seconds(first.checked_mul(1_000_000_000)?.checked_add(fraction_ns)?));
    };
    let (second, third) = (parse_u64(second)?, parse_u64(third?)?);
    if first >= 24 || second >= 60 || third > 60 {
        return None;
    }
    Some(PrintedTime::OfDay(((first * 60 + second) * 60 + third) * 1_000_000_000 + fraction_ns))
}

/// Digits behind a decimal point, in billionths.
fn parse_fraction(digits: &[u8]) -> Option<u64> {
    let shown = digits.len().min(9);
    let number = parse_u64(&digits[..shown])?;
    digits.iter().all(u8::is_ascii_digit).then_some(number * 10_u64.pow(9 - shown as u32))
}

pub(super) fn line_kind(rest: &[u8]) -> LineKind<'_> {
    let rest = trim_end(rest);
    if let Some(text) = rest.strip_prefix(b"<... ") {
        let Some(end) = find_bytes(text, b" resumed>") else { return LineKind::Nothing };
        let after = &text[end + b" resumed>".len()..];
        // A call that never ends, because its process does: `<... read resumed> <unfinished ...>) = ?`.
        let after = trim_spaces(after).strip_prefix(b"<unfinished ...>").unwrap_or(after);
        return LineKind::Resumed(&text[..end], after);
    }
    if let Some(text) = rest.strip_suffix(b"<unfinished ...>") {
        return if starts_call(text) { LineKind::Unfinished(trim_end(text)) } else { LineKind::Nothing };
    }
    if rest.starts_with(b"+++ exited") || rest.starts_with(b"+++ killed") {
        return LineKind::Ended;
    }
    if let Some(text) = rest.strip_prefix(b"+++ superseded by execve in pid ") {
        let by = parse_u64(&text[..count_digits(text)]).and_then(|number| u32::try_from(number).ok());
        return by.map_or(LineKind::Nothing, LineKind::Superseded);
    }
    match starts_call(rest) {
        true => LineKind::Whole(rest),
        false => LineKind::Nothing,
    }
}

/// Whether a text begins with a system call's name and `(`.
fn starts_call(text: &[u8]) -> bool {
    let letters = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'_';
    let name = text.iter().take_while(|byte| letters(byte)).count();
    (1..=LONGEST_NAME).contains(&name) && !text[0].is_ascii_digit() && text.get(name) == Some(&b'(')
}

pub(super) fn parse_u64(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || digits.len() > 20 {
        return None;
    }
    digits.iter().try_fold(0_u64, |number, digit| match digit {
        b'0'..=b'9' => number.checked_mul(10)?.checked_add(u64::from(digit - b'0')),
        _ => None,
    })
}

pub(super) fn count_digits(text: &[u8]) -> usize {
    text.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

fn split_word(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = text.iter().position(|byte| *byte == b' ')?;
    Some((&text[..end], trim_spaces(&text[end..])))
}

pub(super) fn find_bytes(text: &[u8], what: &[u8]) -> Option<usize> {
    match what {
        [one] => text.iter().position(|byte| byte == one),
        _ => text.windows(what.len()).position(|window| window == what),
    }
}

/// Without blanks at its beginning.
pub(super) fn trim_spaces(text: &[u8]) -> &[u8] {
    text.trim_ascii_start()
}

pub(super) fn trim_end(text: &[u8]) -> &[u8] {
    text.trim_ascii_end()
}

#[cfg(test)]
mod tests {
    use super::{LineKind, PrintedTime, line_kind, parse_time, split_prefix};

    #[test]
    fn what_stands_before_a_call_is_taken_off_in_every_form() {
        let second = 1_000_000_000;
        let seconds = |ns| Some(PrintedTime::Seconds(ns));
        for (line, process, time) in [
            ("close(3) = 0", None, None),
            ("7 close(3) = 0", Some(7), None),
            ("7     close(3) = 0", Some(7), None),
            ("7<a> close(3) = 0", Some(7), None),
            ("7<a> b> 1.5 close(3) = 0", Some(7), seconds(second * 3 / 2)),
            ("7<my program> 1.5 close(3) = 0", Some(7), seconds(second * 3 / 2)),
            ("[pid  7] close(3) = 0", Some(7), None),
            ("[pid 7<x]y>] 1.25 close(3) = 0", Some(7), seconds(second * 5 / 4)),
            ("[pid     7] 1700000000.000001 close(3) = 0", Some(7), seconds(1_700_000_000_000_001_000)),
            ("1700000000.000001 close(3) = 0", None, seconds(1_700_000_000_000_001_000)),
            ("1700000000 close(3) = 0", None, seconds(1_700_000_000_000_000_000)),
            ("7 00:00:01 close(3) = 0", Some(7), Some(PrintedTime::OfDay(second))),
            ("7 00:01:01.5 close(3) = 0", Some(7), Some(PrintedTime::OfDay(61_500_000_000))),
            ("7      0.500000 close(3) = 0", Some(7), seconds(second / 2)),
            ("7 00:00:01 (+     0.000100) close(3) = 0", Some(7), Some(PrintedTime::OfDay(second))),
            ("7 1.5 [00007f1c2b0e1f47] close(3) = 0", Some(7), seconds(second * 3 / 2)),
            ("7 1.5 [   3] [????????????????] close(3) = 0", Some(7), seconds(second * 3 / 2)),
            ("     0.000000 close(3) = 0", None, seconds(0)),
        ] {
            let (prefix, rest) = split_prefix(line.as_bytes());
            assert_eq!((prefix.process, prefix.time), (process, time), "{line}");
            assert_eq!(std::str::from_utf8(rest).unwrap(), "close(3) = 0", "{line}");
        }
        assert_eq!(parse_time(b"99999999999:59:59"), None);
        assert_eq!(parse_time(b"24:00:00"), None);
        assert_eq!(parse_time(b"1.x"), None);
    }

    #[test]
    fn every_kind_of_line_is_told_apart() {
        let kind = |line: &'static str| line_kind(line.as_bytes());
        assert_eq!(kind("fsync(3 <unfinished ...>"), LineKind::Unfinished(b"fsync(3"));
        assert_eq!(kind("<... fsync resumed>) = 0"), LineKind::Resumed(b"fsync", b") = 0"));
        assert_eq!(kind("<... read resumed> <unfinished ...>) = ?"), LineKind::Resumed(b"read", b") = ?"));
        assert_eq!(kind("+++ exited with 0 +++"), LineKind::Ended);
        assert_eq!(kind("+++ killed by SIGKILL +++"), LineKind::Ended);
        assert_eq!(kind("+++ superseded by execve in pid 12 +++"), LineKind::Superseded(12));
        for nothing in [
            "--- SIGCHLD {si_signo=SIGCHLD} ---",
            "strace: Process 7 attached",
            " > /lib/x(a+0x1)",
            "R (1)",
            "(",
            "",
        ] {
            assert_eq!(kind(nothing), LineKind::Nothing, "{nothing}");
        }
        assert!(matches!(kind("_llseek(3, 0, [0], SEEK_SET) = 0"), LineKind::Whole(_)));
    }
}

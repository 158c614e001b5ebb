//! Parses one line of strace output: its process, its time, and a call, the beginning or the rest of one, or other content.

/// Larger than any process number (pid_max of Linux).
const MOST_PROCESSES: u64 = 1 << 22;

/// Letters of the name of a system call.
const LONGEST_NAME: usize = 64;

/// A line as `strace -f -ttt -o FILE` writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SplitLine<'a> {
    pub(super) process: u32,
    /// Nanoseconds since 1970.
    pub(super) at_ns: u64,
    /// The text behind process and time.
    pub(super) rest: &'a [u8],
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
    /// It holds no call, by this rule.
    Noise(&'static str),
    /// It is none of these.
    Unknown,
}

/// Messages of strace's own: how they begin and end, and the rule.
const NOISE: &[(&[u8], &[u8], &str)] = &[
    (b"--- SIG", b" ---", "signals"),
    (b"--- stopped by SIG", b" ---", "signals"),
    (b"strace: ", b"", "messages of strace"),
    (b"[ Process PID=", b" ]", "messages of strace"),
    (b"???", b"", "messages of strace"),
    (b"+++ exited", b" +++", "messages of strace"),
    (b"+++ killed", b" +++", "messages of strace"),
];

/// The rule of a line, or of the rest of one, that holds no call.
pub(super) fn noise_rule(text: &[u8]) -> Option<&'static str> {
    let fits = |(begin, end, _): &&(&[u8], &[u8], &str)| text.starts_with(begin) && text.ends_with(end);
    let rule = NOISE.iter().find(fits).map(|(_, _, rule)| *rule);
    rule.or_else(|| is_summary(text).then_some("sums of strace -C"))
        .or_else(|| is_dump(text).then_some("contents that strace -e read or -e write shows"))
}

/// Whether a text is a line of a call's content below it: `| 00010  78 78 …  xx |`, or the heading of one of its buffers.
fn is_dump(text: &[u8]) -> bool {
    let row = text.strip_prefix(b"| ").filter(|row| row.ends_with(b"|"));
    let place = |row: &[u8]| row.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    row.is_some_and(|row| place(row) >= 5 && row[place(row)..].starts_with(b"  "))
        || (text.starts_with(b"* ") && find_bytes(text, b" bytes in buffer ").is_some())
}

/// Whether a text is a line of the summary that strace -C prints below the calls: its heading, a ruler, or the sums of a
/// call: `62.10    0.000072          12         6           write`.
fn is_summary(text: &[u8]) -> bool {
    let words: Vec<&[u8]> = text.split(|byte| *byte == b' ').filter(|word| !word.is_empty()).collect();
    let [share, seconds, each, calls, .., _] = words.as_slice() else { return false };
    let is_ruler = words.iter().all(|word| word.len() > 5 && word.iter().all(|byte| *byte == b'-'));
    let are_numbers = [each, calls].iter().all(|word| parse_u64(word).is_some());
    let are_sums = parse_seconds(share).is_some() && parse_seconds(seconds).is_some() && are_numbers;
    text.starts_with(b"% time") || is_ruler || are_sums
}

/// Splits process and time from the rest of a line; `None` where a line has no such beginning.
pub(super) fn split_line(line: &[u8]) -> Option<SplitLine<'_>> {
    let (process, rest) = split_word(line.trim_ascii_start())?;
    let process = parse_u64(process).filter(|process| *process <= MOST_PROCESSES)?;
    let (time, rest) = split_word(rest)?;
    Some(SplitLine { process: process as u32, at_ns: parse_seconds(time)?, rest })
}

/// Seconds with a fraction, in nanoseconds.
pub(super) fn parse_seconds(word: &[u8]) -> Option<u64> {
    let dot = find_bytes(word, b".")?;
    let (whole, digits) = (parse_u64(&word[..dot])?, &word[dot + 1..]);
    let shown = digits.len().min(9);
    let fraction = parse_u64(&digits[..shown])? * 10_u64.pow(9 - shown as u32);
    let whole = whole.checked_mul(1_000_000_000)?;
    if digits.iter().all(u8::is_ascii_digit) { whole.checked_add(fraction) } else { None }
}

pub(super) fn line_kind(rest: &[u8]) -> LineKind<'_> {
    let rest = rest.trim_ascii_end();
    if let Some(text) = rest.strip_prefix(b"<... ") {
        let Some(end) = find_bytes(text, b" resumed>") else { return LineKind::Unknown };
        let after = &text[end + b" resumed>".len()..];
        // A call that never ends, because its process does: `<... read resumed> <unfinished ...>) = ?`.
        let after = after.trim_ascii_start().strip_prefix(b"<unfinished ...>").unwrap_or(after);
        return LineKind::Resumed(&text[..end], after);
    }
    if let Some(text) = rest.strip_suffix(b"<unfinished ...>") {
        return if starts_call(text) {
            LineKind::Unfinished(text.trim_ascii_end())
        } else {
            LineKind::Unknown
        };
    }
    if (rest.starts_with(b"+++ exited") || rest.starts_with(b"+++ killed")) && rest.ends_with(b" +++") {
        return LineKind::Ended;
    }
    if let Some(text) = rest.strip_prefix(b"+++ superseded by execve in pid ") {
        let by = parse_u64(&text[..count_digits(text)]).and_then(|number| u32::try_from(number).ok());
        return by.map_or(LineKind::Unknown, LineKind::Superseded);
    }
    match starts_call(rest) {
        true => LineKind::Whole(rest),
        false => noise_rule(rest).map_or(LineKind::Unknown, LineKind::Noise),
    }
}

/// Whether a text begins with a system call's name and `(`.
pub(super) fn starts_call(text: &[u8]) -> bool {
    let is_letter = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'_';
    let name = text.iter().take_while(|byte| is_letter(byte)).count();
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
    Some((&text[..end], text[end..].trim_ascii_start()))
}

pub(super) fn find_bytes(text: &[u8], what: &[u8]) -> Option<usize> {
    match what {
        [only] => text.iter().position(|byte| byte == only),
        _ => text.windows(what.len()).position(|window| window == what),
    }
}

#[cfg(test)]
mod tests {
    use super::{LineKind, line_kind, noise_rule, parse_seconds, split_line};

    #[test]
    fn process_and_time_are_split_from_a_call() {
        for (line, process, at_ns) in [
            ("7 1.5 close(3) = 0", 7, 1_500_000_000),
            ("7     1700000000.000001 close(3) = 0", 7, 1_700_000_000_000_001_000),
            (" 4194304 0.5 close(3) = 0", 4_194_304, 500_000_000),
        ] {
            let split = split_line(line.as_bytes()).unwrap();
            assert_eq!((split.process, split.at_ns, split.rest), (process, at_ns, &b"close(3) = 0"[..]));
        }
        for other in ["close(3) = 0", "7 close(3) = 0", "7<a> 1.5 close(3) = 0", "7 12:00:00 close(3) = 0"] {
            assert_eq!(split_line(other.as_bytes()), None, "{other}");
        }
        assert_eq!((parse_seconds(b"1.x"), parse_seconds(b"1."), parse_seconds(b"17")), (None, None, None));
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
        for noise in ["--- SIGCHLD {si_signo=SIGCHLD} ---", "strace: Process 7 attached", "??? ( <unfinished"]
        {
            assert!(matches!(kind(noise), LineKind::Noise(_)), "{noise}");
        }
        for sum in [
            "% time     seconds  usecs/call     calls    errors syscall",
            "62.10    0.000072          12         6           write",
        ] {
            assert_eq!(noise_rule(sum.as_bytes()), Some("sums of strace -C"), "{sum}");
        }
        for dump in [
            "| 00000  78 78 0a                                          xx.              |",
            "* 5 bytes in buffer 0",
        ] {
            assert!(noise_rule(dump.as_bytes()).is_some_and(|rule| rule.starts_with("contents")), "{dump}");
        }
        assert_eq!(noise_rule(b"| sda | 00010"), None);
        for unknown in
            [" > /lib/x(a+0x1)", "R (1)", "(", "", "--- SIGCHLD {si_si", "+++ exited wi", "<... rea"]
        {
            assert_eq!(kind(unknown), LineKind::Unknown, "{unknown}");
        }
        assert!(matches!(kind("_llseek(3, 0, [0], SEEK_SET) = 0"), LineKind::Whole(_)));
    }
}

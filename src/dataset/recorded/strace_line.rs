//! One line of what strace prints: who, when, which system call with which arguments, what came of it, and how long it took.

/// Arguments of a call that are looked at.
const MOST_ARGUMENTS: usize = 8;

/// A system call that was made, or begun.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct StraceCall<'a> {
    pub(super) name: &'a str,
    pub(super) arguments: Vec<&'a str>,
    /// What it returned; negative where it failed.
    pub(super) returned: Option<i64>,
    /// What stands behind that: an error's name, a path.
    pub(super) remark: &'a str,
    /// How long it took, in nanoseconds.
    pub(super) took_ns: Option<u64>,
}

/// What a line is about.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum StraceLine<'a> {
    Whole(&'a str),
    /// It goes on in a later line of the same process.
    Unfinished(&'a str),
    /// The rest of what was begun before.
    Resumed(&'a str),
    /// Signals, ends, and what is in no form that is known.
    Nothing,
}

/// Whether the beginning of a file is a record of strace's: one of its first lines has a call with what it returned.
pub(super) fn looks_like(bytes: &[u8]) -> bool {
    let beginning = String::from_utf8_lossy(&bytes[..bytes.len().min(8192)]).into_owned();
    beginning.lines().take(40).any(|line| {
        let (_, _, rest) = who_and_when(line);
        matches!(kind(rest), StraceLine::Whole(text) if parse(text).is_some_and(|call| call.returned.is_some()))
    })
}

/// Takes process and time off a line: `[pid 7] 12:00:00.5 read(…`, `7 1700000000.5 read(…`.
pub(super) fn who_and_when(line: &str) -> (u32, Option<u64>, &str) {
    let mut rest = line.trim_start();
    let mut who = 0;
    if let Some(inner) = rest.strip_prefix("[pid") {
        let Some((number, after)) = inner.split_once(']') else { return (0, None, "") };
        who = number.trim().parse().unwrap_or(0);
        rest = after.trim_start();
    } else if let Some((word, after)) = rest.split_once(' ')
        && let Ok(number) = word.parse::<u32>()
    {
        (who, rest) = (number, after.trim_start());
    }
    match rest.split_once(' ') {
        Some((word, after)) if word.starts_with(|first: char| first.is_ascii_digit()) => {
            (who, moment(word), after.trim_start())
        }
        _ => (who, None, rest),
    }
}

/// `1700000000.123456` or `12:34:56.123456`, in nanoseconds.
fn moment(word: &str) -> Option<u64> {
    let mut whole = 0_f64;
    for part in word.split(':') {
        whole = whole * 60.0 + part.parse::<f64>().ok().filter(|number| (0.0..1e11).contains(number))?;
    }
    (whole < 1e10).then(|| (whole * 1e6).round() as u64 * 1000)
}

pub(super) fn kind(rest: &str) -> StraceLine<'_> {
    let rest = rest.trim_end();
    if let Some(text) = rest.strip_suffix("<unfinished ...>") {
        return StraceLine::Unfinished(text.trim_end());
    }
    if let Some(text) = rest.strip_prefix("<... ") {
        return text
            .split_once(" resumed>")
            .map_or(StraceLine::Nothing, |(_, text)| StraceLine::Resumed(text));
    }
    match rest.bytes().next() {
        Some(first) if first.is_ascii_lowercase() || first == b'_' => StraceLine::Whole(rest),
        _ => StraceLine::Nothing,
    }
}

/// A call, from its name to what it returned.
pub(super) fn parse(text: &str) -> Option<StraceCall<'_>> {
    let open = text.find('(')?;
    let name = &text[..open];
    if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        return None;
    }
    let bytes = text.as_bytes();
    let (mut arguments, mut start, mut at) = (Vec::new(), open + 1, open + 1);
    let (mut depth, mut quoted) = (0_usize, false);
    // `)` at depth 0 ends the list.
    let end = loop {
        let byte = *bytes.get(at)?;
        match byte {
            b'\\' if quoted => at += 1,
            b'"' => quoted = !quoted,
            _ if quoted => {}
            b'{' | b'[' | b'(' => depth += 1,
            // A path behind the number of an open file: `3</tmp/a, b>`.
            b'<' if bytes[at - 1].is_ascii_digit() || bytes[at - 1] == b'D' => depth += 1,
            b'>' if depth > 0 && bytes[at - 1] != b'=' && bytes[at - 1] != b'-' => depth -= 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b')' if depth > 0 => depth -= 1,
            b')' => break at,
            b',' if depth == 0 => {
                if arguments.len() < MOST_ARGUMENTS {
                    arguments.push(text.get(start..at)?.trim());
                }
                start = at + 1;
            }
            _ => {}
        }
        at += 1;
    };
    if arguments.len() < MOST_ARGUMENTS && start < end {
        arguments.push(text.get(start..end)?.trim());
    }
    let rest = text.get(end + 1..)?.trim_start();
    let Some(rest) = rest.strip_prefix('=') else {
        return Some(StraceCall { name, arguments, returned: None, remark: "", took_ns: None });
    };
    let rest = rest.trim();
    let (rest, took_ns) = match rest.strip_suffix('>').and_then(|rest| rest.rsplit_once('<')) {
        Some((before, time)) if time.parse::<f64>().is_ok() => (before.trim_end(), moment(time)),
        _ => (rest, None),
    };
    let digits = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '-').unwrap_or(rest.len());
    let returned = rest[..digits].parse().ok();
    Some(StraceCall { name, arguments, returned, remark: rest[digits..].trim(), took_ns })
}

/// The bytes of a quoted string, of which strace writes some as escapes; `None` where it was cut.
pub(super) fn unquoted(argument: &str) -> Option<Vec<u8>> {
    let inner = argument.strip_prefix('"')?.strip_suffix('"')?;
    unescaped(inner)
}

/// What is behind the number of an open file.
pub(super) fn path_of(argument: &str) -> Option<Vec<u8>> {
    let (_, rest) = argument.split_once('<')?;
    let inner = rest.strip_suffix('>').or_else(|| rest.strip_suffix(">(deleted)"))?;
    unescaped(inner).filter(|path| path.starts_with(b"/"))
}

fn unescaped(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes().peekable();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        match rest.next()? {
            b'n' => bytes.push(b'\n'),
            b't' => bytes.push(b'\t'),
            b'r' => bytes.push(b'\r'),
            b'v' => bytes.push(0x0b),
            b'f' => bytes.push(0x0c),
            b'x' => {
                let mut hex = || char::from(rest.next()?).to_digit(16);
                bytes.push((hex()? * 16 + hex()?) as u8);
            }
            digit @ b'0'..=b'7' => {
                let mut value = u32::from(digit - b'0');
                for _ in 0..2 {
                    let Some(next @ b'0'..=b'7') = rest.peek().copied() else { break };
                    value = value * 8 + u32::from(next - b'0');
                    rest.next();
                }
                bytes.push(u8::try_from(value).ok()?);
            }
            other => bytes.push(other),
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::{StraceLine, kind, looks_like, parse, path_of, unquoted, who_and_when};

    #[test]
    fn lines_are_taken_apart_whatever_is_in_their_strings() {
        let line = r#"[pid  42] 1700000000.250000 openat(AT_FDCWD</tmp>, "a, (b) \"c\\\n\377", O_RDWR|O_CREAT, 0644) = 3</tmp/a> <0.000120>"#;
        let (who, at, rest) = who_and_when(line);
        assert_eq!((who, at), (42, Some(1_700_000_000_250_000_000)));
        let call = parse(rest).unwrap();
        assert_eq!((call.name, call.arguments.len(), call.returned), ("openat", 4, Some(3)));
        assert_eq!(call.took_ns, Some(120_000));
        assert_eq!(unquoted(call.arguments[1]).unwrap(), b"a, (b) \"c\\\n\xff");
        assert_eq!(path_of(call.arguments[0]).unwrap(), b"/tmp");
        let call = parse("write(3</t/x, y>, \"\"..., 4096) = -1 ENOSPC (No space left on device)").unwrap();
        assert_eq!((call.returned, call.remark), (Some(-1), "ENOSPC (No space left on device)"));
        assert_eq!(path_of(call.arguments[0]).unwrap(), b"/t/x, y");
        assert_eq!(unquoted("\"cut\"..."), None);
        assert!(matches!(kind("fsync(3 <unfinished ...>"), StraceLine::Unfinished("fsync(3")));
        assert!(matches!(kind("<... fsync resumed>) = 0"), StraceLine::Resumed(") = 0")));
        assert!(matches!(kind("--- SIGCHLD {si_signo=SIGCHLD} ---"), StraceLine::Nothing));
        assert_eq!(who_and_when("12:00:01.5 close(3) = 0").1, Some(43_201_500_000_000));
        assert_eq!(who_and_when("99999999999:59:59 close(3) = 0").1, None);
        assert!(looks_like(b"execve(\"/bin/true\", [\"true\"], 0x7ffd /* 20 vars */) = 0\n"));
        for other in ["R 1 2 3 4", "8,0 1 1 0.5 1 D R 1 + 2 [x]", "1, 2, 0, 4096, 0", "", "x(", "(", "a()b"] {
            assert!(!looks_like(other.as_bytes()), "{other}");
        }
    }
}

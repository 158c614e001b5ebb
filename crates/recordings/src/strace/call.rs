//! Parses a system call as strace prints it: name, arguments, returned value and duration.

use super::line::{count_digits, find_bytes, parse_seconds, parse_u64};
use super::value::parse_number;

/// Arguments of a call that are looked at.
const MOST_ARGUMENTS: usize = 8;

/// The result of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Returned<'a> {
    Value(i64),
    /// The name of the error.
    Error(&'a str),
    /// It did not return, or was begun again (`?`).
    Unknown,
}

/// A system call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SystemCall<'a> {
    pub(super) name: &'a str,
    arguments: [&'a [u8]; MOST_ARGUMENTS],
    count: usize,
    pub(super) returned: Returned<'a>,
    /// The text after the returned number: a path or a remark.
    pub(super) remark: &'a [u8],
    /// How long it took, in nanoseconds.
    pub(super) took_ns: Option<u64>,
}

impl<'a> SystemCall<'a> {
    pub(super) fn argument(&self, at: usize) -> Option<&'a [u8]> {
        (at < self.count).then(|| self.arguments[at])
    }

    pub(super) fn arguments(&self) -> &[&'a [u8]] {
        &self.arguments[..self.count]
    }

    /// The returned number, if the call succeeded.
    pub(super) fn value(&self) -> Option<i64> {
        match self.returned {
            Returned::Value(value) => Some(value),
            _ => None,
        }
    }

    /// Whether strace made up the result (-e inject): the kernel did nothing.
    pub(super) fn is_injected(&self) -> bool {
        find_bytes(self.remark, b"(INJECTED").is_some()
    }

    /// Whether it returned more bytes than it asked for, as no call does.
    pub(super) fn moved_more_than_asked(&self) -> bool {
        let asked = match self.name {
            "read" | "pread64" | "pread" | "write" | "pwrite64" | "pwrite" | "getdents64" => 2,
            "sendfile" | "sendfile64" => 3,
            "copy_file_range" | "splice" => 4,
            _ => return false,
        };
        let asked = self.argument(asked).and_then(parse_number).and_then(|asked| u64::try_from(asked).ok());
        asked
            .zip(self.value().and_then(|moved| u64::try_from(moved).ok()))
            .is_some_and(|(asked, moved)| moved > asked)
    }

    pub(super) fn argument_text(&self, at: usize) -> &'a str {
        self.argument(at).and_then(|text| std::str::from_utf8(text).ok()).unwrap_or_default()
    }
}

/// The name of the call that a text begins with.
pub(super) fn call_name(text: &[u8]) -> &str {
    let end = find_bytes(text, b"(").unwrap_or(text.len());
    std::str::from_utf8(&text[..end]).unwrap_or_default()
}

/// Takes a call apart; `None` where its line is cut short.
pub(super) fn parse_call(text: &[u8]) -> Option<SystemCall<'_>> {
    let open = find_bytes(text, b"(")?;
    let name = std::str::from_utf8(&text[..open]).ok()?;
    let mut call = SystemCall {
        name,
        arguments: [b""; MOST_ARGUMENTS],
        count: 0,
        returned: Returned::Unknown,
        remark: b"",
        took_ns: None,
    };
    let end = split_arguments(text, open + 1, |argument| {
        if call.count < MOST_ARGUMENTS {
            call.arguments[call.count] = named_constant(argument);
            call.count += 1;
        }
    })?;
    parse_result(text.get(end + 1..)?, &mut call)?;
    Some(call)
}

/// The names of a constant that strace shows by its number, too (-X verbose): `0x42 /* O_RDWR|O_CREAT */`.
fn named_constant(argument: &[u8]) -> &[u8] {
    let digits = argument.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'-').count();
    let comment = argument[digits..].strip_prefix(b" /* ").and_then(|text| text.strip_suffix(b" */"));
    let is_name = |names: &&[u8]| {
        names.first().is_some_and(u8::is_ascii_uppercase)
            && names.iter().all(|byte| byte.is_ascii_alphanumeric() || b"_|".contains(byte))
    };
    comment.filter(|_| digits > 0).filter(is_name).unwrap_or(argument)
}

/// Gives each argument from `start` on; gives where the closing bracket is.
fn split_arguments<'a>(text: &'a [u8], start: usize, mut give: impl FnMut(&'a [u8])) -> Option<usize> {
    let (mut from, mut at, mut depth) = (start, start, 0_usize);
    loop {
        match *text.get(at)? {
            b'"' => at = end_of_string(text, at + 1)?,
            b'<' if is_decoration(text, at) => at = end_of_decoration(text, at + 1)?,
            b'/' if text.get(at + 1) == Some(&b'*') => at += 2 + find_bytes(text.get(at + 2..)?, b"*/")? + 1,
            b'{' | b'[' | b'(' => depth += 1,
            b')' if depth == 0 => {
                let last = text[from..at].trim_ascii();
                if !last.is_empty() {
                    give(last);
                }
                return Some(at);
            }
            b'}' | b']' | b')' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => {
                give(text[from..at].trim_ascii());
                from = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
}

/// Where the quote is that ends a string.
fn end_of_string(text: &[u8], mut at: usize) -> Option<usize> {
    loop {
        match text.get(at)? {
            b'\\' => at += 2,
            b'"' => return Some(at),
            _ => at += 1,
        }
    }
}

/// Whether a bracket begins a decoration of the number or word before it: `3</tmp/a>`, `AT_FDCWD</tmp>`.
fn is_decoration(text: &[u8], at: usize) -> bool {
    let named = [&b"AT_FDCWD"[..], b"AT_FDCWD */"];
    at > 0 && (text[at - 1].is_ascii_digit() || named.iter().any(|name| text[..at].ends_with(name)))
}

/// Where the bracket is that ends a decoration. strace escapes brackets in a path; a device has its numbers in brackets of
/// their own: `</dev/null<char 1:3>>`.
fn end_of_decoration(text: &[u8], start: usize) -> Option<usize> {
    let (mut at, mut depth) = (start, 0_usize);
    loop {
        match text.get(at)? {
            b'\\' => at += 1,
            b'<' => depth += 1,
            b'>' if depth == 0 => return Some(at),
            b'>' => depth -= 1,
            _ => {}
        }
        at += 1;
    }
}

/// The name of an error: `ENOSPC`, `ERESTART_RESTARTBLOCK`.
fn is_error_name(word: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    word.len() <= 40 && word.starts_with('E') && word.bytes().all(letter)
}

/// Whether a text holds a duration, `<0.000120>`: behind a result there is one at most, so that another line goes on here.
fn holds_duration(text: &[u8]) -> bool {
    text.split(|byte| *byte == b'<').skip(1).any(|part| {
        part.split(|byte| *byte == b'>').next().is_some_and(|inner| parse_seconds(inner).is_some())
    })
}

fn parse_result<'a>(rest: &'a [u8], call: &mut SystemCall<'a>) -> Option<()> {
    let rest = rest.trim_ascii_start().strip_prefix(b"=")?;
    let mut rest = rest.trim_ascii();
    if let Some(inner) = rest.strip_suffix(b">")
        && let Some(open) = inner.iter().rposition(|byte| *byte == b'<')
        && let Some(took) = parse_seconds(&inner[open + 1..])
    {
        (rest, call.took_ns) = (inner[..open].trim_ascii_end(), Some(took));
    }
    if holds_duration(rest) {
        return None;
    }
    if let Some(after) = rest.strip_prefix(b"?") {
        call.remark = after.trim_ascii_start();
        return Some(());
    }
    // A number that goes on with anything else is damaged.
    let is_ended = |behind: &[u8]| matches!(behind.first(), None | Some(b' ' | b'<'));
    if let Some(hexadecimal) = rest.strip_prefix(b"0x") {
        let digits = hexadecimal.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        let number =
            std::str::from_utf8(&hexadecimal[..digits]).ok().filter(|_| is_ended(&hexadecimal[digits..]))?;
        call.returned = Returned::Value(u64::from_str_radix(number, 16).ok()? as i64);
        call.remark = hexadecimal[digits..].trim_ascii_start();
        return Some(());
    }
    let sign = usize::from(rest.starts_with(b"-"));
    let digits = count_digits(&rest[sign..]);
    let number = parse_u64(&rest[sign..sign + digits]).filter(|_| is_ended(&rest[sign + digits..]))?;
    call.remark = rest[sign + digits..].trim_ascii_start();
    call.returned = match (sign, i64::try_from(number).ok()?) {
        (0, number) => Returned::Value(number),
        (_, number) => {
            let word = call.remark.split(|byte| *byte == b' ').next().unwrap_or_default();
            match std::str::from_utf8(word).unwrap_or_default() {
                name if is_error_name(name) => Returned::Error(name),
                // The priority of a process and the like may be below zero.
                _ if number == 1 => Returned::Error("error"),
                _ => Returned::Value(-number),
            }
        }
    };
    Some(())
}

#[cfg(test)]
mod tests {
    use super::{Returned, parse_call};

    #[test]
    fn arguments_are_taken_apart_whatever_is_in_their_strings() {
        for (text, arguments, returned, remark) in [
            (
                r#"openat(AT_FDCWD</tmp>, "a, (b) \"c\\\n\377", O_RDWR|O_CREAT, 0644) = 3</tmp/a> <0.000120>"#,
                &["AT_FDCWD</tmp>", r#""a, (b) \"c\\\n\377""#, "O_RDWR|O_CREAT", "0644"][..],
                Returned::Value(3),
                "</tmp/a>",
            ),
            (
                r#"write(3</t/x, y>, ""..., 4096) = -1 ENOSPC (No space left on device)"#,
                &["3</t/x, y>", r#"""..."#, "4096"],
                Returned::Error("ENOSPC"),
                "ENOSPC (No space left on device)",
            ),
            ("close(3</srv/a->) = 0", &["3</srv/a->"], Returned::Value(0), ""),
            ("close(3</srv/a=>)        = 0", &["3</srv/a=>"], Returned::Value(0), ""),
            (r#"close(3</srv/c\"d\76e>) = 0"#, &[r#"3</srv/c\"d\76e>"#], Returned::Value(0), ""),
            ("fsync(3</srv/#7>(deleted)) = 0", &["3</srv/#7>(deleted)"], Returned::Value(0), ""),
            ("sendto(4<socket:[12]>, 5) = 5", &["4<socket:[12]>", "5"], Returned::Value(5), ""),
            (
                "read(0</dev/pts/1<char 136:1>>, 5) = 5",
                &["0</dev/pts/1<char 136:1>>", "5"],
                Returned::Value(5),
                "",
            ),
            (
                "pipe2([3<pipe:[1]>, 4<pipe:[1]>], 0) = 0",
                &["[3<pipe:[1]>, 4<pipe:[1]>]", "0"],
                Returned::Value(0),
                "",
            ),
            (
                "clone3({flags=CLONE_VM, stack=0x7f} => {parent_tid=[7]}, 88) = 7",
                &["{flags=CLONE_VM, stack=0x7f} => {parent_tid=[7]}", "88"],
                Returned::Value(7),
                "",
            ),
            ("exit_group(0) = ?", &["0"], Returned::Unknown, ""),
            (
                "read(0, 0x7ffd, 5) = ? ERESTARTSYS (To be restarted)",
                &["0", "0x7ffd", "5"],
                Returned::Unknown,
                "ERESTARTSYS (To be restarted)",
            ),
            (
                "mmap(NULL, 1, 3, 1, 3</a>, 0) = 0x7f12",
                &["NULL", "1", "3", "1", "3</a>", "0"],
                Returned::Value(0x7f12),
                "",
            ),
            (
                r#"execve("/bin/true", ["true", ")"], 0x7ffd /* 20 vars, (x */) = 0"#,
                &[r#""/bin/true""#, r#"["true", ")"]"#, "0x7ffd /* 20 vars, (x */"],
                Returned::Value(0),
                "",
            ),
            ("sync() = 0", &[], Returned::Value(0), ""),
        ] {
            let call = parse_call(text.as_bytes()).unwrap_or_else(|| panic!("{text}"));
            let shown: Vec<_> =
                call.arguments().iter().map(|argument| std::str::from_utf8(argument).unwrap()).collect();
            assert_eq!(shown, arguments, "{text}");
            assert_eq!(
                (call.returned, std::str::from_utf8(call.remark).unwrap()),
                (returned, remark),
                "{text}"
            );
        }
        let call = parse_call(b"close(3) = 0 <0.000120>").unwrap();
        assert_eq!(call.took_ns, Some(120_000));
        for cut in ["close(3", "close(3)", "write(3, \"abc", "write(3</a", "", "close"] {
            assert_eq!(parse_call(cut.as_bytes()), None, "{cut}");
        }
    }
}

//! Parses values in the arguments of a call: strings, descriptors with strace's decoration, flags, numbers, and fields
//! of structures.

use std::ffi::OsStr;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use super::line::{count_digits, find_bytes, parse_u64};

/// A descriptor with the decoration that strace -y prints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ShownDescriptor {
    /// `None` for AT_FDCWD.
    pub(super) number: Option<i32>,
    pub(super) shown: ShownFile,
}

/// The decoration of a descriptor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ShownFile {
    /// No decoration: no descriptor that is open, or a number in the place of one.
    Nothing,
    Path {
        path: PathBuf,
        deleted: bool,
    },
    /// A socket, a pipe, or another object without a path.
    Other,
    /// A decoration that is cut, or with escapes that are none.
    Unreadable,
}

impl ShownFile {
    pub(super) fn path(&self) -> Option<&PathBuf> {
        match self {
            ShownFile::Path { path, .. } => Some(path),
            _ => None,
        }
    }
}

/// A descriptor's number with its decoration.
pub(super) fn parse_descriptor(argument: &[u8]) -> Option<ShownDescriptor> {
    let argument = argument.strip_prefix(b"-100 /* ").unwrap_or(argument);
    if let Some(rest) = argument.strip_prefix(b"AT_FDCWD") {
        let rest = rest.strip_prefix(b" */").unwrap_or(rest);
        return Some(ShownDescriptor { number: None, shown: shown_file(rest) });
    }
    let digits = count_digits(argument);
    let number = i32::try_from(parse_u64(&argument[..digits])?).ok()?;
    match argument.get(digits) {
        None | Some(b'<') => {
            Some(ShownDescriptor { number: Some(number), shown: shown_file(&argument[digits..]) })
        }
        _ => None,
    }
}

/// Whether an argument in the place of a descriptor is neither one that can be read nor none at all (-1).
pub(super) fn is_unreadable_descriptor(argument: &[u8]) -> bool {
    let is_none = |number: i64| number < 0 || number == i64::from(u32::MAX);
    match parse_descriptor(argument) {
        Some(descriptor) => descriptor.shown == ShownFile::Unreadable,
        None => !parse_number(argument).is_some_and(is_none),
    }
}

/// The path in the angle brackets behind a number.
pub(super) fn shown_file(decoration: &[u8]) -> ShownFile {
    let Some(inner) = decoration.strip_prefix(b"<") else { return ShownFile::Nothing };
    let (inner, deleted) = match inner.strip_suffix(b">(deleted)") {
        Some(inner) => (Some(inner), true),
        None => (inner.strip_suffix(b">"), false),
    };
    let Some(bytes) = inner.and_then(unescape) else { return ShownFile::Unreadable };
    // A device has its numbers in brackets behind its path; old versions of strace do not escape a bracket in a path.
    let is_device = [&b"<char "[..], b"<block "].iter().any(|kind| find_bytes(&bytes, kind).is_some());
    if !bytes.starts_with(b"/") || is_device {
        return ShownFile::Other;
    }
    ShownFile::Path { path: PathBuf::from(std::ffi::OsString::from_vec(bytes)), deleted }
}

/// The bytes of a quoted string; `None` where it is cut short or none.
pub(super) fn parse_quoted(argument: &[u8]) -> Option<Vec<u8>> {
    let inner = argument.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    unescape(inner)
}

/// A path in quotes.
pub(super) fn quoted_path(argument: &[u8]) -> Option<PathBuf> {
    parse_quoted(argument).map(|bytes| PathBuf::from(OsStr::from_bytes(&bytes)))
}

/// Takes the escapes of strace out of a string.
fn unescape(text: &[u8]) -> Option<Vec<u8>> {
    if !text.contains(&b'\\') {
        return Some(text.to_vec());
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.iter().copied().peekable();
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
                let mut digit = || char::from(rest.next()?).to_digit(16);
                bytes.push((digit()? * 16 + digit()?) as u8);
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

/// An argument as a reason may show it: constants and numbers only. Any other text may be a name, and is replaced.
pub(super) fn constants_or_placeholder(argument: &str) -> &str {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_|(), ".contains(&byte);
    let shown = argument.len() <= 120
        && argument.bytes().all(plain)
        && argument.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').all(|word| {
            word.is_empty()
                || word == "or"
                || word.starts_with(|letter: char| letter.is_ascii_digit())
                || !word.bytes().any(|byte| byte.is_ascii_lowercase())
        });
    if shown { argument } else { "of another kind" }
}

/// Whether one of several flags is set: `O_RDWR|O_CREAT`.
pub(super) fn has_flag(flags: &str, flag: &str) -> bool {
    flags.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').any(|word| word == flag)
}

/// The bits of a flags argument that strace shows as a number, beside names or in their place: `RWF_DSYNC|0x200`,
/// `0x200 /* RWF_??? */`.
pub(super) fn unnamed_bits(flags: &str) -> u64 {
    let names = flags.split(" /*").next().unwrap_or_default();
    names.split('|').filter_map(|word| parse_number(word.as_bytes())).fold(0, |bits, word| bits | word as u64)
}

/// A number of bytes or a place, below zero where it says so.
pub(super) fn parse_number(argument: &[u8]) -> Option<i64> {
    let (sign, digits) = match argument.strip_prefix(b"-") {
        Some(digits) => (-1, digits),
        None => (1, argument),
    };
    if let Some(hexadecimal) = digits.strip_prefix(b"0x") {
        let text = std::str::from_utf8(hexadecimal).ok()?;
        return u64::from_str_radix(text, 16).ok().map(|number| number as i64);
    }
    let number = parse_u64(digits)?;
    // A negative number may be printed without a sign: 18446744073709551615 is -1.
    Some((number as i64).wrapping_mul(sign))
}

/// A number in brackets, as a result is printed that a call left in memory: `[8192]`, `[8192 => 0]`, `[0] => [8192]`.
pub(super) fn parse_bracketed(argument: &[u8]) -> Option<i64> {
    let inner = argument.strip_prefix(b"[")?;
    let first = inner.split(|byte| matches!(byte, b' ' | b']')).next()?;
    parse_number(first)
}

/// The text after `name=` in a structure, up to the next comma or bracket.
pub(super) fn field_value<'a>(structure: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let mut from = 0;
    while let Some(at) = find_bytes(&structure[from..], name.as_bytes()) {
        let start = from + at;
        let end = start + name.len();
        let begins = start == 0 || matches!(structure[start - 1], b'{' | b' ' | b',');
        if begins && structure.get(end) == Some(&b'=') {
            let value = &structure[end + 1..];
            let mut depth = 0_usize;
            let length = value.iter().position(|byte| {
                match byte {
                    b'<' | b'[' | b'{' => depth += 1,
                    b',' | b'}' if depth == 0 => return true,
                    b'>' | b']' | b'}' => depth = depth.saturating_sub(1),
                    _ => {}
                }
                false
            });
            return Some(&value[..length.unwrap_or(value.len())]);
        }
        from = end;
    }
    None
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::{
        ShownFile, field_value, has_flag, parse_bracketed, parse_descriptor, parse_number, parse_quoted,
        unnamed_bits,
    };

    #[test]
    fn values_are_read_with_their_escapes() {
        assert_eq!(parse_quoted(br#""a\"\\\n\377\x41\0b""#).unwrap(), b"a\"\\\n\xff\x41\0b");
        assert_eq!((parse_quoted(b"\"cut\"..."), parse_quoted(b"0x7ffd")), (None, None));
        let path = |text: &[u8]| parse_descriptor(text).unwrap().shown.path().cloned();
        assert_eq!(path(br#"3</srv/c\"d\76>"#), Some(PathBuf::from("/srv/c\"d>")));
        assert_eq!(path(b"3</srv/a->"), Some(PathBuf::from("/srv/a-")));
        let gone = ShownFile::Path { path: "/srv/a".into(), deleted: true };
        assert_eq!(parse_descriptor(b"3</srv/a>(deleted)").unwrap().shown, gone);
        for text in [&b"3<pipe:[7]>"[..], b"3<anon_inode:[eventfd]>", b"3</dev/tty<char 5:0>>"] {
            assert_eq!(parse_descriptor(text).unwrap().shown, ShownFile::Other);
        }
        assert_eq!(parse_descriptor(b"AT_FDCWD</srv>").unwrap().number, None);
        assert_eq!(
            (parse_descriptor(b"-1"), parse_descriptor(b"0x7f0000000000"), parse_descriptor(b"3x")),
            (None, None, None)
        );
        assert_eq!(
            ["RWF_DSYNC|0x20", "0x20 /* RWF_??? */", "0", "RWF_SYNC"].map(unnamed_bits),
            [0x20, 0x20, 0, 0]
        );
        assert!(has_flag("{flags=O_RDWR|O_CREAT, mode=0644}", "O_CREAT") && !has_flag("O_SYNCX", "O_SYNC"));
        assert_eq!(
            (parse_number(b"-1"), parse_number(b"18446744073709551615"), parse_number(b"0x10")),
            (Some(-1), Some(-1), Some(16))
        );
        assert_eq!(
            (parse_bracketed(b"[8192]"), parse_bracketed(b"[5 => 9]"), parse_bracketed(b"NULL")),
            (Some(8192), Some(5), None)
        );
        let iocb =
            b"{aio_data=0, aio_fildes=7</srv/a, b>, aio_buf=[{iov_len=3}], aio_nbytes=4096, aio_offset=0}";
        assert_eq!(field_value(iocb, "aio_fildes"), Some(&b"7</srv/a, b>"[..]));
        assert_eq!(
            (field_value(iocb, "aio_nbytes"), field_value(iocb, "aio_offset"), field_value(iocb, "nbytes")),
            (Some(&b"4096"[..]), Some(&b"0"[..]), None)
        );
    }
}

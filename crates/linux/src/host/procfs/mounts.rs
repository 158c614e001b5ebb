//! `/proc/self/mountinfo`: all mounts with the options as the kernel resolved them.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use crate::host::root::{ParserPosition, ReadError, Root};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// Major and minor number of the device, as the filesystem reports it (btrfs reports one of its own).
    pub device: (u32, u32),
    pub target: PathBuf,
    /// Options of this mount (`rw,noatime`).
    pub options: String,
    pub filesystem: String,
    /// The mounted source, e.g. a device.
    pub source: PathBuf,
    /// Options of the filesystem itself (`rw,errors=continue`).
    pub filesystem_options: String,
}

/// The mounts of this process's mount namespace, lower ones first.
pub fn read_mounts(root: &Root) -> Result<Vec<Mount>, ReadError> {
    let file = root.path("proc/self/mountinfo");
    let content = root.bytes("proc/self/mountinfo")?;
    let lines = content.split(|byte| *byte == b'\n').enumerate();
    lines
        .filter(|(_, line)| !line.is_empty())
        .map(|(index, line)| parse_mount(line, &file, index + 1))
        .collect()
}

fn parse_mount(line: &[u8], file: &Path, number: usize) -> Result<Mount, ReadError> {
    let place = ParserPosition { file, line: number };
    let mut words = line.split(|byte| *byte == b' ').filter(|word| !word.is_empty());
    let mut next = |item: &str| {
        words.next().ok_or_else(|| place.malformed(item, "present", &String::from_utf8_lossy(line)))
    };
    // Identities of the mount and of its parent; the folder of the filesystem that is visible here.
    let (_, _) = (next("the identity of the mount")?, next("the identity of the parent")?);
    let device = device_number(&place, &to_text(next("the device number")?))?;
    let _ = next("the root of the mount")?;
    let target = to_path(next("the mount point")?);
    let options = to_text(next("the mount options")?);
    // Any number of tags (shared:1 …) may stand before the dash.
    while next("the dash before the filesystem type")? != b"-" {}
    Ok(Mount {
        device,
        target,
        options,
        filesystem: to_text(next("the filesystem type")?),
        source: to_path(next("the source")?),
        filesystem_options: to_text(next("the filesystem's options")?),
    })
}

/// `8:1` as (8, 1).
fn device_number(place: &ParserPosition<'_>, text: &str) -> Result<(u32, u32), ReadError> {
    let malformed = || place.malformed("the device number", "two numbers with a colon between", text);
    let (major, minor) = text.split_once(':').ok_or_else(malformed)?;
    Ok((major.parse().map_err(|_| malformed())?, minor.parse().map_err(|_| malformed())?))
}

fn to_text(word: &[u8]) -> String {
    String::from_utf8_lossy(&unescape(word)).into_owned()
}

fn to_path(word: &[u8]) -> PathBuf {
    OsString::from_vec(unescape(word)).into()
}

/// The kernel writes space, tab, newline, backslash and `#` as a backslash and three octal digits.
pub fn unescape(word: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(word.len());
    let mut rest = word;
    while let Some((first, tail)) = rest.split_first() {
        let octal = |digit: u8| (b'0'..=b'7').contains(&digit).then(|| u32::from(digit - b'0'));
        let escaped = match (first, tail) {
            (b'\\', [a, b, c, after @ ..]) => octal(*a)
                .zip(octal(*b))
                .zip(octal(*c))
                .and_then(|((a, b), c)| u8::try_from(a * 64 + b * 8 + c).ok())
                .map(|byte| (byte, after)),
            _ => None,
        };
        let (byte, after) = escaped.unwrap_or((*first, tail));
        plain.push(byte);
        rest = after;
    }
    plain
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::{Mount, read_mounts, unescape};
    use crate::host::root::{Root, fake_root};

    #[test]
    fn reads_tags_escapes_and_options() {
        let lines = "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard\n\
                     36 27 7:3 /@home /mnt/my\\040disk rw,noatime shared:1 master:2 - btrfs /dev/loop3 rw,compress=zstd:3\n";
        let (_folder, root) = fake_root(&[("proc/self/mountinfo", lines)]);
        let all = read_mounts(&root).unwrap();
        assert_eq!(all.len(), 2);
        assert_eq!(
            all[1],
            Mount {
                device: (7, 3),
                target: PathBuf::from("/mnt/my disk"),
                options: "rw,noatime".to_owned(),
                filesystem: "btrfs".to_owned(),
                source: PathBuf::from("/dev/loop3"),
                filesystem_options: "rw,compress=zstd:3".to_owned(),
            }
        );
    }

    #[test]
    fn malformed_names_the_line() {
        for (line, shown) in [
            ("27 1 254:0 / / rw - ext4\n", "line 2: the source should be present"),
            ("27 1 254:0 / / rw shared:1\n", "line 2: the dash before the filesystem type"),
            ("27 1 254 / / rw - ext4 a b\n", "line 2: the device number should be two numbers"),
        ] {
            let content = format!("27 1 254:0 / / rw - ext4 /dev/vda rw\n{line}");
            let (_folder, root) = fake_root(&[("proc/self/mountinfo", &content)]);
            let error = read_mounts(&root).unwrap_err().to_string();
            assert!(error.contains(shown), "{error}");
        }
    }

    #[test]
    fn undoes_escapes_only() {
        assert_eq!(unescape(b"a\\040b\\011c\\134d\\043"), b"a b\tc\\d#");
        assert_eq!(unescape(b"\\04"), b"\\04");
        assert_eq!(unescape(b"\\777"), b"\\777");
        assert_eq!(unescape(b"\\9\xff"), b"\\9\xff");
    }

    #[test]
    fn this_machine_is_understood() {
        let all = read_mounts(&Root::default()).unwrap();
        assert!(all.iter().any(|mount| mount.target.as_os_str() == "/proc"));
    }
}

//! What is mounted in this mount namespace, from /proc/self/mountinfo.

use std::io;
use std::path::PathBuf;

use super::system_root::SystemRoot;

/// One mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// Device number (major, minor) of the filesystem; major 0 for those without one device (btrfs, overlay, tmpfs …).
    pub number: (u32, u32),
    /// Where it is mounted.
    pub point: PathBuf,
    /// The kernel's name of its type.
    pub filesystem: String,
    /// What was mounted: a device path, or a word.
    pub source: String,
}

/// Every mount of this mount namespace, in the kernel's order (later ones cover earlier ones).
///
/// # Errors
/// When the table cannot be read or a line of it is not understood: a guard that guesses is none.
pub fn read(root: &SystemRoot) -> io::Result<Vec<Mount>> {
    let path = root.path("/proc/self/mountinfo");
    let about =
        |text: String| io::Error::new(io::ErrorKind::InvalidData, format!("{}: {text}", path.display()));
    let bytes = std::fs::read(&path)
        .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))?;
    let text = String::from_utf8_lossy(&bytes);
    text.lines()
        .enumerate()
        .map(|(index, line)| {
            parse_line(line).ok_or_else(|| about(format!("line {} is not understood: {line}", index + 1)))
        })
        .collect()
}

fn parse_line(line: &str) -> Option<Mount> {
    let (before, after) = line.split_once(" - ")?;
    let mut fields = before.split(' ').skip(2);
    let (major, minor) = fields.next()?.split_once(':')?;
    let point = PathBuf::from(unescape(fields.nth(1)?));
    let mut fields = after.split(' ');
    let filesystem = unescape(fields.next()?);
    let source = unescape(fields.next()?);
    Some(Mount { number: (major.parse().ok()?, minor.parse().ok()?), point, filesystem, source })
}

/// Undoes the kernel's `\040` way of writing blanks in /proc files.
pub fn unescape(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut index = 0;
    while index < bytes.len() {
        let code = bytes.get(index + 1..index + 4).filter(|_| bytes[index] == b'\\');
        let value = code.and_then(|digits| std::str::from_utf8(digits).ok());
        match value.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                plain.push(byte);
                index += 4;
            }
            None => {
                plain.push(bytes[index]);
                index += 1;
            }
        }
    }
    String::from_utf8_lossy(&plain).into_owned()
}

#[cfg(test)]
mod tests {
    use super::{parse_line, read, unescape};
    use crate::host::system_root::SystemRoot;
    use std::path::Path;

    #[test]
    fn lines_with_optional_fields_and_blanks_are_read() {
        let mount = parse_line(
            "36 35 8:17 / /media/my\\040disk rw,noatime shared:1 master:2 - fuseblk /dev/sd\\134b1 rw",
        )
        .unwrap();
        assert_eq!(mount.number, (8, 17));
        assert_eq!(mount.point, Path::new("/media/my disk"));
        assert_eq!(mount.filesystem, "fuseblk");
        assert_eq!(mount.source, "/dev/sd\\b1");
        assert_eq!(unescape("a\\0"), "a\\0");
    }

    #[test]
    fn a_line_that_is_not_understood_is_an_error_with_its_number() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("proc/self")).unwrap();
        std::fs::write(
            folder.path().join("proc/self/mountinfo"),
            "1 0 8:1 / / rw - ext4 /dev/sda1 rw\nnonsense\n",
        )
        .unwrap();
        let error = read(&SystemRoot::at(folder.path())).unwrap_err().to_string();
        assert!(error.contains("line 2") && error.contains("nonsense"), "{error}");
    }

    #[test]
    fn the_real_table_holds_the_root() {
        let mounts = read(&SystemRoot::default()).unwrap();
        assert!(mounts.iter().any(|mount| mount.point == Path::new("/")));
    }
}

//! Opens and reads regular files at paths that another user may control: opening a pipe could block, and reading a
//! device could go on for ever.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, fstat, openat, statat};

/// Whether a symbolic link at the end of a path is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Links {
    Follow,
    Refuse,
}

/// Opens the file at `path` below `folder`, which must be regular, without blocking and without creating it.
///
/// # Errors
/// As open(2), and if the path names anything but a regular file.
pub fn open_regular(folder: impl AsFd, path: &Path, access: OFlags, links: Links) -> io::Result<File> {
    let (stat_flags, open_flags) = match links {
        Links::Follow => (AtFlags::empty(), OFlags::empty()),
        Links::Refuse => (AtFlags::SYMLINK_NOFOLLOW, OFlags::NOFOLLOW),
    };
    // The type is checked before opening, because opening alone can affect a device.
    must_be_regular(statat(&folder, path, stat_flags)?.st_mode)?;
    let flags = access | open_flags | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(openat(&folder, path, flags, Mode::empty())?);
    must_be_regular(fstat(&file)?.st_mode)?;
    Ok(file)
}

/// Reads a file that the user named, through symbolic links: regular, and of at most `max_bytes` bytes.
///
/// # Errors
/// As [`open_regular`], and if the file is longer.
pub fn read_regular(path: &Path, max_bytes: u64) -> io::Result<Vec<u8>> {
    let file = open_regular(CWD, path, OFlags::RDONLY, Links::Follow)?;
    check_size(&file, max_bytes)?;
    read_whole(file, max_bytes)
}

/// Reads the first `max_bytes` bytes of such a file, however long it is.
///
/// # Errors
/// As [`open_regular`].
pub fn read_beginning(path: &Path, max_bytes: u64) -> io::Result<Vec<u8>> {
    read_at_most(open_regular(CWD, path, OFlags::RDONLY, Links::Follow)?, max_bytes)
}

/// Reads a whole file, which may have at most `max_bytes` bytes, and may grow while it is read.
pub(super) fn read_whole(file: File, max_bytes: u64) -> io::Result<Vec<u8>> {
    let bytes = read_at_most(file, max_bytes.saturating_add(1))?;
    if bytes.len() as u64 > max_bytes { Err(too_large(max_bytes)) } else { Ok(bytes) }
}

/// Fails if a file has more than `max_bytes` bytes.
pub(super) fn check_size(file: &File, max_bytes: u64) -> io::Result<()> {
    if file.metadata()?.len() > max_bytes { Err(too_large(max_bytes)) } else { Ok(()) }
}

fn too_large(max_bytes: u64) -> io::Error {
    io::Error::new(io::ErrorKind::FileTooLarge, format!("it has more than {max_bytes} bytes"))
}

/// Stops at `max_bytes`, because the file may grow while it is read.
fn read_at_most(file: File, max_bytes: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(max_bytes).read_to_end(&mut bytes)?;
    Ok(bytes)
}

pub(super) fn must_be_regular(mode: rustix::fs::RawMode) -> io::Result<()> {
    let kind = FileType::from_raw_mode(mode);
    if kind == FileType::RegularFile {
        return Ok(());
    }
    let statement = format!("it is {} and no regular file", name_file_type(kind));
    Err(io::Error::new(io::ErrorKind::InvalidInput, statement))
}

/// The name of a type of file, with its article.
#[must_use]
pub fn name_file_type(kind: FileType) -> &'static str {
    match kind {
        FileType::RegularFile => "a file",
        FileType::Symlink => "a link",
        FileType::Directory => "a folder",
        FileType::Fifo => "a pipe",
        FileType::Socket => "a socket",
        _ => "a device",
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat};

    use super::{Links, open_regular, read_beginning, read_regular};

    #[test]
    fn only_a_regular_file_is_opened_and_nothing_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("file"), "x").unwrap();
        mknodat(CWD, path("pipe"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        for (name, target) in [("link", "file"), ("zero", "/dev/zero"), ("to-pipe", "pipe")] {
            std::os::unix::fs::symlink(target, path(name)).unwrap();
        }
        let open = |path: &Path, links| {
            open_regular(CWD, path, OFlags::RDONLY, links).map(drop).map_err(|error| error.to_string())
        };
        let no = |what: &str| Err(format!("it is {what} and no regular file"));
        for (name, follow, refuse) in [
            ("file", Ok(()), Ok(())),
            ("link", Ok(()), no("a link")),
            ("zero", no("a device"), no("a link")),
            ("to-pipe", no("a pipe"), no("a link")),
            ("pipe", no("a pipe"), no("a pipe")),
            (".", no("a folder"), no("a folder")),
        ] {
            assert_eq!(open(&path(name), Links::Follow), follow, "{name}");
            assert_eq!(open(&path(name), Links::Refuse), refuse, "{name}");
        }
        fs::write(path("file"), "1234").unwrap();
        assert_eq!(read_regular(&path("link"), 4).unwrap(), b"1234");
        assert_eq!(read_regular(&path("file"), 3).unwrap_err().to_string(), "it has more than 3 bytes");
        assert_eq!(read_beginning(&path("file"), 3).unwrap(), b"123");
        assert!(read_regular(&path("pipe"), 4).is_err());
    }
}

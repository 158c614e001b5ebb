//! Writes output files that a user named: under their name they are complete, or absent.
//!
//! The file stays unnamed until all data are on disk, so that neither a full disk nor a kill leaves a partial file.
//! Special files (`/dev/stdout`, a pipe) and files reached through a link are written directly, as the user asked.

use std::ffi::OsString;
use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::Path;

use rustix::fs::{Access, Mode, OFlags};

use super::new_file::{NewFile, SHARED};

/// The permission bits before the user's umask.
const EXECUTABLE: Mode = SHARED.union(Mode::XUSR).union(Mode::XGRP).union(Mode::XOTH);

/// The handling of an existing file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// It stays, and writing fails.
    Keep,
    Replace,
}

/// A file that is being written.
#[derive(Debug)]
pub struct OutputFile {
    target: OutputTarget,
}

#[derive(Debug)]
enum OutputTarget {
    /// It gets its name in the end.
    New { new: NewFile, name: OsString, existing: Existing },
    /// Writes to the existing file in place.
    Direct(DirectFile),
}

#[derive(Debug)]
struct DirectFile {
    file: File,
    is_finished: bool,
}

impl OutputFile {
    /// Prepares to write the file at `path`.
    ///
    /// # Errors
    /// When its folder cannot be written to, or it is there and is to be kept.
    pub fn create(path: &Path, existing: Existing) -> io::Result<Self> {
        Self::with_mode(path, existing, SHARED)
    }

    /// The same for an executable program.
    ///
    /// # Errors
    /// As [`OutputFile::create`].
    pub fn create_executable(path: &Path, existing: Existing) -> io::Result<Self> {
        Self::with_mode(path, existing, EXECUTABLE)
    }

    fn with_mode(path: &Path, existing: Existing, mode: Mode) -> io::Result<Self> {
        let known = match path.symlink_metadata() {
            Ok(known) => Some(known),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        if known.is_some() && existing == Existing::Keep {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        if let Some(known) = &known
            && !(known.is_file() && known.nlink() == 1)
        {
            let file = OpenOptions::new().write(true).truncate(true).open(path)?;
            return Ok(OutputFile { target: OutputTarget::Direct(DirectFile { file, is_finished: false }) });
        }
        let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_owned();
        let above = path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let folder =
            rustix::fs::open(above, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        let new = NewFile::create(&folder, &name, mode)?;
        if let Some(known) = known {
            // A file that must not be written must not be replaced either.
            rustix::fs::access(path, Access::WRITE_OK)?;
            if known.uid() != new.file().metadata()?.uid() {
                // Only root can, and only root replaces the files of others in their folders.
                let _ = fchown(new.file(), Some(known.uid()), Some(known.gid()));
            }
            new.file().set_permissions(Permissions::from_mode(known.mode() & 0o777))?;
        }
        Ok(OutputFile { target: OutputTarget::New { new, name, existing } })
    }

    /// The open file.
    pub fn file(&self) -> &File {
        match &self.target {
            OutputTarget::New { new, .. } => new.file(),
            OutputTarget::Direct(direct) => &direct.file,
        }
    }

    /// Syncs the file and gives it its name.
    ///
    /// # Errors
    /// When it cannot be synced or named; nothing of it stays then.
    pub fn finish(self) -> io::Result<()> {
        match self.target {
            OutputTarget::New { new, name, existing: Existing::Replace } => new.replace(&name),
            OutputTarget::New { new, name, existing: Existing::Keep } => {
                if new.put_new(&name)? {
                    Ok(())
                } else {
                    Err(io::ErrorKind::AlreadyExists.into())
                }
            }
            OutputTarget::Direct(mut direct) => {
                // Of a pipe or a terminal there is nothing to sync.
                if direct.file.metadata()?.is_file() {
                    direct.file.sync_all()?;
                }
                direct.is_finished = true;
                Ok(())
            }
        }
    }
}

impl Drop for DirectFile {
    /// A partial file is useless if it had to be named before it was complete.
    fn drop(&mut self) {
        if !self.is_finished && self.file.metadata().is_ok_and(|known| known.is_file()) {
            let _ = self.file.set_len(0);
        }
    }
}

/// Writes the file at `path` through a buffer, all of it or nothing.
///
/// # Errors
/// As `write`, and as [`OutputFile::create`] and [`OutputFile::finish`].
pub fn write_output<E: From<io::Error>>(
    path: &Path,
    existing: Existing,
    write: impl FnOnce(&mut dyn Write) -> Result<(), E>,
) -> Result<(), E> {
    let output = OutputFile::create(path, existing)?;
    let mut buffered = BufWriter::new(output.file());
    write(&mut buffered)?;
    buffered.flush()?;
    drop(buffered);
    Ok(output.finish()?)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::{Existing, OutputFile, write_output};

    fn write(path: &std::path::Path, existing: Existing, text: &str) -> io::Result<()> {
        write_output(path, existing, |out| out.write_all(text.as_bytes()))
    }

    #[test]
    fn a_file_is_whole_under_its_name_or_as_it_was() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("file");
        let fails = |existing| {
            write_output(&path, existing, |out| {
                out.write_all(b"half")?;
                Err(io::Error::from(io::ErrorKind::StorageFull))
            })
        };
        for existing in [Existing::Keep, Existing::Replace] {
            assert_eq!(fails(existing).unwrap_err().kind(), io::ErrorKind::StorageFull);
            assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
        }
        write(&path, Existing::Keep, "first").unwrap();
        assert_eq!(write(&path, Existing::Keep, "no").unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        fails(Existing::Replace).unwrap_err();
        assert_eq!(fs::read_to_string(&path).unwrap(), "first");
        write(&path, Existing::Replace, "second").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "second");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        drop(OutputFile::create(&path, Existing::Replace).unwrap());
        assert_eq!(fs::read_to_string(&path).unwrap(), "second");
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_is_no_plain_file_is_written_to_as_it_is() {
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().join(name);
        fs::write(path("target"), "old").unwrap();
        symlink("target", path("link")).unwrap();
        write(&path("link"), Existing::Replace, "new").unwrap();
        assert_eq!(fs::read_to_string(path("target")).unwrap(), "new");
        assert!(path("link").is_symlink());
        write_output(&path("link"), Existing::Replace, |_| Err(io::Error::other("no"))).unwrap_err();
        assert_eq!(fs::read_to_string(path("target")).unwrap(), "");
        let full = write("/dev/full".as_ref(), Existing::Replace, "x");
        assert_eq!(full.unwrap_err().kind(), io::ErrorKind::StorageFull);
        write("/dev/null".as_ref(), Existing::Replace, "x").unwrap();
        assert!(write(&path("link"), Existing::Keep, "x").is_err(), "nor is a link");
    }
}

//! Creates files that have no name until all of their content is on disk. If the program ends before that, no file remains.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{
    AtFlags, CWD, Mode, OFlags, RenameFlags, fsync, linkat, openat, renameat, renameat_with, unlinkat,
};
use rustix::io::Errno;

/// The mode of a run's file: readable by all users that the umask permits.
pub const SHARED: Mode =
    Mode::RUSR.union(Mode::WUSR).union(Mode::RGRP).union(Mode::WGRP).union(Mode::ROTH).union(Mode::WOTH);
/// The mode of a file that only its owner can read.
pub const PRIVATE: Mode = Mode::RUSR.union(Mode::WUSR);

/// The maximum number of temporary names that are tried.
const TRIES: u32 = 1000;

/// A new file in an open folder that does not have its final name yet.
#[derive(Debug)]
pub struct NewFile {
    folder: OwnedFd,
    file: File,
    /// The temporary name, if the filesystem does not support files without a name (`O_TMPFILE`).
    temporary: Option<OsString>,
}

impl NewFile {
    /// Creates an empty file in `folder`; `name` is its final name.
    ///
    /// # Errors
    /// When the folder cannot be written to.
    pub fn create(folder: impl AsFd, name: &OsStr, mode: Mode) -> io::Result<Self> {
        let folder = folder.as_fd().try_clone_to_owned()?;
        let flags = OFlags::RDWR | OFlags::CLOEXEC;
        match openat(&folder, c".", flags | OFlags::TMPFILE, mode) {
            Ok(file) => return Ok(NewFile { folder, file: file.into(), temporary: None }),
            // The errors of open(2) if the filesystem or the kernel does not know the flag.
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::NOENT | Errno::INVAL) => {}
            Err(errno) => return Err(errno.into()),
        }
        let (file, temporary) = with_temporary_name(name, |temporary| {
            openat(&folder, temporary, flags | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW, mode)
        })?;
        Ok(NewFile { folder, file: file.into(), temporary: Some(temporary) })
    }

    /// The open file.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Writes the content through a buffer.
    ///
    /// # Errors
    /// As `write`; also fails if the last bytes cannot be written.
    pub fn write(&self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        let mut buffered = BufWriter::new(&self.file);
        write(&mut buffered)?;
        buffered.flush()
    }

    /// Syncs the file and gives it its name; an existing file of that name is replaced.
    ///
    /// # Errors
    /// Fails if the file cannot be synced or renamed; no new file remains then.
    pub fn replace(mut self, name: &OsStr) -> io::Result<()> {
        self.file.sync_all()?;
        if self.temporary.is_none() {
            if let Err(error) = self.link_as(name) {
                if error != Errno::EXIST {
                    return Err(error.into());
                }
                // A link cannot replace an existing name, but a rename can.
                let link = |temporary: &OsStr| self.link_as(temporary);
                let (_, temporary) = with_temporary_name(name, link)?;
                self.temporary = Some(temporary);
            } else {
                return self.sync_name();
            }
        }
        if let Some(temporary) = &self.temporary {
            renameat(&self.folder, temporary, &self.folder, name)?;
            self.temporary = None;
        }
        self.sync_name()
    }

    /// Syncs the file and gives it its name, unless that name is taken. Returns whether it got the name.
    ///
    /// # Errors
    /// Fails if the file cannot be synced or named; no new file remains then.
    pub fn put_new(mut self, name: &OsStr) -> io::Result<bool> {
        self.file.sync_all()?;
        let named = match &self.temporary {
            None => self.link_as(name),
            Some(temporary) => self.rename_to_new(temporary, name),
        };
        match named {
            Ok(()) => {
                self.temporary = None;
                self.sync_name().map(|()| true)
            }
            Err(Errno::EXIST) => Ok(false),
            Err(errno) => Err(errno.into()),
        }
    }

    fn link_as(&self, name: &OsStr) -> Result<(), Errno> {
        // The method that open(2) describes: linking the descriptor itself would need a capability.
        let descriptor = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        linkat(CWD, descriptor, &self.folder, name, AtFlags::SYMLINK_FOLLOW)
    }

    /// Renames without replacing. Some filesystems (NFS) cannot do that; there the new name is a second link for a moment.
    fn rename_to_new(&self, temporary: &OsStr, name: &OsStr) -> Result<(), Errno> {
        match renameat_with(&self.folder, temporary, &self.folder, name, RenameFlags::NOREPLACE) {
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                linkat(&self.folder, temporary, &self.folder, name, AtFlags::empty())?;
                unlinkat(&self.folder, temporary, AtFlags::empty())
            }
            renamed => renamed,
        }
    }

    /// Syncs the folder, so that the name survives a crash.
    fn sync_name(&self) -> io::Result<()> {
        let listed =
            openat(&self.folder, c".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
        match listed {
            Ok(folder) => Ok(fsync(folder)?),
            // A folder that may be written to but not listed cannot be opened for syncing.
            Err(Errno::ACCESS) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            let _ = unlinkat(&self.folder, temporary, AtFlags::empty());
        }
    }
}

/// Tries temporary names until one is free.
fn with_temporary_name<T>(
    name: &OsStr,
    mut make: impl FnMut(&OsStr) -> Result<T, Errno>,
) -> io::Result<(T, OsString)> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    // The final name may have the maximum length, so it cannot be a part of the temporary name.
    let shown: String = name.to_string_lossy().chars().take(40).collect();
    for _ in 0..TRIES {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let temporary = OsString::from(format!(".{shown}.{}-{number}.new", std::process::id()));
        match make(&temporary) {
            Ok(made) => return Ok((made, temporary)),
            Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

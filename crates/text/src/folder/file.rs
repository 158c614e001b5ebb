//! A file in an open folder, by its name there.
//!
//! What is opened is a regular file with one name that belongs to a user who is trusted with the folder; it is neither waited
//! for nor followed. What is written gets its name only when all of it is on disk.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::PathBuf;

use rustix::fs::{AtFlags, Mode, OFlags, Stat, fstat, renameat, statat};
use rustix::io::Errno;

use super::handle::{FolderHandle, check_name, kind_of};
use super::lookup::open_below;
use super::new_file::{NewFile, PRIVATE, SHARED};
use super::refusal::refuse;

/// A name in an open folder, whether a file has it or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderFile {
    folder: FolderHandle,
    name: OsString,
}

impl FolderHandle {
    /// A file of this name in the folder, whether it is there or not.
    pub fn file(&self, name: impl Into<OsString>) -> FolderFile {
        FolderFile { folder: self.clone(), name: name.into() }
    }
}

impl FolderFile {
    /// The path for messages, and for programs that take nothing but a path.
    pub fn path(&self) -> PathBuf {
        self.folder.path_of(&self.name)
    }

    /// Its folder.
    pub fn folder(&self) -> &FolderHandle {
        &self.folder
    }

    /// Its name in the folder.
    pub fn name(&self) -> &OsStr {
        &self.name
    }

    /// Opens it to be read.
    ///
    /// # Errors
    /// When it is not there, or is anything but a regular file with one name and a trusted owner.
    pub fn open(&self) -> io::Result<File> {
        self.open_with(OFlags::RDONLY)
    }

    /// Opens it to be read and appended to, as an append-only file (chattr(1)) must be opened.
    ///
    /// # Errors
    /// As [`FolderFile::open`].
    pub fn open_to_append(&self) -> io::Result<File> {
        self.open_with(OFlags::RDWR | OFlags::APPEND)
    }

    /// Reads all of it, at most so many bytes.
    ///
    /// # Errors
    /// As [`FolderFile::open`], and when it is longer.
    pub fn read(&self, most: u64) -> io::Result<Vec<u8>> {
        let file = self.open()?;
        let mut bytes = Vec::new();
        // It may grow while it is read.
        if file.take(most.saturating_add(1)).read_to_end(&mut bytes)? as u64 > most {
            return Err(io::Error::new(
                io::ErrorKind::FileTooLarge,
                format!("it has more than {most} bytes"),
            ));
        }
        Ok(bytes)
    }

    /// Creates it empty, to be read and written.
    ///
    /// # Errors
    /// When anything has its name.
    pub fn create_new(&self) -> io::Result<File> {
        self.create_with(OFlags::empty())
    }

    /// Creates it empty, to be read and appended to.
    ///
    /// # Errors
    /// When anything has its name.
    pub fn create_new_to_append(&self) -> io::Result<File> {
        self.create_with(OFlags::APPEND)
    }

    /// Puts what `write` writes in its place in one step, once that is on disk.
    ///
    /// # Errors
    /// When it cannot be written, or what lies in its place could not have been opened either. All stays as it was then.
    pub fn replace(&self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        self.replace_with(SHARED, write)
    }

    /// The same, of a file that only its owner can read.
    ///
    /// # Errors
    /// As [`FolderFile::replace`].
    pub fn replace_private(&self, bytes: &[u8]) -> io::Result<()> {
        self.replace_with(PRIVATE, |file| file.write_all(bytes))
    }

    /// Puts a file with these bytes there unless its name is taken; whether it was put there.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn put_new(&self, bytes: &[u8]) -> io::Result<bool> {
        let new = NewFile::create(&self.folder, check_name(&self.name)?, SHARED)?;
        new.write(|file| file.write_all(bytes))?;
        new.put_new(&self.name)
    }

    /// Removes it; whether it was there.
    ///
    /// # Errors
    /// When it cannot be removed, or what lies in its place could not have been opened either.
    pub fn remove(&self) -> io::Result<bool> {
        if !self.check_in_place()? {
            return Ok(false);
        }
        match self.folder.remove_name(&self.name) {
            Ok(()) => Ok(true),
            Err(Errno::NOENT) => Ok(false),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Gives it this name in the same folder, in the place of what had it.
    ///
    /// # Errors
    /// As rename(2), and when what has either name could not have been opened.
    pub fn rename_to(&self, name: &OsStr) -> io::Result<()> {
        let to = self.folder.file(name);
        self.check_in_place()?;
        to.check_in_place()?;
        renameat(&self.folder, &self.name, &self.folder, check_name(name)?)?;
        self.folder.sync()
    }

    /// Whether a regular file has its name.
    pub fn is_there(&self) -> bool {
        self.look().is_ok_and(|found| found.is_some_and(|found| kind_of(found.st_mode).is_none()))
    }

    /// Whether anything at all has its name.
    pub fn is_taken(&self) -> bool {
        self.look().is_ok_and(|found| found.is_some())
    }

    /// Whether its name still is that of this open file.
    pub fn is_name_of(&self, file: &File) -> bool {
        let (Ok(Some(named)), Ok(own)) = (self.look(), fstat(file)) else { return false };
        (named.st_dev, named.st_ino) == (own.st_dev, own.st_ino)
    }

    fn open_with(&self, access: OFlags) -> io::Result<File> {
        let name = check_name(&self.name)?;
        // Before it is opened to be read: that alone can do something to a device.
        if !self.check_in_place()? {
            return Err(Errno::NOENT.into());
        }
        let flags = access | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = File::from(open_below(&self.folder, name.as_ref(), flags, Mode::empty())?);
        self.check(&fstat(&file)?)?;
        Ok(file)
    }

    fn create_with(&self, access: OFlags) -> io::Result<File> {
        let name = check_name(&self.name)?;
        let flags = access | OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        Ok(File::from(open_below(&self.folder, name.as_ref(), flags, SHARED)?))
    }

    fn replace_with(
        &self,
        mode: Mode,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        let name = check_name(&self.name)?;
        self.check_in_place()?;
        let new = NewFile::create(&self.folder, name, mode)?;
        new.write(write)?;
        self.check_in_place()?;
        new.replace(name)
    }

    fn look(&self) -> io::Result<Option<Stat>> {
        match statat(&self.folder, check_name(&self.name)?, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => Ok(Some(found)),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Whether a file is there; an error where something is that is not to be touched.
    fn check_in_place(&self) -> io::Result<bool> {
        let found = self.look()?;
        found.as_ref().map_or(Ok(()), |found| self.check(found))?;
        Ok(found.is_some())
    }

    fn check(&self, found: &Stat) -> io::Result<()> {
        if let Some(kind) = kind_of(found.st_mode) {
            return Err(refuse(
                format!("it is {kind} and no regular file"),
                "remove it, or move it elsewhere",
            ));
        }
        if found.st_nlink > 1 {
            let what =
                format!("it has {} names (hard links), of which others may be elsewhere", found.st_nlink);
            return Err(refuse(what, "put a copy in its place (cp FILE COPY; mv COPY FILE)"));
        }
        self.folder.check_owner(found.st_uid)
    }
}

//! A file in an open folder, by its name there.
//!
//! Only a regular file with one name is opened, and only if a trusted user of the folder owns it; opening neither
//! blocks nor follows links. A written file gets its name only when all of it is on disk.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, fstat, renameat, statat};
use rustix::io::Errno;

use super::handle::{FolderHandle, check_name};
use super::lookup::open_below;
use super::new_file::{NewFile, PRIVATE, SHARED};
use super::refusal::refusal_error;
use super::regular::{name_file_type, read_whole};

/// A name in an open folder. A file of this name may exist or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderFile {
    folder: FolderHandle,
    name: OsString,
}

impl FolderHandle {
    /// The file of this name in the folder, which may exist or not.
    pub fn file(&self, name: impl Into<OsString>) -> FolderFile {
        FolderFile { folder: self.clone(), name: name.into() }
    }
}

impl FolderFile {
    /// The path, for messages and for programs that accept only a path.
    pub fn path(&self) -> PathBuf {
        self.folder.path_of(&self.name)
    }

    /// The folder of the file.
    pub fn folder(&self) -> &FolderHandle {
        &self.folder
    }

    /// The name in the folder.
    pub fn name(&self) -> &OsStr {
        &self.name
    }

    /// Opens the file for reading.
    ///
    /// # Errors
    /// Fails if the file does not exist, or is not a regular file with one name and a trusted owner.
    pub fn open(&self) -> io::Result<File> {
        self.open_with(OFlags::RDONLY)
    }

    /// Opens the file for reading and appending, as an append-only file (chattr(1)) must be opened.
    ///
    /// # Errors
    /// As [`FolderFile::open`].
    pub fn open_to_append(&self) -> io::Result<File> {
        self.open_with(OFlags::RDWR | OFlags::APPEND)
    }

    /// Reads the whole file, which may have at most `most` bytes.
    ///
    /// # Errors
    /// As [`FolderFile::open`]; also fails if the file is longer.
    pub fn read(&self, most: u64) -> io::Result<Vec<u8>> {
        read_whole(self.open()?, most)
    }

    /// Creates an empty file for reading and writing.
    ///
    /// # Errors
    /// When anything has its name.
    pub fn create_new(&self) -> io::Result<File> {
        self.create_with(OFlags::empty())
    }

    /// Creates an empty file for reading and appending.
    ///
    /// # Errors
    /// When anything has its name.
    pub fn create_new_to_append(&self) -> io::Result<File> {
        self.create_with(OFlags::APPEND)
    }

    /// Replaces the file atomically by one with the content that `write` writes, as soon as that content is on disk.
    ///
    /// # Errors
    /// Fails if the content cannot be written, or if [`FolderFile::open`] would refuse the existing file. The existing file
    /// then remains.
    pub fn replace(&self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        self.replace_with(SHARED, write)
    }

    /// Like [`FolderFile::replace`], with a file that only its owner can read.
    ///
    /// # Errors
    /// As [`FolderFile::replace`].
    pub fn replace_private(&self, bytes: &[u8]) -> io::Result<()> {
        self.replace_with(PRIVATE, |file| file.write_all(bytes))
    }

    /// Creates a file with these bytes unless the name is taken. Returns whether the file was created.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn put_new(&self, bytes: &[u8]) -> io::Result<bool> {
        let new = NewFile::create(&self.folder, check_name(&self.name)?, SHARED)?;
        new.write(|file| file.write_all(bytes))?;
        new.put_new(&self.name)
    }

    /// Removes the file. Returns whether it existed.
    ///
    /// # Errors
    /// Fails if the file cannot be removed, or if [`FolderFile::open`] would refuse it.
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

    /// Renames the file within its folder, and replaces an existing file of the new name.
    ///
    /// # Errors
    /// As rename(2); also fails if [`FolderFile::open`] would refuse a file of either name.
    pub fn rename_to(&self, name: &OsStr) -> io::Result<()> {
        let to = self.folder.file(name);
        self.check_in_place()?;
        to.check_in_place()?;
        renameat(&self.folder, &self.name, &self.folder, check_name(name)?)?;
        self.folder.sync()
    }

    /// Whether a regular file has this name.
    pub fn is_there(&self) -> bool {
        self.read_stat()
            .is_ok_and(|stat| stat.is_some_and(|stat| FileType::from_raw_mode(stat.st_mode).is_file()))
    }

    /// Whether anything at all has this name.
    pub fn is_taken(&self) -> bool {
        self.read_stat().is_ok_and(|stat| stat.is_some())
    }

    /// Whether this name still belongs to the open file `file`.
    pub fn is_name_of(&self, file: &File) -> bool {
        let (Ok(Some(named)), Ok(own)) = (self.read_stat(), fstat(file)) else { return false };
        (named.st_dev, named.st_ino) == (own.st_dev, own.st_ino)
    }

    fn open_with(&self, access: OFlags) -> io::Result<File> {
        let name = check_name(&self.name)?;
        // The kind is checked before opening, because opening alone can affect a device.
        if !self.check_in_place()? {
            return Err(Errno::NOENT.into());
        }
        let flags = access | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = File::from(open_below(&self.folder, name.as_ref(), flags, Mode::empty())?);
        self.check_stat(&fstat(&file)?)?;
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

    fn read_stat(&self) -> io::Result<Option<Stat>> {
        match statat(&self.folder, check_name(&self.name)?, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Whether the file exists. Fails if [`FolderFile::open`] would refuse it.
    fn check_in_place(&self) -> io::Result<bool> {
        let stat = self.read_stat()?;
        stat.as_ref().map_or(Ok(()), |stat| self.check_stat(stat))?;
        Ok(stat.is_some())
    }

    fn check_stat(&self, stat: &Stat) -> io::Result<()> {
        let kind = FileType::from_raw_mode(stat.st_mode);
        if !kind.is_file() {
            return Err(refusal_error(
                format!("it is {} and no regular file", name_file_type(kind)),
                "remove it, or move it elsewhere",
            ));
        }
        if stat.st_nlink > 1 {
            let statement =
                format!("it has {} names (hard links), of which others may be elsewhere", stat.st_nlink);
            return Err(refusal_error(statement, "put a copy in its place (cp FILE COPY; mv COPY FILE)"));
        }
        self.folder.check_owner(stat.st_uid)
    }
}

//! The descriptor of a folder that others may own or write to: the only way to what lies below it.
//!
//! Each name is looked up below the descriptor, through no symbolic link and across no mount (openat2(2)), so that nobody can
//! lead the program elsewhere by what is swapped in after a check. What is opened belongs to a user who is trusted with the
//! folder: root, the user of this program, or the owner of the folder.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, fstat, fsync, mkdirat, open, openat, unlinkat};
use rustix::io::Errno;
use rustix::process::geteuid;

use super::lookup::{LISTED_FOLDER, list_folder, open_below};
use super::refusal::refuse;
use super::remove::remove_folder;

/// An open folder. Clones share the descriptor.
#[derive(Debug, Clone)]
pub struct FolderHandle {
    folder: Arc<OwnedFd>,
    /// What it was called when it was opened, for messages alone.
    path: PathBuf,
    /// The users whose files and folders are used.
    owners: Arc<[u32]>,
}

/// Two handles are the same where they are called the same.
impl PartialEq for FolderHandle {
    fn eq(&self, other: &Self) -> bool {
        self.path == other.path
    }
}

impl Eq for FolderHandle {}

impl FolderHandle {
    /// Opens the folder that a user named, wherever the path leads. From here on the descriptor counts, whatever the path leads to.
    ///
    /// # Errors
    /// As open(2).
    pub fn open(path: &Path) -> io::Result<Self> {
        let folder = open(path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        let owner = fstat(&folder)?.st_uid;
        let owners = trusted_users().chain([owner]).collect();
        Ok(FolderHandle { folder: Arc::new(folder), path: path.to_owned(), owners })
    }

    /// Opens the folder that a user named, or makes it where there is none.
    ///
    /// # Errors
    /// As mkdir(2) and open(2), and when something else gets its name before it is opened.
    pub fn make(path: &Path) -> io::Result<Self> {
        match Self::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            opened => return opened,
        }
        let above = path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
        std::fs::create_dir_all(above)?;
        let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let made = Self::open(above)?.make_subfolder(name)?;
        Ok(FolderHandle { path: path.to_owned(), ..made })
    }

    /// What the folder was called when it was opened. For messages, and for programs that take nothing but a path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where the folder is now, as the kernel knows it.
    ///
    /// # Errors
    /// When `/proc` is not mounted.
    pub fn real_path(&self) -> io::Result<PathBuf> {
        std::fs::read_link(format!("/proc/self/fd/{}", self.folder.as_raw_fd()))
    }

    /// What the file or folder of this name in it is called, for messages alone.
    pub fn path_of(&self, name: impl AsRef<OsStr>) -> PathBuf {
        self.path.join(name.as_ref())
    }

    /// Owner, inode and the like of the folder itself.
    ///
    /// # Errors
    /// As fstat(2).
    pub fn metadata(&self) -> io::Result<Metadata> {
        File::from(self.folder.as_fd().try_clone_to_owned()?).metadata()
    }

    /// Opens the folder of this name in it.
    ///
    /// # Errors
    /// When it is not there, is no folder but a link, say, or belongs to a user who is not trusted with this one.
    pub fn subfolder(&self, name: impl AsRef<OsStr>) -> io::Result<Self> {
        let name = check_name(name.as_ref())?;
        let path = self.path.join(name);
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW;
        let folder =
            open_below(&self.folder, name.as_ref(), flags, Mode::empty()).map_err(|errno| match errno {
                Errno::LOOP | Errno::NOTDIR => refuse("it is a link or a file, and no folder", "remove it"),
                Errno::XDEV => refuse("something else is mounted there", "unmount it"),
                errno => errno.into(),
            })?;
        self.check_owner(fstat(&folder)?.st_uid)?;
        Ok(FolderHandle { folder: Arc::new(folder), path, owners: Arc::clone(&self.owners) })
    }

    /// Opens the folder of this name in it, which is made where there is none.
    ///
    /// # Errors
    /// As [`FolderHandle::subfolder`], and when it cannot be made.
    pub fn make_subfolder(&self, name: impl AsRef<OsStr>) -> io::Result<Self> {
        let name = check_name(name.as_ref())?;
        let mode = Mode::RWXU | Mode::RWXG | Mode::RWXO;
        match mkdirat(&self.folder, name, mode) {
            Ok(()) | Err(Errno::EXIST) => self.subfolder(name),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Removes the folder of this name in it, with all that is in it, through no link; whether there was one.
    ///
    /// # Errors
    /// When something else has that name, or something in it cannot be removed.
    pub fn remove_subfolder(&self, name: impl AsRef<OsStr>) -> io::Result<bool> {
        let name = check_name(name.as_ref())?;
        match self.subfolder(name) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error),
        }
        remove_folder(self.folder.as_fd(), &std::ffi::CString::new(name.as_bytes())?)?;
        Ok(true)
    }

    /// The names of what lies in it, sorted.
    ///
    /// # Errors
    /// As getdents64(2).
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        let listed = list_folder(self.listed()?)?;
        let mut names: Vec<OsString> =
            listed.into_iter().map(|(name, _)| OsString::from_vec(name.into_bytes())).collect();
        names.sort();
        Ok(names)
    }

    /// A file for reading and writing that has no name and is gone when it is closed.
    ///
    /// # Errors
    /// When the folder cannot be written to.
    pub fn nameless_file(&self) -> io::Result<File> {
        let new = super::NewFile::create(&self.folder, OsStr::new("nameless"), super::PRIVATE)?;
        new.file().try_clone()
    }

    /// Puts the names in it on disk.
    ///
    /// # Errors
    /// As fsync(2).
    pub fn sync(&self) -> io::Result<()> {
        Ok(fsync(self.listed()?)?)
    }

    fn listed(&self) -> Result<OwnedFd, Errno> {
        openat(&self.folder, c".", LISTED_FOLDER, Mode::empty())
    }

    /// Whether a file or folder of this user is used.
    pub(super) fn check_owner(&self, owner: u32) -> io::Result<()> {
        if self.owners.contains(&owner) {
            return Ok(());
        }
        Err(refuse(
            format!("it belongs to user {owner}, who is neither you nor the owner of the folder"),
            "look at it; `chown` makes it yours, or remove it",
        ))
    }

    pub(super) fn remove_name(&self, name: &OsStr) -> Result<(), Errno> {
        unlinkat(&self.folder, name, AtFlags::empty())
    }
}

impl AsFd for FolderHandle {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.folder.as_fd()
    }
}

/// Root, the user of this program, and the user who became root by sudo(8).
fn trusted_users() -> impl Iterator<Item = u32> {
    let user = geteuid();
    let before = std::env::var("SUDO_UID").ok().and_then(|number| number.parse().ok());
    [0, user.as_raw()].into_iter().chain(before.filter(|_| user.is_root()))
}

/// A name that is one component of a path. Names come from plans, too.
pub(super) fn check_name(name: &OsStr) -> io::Result<&OsStr> {
    let mut components = Path::new(name).components();
    match (components.next(), components.next()) {
        (Some(Component::Normal(only)), None) if only == name => Ok(name),
        _ => Err(refuse(format!("{name:?} is no name of a file"), "")),
    }
}

/// The kind of a file, for messages.
pub(super) fn kind_of(mode: rustix::fs::RawMode) -> Option<&'static str> {
    Some(match FileType::from_raw_mode(mode) {
        FileType::RegularFile => return None,
        FileType::Symlink => "a link",
        FileType::Directory => "a folder",
        FileType::Fifo => "a pipe",
        FileType::Socket => "a socket",
        _ => "a device",
    })
}

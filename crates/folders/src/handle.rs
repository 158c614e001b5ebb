//! The descriptor of a folder that other users may own or write to. All files below the folder are opened through it.
//!
//! Each name is resolved below the descriptor, without following symbolic links or crossing mounts (openat2(2)), so
//! that another user cannot redirect the program by replacing a folder after a check. Files are opened only if they
//! belong to a user trusted with the folder: root, the user of this program, or the owner of the folder.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, fstat, fsync, mkdirat, open, openat, readlinkat, unlinkat,
};
use rustix::io::Errno;
use rustix::process::geteuid;

use super::lookup::{LISTED_FOLDER, list_folder, open_below};
use super::refusal::refusal_error;
use super::remove::remove_folder;

/// An open folder. Clones share the descriptor.
#[derive(Debug, Clone)]
pub struct FolderHandle {
    folder: Arc<OwnedFd>,
    /// The path by which it was opened, for messages alone.
    path: PathBuf,
    /// The trusted users: only their files and folders are used. `None` if a sandboxed program filled the folder, so that
    /// files of any owner are.
    owners: Option<Arc<[u32]>>,
}

/// Two handles are equal if they were opened by the same path.
impl PartialEq for FolderHandle {
    fn eq(&self, other: &Self) -> bool {
        self.path == other.path
    }
}

impl Eq for FolderHandle {}

impl FolderHandle {
    /// Opens the folder that a user named, and follows links in its path. From here on the descriptor is used, even if the
    /// path leads elsewhere later.
    ///
    /// # Errors
    /// As open(2).
    pub fn open(path: &Path) -> io::Result<Self> {
        let folder = open(path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        let owner = fstat(&folder)?.st_uid;
        let owners = own_users().into_iter().chain([owner]).collect();
        Ok(FolderHandle { folder: Arc::new(folder), path: path.to_owned(), owners: Some(owners) })
    }

    /// Opens a folder that a sandboxed program filled: an unpacked package, or a tree built by a makefile of unknown origin.
    /// The folder itself must not be a link.
    ///
    /// # Errors
    /// As open(2).
    pub fn open_untrusted(path: &Path) -> io::Result<Self> {
        let folder = open(path, LISTED_FOLDER, Mode::empty())?;
        Ok(FolderHandle { folder: Arc::new(folder), path: path.to_owned(), owners: None })
    }

    /// Opens the folder that a user named, or creates it if it does not exist.
    ///
    /// # Errors
    /// As mkdir(2) and open(2); also fails if the path names something else by the time it is opened.
    pub fn open_or_create(path: &Path) -> io::Result<Self> {
        match Self::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            opened => return opened,
        }
        let above = path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
        std::fs::create_dir_all(above)?;
        let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let made = Self::open(above)?.open_or_create_subfolder(name)?;
        Ok(FolderHandle { path: path.to_owned(), ..made })
    }

    /// Opens or creates a folder by a path that no user named: `runs/NAME` below the current folder. Another user may have
    /// put a link in the place of `runs`, so a link is followed only if a trusted user made it in a trusted user's folder.
    ///
    /// # Errors
    /// As [`FolderHandle::open_or_create`]; also fails where the link is not trusted.
    pub fn open_or_create_unnamed(path: &Path) -> io::Result<Self> {
        let above = path.parent().filter(|above| check_name(above.as_os_str()).is_ok());
        let (Some(above), Some(name)) = (above, path.file_name()) else { return Self::open_or_create(path) };
        let here = Self::open(Path::new("."))?;
        let linked =
            openat(&here.folder, above, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty());
        let linked = linked.ok().filter(|known| {
            fstat(known).is_ok_and(|known| FileType::from_raw_mode(known.st_mode) == FileType::Symlink)
        });
        let folder = match linked {
            Some(link) => here.follow(&link, above)?,
            None => here.open_or_create_subfolder(above)?,
        };
        Ok(FolderHandle { path: path.to_owned(), ..folder.open_or_create_subfolder(name)? })
    }

    /// Follows an open link in this folder, if trusted users alone could have made it.
    fn follow(&self, link: &OwnedFd, name: &Path) -> io::Result<Self> {
        let makers = [fstat(&self.folder)?.st_uid, fstat(link)?.st_uid];
        if let Some(other) = makers.iter().find(|maker| !own_users().contains(maker)) {
            let what = format!("`{}` here is a link that user {other} may have made", name.display());
            return Err(refusal_error(what, "look where it leads; --out DIR names another folder"));
        }
        let target = readlinkat(link, c"", Vec::new())?;
        let folder =
            openat(&self.folder, &target, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        let owners = own_users().into_iter().chain([fstat(&folder)?.st_uid]).collect();
        Ok(FolderHandle { folder: Arc::new(folder), path: name.to_owned(), owners: Some(owners) })
    }

    /// The path by which the folder was opened, for messages and for programs that accept only a path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The folder's current path according to the kernel.
    ///
    /// # Errors
    /// Fails if `/proc` is not mounted.
    pub fn real_path(&self) -> io::Result<PathBuf> {
        std::fs::read_link(format!("/proc/self/fd/{}", self.folder.as_raw_fd()))
    }

    /// The path of the file or folder of this name in the folder, for messages alone.
    pub fn path_of(&self, name: impl AsRef<OsStr>) -> PathBuf {
        self.path.join(name.as_ref())
    }

    /// The metadata of the folder itself, such as its owner and inode.
    ///
    /// # Errors
    /// As fstat(2).
    pub fn metadata(&self) -> io::Result<Metadata> {
        File::from(self.folder.as_fd().try_clone_to_owned()?).metadata()
    }

    /// Opens the subfolder of this name.
    ///
    /// # Errors Fails if it does not exist, is not a folder (but a link, for example), or belongs to an untrusted user.
    pub fn open_subfolder(&self, name: impl AsRef<OsStr>) -> io::Result<Self> {
        let name = check_name(name.as_ref())?;
        let path = self.path.join(name);
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW;
        let folder =
            open_below(&self.folder, name.as_ref(), flags, Mode::empty()).map_err(|errno| match errno {
                Errno::LOOP | Errno::NOTDIR => {
                    refusal_error("it is a link or a file, and no folder", "remove it")
                }
                Errno::XDEV => refusal_error("something else is mounted there", "unmount it"),
                errno => errno.into(),
            })?;
        self.check_owner(fstat(&folder)?.st_uid)?;
        Ok(FolderHandle { folder: Arc::new(folder), path, owners: self.owners.clone() })
    }

    /// Opens the subfolder of this name, or creates it if it does not exist.
    ///
    /// # Errors
    /// As [`FolderHandle::open_subfolder`]; also fails if it cannot be created.
    pub fn open_or_create_subfolder(&self, name: impl AsRef<OsStr>) -> io::Result<Self> {
        let name = check_name(name.as_ref())?;
        let mode = Mode::RWXU | Mode::RWXG | Mode::RWXO;
        match mkdirat(&self.folder, name, mode) {
            Ok(()) | Err(Errno::EXIST) => self.open_subfolder(name),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Removes the subfolder of this name with its content, without following links. Returns whether it existed.
    ///
    /// # Errors
    /// Fails if the name is not that of a folder, or if a part of the content cannot be removed.
    pub fn remove_subfolder(&self, name: impl AsRef<OsStr>) -> io::Result<bool> {
        let name = check_name(name.as_ref())?;
        match self.open_subfolder(name) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error),
        }
        remove_folder(self.folder.as_fd(), &std::ffi::CString::new(name.as_bytes())?)?;
        Ok(true)
    }

    /// The names of all entries of the folder, sorted.
    ///
    /// # Errors
    /// As getdents64(2).
    pub fn list_names(&self) -> io::Result<Vec<OsString>> {
        let listed = list_folder(self.open_for_listing()?)?;
        let mut names: Vec<OsString> =
            listed.into_iter().map(|(name, _)| OsString::from_vec(name.into_bytes())).collect();
        names.sort();
        Ok(names)
    }

    /// Creates a file for reading and writing that has no name and disappears when it is closed.
    ///
    /// # Errors
    /// Fails if the folder cannot be written to.
    pub fn nameless_file(&self) -> io::Result<File> {
        let new = super::NewFile::create(&self.folder, OsStr::new("nameless"), super::PRIVATE)?;
        new.file().try_clone()
    }

    /// Syncs the folder, so that the names in it are on disk.
    ///
    /// # Errors
    /// As fsync(2).
    pub fn sync(&self) -> io::Result<()> {
        Ok(fsync(self.open_for_listing()?)?)
    }

    fn open_for_listing(&self) -> Result<OwnedFd, Errno> {
        openat(&self.folder, c".", LISTED_FOLDER, Mode::empty())
    }

    /// Fails unless the owner of a file or folder is trusted.
    pub(super) fn check_owner(&self, owner: u32) -> io::Result<()> {
        if self.owners.as_ref().is_none_or(|owners| owners.contains(&owner)) {
            return Ok(());
        }
        Err(refusal_error(
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

/// Users that are trusted as the user of this program is: root, the user of this program, and the caller of sudo(8).
pub fn own_users() -> Vec<u32> {
    let user = geteuid();
    let before = std::env::var("SUDO_UID").ok().and_then(|number| number.parse().ok());
    [0, user.as_raw()].into_iter().chain(before.filter(|_| user.is_root())).collect()
}

/// Checks that a name is a single component of a path. Names may come from plans.
pub(super) fn check_name(name: &OsStr) -> io::Result<&OsStr> {
    let mut components = Path::new(name).components();
    match (components.next(), components.next()) {
        (Some(Component::Normal(only)), None) if only == name => Ok(name),
        _ => Err(refusal_error(format!("{name:?} is no name of a file"), "")),
    }
}

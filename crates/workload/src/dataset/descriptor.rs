//! Directories by file descriptor: opening below one, reading one in big gulps. Symbolic links are never followed.

use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::{Component, Path};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RawDir, Statx, StatxAttributes, StatxFlags};
use rustix::io::Errno;
use rustix::path::Arg;

/// Flags to open a directory to work in.
const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

pub(crate) fn open_directory(parent: BorrowedFd<'_>, name: &CStr) -> Result<OwnedFd, Errno> {
    rustix::fs::openat(parent, name, DIRECTORY, Mode::empty())
}

/// Opens a file for reading without changing its access time where that is allowed: verification outside the clock must
/// not affect a later phase (open(2), O_NOATIME).
pub(crate) fn open_quietly(
    parent: BorrowedFd<'_>,
    name: impl Arg + Copy,
    flags: OFlags,
) -> Result<OwnedFd, Errno> {
    match rustix::fs::openat(parent, name, flags | OFlags::NOATIME, Mode::empty()) {
        Err(Errno::PERM) => rustix::fs::openat(parent, name, flags, Mode::empty()),
        other => other,
    }
}

/// Opens a directory as [`open_quietly`] does.
pub(crate) fn open_directory_quietly(parent: BorrowedFd<'_>, name: &CStr) -> Result<OwnedFd, Errno> {
    open_quietly(parent, name, DIRECTORY)
}

/// The same by path; the last component must not be a symbolic link.
pub(crate) fn open_path_quietly(path: &Path) -> Result<OwnedFd, Errno> {
    open_quietly(CWD, path, DIRECTORY)
}

/// Opens a directory by path; its last component must not be a symbolic link.
pub fn open_path(path: &Path) -> Result<OwnedFd, Errno> {
    rustix::fs::open(path, DIRECTORY, Mode::empty())
}

/// Opens the relative directory `path` below `root`, component by component, and creates missing directories if asked
/// to.
///
/// A command phase may have left a symbolic link anywhere, so the kernel must not follow one here.
/// Unlike `fsverdict_folders::open_below` it may enter another filesystem: a btrfs snapshot has a device number of its own.
pub fn open_directory_below(root: BorrowedFd<'_>, path: &Path, make: bool) -> Result<OwnedFd, Errno> {
    let mut here = rustix::fs::openat(root, c".", DIRECTORY, Mode::empty())?;
    for component in path.components() {
        let Component::Normal(name) = component else {
            return Err(Errno::INVAL);
        };
        if make {
            match rustix::fs::mkdirat(&here, name, Mode::from_raw_mode(0o755)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno),
            }
        }
        here = rustix::fs::openat(&here, name, DIRECTORY, Mode::empty())?;
    }
    Ok(here)
}

/// The status of the entry `name`; symbolic links are not followed.
pub(crate) fn stat_entry(parent: BorrowedFd<'_>, name: &CStr) -> Result<Statx, Errno> {
    rustix::fs::statx(parent, name, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::BASIC_STATS)
}

pub(crate) fn type_of(status: &Statx) -> FileType {
    FileType::from_raw_mode(status.stx_mode.into())
}

/// Whether this directory is the root of a mounted filesystem, where `lost+found` belongs to the filesystem itself.
pub(crate) fn is_mount_root(directory: BorrowedFd<'_>) -> bool {
    rustix::fs::statx(directory, c"", AtFlags::EMPTY_PATH, StatxFlags::BASIC_STATS)
        .is_ok_and(|status| status.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
}

/// Room for directory entries, reused from directory to directory.
pub(crate) struct Listing {
    buffer: Vec<MaybeUninit<u8>>,
}

impl Listing {
    /// 128 KiB: some thousand entries per system call.
    pub(crate) fn new() -> Self {
        Self { buffer: vec![MaybeUninit::uninit(); 128 * 1024] }
    }

    /// Calls `each` for every entry of the directory from where it stands, except `.` and `..`, and `unread` where the
    /// directory cannot be read on. The first error ends it.
    pub(crate) fn for_each_entry<E>(
        &mut self,
        directory: BorrowedFd<'_>,
        unread: impl Fn(Errno) -> E,
        mut each: impl FnMut(&CStr, FileType) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut entries = RawDir::new(directory, &mut self.buffer);
        while let Some(entry) = entries.next() {
            let entry = entry.map_err(&unread)?;
            let name = entry.file_name();
            if name != c"." && name != c".." {
                each(name, entry.file_type())?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Listing, open_path_quietly};
    use std::os::fd::AsFd;
    use std::os::unix::fs::MetadataExt;

    /// Verification moved the access time of what a later phase was to list, if relatime let it.
    #[test]
    fn a_folder_that_is_read_quietly_keeps_its_access_time() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("file"), "x").unwrap();
        // Older than its change: relatime would have it moved by the next reading.
        let old = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
        let times = std::fs::FileTimes::new().set_accessed(old);
        std::fs::File::open(folder.path()).unwrap().set_times(times).unwrap();
        let opened = open_path_quietly(folder.path()).unwrap();
        let mut names = 0;
        let count = |_: &std::ffi::CStr, _| {
            names += 1;
            Ok::<(), rustix::io::Errno>(())
        };
        Listing::new().for_each_entry(opened.as_fd(), |errno| errno, count).unwrap();
        assert_eq!((names, folder.path().metadata().unwrap().atime()), (1, 1_000_000_000));
    }
}

//! A folder on its way into a cache: it lies there under a hidden name, locked, until it is complete, and then gets its
//! own; or nothing of it stays.

use std::fs::Permissions;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use fsverdict_folders::remove_tree;
use fsverdict_linux::host::root::names_in;
use rustix::fs::{FlockOperation, Mode, OFlags, flock};

use super::error::{PackageError, file_error};

/// Prefix of the folder's name until it is complete.
const NEW: &str = ".new-";

pub(crate) struct StagedFolder {
    folder: PathBuf,
    /// While this lock is held, the folder is not cleaned up.
    _lock: OwnedFd,
    kept: bool,
}

impl StagedFolder {
    /// Creates the folder in `cache`, and removes the folders that killed processes left there.
    pub(crate) fn create(cache: &Path, name: &str) -> Result<Self, PackageError> {
        remove_left_folders(cache, false);
        let folder = cache.join(format!("{NEW}{name}"));
        std::fs::create_dir_all(cache).map_err(file_error("make", cache))?;
        std::fs::create_dir(&folder).map_err(|error| match error.kind() {
            std::io::ErrorKind::AlreadyExists => PackageError::Busy(folder.clone()),
            _ => file_error("make", &folder)(error),
        })?;
        // A guest that root starts reads it as an unprivileged user.
        std::fs::set_permissions(&folder, Permissions::from_mode(0o755))
            .map_err(file_error("change", &folder))?;
        let lock = lock_folder(&folder).map_err(file_error("lock", &folder))?;
        Ok(StagedFolder { folder, _lock: lock, kept: false })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.folder
    }

    /// Moves it to `place`. A folder that was there is gone then.
    pub(crate) fn move_to(mut self, place: &Path) -> Result<(), PackageError> {
        let _ = remove_tree(place);
        std::fs::rename(&self.folder, place).map_err(file_error("rename", &self.folder))?;
        self.kept = true;
        Ok(())
    }
}

impl Drop for StagedFolder {
    fn drop(&mut self) {
        if !self.kept {
            let _ = remove_tree(&self.folder);
        }
    }
}

/// Removes the folders that killed processes left in a cache, unless they are only to be listed; returns them.
pub fn remove_left_folders(cache: &Path, only_list: bool) -> Vec<PathBuf> {
    let mut left: Vec<PathBuf> = names_in(cache).iter().map(|name| cache.join(name)).collect();
    let is_new = |path: &Path| {
        path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(NEW.as_bytes()))
    };
    left.retain(|folder| {
        is_new(folder) && lock_folder(folder).is_ok_and(|_lock| only_list || remove_tree(folder).is_ok())
    });
    left
}

fn lock_folder(folder: &Path) -> std::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = rustix::fs::open(folder, flags, Mode::empty())?;
    flock(&opened, FlockOperation::NonBlockingLockExclusive)?;
    Ok(opened)
}

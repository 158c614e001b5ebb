//! A kernel on its way into the cache: all of it lies there under a hidden name, is tried there, and then gets its own; or
//! nothing of it stays.

use std::fs::{File, Permissions};
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, Mode, OFlags, flock};

use super::cache::{CONFIG, FACTS, KERNEL, KernelCache, KernelEntry, KernelFacts, NEW};
use super::error::{KernelBuildError, file_error};
use fsverdict_linux::host::beneath::remove_tree;
use fsverdict_linux::host::root::names_in;

pub(super) struct StagedSources {
    folder: PathBuf,
    /// While this lock is held, the folder is not cleaned up.
    _lock: OwnedFd,
    kept: bool,
}

impl StagedSources {
    /// Creates the folder of a new kernel of this name, and removes the folders that killed processes left.
    pub(super) fn create_folder(cache: &KernelCache, name: &str) -> Result<Self, KernelBuildError> {
        for left in names_in(&cache.own).iter().filter(|name| name.starts_with(NEW)) {
            let left = cache.own.join(left);
            if let Ok(_mine) = lock_folder(&left) {
                let _ = remove_tree(&left);
            }
        }
        let folder = cache.own.join(format!("{NEW}{name}"));
        std::fs::create_dir_all(&cache.own).map_err(file_error("make", &cache.own))?;
        std::fs::create_dir(&folder).map_err(|error| match error.kind() {
            std::io::ErrorKind::AlreadyExists => KernelBuildError::Busy,
            _ => file_error("make", &folder)(error),
        })?;
        // A guest that root starts reads it as the user `nobody`.
        std::fs::set_permissions(&folder, Permissions::from_mode(0o755))
            .map_err(file_error("change", &folder))?;
        let lock = lock_folder(&folder).map_err(file_error("lock", &folder))?;
        Ok(StagedSources { folder, _lock: lock, kept: false })
    }

    /// Where the kernel is until it is kept.
    pub(super) fn kernel_path(&self) -> PathBuf {
        self.folder.join(KERNEL)
    }

    pub(super) fn put_kernel(&self, kernel: &mut dyn Read) -> Result<(), KernelBuildError> {
        let path = self.kernel_path();
        let mut put = || -> std::io::Result<()> {
            let mut copy = File::create_new(&path)?;
            std::io::copy(kernel, &mut copy)?;
            copy.set_permissions(Permissions::from_mode(0o755))
        };
        put().map_err(file_error("put a kernel into", &path))
    }

    pub(super) fn put_config(&self, config: &[u8]) -> Result<(), KernelBuildError> {
        let path = self.folder.join(CONFIG);
        std::fs::write(&path, config).map_err(file_error("write", &path))
    }

    /// Gives it the name of its facts. One of that name that was there is gone then.
    pub(super) fn move_into_cache(
        mut self,
        cache: &KernelCache,
        facts: &KernelFacts,
    ) -> Result<KernelEntry, KernelBuildError> {
        let name = facts.entry_name();
        facts.write_json(&self.folder.join(FACTS))?;
        let folder = cache.own.join(&name);
        let _ = remove_tree(&folder);
        std::fs::rename(&self.folder, &folder).map_err(file_error("rename", &self.folder))?;
        self.kept = true;
        KernelEntry::read_entry(&folder)
            .ok_or_else(|| KernelBuildError::Unknown { name, hint: "build it again".to_owned() })
    }
}

impl Drop for StagedSources {
    fn drop(&mut self) {
        if !self.kept {
            let _ = remove_tree(&self.folder);
        }
    }
}

fn lock_folder(folder: &Path) -> std::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = rustix::fs::open(folder, flags, Mode::empty())?;
    flock(&opened, FlockOperation::NonBlockingLockExclusive)?;
    Ok(opened)
}

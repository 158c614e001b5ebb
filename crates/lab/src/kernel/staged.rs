//! A kernel on its way into the cache: all of it lies there under a hidden name, is tried there, and then gets its own; or
//! nothing of it stays.

use std::fs::{File, Permissions};
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, Mode, OFlags, flock};

use super::cache::{CONFIG, FACTS, KERNEL, KernelCache, KernelEntry, KernelFacts, NEW, PROGRAMS};
use super::error::{KernelBuildError, file_error};
use fsverdict_folders::{FolderHandle, remove_tree};
use fsverdict_linux::host::root::names_in;

/// The programs of ZFS, and where packages have programs.
const ZFS_PROGRAMS: [&str; 2] = ["zpool", "zfs"];
const PROGRAM_FOLDERS: [&str; 2] = ["usr/sbin", "sbin"];
const LARGEST_PROGRAM: u64 = 64 << 20;
/// Starts the program of its own name with the libraries beside it.
const STARTER: &str =
    "#!/bin/sh\nhere=${0%/*}/..\nLD_LIBRARY_PATH=$here/lib exec \"$here/sbin/${0##*/}\" \"$@\"\n";

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
        // A guest that root starts reads it as an unprivileged user.
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

    /// Puts ZFS's programs, and the libraries that they need, beside the kernel: those that were unpacked in this folder.
    ///
    /// Each program gets a script that starts it with these libraries, wherever the folder comes to lie.
    pub(super) fn put_programs(&self, unpacked: &Path) -> Result<(), KernelBuildError> {
        let folder = self.folder.join(PROGRAMS);
        let put = || -> std::io::Result<()> {
            let from = FolderHandle::open_untrusted(unpacked)?;
            for name in ["bin", "sbin", "lib"] {
                std::fs::create_dir_all(folder.join(name))?;
            }
            for program in ZFS_PROGRAMS {
                let found = PROGRAM_FOLDERS.iter().map(|place| Path::new(place).join(program));
                let mut opened = found.map(|path| from.open_file(path, LARGEST_PROGRAM));
                let opened = opened.find_map(Result::ok).ok_or(std::io::ErrorKind::NotFound)?;
                copy_executable(opened, &folder.join("sbin").join(program))?;
                let script = folder.join("bin").join(program);
                copy_executable(STARTER.as_bytes(), &script)?;
            }
            let triplet = format!("{}-linux-gnu", std::env::consts::ARCH);
            for place in ["lib", "usr/lib"].map(|place| Path::new(place).join(&triplet)) {
                for name in from.list_names_in(&place) {
                    // Links are not followed: `libzfs.so.6` becomes a link to `libzfs.so.6.0.0` again.
                    let Ok(library) = from.open_file(place.join(&name), LARGEST_PROGRAM) else { continue };
                    let Some(called) = library_name(&name) else { continue };
                    copy_executable(library, &folder.join("lib").join(&name))?;
                    std::os::unix::fs::symlink(&name, folder.join("lib").join(called))?;
                }
            }
            Ok(())
        };
        put().map_err(file_error("put the programs of ZFS into", &folder))
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

/// The name that programs ask for a library by: `libzfs.so.6` of `libzfs.so.6.0.0`.
fn library_name(file: &str) -> Option<&str> {
    let (stem, numbers) = file.split_once(".so.")?;
    let (first, _) = numbers.split_once('.')?;
    file.get(..stem.len() + ".so.".len() + first.len())
}

fn copy_executable(mut content: impl Read, to: &Path) -> std::io::Result<()> {
    let mut copy = File::create_new(to)?;
    std::io::copy(&mut content, &mut copy)?;
    copy.set_permissions(Permissions::from_mode(0o755))
}

fn lock_folder(folder: &Path) -> std::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = rustix::fs::open(folder, flags, Mode::empty())?;
    flock(&opened, FlockOperation::NonBlockingLockExclusive)?;
    Ok(opened)
}

#[cfg(test)]
mod tests {
    use super::{StagedSources, library_name};
    use crate::kernel::cache::{KernelCache, programs_beside};

    #[test]
    fn libraries_are_asked_for_by_their_first_number() {
        assert_eq!(library_name("libzfs_core.so.3.0.0"), Some("libzfs_core.so.3"));
        assert_eq!(library_name("libzfs.so.6"), None);
        assert_eq!(library_name("README"), None);
    }

    #[test]
    fn programs_come_to_lie_beside_the_kernel_and_find_their_libraries_there() {
        let place = tempfile::tempdir().unwrap();
        let unpacked = place.path().join("unpacked");
        let libraries = unpacked.join(format!("lib/{}-linux-gnu", std::env::consts::ARCH));
        for folder in [&unpacked.join("sbin"), &libraries] {
            std::fs::create_dir_all(folder).unwrap();
        }
        for program in ["zpool", "zfs"] {
            let script = format!("#!/bin/sh\necho {program} \"$LD_LIBRARY_PATH\" \"$@\"\n");
            std::fs::write(unpacked.join("sbin").join(program), script).unwrap();
        }
        std::fs::write(libraries.join("libzfs.so.6.0.0"), "").unwrap();
        std::os::unix::fs::symlink("/etc/passwd", libraries.join("libother.so.1.0")).unwrap();
        let cache = KernelCache::with_folder(&place.path().join("cache"));
        let staged = StagedSources::create_folder(&cache, "6.12-aa").unwrap();
        staged.put_programs(&unpacked).unwrap();
        let folder = programs_beside(&staged.kernel_path()).unwrap();
        let output =
            std::process::Command::new(folder.join("zpool")).args(["status", "a b"]).output().unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        let expected = format!("zpool {}/../lib status a b\n", folder.display());
        assert_eq!(printed, expected);
        let beside = folder.join("../lib");
        assert!(beside.join("libzfs.so.6").is_file() && !beside.join("libother.so.1.0").exists());
    }
}

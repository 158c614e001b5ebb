//! The folder of an unfinished build. Untrusted makefiles write only to subfolders of it; the files that fsverdict
//! writes lie beside these, out of their reach.

use std::fs::{File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, OFlags, flock};

use super::error::{KernelBuildError, ROOM, file_error, read_free_bytes};
use super::fragment::{self, KernelParts};
use fsverdict_folders::{FolderHandle, open_own, remove_tree};
use fsverdict_linux::sandbox::{Capabilities, Devices, Isolation, Sandbox};

const SOURCE: &str = "source";
/// Within the sources, which a makefile then names by a relative path: the folder can be moved.
const OBJECTS: &str = "source/objects";
const TEMPORARY: &str = "tmp";
/// The sources of ZFS, and the packages that they come from.
const ZFS: &str = "zfs";
const PACKAGES: &str = "packages";
const LOCK: &str = "lock";
const LOG: &str = "log";
const TRIAL_LOG: &str = "trial.log";
const OPTIONS: &str = "laboratory.config";
/// A mark left when sources are whole and patched: unpacking is done again if it was cut short.
const PREPARED: &str = "prepared";

/// The kernel before it was linked: a module's symbols are looked up in it.
const KERNEL_OBJECT: &str = "vmlinux.o";
/// Folders of the sources, and of the objects below them, in which everything is kept.
const KEPT_WHOLE: [&str; 4] = ["scripts", "include", "objects/scripts", "objects/include"];
/// Folders with sources of modules, and of files that are made before them; and those with headers.
const SOURCES_OF_MODULES: [&str; 6] =
    ["arch/um", "arch/x86/um", "block", "drivers/md", "fs", "kernel/bounds.c"];
const HEADERS_OF_MODULES: [&str; 8] =
    ["arch/um", "arch/x86", "block", "drivers/base", "drivers/md", "fs", "kernel", "lib"];
/// How the names of objects end, and of the notes that a makefile keeps of them.
const OBJECT_ENDS: [&str; 7] = [".o", ".a", ".ko", ".o.cmd", ".a.cmd", ".ko.cmd", ".mod.cmd"];
const SOURCE_ENDS: [&str; 8] = [".c", ".S", ".rst", ".txt", ".dts", ".dtsi", ".yaml", ".json"];

/// Folders that sandboxes cover: paths below them must be shown explicitly.
const COVERED: [&str; 2] = ["/run", "/dev"];

/// The folder of a build, locked against other builds as long as this value exists.
#[derive(Debug)]
pub(super) struct Scratch {
    folder: PathBuf,
    _lock: File,
}

impl Scratch {
    /// Creates and locks the folder, or takes over the folder of an interrupted build.
    pub(super) fn lock_folder(folder: PathBuf) -> Result<Self, KernelBuildError> {
        std::fs::create_dir_all(&folder).map_err(file_error("make", &folder))?;
        let lock = lock_build(&folder)?;
        Self::take_over(folder, lock)
    }

    /// Locks the folder of a finished build, as soon as no other process has it locked.
    pub(super) fn wait_for_folder(folder: PathBuf) -> Result<Self, KernelBuildError> {
        let lock = open_lock(&folder)?;
        lock.lock().map_err(file_error("lock", &folder))?;
        Self::take_over(folder, lock)
    }

    fn take_over(folder: PathBuf, lock: File) -> Result<Self, KernelBuildError> {
        // Unpacked files may have the permissions of other users, or set-user-ID bits.
        std::fs::set_permissions(&folder, Permissions::from_mode(0o700))
            .map_err(file_error("change", &folder))?;
        for name in [SOURCE, OBJECTS, TEMPORARY, ZFS, PACKAGES] {
            let path = folder.join(name);
            if path.symlink_metadata().is_ok_and(|facts| !facts.is_dir()) {
                std::fs::remove_file(&path).map_err(file_error("remove", &path))?;
            }
            std::fs::create_dir_all(&path).map_err(file_error("make", &path))?;
        }
        for name in [LOG, TRIAL_LOG, OPTIONS, PREPARED] {
            only_regular(&folder.join(name))?;
        }
        Ok(Scratch { folder, _lock: lock })
    }

    pub(super) fn source_folder(&self) -> PathBuf {
        self.folder.join(SOURCE)
    }

    pub(super) fn object_folder(&self) -> PathBuf {
        self.folder.join(OBJECTS)
    }

    pub(super) fn zfs_folder(&self) -> PathBuf {
        self.folder.join(ZFS)
    }

    /// The folder of packages and their unpacked files.
    pub(super) fn package_folder(&self) -> PathBuf {
        self.folder.join(PACKAGES)
    }

    /// The same, without content.
    pub(super) fn empty_package_folder(&self) -> Result<PathBuf, KernelBuildError> {
        let folder = self.package_folder();
        remove_tree(&folder).map_err(file_error("remove", &folder))?;
        std::fs::create_dir(&folder).map_err(file_error("make", &folder))?;
        Ok(folder)
    }

    /// Appends a program's output to the build's log.
    pub(super) fn append_to_log(&self, text: &str) -> Result<(), KernelBuildError> {
        let log = self.build_log();
        let write = |mut file: File| std::io::Write::write_all(&mut file, text.as_bytes());
        open_own(&log, OFlags::APPEND).and_then(write).map_err(file_error("write", &log))
    }

    /// For the temporary files of compilers.
    pub(super) fn temporary_folder(&self) -> PathBuf {
        self.folder.join(TEMPORARY)
    }

    pub(super) fn build_log(&self) -> PathBuf {
        self.folder.join(LOG)
    }

    /// The record of its kernel's trial, if that failed.
    pub(super) fn trial_log(&self) -> PathBuf {
        self.folder.join(TRIAL_LOG)
    }

    /// Writes the options a kernel is configured with.
    pub(super) fn write_options(&self, parts: KernelParts) -> Result<PathBuf, KernelBuildError> {
        let path = self.folder.join(OPTIONS);
        let options = fragment::write_fragment(parts);
        let write = |mut file: File| std::io::Write::write_all(&mut file, options.as_bytes());
        open_own(&path, OFlags::TRUNC).and_then(write).map_err(file_error("write", &path))?;
        Ok(path)
    }

    pub(super) fn is_prepared(&self) -> bool {
        self.folder.join(PREPARED).is_file()
    }

    pub(super) fn mark_prepared(&self) -> Result<(), KernelBuildError> {
        let mark = self.folder.join(PREPARED);
        open_own(&mark, OFlags::empty()).map(drop).map_err(file_error("write", &mark))
    }

    /// Empties the folder of the sources.
    pub(super) fn clear_folders(&self) -> Result<(), KernelBuildError> {
        let tree = self.source_folder();
        remove_tree(&tree).map_err(file_error("remove", &tree))?;
        std::fs::create_dir_all(self.object_folder()).map_err(file_error("make", &tree))
    }

    /// Removes files from which no module is compiled: objects of the kernel, and sources of other parts of it.
    pub(super) fn prune(&self) -> Result<(), KernelBuildError> {
        let source = self.source_folder();
        let prune = || -> std::io::Result<()> {
            for folder in [ZFS, PACKAGES, TEMPORARY] {
                remove_tree(&self.folder.join(folder))?;
            }
            remove_unneeded(&FolderHandle::open_untrusted(&source)?, Path::new("."))
        };
        prune().map_err(file_error("remove what is not needed from", &source))
    }

    /// Moves the folder, which stays locked.
    pub(super) fn move_to(&mut self, place: &Path) -> Result<(), KernelBuildError> {
        std::fs::rename(&self.folder, place).map_err(file_error("rename", &self.folder))?;
        place.clone_into(&mut self.folder);
        Ok(())
    }

    /// A sandbox for programs that come with the sources: they may write only to their own subfolders here, and reach
    /// no devices or other processes. `read` and `more` are shown even where sandboxes cover them.
    pub(super) fn sandbox_for_sources(
        &self,
        isolation: Isolation,
        read: &Path,
        more: Option<&Path>,
    ) -> Sandbox {
        let mut sandbox = Sandbox::new(isolation, [""; 0]);
        sandbox.capabilities = Capabilities::Phase;
        sandbox.devices = Devices::Bare;
        let (zfs, packages) = (self.zfs_folder(), self.package_folder());
        sandbox.writable =
            [self.source_folder(), self.object_folder(), self.temporary_folder(), zfs, packages].into();
        let covered = |path: &PathBuf| COVERED.iter().any(|covered| path.starts_with(covered));
        let folder_of = |path: &Path| {
            if path.is_dir() { path.to_owned() } else { path.parent().unwrap_or(path).to_owned() }
        };
        let read = [read].into_iter().chain(more).map(folder_of);
        let all = sandbox.writable.iter().cloned().chain([self.folder.clone()]).chain(read);
        let mut shown: Vec<PathBuf> = all.filter(covered).collect();
        // Outer folders come first, because later entries are mounted over earlier ones.
        shown.sort();
        sandbox.shown = shown.into_iter().map(|path| (path.clone(), path)).collect();
        sandbox
    }

    /// Requires enough free space for a build, less the space that an interrupted build has already taken.
    pub(super) fn check_room(&self) -> Result<(), KernelBuildError> {
        let folder = self.folder.clone();
        let free = read_free_bytes(&folder).map_err(file_error("look at the disk of", &folder))?;
        if free >= ROOM || self.is_prepared() {
            return Ok(());
        }
        Err(KernelBuildError::NoRoom { folder, wanted_gib: ROOM >> 30, free_gib: free >> 30 })
    }

    /// An error about a full disk, if that is why a step failed: the program said so, or next to nothing is free.
    pub(super) fn disk_full_error(&self, step: &'static str, said_so: bool) -> Option<KernelBuildError> {
        /// A linker that maps its output is killed by SIGBUS, without a message.
        const NOTHING: u64 = 16 << 20;
        let free = read_free_bytes(&self.folder).unwrap_or(u64::MAX);
        (said_so || free < NOTHING).then(|| KernelBuildError::disk_full(step, &self.folder))
    }

    pub(super) fn remove_folder(self) -> Result<(), KernelBuildError> {
        remove_tree(&self.folder).map_err(file_error("remove", &self.folder))
    }
}

/// Whether a program's output contains the messages of ENOSPC or EDQUOT.
pub(super) fn says_full(text: &str) -> bool {
    ["No space left on device", "Disk quota exceeded"].iter().any(|words| text.contains(words))
}

/// Whether a folder holds the sources for modules of a finished kernel.
pub(super) fn is_kept(folder: &Path) -> bool {
    folder.join(PREPARED).is_file() && folder.join(OBJECTS).join(KERNEL_OBJECT).is_file()
}

/// Removes the files below a folder of the sources that no module is compiled from.
fn remove_unneeded(source: &FolderHandle, folder: &Path) -> std::io::Result<()> {
    for name in source.list_names_in(folder) {
        let path = folder.join(&name);
        let below = path.strip_prefix(".").unwrap_or(&path).to_owned();
        if source.is_folder(&path) {
            if !KEPT_WHOLE.iter().any(|kept| below == Path::new(kept)) {
                remove_unneeded(source, &path)?;
            }
        } else if is_unneeded(&below) {
            source.remove_file(&path)?;
        }
    }
    Ok(())
}

/// Whether modules are compiled without this file of the sources, or of the objects below them.
fn is_unneeded(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let ends_as = |ends: &[&str]| ends.iter().any(|end| name.ends_with(end));
    let lies_in = |folders: &[&str]| folders.iter().any(|folder| path.starts_with(folder));
    if let Ok(object) = path.strip_prefix("objects") {
        let is_linked = ["linux", "vmlinux"].iter().any(|kernel| object == Path::new(kernel));
        return is_linked || object != Path::new(KERNEL_OBJECT) && ends_as(&OBJECT_ENDS);
    }
    let is_header_elsewhere =
        ends_as(&[".h"]) && path.components().count() > 1 && !lies_in(&HEADERS_OF_MODULES);
    is_header_elsewhere || ends_as(&SOURCE_ENDS) && !lies_in(&SOURCES_OF_MODULES)
}

/// Locks a build's folder, so that no other process builds in it or removes it.
pub(super) fn lock_build(folder: &Path) -> Result<File, KernelBuildError> {
    let lock = open_lock(folder)?;
    flock(&lock, FlockOperation::NonBlockingLockExclusive).map_err(|_| KernelBuildError::Busy)?;
    Ok(lock)
}

fn open_lock(folder: &Path) -> Result<File, KernelBuildError> {
    let path = folder.join(LOCK);
    only_regular(&path)?;
    open_own(&path, OFlags::empty()).map_err(file_error("lock", folder))
}

/// Removes anything but a regular file at this path: older versions let makefiles write there.
fn only_regular(path: &Path) -> Result<(), KernelBuildError> {
    match path.symlink_metadata() {
        Ok(facts) if facts.is_dir() => remove_tree(path).map_err(file_error("remove", path)),
        Ok(facts) if !facts.is_file() => std::fs::remove_file(path).map_err(file_error("remove", path)),
        _ => Ok(()),
    }
}

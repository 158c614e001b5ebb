//! The folder of a build that is not finished: what a stranger's makefile may write to lies in folders of its own in it, and
//! beside them, out of its reach, what we write ourselves.

use std::fs::{File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, OFlags, flock};

use super::error::{KernelBuildError, ROOM, file, free};
use super::fragment;
use fsverdict_linux::host::beneath::{open_own, remove_tree};
use fsverdict_linux::sandbox::{Capabilities, Devices, Isolation, Sandbox};

const SOURCE: &str = "source";
const OBJECTS: &str = "objects";
const TEMPORARY: &str = "tmp";
const LOCK: &str = "lock";
const LOG: &str = "log";
const TRIAL_LOG: &str = "trial.log";
const OPTIONS: &str = "laboratory.config";
/// A mark left when sources are whole and patched: unpacking is done again if it was cut short.
const PREPARED: &str = "prepared";

/// What sandboxes cover: what is wanted of it has to be shown again.
const COVERED: [&str; 2] = ["/run", "/dev"];

/// The folder of a build, and nobody else builds in it while this is there.
#[derive(Debug)]
pub(super) struct Scratch {
    folder: PathBuf,
    _lock: File,
}

impl Scratch {
    /// Makes it, or takes over what an interrupted build left.
    pub(super) fn hold(folder: PathBuf) -> Result<Self, KernelBuildError> {
        std::fs::create_dir_all(&folder).map_err(file("make", &folder))?;
        let lock = lock(&folder)?;
        // What is unpacked in it may bear the rights of other users, or set-user-ID bits.
        std::fs::set_permissions(&folder, Permissions::from_mode(0o700)).map_err(file("change", &folder))?;
        for name in [SOURCE, OBJECTS, TEMPORARY] {
            let path = folder.join(name);
            if path.symlink_metadata().is_ok_and(|facts| !facts.is_dir()) {
                std::fs::remove_file(&path).map_err(file("remove", &path))?;
            }
            std::fs::create_dir_all(&path).map_err(file("make", &path))?;
        }
        for name in [LOG, TRIAL_LOG, OPTIONS, PREPARED] {
            only_regular(&folder.join(name))?;
        }
        Ok(Scratch { folder, _lock: lock })
    }

    pub(super) fn tree(&self) -> PathBuf {
        self.folder.join(SOURCE)
    }

    pub(super) fn objects(&self) -> PathBuf {
        self.folder.join(OBJECTS)
    }

    /// For what compilers keep for a moment.
    pub(super) fn temporary(&self) -> PathBuf {
        self.folder.join(TEMPORARY)
    }

    pub(super) fn log(&self) -> PathBuf {
        self.folder.join(LOG)
    }

    /// The record of its kernel's trial, if that failed.
    pub(super) fn trial_log(&self) -> PathBuf {
        self.folder.join(TRIAL_LOG)
    }

    /// Writes the options a kernel is configured with.
    pub(super) fn write_options(&self, counting: bool) -> Result<PathBuf, KernelBuildError> {
        let path = self.folder.join(OPTIONS);
        let options = fragment::plain(counting);
        let write = |mut file: File| std::io::Write::write_all(&mut file, options.as_bytes());
        open_own(&path, OFlags::TRUNC).and_then(write).map_err(file("write", &path))?;
        Ok(path)
    }

    pub(super) fn is_prepared(&self) -> bool {
        self.folder.join(PREPARED).is_file()
    }

    pub(super) fn mark_prepared(&self) -> Result<(), KernelBuildError> {
        let mark = self.folder.join(PREPARED);
        open_own(&mark, OFlags::empty()).map(drop).map_err(file("write", &mark))
    }

    /// Empties the folder of the sources.
    pub(super) fn begin_anew(&self) -> Result<(), KernelBuildError> {
        let tree = self.tree();
        remove_tree(&tree).map_err(file("remove", &tree))?;
        std::fs::create_dir(&tree).map_err(file("make", &tree))
    }

    /// A sandbox for what the sources bring along, which is programs: it may write to its own folders here, and reaches neither
    /// devices nor anybody. Of `read`, what a sandbox covers is shown.
    pub(super) fn sandbox(&self, isolation: Isolation, read: &Path) -> Sandbox {
        let mut sandbox = Sandbox::new(isolation, [""; 0]);
        sandbox.capabilities = Capabilities::Phase;
        sandbox.devices = Devices::Bare;
        sandbox.writable = [self.tree(), self.objects(), self.temporary()].into();
        let covered = |path: &PathBuf| COVERED.iter().any(|covered| path.starts_with(covered));
        let read = if read.is_dir() { read } else { read.parent().unwrap_or(read) };
        let all = sandbox.writable.iter().cloned().chain([self.folder.clone(), read.to_owned()]);
        let mut shown: Vec<PathBuf> = all.filter(covered).collect();
        // The folder they lie in first: what is shown later lies on top of it.
        shown.sort();
        sandbox.shown = shown.into_iter().map(|path| (path.clone(), path)).collect();
        sandbox
    }

    /// Whether there is room for a build, or an interrupted one holds already what it takes.
    pub(super) fn check_room(&self) -> Result<(), KernelBuildError> {
        let folder = self.folder.clone();
        let free = free(&folder).map_err(file("look at the disk of", &folder))?;
        if free >= ROOM || self.is_prepared() {
            return Ok(());
        }
        Err(KernelBuildError::NoRoom { folder, wanted_gib: ROOM >> 30, free_gib: free >> 30 })
    }

    /// The disk was full, if that is why a step failed: it says so, or what is left is next to nothing.
    pub(super) fn full(&self, step: &'static str, said_so: bool) -> Option<KernelBuildError> {
        /// A linker that maps what it writes dies without a word.
        const NOTHING: u64 = 16 << 20;
        let free = free(&self.folder).unwrap_or(u64::MAX);
        (said_so || free < NOTHING).then(|| KernelBuildError::full(step, &self.folder))
    }

    pub(super) fn remove(self) -> Result<(), KernelBuildError> {
        remove_tree(&self.folder).map_err(file("remove", &self.folder))
    }
}

/// What programs say that could not write: the words of ENOSPC and EDQUOT.
pub(super) fn says_full(text: &str) -> bool {
    ["No space left on device", "Disk quota exceeded"].iter().any(|words| text.contains(words))
}

/// Holds the folder of a build, so that nobody else builds in it or removes it.
pub(super) fn lock(folder: &Path) -> Result<File, KernelBuildError> {
    let path = folder.join(LOCK);
    only_regular(&path)?;
    let lock = open_own(&path, OFlags::empty()).map_err(file("lock", folder))?;
    flock(&lock, FlockOperation::NonBlockingLockExclusive).map_err(|_| KernelBuildError::Busy)?;
    Ok(lock)
}

/// Removes what lies in the place of a file of ours and is none: older versions let makefiles write there.
fn only_regular(path: &Path) -> Result<(), KernelBuildError> {
    match path.symlink_metadata() {
        Ok(facts) if facts.is_dir() => remove_tree(path).map_err(file("remove", path)),
        Ok(facts) if !facts.is_file() => std::fs::remove_file(path).map_err(file("remove", path)),
        _ => Ok(()),
    }
}

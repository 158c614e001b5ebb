//! The folder that is served, and how the files that the kernel names by number and name are reached in it.
//!
//! No path leads out of the folder: every path is opened below the root, and never through a link.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fsverdict_linux::host::named_path::path_by_number;
use fuser::{FileAttr, Request};
use rustix::fs::{
    AtFlags, Dir, FileType, Gid, Mode, OFlags, ResolveFlags, Stat, Uid, chmod, chownat, fstat, openat,
    openat2, statat,
};
use rustix::io::Errno;

use super::attributes::to_file_attributes;
use super::known_files::{EntryName, FileIdentity, KnownFiles};

/// The mode bits of a set-user-ID or set-group-ID file.
const SPECIAL: u32 = 0o6000;

#[derive(Debug)]
pub(super) struct ServedFolder {
    root: OwnedFd,
    nodes: Mutex<KnownFiles>,
    open: Mutex<HeldFiles>,
    pub(super) writeback: bool,
}

#[derive(Debug, Default)]
struct HeldFiles {
    each: HashMap<u64, Arc<HeldFile>>,
    last: u64,
}

/// A file that a client has open.
#[derive(Debug)]
pub(super) struct HeldFile {
    pub(super) file: OwnedFd,
    /// By which number the kernel knows it.
    node: u64,
    /// The entries of a directory when it was last read from its beginning.
    pub(super) listed: Mutex<Vec<ListedFile>>,
}

#[derive(Debug, Clone)]
pub(super) struct ListedFile {
    pub(super) number: u64,
    pub(super) kind: FileType,
    pub(super) name: OsString,
}

/// A file, for as long as something is done with it.
#[derive(Debug)]
pub(super) enum ReachedFile {
    /// It was looked up, and may not be read from or written to.
    ByName(OwnedFd),
    /// Its names are gone, or it is open anyway.
    Open(Arc<HeldFile>),
    /// Its names are gone, and the kernel has not forgotten it yet.
    Removed(Arc<OwnedFd>),
}

impl AsFd for ReachedFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            ReachedFile::ByName(file) => file.as_fd(),
            ReachedFile::Open(open) => open.file.as_fd(),
            ReachedFile::Removed(file) => file.as_fd(),
        }
    }
}

impl ReachedFile {
    /// A path that leads to this very file, even if another file has its name by now.
    pub(super) fn path(&self) -> PathBuf {
        path_by_number(self)
    }
}

pub(super) fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ServedFolder {
    pub(super) fn new(root: OwnedFd, found: &Stat, writeback: bool) -> Self {
        ServedFolder {
            root,
            nodes: Mutex::new(KnownFiles::new(found)),
            open: Mutex::new(HeldFiles::default()),
            writeback,
        }
    }

    pub(super) fn root(&self) -> BorrowedFd<'_> {
        self.root.as_fd()
    }

    fn nodes(&self) -> MutexGuard<'_, KnownFiles> {
        lock(&self.nodes)
    }

    /// Opens the file of this number.
    pub(super) fn open_node(&self, number: u64, flags: OFlags) -> Result<OwnedFd, Errno> {
        let path = self.nodes().path_of(number).ok_or(Errno::STALE)?;
        // A FIFO that was put in the place of a file would keep this thread waiting for its other end.
        let waits_not = if flags.contains(OFlags::PATH) { OFlags::empty() } else { OFlags::NONBLOCK };
        let flags = flags | waits_not | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        openat2(&self.root, path, flags, Mode::empty(), ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS)
    }

    /// The directory of this number, to do something in it.
    pub(super) fn open_directory(&self, number: u64) -> Result<OwnedFd, Errno> {
        self.open_node(number, OFlags::PATH | OFlags::DIRECTORY)
    }

    /// The file of this number, whether it still has a name or is only open.
    pub(super) fn reach_file(&self, number: u64) -> Result<ReachedFile, Errno> {
        self.open_node(number, OFlags::PATH).map(ReachedFile::ByName).or_else(|error| {
            let open = lock(&self.open).each.values().find(|open| open.node == number).cloned();
            let removed_file = || self.nodes().kept_file(number).map(ReachedFile::Removed);
            open.map(ReachedFile::Open).or_else(removed_file).ok_or(error)
        })
    }

    /// The same, where the kernel may have said which of those that are open it means.
    pub(super) fn reach_open(&self, number: u64, handle: Option<u64>) -> Result<ReachedFile, Errno> {
        match handle {
            Some(handle) => self.held_file(handle).map(ReachedFile::Open),
            None => self.reach_file(number),
        }
    }

    pub(super) fn attributes(&self, number: u64, handle: Option<u64>) -> Result<FileAttr, Errno> {
        let file = self.reach_open(number, handle)?;
        Ok(to_file_attributes(number, &fstat(file.as_fd())?))
    }

    /// The entry of this name in this directory; the kernel is about to learn it.
    pub(super) fn look_up_entry(&self, at: &EntryName<'_>, directory: &OwnedFd) -> Result<FileAttr, Errno> {
        let status = statat(directory, at.name, AtFlags::SYMLINK_NOFOLLOW)?;
        let number = self.nodes().learn_name(FileIdentity::from_status(&status), at);
        Ok(to_file_attributes(number, &status))
    }

    pub(super) fn forget(&self, number: u64, times: u64) {
        self.nodes().forget_lookups(number, times);
    }

    /// Carries out a removal of this name.
    pub(super) fn remove_entry(
        &self,
        at: &EntryName<'_>,
        remove: impl FnOnce(&OwnedFd) -> Result<(), Errno>,
    ) -> Result<(), Errno> {
        let directory = self.open_directory(at.parent)?;
        let status = statat(&directory, at.name, AtFlags::SYMLINK_NOFOLLOW)?;
        let kept_file = self.keep_removed(&directory, at.name, &status);
        remove(&directory)?;
        self.note_removed(&status, at, kept_file);
        Ok(())
    }

    /// Carries out a rename of the first name to the second, or an exchange of both.
    pub(super) fn rename_entry(
        &self,
        from: &EntryName<'_>,
        to: &EntryName<'_>,
        exchange: bool,
        rename: impl FnOnce(&OwnedFd, &OwnedFd) -> Result<(), Errno>,
    ) -> Result<(), Errno> {
        let (old, new) = (self.open_directory(from.parent)?, self.open_directory(to.parent)?);
        let moved = statat(&old, from.name, AtFlags::SYMLINK_NOFOLLOW)?;
        let replaced = statat(&new, to.name, AtFlags::SYMLINK_NOFOLLOW).ok();
        let kept_file = replaced.as_ref().and_then(|replaced| self.keep_removed(&new, to.name, replaced));
        rename(&old, &new)?;
        let identity = FileIdentity::from_status(&moved);
        if let Some(replaced) = &replaced {
            let other = FileIdentity::from_status(replaced);
            if exchange {
                self.nodes().note_renamed(other, to, from);
            } else if other != identity {
                self.note_removed(replaced, to, kept_file);
            } else {
                // Two names of one file: rename(2) does nothing.
                return Ok(());
            }
        }
        self.nodes().note_renamed(identity, from, to);
        Ok(())
    }

    /// Keeps a descriptor of a file that is about to lose its last name: the kernel may still have changes to write,
    /// such as times that it reports only later.
    fn keep_removed(&self, directory: &OwnedFd, name: &OsStr, found: &Stat) -> Option<OwnedFd> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        (self.writeback && is_last(found)).then(|| openat(directory, name, flags, Mode::empty()).ok())?
    }

    fn note_removed(&self, found: &Stat, at: &EntryName<'_>, kept: Option<OwnedFd>) {
        let (identity, mut nodes) = (FileIdentity::from_status(found), self.nodes());
        if let Some(file) = kept {
            nodes.keep_open(identity, file);
        }
        nodes.note_removed(identity, at, is_last(found));
    }

    /// Gives a newly created entry of this directory to the requester.
    pub(super) fn give_to_requester(
        &self,
        request: &Request,
        directory: &OwnedFd,
        name: &OsStr,
        mode: u32,
    ) -> Result<(), Errno> {
        let own_ids = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        if own_ids == (request.uid(), request.gid()) {
            return Ok(());
        }
        // In such a directory the group is the directory's.
        let inherits = statat(directory, "", AtFlags::EMPTY_PATH)?.st_mode & 0o2000 != 0;
        let group = (!inherits).then(|| Gid::from_raw(request.gid()));
        let user = Some(Uid::from_raw(request.uid()));
        chownat(directory, name, user, group, AtFlags::SYMLINK_NOFOLLOW)?;
        if mode & SPECIAL != 0 && FileType::from_raw_mode(mode) == FileType::RegularFile {
            // A change of owner removed these bits (chown(2)).
            set_mode_of_file(directory, name, mode)?;
        }
        Ok(())
    }

    /// Returns the handle by which the kernel will refer to the open file.
    pub(super) fn hold_open(&self, node: u64, file: OwnedFd) -> u64 {
        let mut open = lock(&self.open);
        open.last += 1;
        let handle = open.last;
        open.each.insert(handle, Arc::new(HeldFile { file, node, listed: Mutex::default() }));
        handle
    }

    pub(super) fn held_file(&self, handle: u64) -> Result<Arc<HeldFile>, Errno> {
        lock(&self.open).each.get(&handle).cloned().ok_or(Errno::BADF)
    }

    pub(super) fn release(&self, handle: u64) {
        let released = lock(&self.open).each.remove(&handle);
        // Closing may take long; the lock is released first.
        drop(released);
    }
}

impl HeldFile {
    /// Reads the directory again.
    pub(super) fn read_list(&self) -> Result<(), Errno> {
        let mut listed = Vec::new();
        for found in Dir::read_from(&self.file)? {
            let entry = found?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes()).to_owned();
            listed.push(ListedFile { number: entry.ino(), kind: entry.file_type(), name });
        }
        *lock(&self.listed) = listed;
        Ok(())
    }
}

/// Sets the mode of the regular file with this name. The requester may have replaced it by a link meanwhile, which
/// chmod(2) would follow out of the folder: so the file is opened first, not through a link, and the open file is
/// changed.
fn set_mode_of_file(directory: &OwnedFd, name: &OsStr, mode: u32) -> Result<(), Errno> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = openat(directory, name, flags, Mode::empty())?;
    if FileType::from_raw_mode(fstat(&file)?.st_mode) != FileType::RegularFile {
        return Err(Errno::STALE);
    }
    chmod(path_by_number(&file), Mode::from_raw_mode(mode))
}

/// Whether no other name leads to it: directories have one.
fn is_last(found: &Stat) -> bool {
    found.st_nlink <= 1 || FileType::from_raw_mode(found.st_mode) == FileType::Directory
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::fd::OwnedFd;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
    use std::path::Path;

    use rustix::fs::{Mode, OFlags};
    use rustix::io::Errno;

    use super::{ServedFolder, set_mode_of_file};
    use crate::passthrough::known_files::EntryName;

    fn open_folder(path: &Path) -> OwnedFd {
        rustix::fs::open(path, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).unwrap()
    }

    /// What a caller may put in the place of a file that it had made a moment ago.
    const PUT_IN_PLACE: &[fn(&Path, &Path)] = &[
        |name, victim| symlink(victim, name).unwrap(),
        |name, victim| symlink(victim.parent().unwrap(), name).unwrap(),
        |name, _| std::fs::create_dir(name).unwrap(),
        |name, _| drop(std::os::unix::net::UnixListener::bind(name).unwrap()),
        |name, _| {
            rustix::fs::mknodat(rustix::fs::CWD, name, rustix::fs::FileType::Fifo, Mode::RWXU, 0).unwrap();
        },
    ];

    #[test]
    fn the_mode_of_a_file_that_was_replaced_reaches_nothing_outside() {
        for put in PUT_IN_PLACE {
            let (served, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
            let victim = outside.path().join("victim");
            std::fs::write(&victim, "").unwrap();
            std::fs::set_permissions(&victim, PermissionsExt::from_mode(0o600)).unwrap();
            let mode_of = |path: &Path| std::fs::metadata(path).unwrap().mode() & 0o7777;
            let before = [mode_of(&victim), mode_of(outside.path())];
            put(&served.path().join("name"), &victim);
            let changed = set_mode_of_file(&open_folder(served.path()), OsStr::new("name"), 0o106_777);
            assert_eq!(changed, Err(Errno::STALE));
            assert_eq!([mode_of(&victim), mode_of(outside.path())], before);
        }
        let served = tempfile::tempdir().unwrap();
        let file = served.path().join("name");
        std::fs::write(&file, "").unwrap();
        set_mode_of_file(&open_folder(served.path()), OsStr::new("name"), 0o104_755).unwrap();
        assert_eq!(std::fs::metadata(&file).unwrap().mode() & 0o7777, 0o4755);
    }

    #[test]
    fn what_was_put_in_the_place_of_a_file_neither_holds_up_a_thread_nor_leads_out() {
        let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::fs::write(outside.path().join("victim"), "secret").unwrap();
        let root = open_folder(folder.path());
        let found = rustix::fs::fstat(&root).unwrap();
        let served = ServedFolder::new(root, &found, false);
        let directory = open_folder(folder.path());
        let at = EntryName { parent: 1, name: OsStr::new("name") };
        let path = folder.path().join("name");
        std::fs::write(&path, "").unwrap();
        let number = served.look_up_entry(&at, &directory).unwrap().ino.0;
        std::fs::remove_file(&path).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, Mode::RWXU, 0).unwrap();
        // The other end is closed.
        served.open_node(number, OFlags::RDONLY).unwrap();
        assert_eq!(served.open_node(number, OFlags::WRONLY).unwrap_err(), Errno::NXIO);
        for target in [outside.path().join("victim"), outside.path().to_owned()] {
            std::fs::remove_file(&path).unwrap();
            symlink(target, &path).unwrap();
            assert_eq!(served.open_node(number, OFlags::RDONLY).unwrap_err(), Errno::LOOP);
            assert_eq!(served.open_directory(number).unwrap_err(), Errno::NOTDIR);
        }
    }
}

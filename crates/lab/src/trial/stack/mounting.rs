//! Mounts the filesystem under test, makes it again, syncs it, and unmounts it.

use std::os::fd::OwnedFd;
use std::path::Path;

use fsverdict_judgement::journal::Facts;
use fsverdict_linux::host::root::Root;
use fsverdict_linux::host::{caches, mounts, syscall};

use super::super::above::BELOW;
use super::super::error::TrialError;
use super::super::programs::Line;
use super::{MOUNT, PLACE, Stack};

impl Stack<'_> {
    pub(in super::super) fn mount_filesystem(&mut self) -> Result<(), TrialError> {
        if self.in_folder() {
            let shown = mounts::bind_mount(Path::new(PLACE), Path::new(MOUNT));
            self.mounted = shown.is_ok();
            return shown.map_err(TrialError::host_error);
        }
        self.import_pool()?;
        self.run_required(Line::Mount)?;
        self.mounted = true;
        mounts::forbid_devices(Path::new(self.filesystem_mount())).map_err(TrialError::host_error)?;
        self.run_required(Line::Cleaner)?;
        self.cleaner = self.programs.cleaner().is_some();
        self.show_above()
    }

    /// Makes the unmounted filesystem again on a discarded device; a disk may not support discarding.
    pub(in super::super) fn make_anew(&mut self) -> Result<(), TrialError> {
        self.check_device()?;
        for top in self.top_devices() {
            let open = std::fs::OpenOptions::new().write(true).open(&top.path);
            let file = open.map_err(TrialError::io_error("open the device"))?;
            let size = rustix::fs::seek(&file, rustix::fs::SeekFrom::End(0))
                .map_err(|errno| TrialError::io_error("learn the size of the device")(errno.into()))?;
            let discarded = syscall::discard_range(&file, size).is_ok().to_string();
            self.sink.send_facts(Facts::from([("device.discarded_again".to_owned(), discarded)]));
        }
        self.run_mkfs()
    }

    /// Mounts the filesystem again after a moment in which another program may have replaced the device.
    pub(in super::super) fn mount_again(&mut self) -> Result<(), TrialError> {
        self.check_device()?;
        self.mount_filesystem()
    }

    pub(in super::super) fn unmount_filesystem(&mut self) -> Result<(), TrialError> {
        self.hide_above()?;
        self.watch_cleaner();
        if self.cleaner {
            self.stop_cleaner();
        }
        self.run_required(Line::Unmount)?;
        self.mounted = false;
        self.export_pool()
    }

    /// Prepares a cold start in a folder as far as possible: the folder stays mounted.
    pub(in super::super) fn forget_folder(&mut self, phase: &str) -> Result<(), TrialError> {
        self.sync_filesystem()?;
        if caches::drop_caches(&Root::new("/")).is_ok() {
            return Ok(());
        }
        let text = "not quite cold: without root the contents of files were put out of the cache, but not names and attributes";
        self.sink.send_caution(phase, text);
        caches::forget_contents(Path::new(MOUNT)).map_err(TrialError::io_error("put files out of the cache"))
    }

    /// Makes everything written to the mounted filesystem durable: syncfs, and then a flush of the device itself,
    /// because some filesystems (jfs, and ext2 with its own driver) sync without flushing the device's cache.
    pub(in super::super) fn sync_filesystem(&mut self) -> Result<(), TrialError> {
        let folder = open_folder(Path::new(MOUNT))?;
        sync_all(&folder)?;
        if self.server.is_some() {
            // FUSE hands a sync of all on to virtiofs alone (`fuse_sync_fs` in fs/fuse/inode.c).
            sync_all(&open_folder(Path::new(BELOW))?)?;
        }
        if self.in_folder() { Ok(()) } else { self.sync_device() }
    }

    pub(in super::super) fn resolved_mount(&self) -> Option<fsverdict_linux::host::procfs::Mount> {
        mounts::mount_at(Path::new(self.filesystem_mount()))
    }

    /// After an error it may still be mounted.
    pub(in super::super) fn unmount_left(&mut self) -> Result<(), TrialError> {
        // A program of it would keep the filesystem busy.
        let finished = self.finish_beside().map(drop);
        let unmounted = if self.mounted { self.unmount_filesystem() } else { Ok(()) };
        unmounted.and(self.export_pool()).and(finished)
    }
}

fn sync_all(folder: &OwnedFd) -> Result<(), TrialError> {
    rustix::fs::syncfs(folder).map_err(|errno| TrialError::io_error("make the data durable")(errno.into()))
}

fn open_folder(path: &Path) -> Result<OwnedFd, TrialError> {
    use rustix::fs::{Mode, OFlags, open};
    open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
        .map_err(|errno| TrialError::io_error("open the mount point")(errno.into()))
}

//! Calls of a trace that take more than one system call to make again: syncs of directories, files without a name, and copies.

use std::ffi::CString;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Instant;

use fsverdict_folders::path_by_number;
use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use rustix::io::Errno;

use crate::dataset::stat_entry;

use super::mover::CallFailure;
use super::replay::Replayer;

/// The first character of the names of files that stand for unnamed ones.
pub(super) const STAND_IN: u8 = b'~';
/// The errors of a filesystem without unnamed files (open(2), O_TMPFILE).
const NO_UNNAMED: [Errno; 4] = [Errno::OPNOTSUPP, Errno::ISDIR, Errno::NOENT, Errno::INVAL];
/// The errors of a filesystem that cannot share blocks (ioctl_ficlone(2)).
const NO_SHARING: [Errno; 5] = [Errno::OPNOTSUPP, Errno::XDEV, Errno::INVAL, Errno::NOTTY, Errno::NOSYS];

impl Replayer<'_> {
    pub(super) fn sync_directory(&mut self, name: u32) -> Result<(), CallFailure> {
        self.keep_open(name)?;
        let start = Instant::now();
        rustix::fs::fsync(self.folder_descriptor(name)).map_err(|errno| ("fsync a directory in", errno))?;
        self.record_sync(start);
        Ok(())
    }

    /// Looks for a name in a directory that is not open, by its path.
    pub(super) fn look_by_path(&mut self, name: u32) -> Result<(), CallFailure> {
        let mut parts = Vec::new();
        let mut at = name;
        while at > 0 {
            parts.push(self.name_text(at).to_bytes());
            at = self.trace.names().get(at as usize - 1).map_or(0, |name| name.parent);
        }
        parts.reverse();
        // No number has a zero byte in it.
        let path = CString::new(parts.join(&b'/')).unwrap_or_default();
        let start = Instant::now();
        match stat_entry(self.root, &path) {
            Ok(_) | Err(Errno::NOENT | Errno::NOTDIR) => {}
            Err(errno) => return Err(("look at a file in", errno)),
        }
        self.calls.record_since(start);
        self.names.record_since(start);
        Ok(())
    }

    pub(super) fn close_file(&mut self, file: u32) -> Result<(), CallFailure> {
        let closed = self.open.remove(&file);
        let start = Instant::now();
        drop(closed);
        self.calls.record_since(start);
        if let Some((directory, text)) = self.stand_ins.remove(&file) {
            self.keep_open(directory)?;
            rustix::fs::unlinkat(self.folder_descriptor(directory), &text, AtFlags::empty())
                .map_err(|errno| ("remove a file without a name from", errno))?;
        }
        Ok(())
    }

    /// Opens a file without a name; where the filesystem has none, one with a name that goes when it is closed.
    pub(super) fn open_unnamed(&mut self, file: u32, directory: u32) -> Result<(), CallFailure> {
        self.keep_open(directory)?;
        let how = OFlags::RDWR | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(0o644);
        let start = Instant::now();
        let opened =
            match rustix::fs::openat(self.folder_descriptor(directory), c".", how | OFlags::TMPFILE, mode) {
                Err(errno) if NO_UNNAMED.contains(&errno) => {
                    let text = CString::new(format!("{}{file}", char::from(STAND_IN))).unwrap_or_default();
                    let how = how | OFlags::CREATE | OFlags::EXCL;
                    let opened = rustix::fs::openat(self.folder_descriptor(directory), &text, how, mode);
                    self.stand_ins.insert(file, (directory, text));
                    opened
                }
                opened => opened,
            };
        let opened = opened.map_err(|errno| ("open a file without a name in", errno))?;
        self.calls.record_since(start);
        self.names.record_since(start);
        let identity = self.contents.next().copied().unwrap_or_default();
        self.open.insert(file, (opened, identity));
        Ok(())
    }

    /// Gives an open file a name, by the link in /proc that open(2) describes.
    pub(super) fn link_open(&mut self, file: u32, name: u32) -> Result<(), CallFailure> {
        let parent = self.open_parent(name)?;
        let fails = |errno| ("link an open file in", errno);
        let (folder, text) = (self.folder_descriptor(parent), self.name_text(name));
        let start = Instant::now();
        if let Some((directory, stand_in)) = self.stand_ins.get(&file) {
            // Its directory was opened with it, and stays where it is.
            let above = self.folder_descriptor(*directory);
            rustix::fs::renameat(above, stand_in, folder, text).map_err(fails)?;
            self.stand_ins.remove(&file);
        } else {
            let (opened, _) = self.open.get(&file).ok_or(fails(Errno::BADF))?;
            rustix::fs::linkat(CWD, path_by_number(opened), folder, text, AtFlags::SYMLINK_FOLLOW)
                .map_err(fails)?;
        }
        self.calls.record_since(start);
        self.names.record_since(start);
        Ok(())
    }

    /// Copies bytes from file to file in the kernel; where blocks are to be shared and cannot be, by copy_file_range(2).
    pub(super) fn copy_range(
        &mut self,
        from: (u32, u64),
        to: (u32, u64),
        length: u64,
        shared: bool,
    ) -> Result<(), CallFailure> {
        let fails = |errno| ("copy bytes in", errno);
        let get = |file: u32| self.open.get(&file).map(|(opened, _)| opened).ok_or(fails(Errno::BADF));
        let (source, target) = (get(from.0)?, get(to.0)?);
        let start = Instant::now();
        let copied = match shared {
            true => match rustix::fs::ioctl_ficlone(target, source) {
                Err(errno) if NO_SHARING.contains(&errno) => {
                    copy_range((source, from.1), (target, to.1), length)
                }
                done => done,
            },
            false => copy_range((source, from.1), (target, to.1), length),
        };
        copied.map_err(fails)?;
        self.calls.record_since(start);
        (self.mover.read, self.mover.written) = (self.mover.read + length, self.mover.written + length);
        Ok(())
    }
}

fn copy_range(from: (&OwnedFd, u64), to: (&OwnedFd, u64), length: u64) -> Result<(), Errno> {
    let (mut at_source, mut at_target) = (from.1, to.1);
    let mut bytes_left = length;
    while bytes_left > 0 {
        let some = usize::try_from(bytes_left).unwrap_or(usize::MAX).min(1 << 30);
        let source = Some(&mut at_source);
        let moved =
            rustix::fs::copy_file_range(from.0.as_fd(), source, to.0.as_fd(), Some(&mut at_target), some)?;
        if moved == 0 {
            // The source is shorter than the trace says.
            return Err(Errno::NODATA);
        }
        bytes_left -= moved as u64;
    }
    Ok(())
}

//! Copies single files, symbolic links and hard links into a staging folder.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;
use xxhash_rust::xxh3::Xxh3;

use super::copy::{Copier, Trouble, inode_identity, status_of, timestamps_of};
use super::descriptor::{stat_entry, type_of};
use super::transfer::{read_some, write_fully};
use super::tree::EntryKind;

impl Copier<'_> {
    /// Copies an entry that is not, or not known to be, a regular file; returns whether it is a directory.
    pub(super) fn copy_special(
        &mut self,
        source: BorrowedFd<'_>,
        target: BorrowedFd<'_>,
        name: &CStr,
        taken: bool,
        path: &[u8],
        length: usize,
    ) -> Result<bool, Trouble> {
        let status = stat_entry(source, name).map_err(Trouble::Source)?;
        match type_of(&status) {
            FileType::Directory => return Ok(true),
            _ if !taken => {}
            FileType::RegularFile => self.copy_file(source, target, name, path, length)?,
            FileType::Symlink => {
                let to = rustix::fs::readlinkat(source, name, Vec::new()).map_err(Trouble::Source)?;
                rustix::fs::symlinkat(&to, target, name)
                    .and_then(|()| {
                        rustix::fs::utimensat(
                            target,
                            name,
                            &timestamps_of(&status),
                            AtFlags::SYMLINK_NOFOLLOW,
                        )
                    })
                    .map_err(|errno| Trouble::Target("make the symbolic link", errno))?;
                let target_name = self.record_name(&to)?;
                self.record_entry(name, Some(target_name), EntryKind::Symlink, 0, 0o777)?;
            }
            _ => self.copied.skipped.special += 1,
        }
        Ok(false)
    }

    pub(super) fn copy_file(
        &mut self,
        source: BorrowedFd<'_>,
        target: BorrowedFd<'_>,
        name: &CStr,
        path: &[u8],
        length: usize,
    ) -> Result<(), Trouble> {
        let Some(most) = self.selection.bytes_of(&path[..length], path) else { return Ok(()) };
        // O_NONBLOCK: the file may have become a pipe meanwhile. The file is opened before it is examined: two lookups
        // by name would take a guest twice as long.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let from = rustix::fs::openat(source, name, flags, Mode::empty()).map_err(Trouble::Source)?;
        let status = &status_of(from.as_fd()).map_err(Trouble::Source)?;
        if type_of(status) != FileType::RegularFile {
            return Err(Trouble::Source(Errno::NOENT));
        }
        let mode = status.stx_mode & 0o777;
        if let Some((first, number)) = self.linked.get(&inode_identity(status)) {
            let number = *number;
            rustix::fs::linkat(self.root, first, target, name, AtFlags::empty())
                .map_err(|errno| Trouble::Target("make the hard link", errno))?;
            let size = self.copied.tree.entries[number as usize].size;
            return self.record_entry(name, Some(number), EntryKind::HardLink, size, mode).map(drop);
        }
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let wanted = Mode::from_raw_mode(mode.into());
        let to = rustix::fs::openat(target, name, flags, wanted)
            .map_err(|errno| Trouble::Target("create", errno))?;
        let (mut digest, mut size) = (Xxh3::new(), 0);
        loop {
            match read_some(from.as_fd(), &mut self.buffer) {
                Ok(0) => break,
                Ok(count) => {
                    let wanted = usize::try_from(most - size).map_or(count, |left| count.min(left));
                    let bytes = &self.buffer[..wanted];
                    write_fully(to.as_fd(), bytes).map_err(|errno| Trouble::Target("write", errno))?;
                    digest.update(bytes);
                    size += wanted as u64;
                    // End of file, without another read; some network filesystems return short reads elsewhere.
                    if size == most || count < self.buffer.len() && size == status.stx_size {
                        break;
                    }
                }
                Err(errno) => {
                    rustix::fs::unlinkat(target, name, AtFlags::empty())
                        .map_err(|errno| Trouble::Target("remove the half-copied", errno))?;
                    return Err(Trouble::Source(errno));
                }
            }
        }
        let number = self.record_entry(name, None, EntryKind::File, size, mode)?;
        self.copied.digests[number as usize] = digest.digest();
        let masked = if wanted.intersects(self.mask) { rustix::fs::fchmod(&to, wanted) } else { Ok(()) };
        masked
            .and_then(|()| rustix::fs::futimens(&to, &timestamps_of(status)))
            .map_err(|errno| Trouble::Target("set mode and times of", errno))?;
        if status.stx_nlink > 1 {
            // A path cannot hold a NUL: it was put together from names the kernel gave.
            let first = CString::new(path).map_err(|_| Trouble::Source(Errno::INVAL))?;
            self.linked.insert(inode_identity(status), (first, number));
        }
        Ok(())
    }
}

//! The requests of the kernel, each carried out on the served folder and answered with the result.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, SystemTime};

use fuser::{
    BsdFileFlags, CopyFileRangeFlags, Errno, FileAttr, FileHandle, Filesystem, FopenFlags, Generation,
    INodeNo, InitFlags, KernelConfig, LockOwner, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData,
    ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyLseek, ReplyOpen, ReplyStatfs, ReplyWrite, ReplyXattr,
    Request, TimeOrNow, WriteFlags,
};
use rustix::fs::{
    AtFlags, CWD, FallocateFlags, FileType, Gid, Mode, OFlags, SeekFrom, Timestamps, Uid, XattrFlags,
};

use super::attributes::{from_fuse_device, to_file_type, to_timespec};
use super::known_files::EntryName;
use super::served::{ServedFolder, lock};

/// How long the kernel may cache an answer (the default of libfuse, `mount.fuse(8)`).
const BELIEVED: Duration = Duration::from_secs(1);
/// Bytes of the largest request: Linux's maximum (`FUSE_MAX_MAX_PAGES`, 256 pages).
const LARGEST: u32 = 1 << 20;
/// Bytes of the largest extended attribute, and of the longest list of their names (`XATTR_SIZE_MAX`, `XATTR_LIST_MAX`).
const LARGEST_ATTRIBUTE: u32 = 65536;
const ONLY: Generation = Generation(0);

type Answer<T> = Result<T, rustix::io::Errno>;

fn to_fuse_errno(error: rustix::io::Errno) -> Errno {
    Errno::from_i32(error.raw_os_error())
}

fn to_entry_name(parent: INodeNo, name: &OsStr) -> EntryName<'_> {
    EntryName { parent: parent.0, name }
}

/// Answers with the result or the error.
macro_rules! answer {
    ($reply:ident, $outcome:expr, $value:pat => $said:expr) => {
        match $outcome {
            Ok($value) => $said,
            Err(error) => $reply.error(to_fuse_errno(error)),
        }
    };
}

impl ServedFolder {
    /// Creates an entry with this name, and changes its owner to the requester.
    fn make_entry(
        &self,
        request: &Request,
        at: &EntryName<'_>,
        mode: u32,
        make: impl FnOnce(&OwnedFd) -> Answer<()>,
    ) -> Answer<FileAttr> {
        let directory = self.open_directory(at.parent)?;
        make(&directory)?;
        self.give_to_requester(request, &directory, at.name, mode)?;
        self.look_up_entry(at, &directory)
    }

    /// The flags for opening a file on behalf of a client that uses these flags. The kernel sends separate requests to
    /// create, truncate and append; direct I/O would need aligned memory.
    fn open_flags(&self, asked: i32) -> OFlags {
        let asked = OFlags::from_bits_retain(asked.cast_unsigned());
        let mut flags = asked
            - (OFlags::CREATE
                | OFlags::EXCL
                | OFlags::TRUNC
                | OFlags::NOCTTY
                | OFlags::DIRECT
                | OFlags::APPEND);
        if self.writeback && flags.contains(OFlags::WRONLY) {
            // The kernel reads the rest of a page before it changes some of it.
            flags = (flags - OFlags::WRONLY) | OFlags::RDWR;
        }
        flags
    }

    fn change_attributes(
        &self,
        number: u64,
        handle: Option<u64>,
        mode: Option<u32>,
        owner: (Option<u32>, Option<u32>),
        size: Option<u64>,
        times: (Option<TimeOrNow>, Option<TimeOrNow>),
    ) -> Answer<FileAttr> {
        let file = self.reach_open(number, handle)?;
        let path = file.path();
        if let Some(mode) = mode {
            rustix::fs::chmod(&path, Mode::from_raw_mode(mode))?;
        }
        if owner != (None, None) {
            let (user, group) = (owner.0.map(Uid::from_raw), owner.1.map(Gid::from_raw));
            rustix::fs::chown(&path, user, group)?;
        }
        if let Some(size) = size {
            let written = rustix::fs::open(&path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
            rustix::fs::ftruncate(written, size)?;
        }
        if times.0.is_some() || times.1.is_some() {
            let wanted =
                Timestamps { last_access: to_timespec(times.0), last_modification: to_timespec(times.1) };
            rustix::fs::utimensat(CWD, &path, &wanted, AtFlags::empty())?;
        }
        self.attributes(number, handle)
    }

    fn create_file(
        &self,
        request: &Request,
        at: &EntryName<'_>,
        mode: u32,
        flags: i32,
    ) -> Answer<(FileAttr, u64)> {
        let directory = self.open_directory(at.parent)?;
        let exclusive = OFlags::from_bits_retain(flags.cast_unsigned()) & OFlags::EXCL;
        // A FIFO of this name would keep this thread waiting for its other end.
        let allowed = OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let flags = self.open_flags(flags) | exclusive | allowed;
        let file = rustix::fs::openat(&directory, at.name, flags, Mode::from_raw_mode(mode))?;
        self.give_to_requester(request, &directory, at.name, mode)?;
        let entry = self.look_up_entry(at, &directory)?;
        Ok((entry, self.hold_open(entry.ino.0, file)))
    }

    /// Answers of all xattr calls: how much there is where no room was given, else all of it.
    fn reply_with_attribute(reply: ReplyXattr, room: u32, read: impl FnOnce(&mut [u8]) -> Answer<usize>) {
        let mut value = vec![0; room.min(LARGEST_ATTRIBUTE) as usize];
        match read(&mut value) {
            Ok(length) if room == 0 => reply.size(u32::try_from(length).unwrap_or(u32::MAX)),
            Ok(length) => reply.data(value.get(..length).unwrap_or_default()),
            Err(error) => reply.error(to_fuse_errno(error)),
        }
    }
}

impl Filesystem for ServedFolder {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> std::io::Result<()> {
        // Smaller ones are well where a kernel has no larger.
        let _ = config.set_max_write(LARGEST);
        let _ = config.add_capabilities(InitFlags::FUSE_PARALLEL_DIROPS);
        if self.writeback {
            config
                .add_capabilities(InitFlags::FUSE_WRITEBACK_CACHE)
                .map_err(|_| std::io::Error::other("this kernel has no FUSE_WRITEBACK_CACHE"))?;
        }
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let attributes = self
            .open_directory(parent.0)
            .and_then(|directory| self.look_up_entry(&to_entry_name(parent, name), &directory));
        answer!(reply, attributes, found => reply.entry(&BELIEVED, &found, ONLY));
    }

    fn forget(&self, _: &Request, number: INodeNo, times: u64) {
        ServedFolder::forget(self, number.0, times);
    }

    fn getattr(&self, _: &Request, number: INodeNo, handle: Option<FileHandle>, reply: ReplyAttr) {
        let attributes = self.attributes(number.0, handle.map(|handle| handle.0));
        answer!(reply, attributes, found => reply.attr(&BELIEVED, &found));
    }

    fn setattr(
        &self,
        _: &Request,
        number: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size: Option<u64>,
        atime: Option<TimeOrNow>,
        mtime: Option<TimeOrNow>,
        _: Option<SystemTime>,
        handle: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let handle = handle.map(|handle| handle.0);
        let changed = self.change_attributes(number.0, handle, mode, (uid, gid), size, (atime, mtime));
        answer!(reply, changed, changed => reply.attr(&BELIEVED, &changed));
    }

    fn readlink(&self, _: &Request, number: INodeNo, reply: ReplyData) {
        let target = self.reach_file(number.0).and_then(|link| rustix::fs::readlinkat(link, "", Vec::new()));
        answer!(reply, target, target => reply.data(target.as_bytes()));
    }

    fn mknod(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _: u32,
        device: u32,
        reply: ReplyEntry,
    ) {
        let (sort, permissions) = (FileType::from_raw_mode(mode), Mode::from_raw_mode(mode));
        let made = self.make_entry(request, &to_entry_name(parent, name), mode, |directory| {
            rustix::fs::mknodat(directory, name, sort, permissions, from_fuse_device(device))
        });
        answer!(reply, made, made => reply.entry(&BELIEVED, &made, ONLY));
    }

    fn mkdir(&self, request: &Request, parent: INodeNo, name: &OsStr, mode: u32, _: u32, reply: ReplyEntry) {
        let made = self.make_entry(request, &to_entry_name(parent, name), mode, |directory| {
            rustix::fs::mkdirat(directory, name, Mode::from_raw_mode(mode))
        });
        answer!(reply, made, made => reply.entry(&BELIEVED, &made, ONLY));
    }

    fn unlink(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let removed = self.remove_entry(&to_entry_name(parent, name), |directory| {
            rustix::fs::unlinkat(directory, name, AtFlags::empty())
        });
        answer!(reply, removed, () => reply.ok());
    }

    fn rmdir(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let removed = self.remove_entry(&to_entry_name(parent, name), |directory| {
            rustix::fs::unlinkat(directory, name, AtFlags::REMOVEDIR)
        });
        answer!(reply, removed, () => reply.ok());
    }

    fn symlink(&self, request: &Request, parent: INodeNo, name: &OsStr, target: &Path, reply: ReplyEntry) {
        let made = self.make_entry(request, &to_entry_name(parent, name), 0, |directory| {
            rustix::fs::symlinkat(target, directory, name)
        });
        answer!(reply, made, made => reply.entry(&BELIEVED, &made, ONLY));
    }

    fn rename(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        to: INodeNo,
        new_name: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let exchange = flags.contains(RenameFlags::RENAME_EXCHANGE);
        let flags = rustix::fs::RenameFlags::from_bits_retain(flags.bits());
        let renamed = ServedFolder::rename_entry(
            self,
            &to_entry_name(parent, name),
            &to_entry_name(to, new_name),
            exchange,
            |old, new| rustix::fs::renameat_with(old, name, new, new_name, flags),
        );
        answer!(reply, renamed, () => reply.ok());
    }

    fn link(&self, _: &Request, number: INodeNo, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let linked = self.reach_file(number.0).and_then(|file| {
            let directory = self.open_directory(parent.0)?;
            rustix::fs::linkat(CWD, file.path(), &directory, name, AtFlags::SYMLINK_FOLLOW)?;
            self.look_up_entry(&to_entry_name(parent, name), &directory)
        });
        answer!(reply, linked, linked => reply.entry(&BELIEVED, &linked, ONLY));
    }

    fn open(&self, _: &Request, number: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        let opened = ServedFolder::open_node(self, number.0, self.open_flags(flags.0));
        answer!(reply, opened, file => {
            reply.opened(FileHandle(self.hold_open(number.0, file)), FopenFlags::empty());
        });
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let mut content = vec![0; size as usize];
        let read = self.held_file(handle.0).and_then(|open| {
            let mut length = 0;
            // The kernel takes a short answer for the end of the file.
            while let Some(rest) = content.get_mut(length..).filter(|rest| !rest.is_empty()) {
                match rustix::io::pread(&open.file, rest, offset + length as u64)? {
                    0 => break,
                    more => length += more,
                }
            }
            Ok(length)
        });
        answer!(reply, read, length => reply.data(content.get(..length).unwrap_or_default()));
    }

    fn write(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let written = self.held_file(handle.0).and_then(|open| rustix::io::pwrite(&open.file, data, offset));
        answer!(reply, written, length => reply.written(u32::try_from(length).unwrap_or(u32::MAX)));
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }

    fn release(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        _: OpenFlags,
        _: Option<LockOwner>,
        _: bool,
        reply: ReplyEmpty,
    ) {
        ServedFolder::release(self, handle.0);
        reply.ok();
    }

    fn fsync(&self, _: &Request, _: INodeNo, handle: FileHandle, only_data: bool, reply: ReplyEmpty) {
        let synced = self.held_file(handle.0).and_then(|open| {
            if only_data { rustix::fs::fdatasync(&open.file) } else { rustix::fs::fsync(&open.file) }
        });
        answer!(reply, synced, () => reply.ok());
    }

    fn opendir(&self, _: &Request, number: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        let opened = ServedFolder::open_node(self, number.0, OFlags::RDONLY | OFlags::DIRECTORY);
        answer!(reply, opened, file => {
            reply.opened(FileHandle(self.hold_open(number.0, file)), FopenFlags::empty());
        });
    }

    fn readdir(&self, _: &Request, _: INodeNo, handle: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        let listed = self.held_file(handle.0).and_then(|open| {
            if offset == 0 {
                open.read_list()?;
            }
            let listed = lock(&open.listed);
            let after = usize::try_from(offset).unwrap_or(usize::MAX);
            for (at, one) in listed.iter().enumerate().skip(after) {
                if reply.add(INodeNo(one.number), at as u64 + 1, to_file_type(one.kind), &one.name) {
                    break;
                }
            }
            Ok(())
        });
        answer!(reply, listed, () => reply.ok());
    }

    fn releasedir(&self, _: &Request, _: INodeNo, handle: FileHandle, _: OpenFlags, reply: ReplyEmpty) {
        ServedFolder::release(self, handle.0);
        reply.ok();
    }

    fn fsyncdir(
        &self,
        request: &Request,
        number: INodeNo,
        handle: FileHandle,
        only_data: bool,
        reply: ReplyEmpty,
    ) {
        self.fsync(request, number, handle, only_data, reply);
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        answer!(reply, rustix::fs::fstatvfs(self.root()), found => {
            let narrow = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
            let (size, name, fragment) = (narrow(found.f_bsize), narrow(found.f_namemax), narrow(found.f_frsize));
            let (blocks, files) = ((found.f_blocks, found.f_bfree, found.f_bavail), (found.f_files, found.f_ffree));
            reply.statfs(blocks.0, blocks.1, blocks.2, files.0, files.1, size, name, fragment);
        });
    }

    fn setxattr(
        &self,
        _: &Request,
        number: INodeNo,
        name: &OsStr,
        value: &[u8],
        flags: i32,
        _: u32,
        reply: ReplyEmpty,
    ) {
        let flags = XattrFlags::from_bits_retain(flags.cast_unsigned());
        let set =
            self.reach_file(number.0).and_then(|file| rustix::fs::setxattr(file.path(), name, value, flags));
        answer!(reply, set, () => reply.ok());
    }

    fn getxattr(&self, _: &Request, number: INodeNo, name: &OsStr, room: u32, reply: ReplyXattr) {
        Self::reply_with_attribute(reply, room, |value| {
            rustix::fs::getxattr(self.reach_file(number.0)?.path(), name, value)
        });
    }

    fn listxattr(&self, _: &Request, number: INodeNo, room: u32, reply: ReplyXattr) {
        Self::reply_with_attribute(reply, room, |names| {
            rustix::fs::listxattr(self.reach_file(number.0)?.path(), names)
        });
    }

    fn removexattr(&self, _: &Request, number: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let removed = self.reach_file(number.0).and_then(|file| rustix::fs::removexattr(file.path(), name));
        answer!(reply, removed, () => reply.ok());
    }

    fn create(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _: u32,
        flags: i32,
        reply: ReplyCreate,
    ) {
        answer!(reply, self.create_file(request, &to_entry_name(parent, name), mode, flags), (made, handle) => {
            reply.created(&BELIEVED, &made, ONLY, FileHandle(handle), FopenFlags::empty());
        });
    }

    fn fallocate(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        let mode = FallocateFlags::from_bits_retain(mode.cast_unsigned());
        let set =
            self.held_file(handle.0).and_then(|open| rustix::fs::fallocate(&open.file, mode, offset, length));
        answer!(reply, set, () => reply.ok());
    }

    fn lseek(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        offset: i64,
        whence: i32,
        reply: ReplyLseek,
    ) {
        let from = offset.cast_unsigned();
        // Of these two alone the kernel cannot tell by itself (lseek(2)).
        let to = match whence {
            libc::SEEK_DATA => SeekFrom::Data(from),
            libc::SEEK_HOLE => SeekFrom::Hole(from),
            _ => return reply.error(Errno::EINVAL),
        };
        let position = self.held_file(handle.0).and_then(|open| rustix::fs::seek(&open.file, to));
        answer!(reply, position, position => reply.offset(position.cast_signed()));
    }

    fn copy_file_range(
        &self,
        _: &Request,
        _: INodeNo,
        from: FileHandle,
        mut offset_from: u64,
        _: INodeNo,
        to: FileHandle,
        mut offset_to: u64,
        length: u64,
        _: CopyFileRangeFlags,
        reply: ReplyWrite,
    ) {
        let length = usize::try_from(length.min(u64::from(u32::MAX))).unwrap_or(0);
        let copied = self.held_file(from.0).and_then(|source| {
            let target = self.held_file(to.0)?;
            let (from, to) = (Some(&mut offset_from), Some(&mut offset_to));
            rustix::fs::copy_file_range(&source.file, from, &target.file, to, length)
        });
        answer!(reply, copied, length => reply.written(u32::try_from(length).unwrap_or(u32::MAX)));
    }
}

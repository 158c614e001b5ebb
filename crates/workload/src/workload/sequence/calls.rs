//! Makes each call of a sequence as a system call.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use fsverdict_folders::path_by_number;
use rustix::fs::{AtFlags, FallocateFlags, FileType, Mode, OFlags, RenameFlags, XattrFlags};
use rustix::io::Errno;
use vm_memory::{FileOffset, MmapRegion, VolatileMemory};

use super::contents::fill_pattern;
use super::model::SequenceModel;
use super::place::SequencePlace;
use super::step::{SequenceCall, SequencePersist, SequenceStep};

/// The attribute that sequences set.
pub(super) const ATTRIBUTE_NAME: &str = "user.fsverdict";

const FILE: OFlags = OFlags::NOFOLLOW.union(OFlags::CLOEXEC);

/// Makes one call; `model` is the state before it, and `open` the file or directory that an earlier call left open. Returns
/// the error of the system call.
pub(super) fn make_call(
    root: BorrowedFd<'_>,
    call: SequenceCall,
    model: &SequenceModel,
    open: &mut Option<OwnedFd>,
) -> Result<(), Errno> {
    match call {
        SequenceCall::Step(one) => {
            if let Some(at) = one.places().first().filter(|_| one.leaves_open()) {
                *open = Some(open_place(root, *at, OFlags::RDONLY)?);
            }
            make_step(root, one, model)
        }
        SequenceCall::Persist(SequencePersist::FsyncOpen) => {
            rustix::fs::fsync(open.as_ref().ok_or(Errno::BADF)?)
        }
        SequenceCall::Persist(SequencePersist::Sync) => rustix::fs::syncfs(root),
        SequenceCall::Persist(SequencePersist::Fsync(at)) => {
            rustix::fs::fsync(open_place(root, at, OFlags::RDONLY)?)
        }
        SequenceCall::Persist(SequencePersist::Fdatasync(at)) => {
            rustix::fs::fdatasync(open_place(root, at, OFlags::RDONLY)?)
        }
    }
}

/// Whether this error means that the filesystem or its kernel does not support the call.
pub(super) fn is_refusal(errno: Errno) -> bool {
    matches!(errno, Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL | Errno::NOTTY | Errno::NODEV)
}

/// Opens an existing file.
fn open_place(root: BorrowedFd<'_>, at: SequencePlace, access: OFlags) -> Result<OwnedFd, Errno> {
    rustix::fs::openat(root, at.path(), access | FILE, Mode::empty())
}

fn make_step(root: BorrowedFd<'_>, step: SequenceStep, model: &SequenceModel) -> Result<(), Errno> {
    use SequenceStep as S;
    let mode = Mode::from_raw_mode(0o644);
    match step {
        S::Create(at) => {
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | FILE;
            rustix::fs::openat(root, at.path(), flags, mode).map(drop)
        }
        S::MakeDirectory(at) => rustix::fs::mkdirat(root, at.path(), Mode::from_raw_mode(0o755)),
        S::Symlink(at) => rustix::fs::symlinkat("foo", root, at.path()),
        S::MakeFifo(at) => rustix::fs::mknodat(root, at.path(), FileType::Fifo, mode, 0),
        S::LinkUnnamed(at) => link_unnamed(root, at),
        S::Link(from, to) => rustix::fs::linkat(root, from.path(), root, to.path(), AtFlags::empty()),
        S::Unlink(at) | S::UnlinkOpen(at) => rustix::fs::unlinkat(root, at.path(), AtFlags::empty()),
        S::RemoveDirectory(at) | S::RemoveOpenDirectory(at) => {
            rustix::fs::unlinkat(root, at.path(), AtFlags::REMOVEDIR)
        }
        S::Rename(from, to) => rustix::fs::renameat(root, from.path(), root, to.path()),
        S::Exchange(one, other) => {
            rustix::fs::renameat_with(root, one.path(), root, other.path(), RenameFlags::EXCHANGE)
        }
        S::Write(at, offset, length) => write_range(root, at, OFlags::empty(), model, offset, length),
        S::WriteDirect(at, offset, length) => write_range(root, at, OFlags::DIRECT, model, offset, length),
        S::WriteMapped(at, offset, length) => write_mapped(root, at, model, offset, length),
        S::Clone(from, to) => rustix::fs::ioctl_ficlone(
            open_place(root, to, OFlags::WRONLY)?,
            open_place(root, from, OFlags::RDONLY)?,
        ),
        S::Append(at, length) => {
            let end = model.node(at).map_or(0, |node| node.content.size);
            write_range(root, at, OFlags::empty(), model, end as u32, length)
        }
        S::Truncate(at, size) => {
            rustix::fs::ftruncate(open_place(root, at, OFlags::WRONLY)?, u64::from(size))
        }
        S::Allocate(at, offset, length, keep) => {
            let flags = if keep { FallocateFlags::KEEP_SIZE } else { FallocateFlags::empty() };
            allocate_range(root, at, flags, offset, length)
        }
        S::PunchHole(at, offset, length) => {
            allocate_range(root, at, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, offset, length)
        }
        S::ZeroRange(at, offset, length, keep) => {
            let keep_size = if keep { FallocateFlags::KEEP_SIZE } else { FallocateFlags::empty() };
            allocate_range(root, at, FallocateFlags::ZERO_RANGE | keep_size, offset, length)
        }
        S::SetAttribute(at, value) => set_attribute(root, at, value),
        S::RemoveAttribute(at) => {
            rustix::fs::fremovexattr(open_place(root, at, OFlags::RDONLY)?, ATTRIBUTE_NAME)
        }
    }
}

pub(super) fn set_attribute(root: BorrowedFd<'_>, at: SequencePlace, value: u8) -> Result<(), Errno> {
    let file = open_place(root, at, OFlags::RDONLY)?;
    rustix::fs::fsetxattr(file, ATTRIBUTE_NAME, &attribute_bytes(value), XattrFlags::empty())
}

/// An attribute's value: longer than fits into a small inode.
pub(super) fn attribute_bytes(value: u8) -> [u8; 40] {
    [value; 40]
}

fn allocate_range(
    root: BorrowedFd<'_>,
    at: SequencePlace,
    flags: FallocateFlags,
    offset: u32,
    length: u32,
) -> Result<(), Errno> {
    rustix::fs::fallocate(open_place(root, at, OFlags::WRONLY)?, flags, u64::from(offset), u64::from(length))
}

fn write_range(
    root: BorrowedFd<'_>,
    at: SequencePlace,
    flags: OFlags,
    model: &SequenceModel,
    offset: u32,
    length: u32,
) -> Result<(), Errno> {
    let file = open_place(root, at, OFlags::WRONLY | flags)?;
    let (with, length) = (model.next_fill(), length as usize);
    // O_DIRECT requires memory that is aligned to a block.
    let mut room = vec![0; length + 4096];
    let begin = room.as_ptr().align_offset(4096).min(4096);
    let bytes = room.get_mut(begin..begin + length).unwrap_or_default();
    fill_pattern(bytes, with, u64::from(offset));
    let mut written = 0;
    while let Some(rest) = bytes.get(written..).filter(|rest| !rest.is_empty()) {
        match rustix::io::pwrite(file.as_fd(), rest, u64::from(offset) + written as u64)? {
            0 => return Err(Errno::IO),
            count => written += count,
        }
    }
    Ok(())
}

fn write_mapped(
    root: BorrowedFd<'_>,
    at: SequencePlace,
    model: &SequenceModel,
    offset: u32,
    length: u32,
) -> Result<(), Errno> {
    let file = std::fs::File::from(open_place(root, at, OFlags::RDWR)?);
    let mut bytes = vec![0; length as usize];
    fill_pattern(&mut bytes, model.next_fill(), u64::from(offset));
    let mapping: MmapRegion = MmapRegion::from_file(FileOffset::new(file, u64::from(offset)), bytes.len())
        .map_err(|error| match error {
            vm_memory::mmap::MmapRegionError::Mmap(error) => {
                Errno::from_io_error(&error).unwrap_or(Errno::IO)
            }
            _ => Errno::IO,
        })?;
    mapping.as_volatile_slice().copy_from(&bytes);
    Ok(())
}

/// linkat(2) with AT_EMPTY_PATH needs a privilege, a link through /proc/self/fd does not.
fn link_unnamed(root: BorrowedFd<'_>, at: SequencePlace) -> Result<(), Errno> {
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    let file = rustix::fs::openat(root, at.parent().path(), flags, Mode::from_raw_mode(0o644))?;
    rustix::fs::linkat(rustix::fs::CWD, path_by_number(&file), root, at.path(), AtFlags::SYMLINK_FOLLOW)
}

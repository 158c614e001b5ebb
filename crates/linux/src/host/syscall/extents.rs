//! Lists the extents of a file (FS_IOC_FIEMAP, Documentation/filesystems/fiemap.rst).

#![allow(unsafe_code)]

use std::os::fd::AsFd;

use rustix::io::Result;
use rustix::ioctl::{Opcode, Updater, ioctl, opcode};

const FS_IOC_FIEMAP: Opcode = opcode::read_write::<FiemapHead>(b'f', 11);

/// How many extents are asked for at a time.
const EXTENTS_AT_ONCE: usize = 64;

/// `FIEMAP_FLAG_SYNC` of linux/fiemap.h: delayed allocations are made first.
const FIEMAP_SYNC: u32 = 1;

/// The last extent of the file.
const EXTENT_LAST: u32 = 0x1;

/// Flags of an extent without a usable position: it is not known (unknown, delayed allocation), is not that of the
/// bytes (encoded, encrypted), or belongs to a shared block (not aligned, inline, tail).
const EXTENT_NOT_PLACED: u32 = 0x2 | 0x4 | 0x8 | 0x80 | 0x100 | 0x200 | 0x400;

/// `struct fiemap` of linux/fiemap.h without its extents, which follow it.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct FiemapHead {
    start: u64,
    length: u64,
    flags: u32,
    mapped: u32,
    room: u32,
    reserved: u32,
}

/// `struct fiemap_extent`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct FiemapExtent {
    logical: u64,
    physical: u64,
    length: u64,
    reserved: [u64; 2],
    flags: u32,
    rest: [u32; 3],
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Fiemap {
    head: FiemapHead,
    extents: [FiemapExtent; EXTENTS_AT_ONCE],
}

const _: () = assert!(size_of::<FiemapHead>() == 32);
const _: () = assert!(size_of::<FiemapExtent>() == 56);

/// A piece of a file, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileExtent {
    /// Where it begins in the file …
    pub logical: u64,
    /// … and on the device.
    pub physical: u64,
    pub length: u64,
    /// Whether its bytes lie there, as they are.
    pub is_placed: bool,
    pub is_last: bool,
}

/// The next pieces of an open file from this byte of it on, in order; none where there are no more.
///
/// # Errors
/// `EOPNOTSUPP` where the filesystem does not tell.
pub fn file_extents(file: impl AsFd, from: u64) -> Result<Vec<FileExtent>> {
    let head = FiemapHead {
        start: from,
        length: u64::MAX - from,
        flags: FIEMAP_SYNC,
        mapped: 0,
        room: EXTENTS_AT_ONCE as u32,
        reserved: 0,
    };
    let mut map = Fiemap { head, extents: [FiemapExtent::default(); EXTENTS_AT_ONCE] };
    // SAFETY: FS_IOC_FIEMAP reads the head, and writes it and as many extents behind it as it says there is room for.
    unsafe { ioctl(file, Updater::<FS_IOC_FIEMAP, Fiemap>::new(&mut map)) }?;
    let reported = map.extents.iter().take(map.head.mapped as usize);
    let extents = reported.map(|extent| FileExtent {
        logical: extent.logical,
        physical: extent.physical,
        length: extent.length,
        is_placed: extent.flags & EXTENT_NOT_PLACED == 0,
        is_last: extent.flags & EXTENT_LAST != 0,
    });
    Ok(extents.collect())
}

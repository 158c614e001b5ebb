//! Copies and transfers the content of files through descriptors.

use std::ffi::CStr;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

/// Copies exactly `size` bytes of the file `name` of a staged directory; `buffer` has a length.
pub(crate) fn copy_file(
    from: BorrowedFd<'_>,
    name: &CStr,
    file: BorrowedFd<'_>,
    size: u64,
    buffer: &mut [u8],
) -> Result<(), Errno> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let source = rustix::fs::openat(from, name, flags, Mode::empty())?;
    let source = source.as_fd();
    let mut bytes_left = size;
    while bytes_left > 0 {
        let want = bytes_left.min(buffer.len() as u64) as usize;
        let got = read_some(source, &mut buffer[..want])?;
        if got == 0 {
            return Err(Errno::STALE); // the staged file has shrunk under us
        }
        write_fully(file, &buffer[..got])?;
        bytes_left -= got as u64;
    }
    Ok(())
}

/// Reads once, again when a signal came between.
pub(crate) fn read_some(file: BorrowedFd<'_>, buffer: &mut [u8]) -> Result<usize, Errno> {
    loop {
        match rustix::io::read(file, &mut *buffer) {
            Err(Errno::INTR) => {}
            other => return other,
        }
    }
}

pub(crate) fn write_fully(file: BorrowedFd<'_>, mut bytes: &[u8]) -> Result<(), Errno> {
    while !bytes.is_empty() {
        match rustix::io::write(file, bytes) {
            Ok(0) => return Err(Errno::NOSPC),
            Ok(count) => bytes = &bytes[count..],
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

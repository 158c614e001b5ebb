//! Reads and writes whole buffers at an offset of a file, across interrupting signals.

use std::os::fd::BorrowedFd;

use rustix::io::Errno;

pub(super) fn read_at(file: BorrowedFd<'_>, mut buffer: &mut [u8], mut from: u64) -> Result<(), Errno> {
    while !buffer.is_empty() {
        match rustix::io::pread(file, &mut *buffer, from) {
            Ok(0) => return Err(Errno::IO),
            Ok(count) => {
                buffer = &mut buffer[count..];
                from += count as u64;
            }
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

pub(super) fn write_at(file: BorrowedFd<'_>, mut bytes: &[u8], mut from: u64) -> Result<(), Errno> {
    while !bytes.is_empty() {
        match rustix::io::pwrite(file, bytes, from) {
            Ok(0) => return Err(Errno::NOSPC),
            Ok(count) => {
                bytes = &bytes[count..];
                from += count as u64;
            }
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

//! How much room a filesystem has.

use std::path::Path;

use rustix::io::Errno;

/// Bytes that an ordinary user can still write to the filesystem at this path.
pub fn free_bytes(path: &Path) -> Result<u64, Errno> {
    let volume = rustix::fs::statvfs(path)?;
    Ok(volume.f_bavail.saturating_mul(volume.f_frsize))
}

//! The space of a filesystem: what the data took of it, and what was never the user's.
//!
//! Blocks in use say neither: xfs and f2fs count what they set aside among them, ext4 takes its tables off the size instead
//! and its reserve off what is available. So what is in use is taken as growth since the filesystem was made, which is the same
//! for all, and what the user lost is the device's size less what is available (statvfs(3): `f_bavail`).

use std::path::{Path, PathBuf};

use super::error::MeasureError;

/// A filesystem as it was when it was made and mounted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fresh {
    mount_point: PathBuf,
    used: u64,
    lost: u64,
}

/// What is told of the space with each phase, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Space {
    /// In use beyond what was when the filesystem was made; 0 where less is.
    pub(super) grown: u64,
    /// Of the device, but not for an ordinary user to fill, when the filesystem was made.
    pub(super) lost: u64,
}

impl Fresh {
    /// Looks at the filesystem on `mount_point`, just made on a device of so many bytes.
    ///
    /// # Errors
    /// When the kernel does not say.
    pub fn before_phase(mount_point: &Path, device: u64) -> Result<Self, MeasureError> {
        let FilesystemSpace { used, available } = FilesystemSpace::read_usage(mount_point)?;
        Ok(Fresh { mount_point: mount_point.to_owned(), used, lost: device.saturating_sub(available) })
    }

    pub(super) fn since_phase_start(&self) -> Result<Space, MeasureError> {
        let FilesystemSpace { used, .. } = FilesystemSpace::read_usage(&self.mount_point)?;
        Ok(Space { grown: used.saturating_sub(self.used), lost: self.lost })
    }
}

/// What statvfs(3) says, in bytes.
struct FilesystemSpace {
    used: u64,
    available: u64,
}

impl FilesystemSpace {
    fn read_usage(mount_point: &Path) -> Result<Self, MeasureError> {
        let told = rustix::fs::statvfs(mount_point).map_err(|errno| MeasureError::Space {
            mount_point: mount_point.to_owned(),
            source: errno.into(),
        })?;
        let bytes = |blocks: u64| blocks.saturating_mul(told.f_frsize);
        Ok(FilesystemSpace {
            used: bytes(told.f_blocks.saturating_sub(told.f_bfree)),
            available: bytes(told.f_bavail),
        })
    }
}

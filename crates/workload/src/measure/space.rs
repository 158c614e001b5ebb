//! Measures a filesystem's space: how much the data use, and how much was never available to the user.
//!
//! The number of used blocks tells neither: xfs and f2fs include blocks reserved for themselves, ext4 subtracts its
//! tables from the size and its reserve from the available blocks. Used space is therefore reported as growth since
//! mkfs, which means the same for all, and lost space as the device's size minus the available space (statvfs(3):
//! `f_bavail`).

use std::path::{Path, PathBuf};

use super::error::MeasureError;

/// A filesystem as it was when it was made and mounted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fresh {
    mount_point: PathBuf,
    used: u64,
    lost: u64,
}

/// The space that is reported with each phase, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Space {
    /// Growth of the used space since mkfs; 0 if it shrank.
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

/// Values of statvfs(3), in bytes.
struct FilesystemSpace {
    used: u64,
    available: u64,
}

impl FilesystemSpace {
    fn read_usage(mount_point: &Path) -> Result<Self, MeasureError> {
        let status = rustix::fs::statvfs(mount_point).map_err(|errno| MeasureError::Space {
            mount_point: mount_point.to_owned(),
            source: errno.into(),
        })?;
        let bytes = |blocks: u64| blocks.saturating_mul(status.f_frsize);
        Ok(FilesystemSpace {
            used: bytes(status.f_blocks.saturating_sub(status.f_bfree)),
            available: bytes(status.f_bavail),
        })
    }
}

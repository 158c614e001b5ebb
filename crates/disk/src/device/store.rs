//! The content of a modelled device: a sparse file, so that a disk of 2 TB takes up only the space written to.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};

use rustix::fs::FallocateFlags;
use rustix::io::Errno;

use fsverdict_text::Hinted;

use super::overlay::{Overlay, OverlayError};

/// Why the store failed. The guest gets an I/O error, and the trial cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("the disk that holds the modelled device is full, after {held_bytes} bytes")]
    Full { held_bytes: u64 },
    #[error("{length} bytes at {offset} lie beyond the modelled device, which has {size_bytes}")]
    Beyond {
        /// Offset in bytes.
        offset: u64,
        length: u64,
        size_bytes: u64,
    },
    #[error("more was written over a state of the modelled device than is kept in memory")]
    Overlaid,
    #[error("cannot {what} the modelled device's store: {source}")]
    Failed { what: &'static str, source: io::Error },
}

impl StoreError {
    /// Whether the file that holds the content failed, rather than the request being invalid.
    pub fn is_of_machine(&self) -> bool {
        !matches!(self, StoreError::Beyond { .. } | StoreError::Overlaid)
    }
}

impl Hinted for StoreError {
    fn hint(&self) -> Option<String> {
        match self {
            StoreError::Full { .. } => {
                let hint = "make room, or name a folder on another disk in the plan: [device] folder = \"…\"";
                Some(hint.to_owned())
            }
            StoreError::Beyond { .. } | StoreError::Overlaid | StoreError::Failed { .. } => None,
        }
    }
}

/// The content of a modelled device. Bytes that were never written, or were discarded, read as zeroes.
#[derive(Debug)]
pub struct Store {
    file: File,
    size_bytes: u64,
    /// Whether the host's filesystem can punch holes; otherwise zeroes are written.
    can_punch_holes: bool,
    /// Takes all writes while it is present.
    overlay: Option<Overlay>,
}

impl Store {
    /// A store in this file, which must be open for reading and writing, and empty; it is best without a name.
    pub fn new(file: File, size_bytes: u64) -> Result<Store, StoreError> {
        file.set_len(size_bytes).map_err(|source| StoreError::Failed { what: "size", source })?;
        Ok(Store { file, size_bytes, can_punch_holes: true, overlay: None })
    }

    pub fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// The file behind it, without the writes since [`Store::lay_over`].
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Space that it takes up on the host's disk, in bytes.
    pub fn held_bytes(&self) -> u64 {
        self.file.metadata().map_or(0, |metadata| metadata.blocks() * 512)
    }

    /// Fills `bytes` with the content at byte `offset`.
    pub fn read_at(&self, bytes: &mut [u8], offset: u64) -> Result<(), StoreError> {
        self.check_bounds(offset, bytes.len() as u64)?;
        let to_error = |source| StoreError::Failed { what: "read", source };
        self.file.read_exact_at(bytes, offset).map_err(to_error)?;
        if let Some(overlay) = &self.overlay {
            overlay.read_at(bytes, offset);
        }
        Ok(())
    }

    /// Starts an overlay: from now on, writes and discards are kept in memory, over the content of the store.
    pub fn lay_over(&mut self) {
        self.overlay = Some(Overlay::default());
    }

    /// Drops the overlay: the store is as it was before.
    pub fn drop_overlay(&mut self) {
        self.overlay = None;
    }

    /// Empties the store, as if nothing was ever written.
    pub fn clear_content(&mut self) -> Result<(), StoreError> {
        let to_error = |source| StoreError::Failed { what: "clear", source };
        self.overlay = None;
        self.file.set_len(0).and_then(|()| self.file.set_len(self.size_bytes)).map_err(to_error)
    }

    /// Writes `bytes` at byte `offset`. Many zeroes, as in tables of inodes, take up no space.
    pub fn write_at(&mut self, bytes: &[u8], offset: u64) -> Result<(), StoreError> {
        /// A shorter run of zeroes is not worth a hole.
        const MIN_HOLE_BYTES: usize = 1 << 16;
        if self.overlay.is_none() && bytes.len() >= MIN_HOLE_BYTES && all_zero(bytes) {
            return self.discard_bytes(offset, bytes.len() as u64);
        }
        self.check_bounds(offset, bytes.len() as u64)?;
        self.write_bytes(bytes, offset)
    }

    /// Writes to the overlay, if there is one, and otherwise to the file.
    fn write_bytes(&mut self, bytes: &[u8], offset: u64) -> Result<(), StoreError> {
        if let Some(overlay) = &mut self.overlay {
            return overlay.write_at(bytes, offset, &self.file).map_err(|error| match error {
                OverlayError::Full => StoreError::Overlaid,
                OverlayError::Below(source) => StoreError::Failed { what: "read", source },
            });
        }
        self.file.write_all_at(bytes, offset).map_err(|source| self.to_store_error("write", source))
    }

    /// Makes these bytes read as zeroes, and releases their space.
    pub fn discard_bytes(&mut self, offset: u64, length: u64) -> Result<(), StoreError> {
        self.check_bounds(offset, length)?;
        if self.overlay.is_none() && self.can_punch_holes && length > 0 {
            let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            match rustix::fs::fallocate(&self.file, flags, offset, length) {
                Ok(()) => return Ok(()),
                Err(Errno::OPNOTSUPP | Errno::NOSYS) => self.can_punch_holes = false,
                Err(error) => return Err(self.to_store_error("discard in", error.into())),
            }
        }
        let zeroes = [0; 1 << 16];
        let mut position = offset;
        while position < offset + length {
            let chunk_bytes = (offset + length - position).min(zeroes.len() as u64);
            self.write_bytes(&zeroes[..chunk_bytes as usize], position)?;
            position += chunk_bytes;
        }
        Ok(())
    }

    fn check_bounds(&self, offset: u64, length: u64) -> Result<(), StoreError> {
        match offset.checked_add(length) {
            Some(end) if end <= self.size_bytes => Ok(()),
            _ => Err(StoreError::Beyond { offset, length, size_bytes: self.size_bytes }),
        }
    }

    fn to_store_error(&self, what: &'static str, source: io::Error) -> StoreError {
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                StoreError::Full { held_bytes: self.held_bytes() }
            }
            _ => StoreError::Failed { what, source },
        }
    }
}

/// Examines page by page: data is found early, and zeroes are compared many bytes at a time.
fn all_zero(bytes: &[u8]) -> bool {
    bytes.chunks(4096).all(|page| page.iter().fold(0, |bits, byte| bits | byte) == 0)
}

#[cfg(test)]
mod tests {
    use super::{Store, StoreError};
    use fsverdict_text::Hinted;

    #[test]
    fn a_large_device_costs_what_is_written_and_gives_it_back() {
        let mut store = Store::new(tempfile::tempfile().unwrap(), 2_000_000_000_000).unwrap();
        let before = store.held_bytes();
        store.write_at(&[7; 1 << 20], 1_999_990_000_000).unwrap();
        assert!((1 << 20..1 << 22).contains(&(store.held_bytes() - before)), "{}", store.held_bytes());
        let mut bytes = [1; 4096];
        store.read_at(&mut bytes, 1_999_990_000_000 + (1 << 19)).unwrap();
        assert_eq!(bytes, [7; 4096]);
        store.discard_bytes(1_999_990_000_000, 1 << 20).unwrap();
        store.read_at(&mut bytes, 1_999_990_000_000 + (1 << 19)).unwrap();
        assert_eq!(bytes, [0; 4096]);
        assert!(store.held_bytes() < 1 << 19, "{}", store.held_bytes());
        // Zeroes over data read as zeroes, and take up as little space as if nothing was there.
        store.write_at(&[7; 1 << 20], 4096).unwrap();
        store.write_at(&[0; 1 << 20], 4096).unwrap();
        store.write_at(&[0; 1 << 20], 1 << 30).unwrap();
        store.read_at(&mut bytes, 8192).unwrap();
        assert_eq!(bytes, [0; 4096]);
        assert!(store.held_bytes() < 1 << 19, "{}", store.held_bytes());
        // Zeroes are written where no hole can be punched.
        store.write_at(&[7; 1 << 17], 0).unwrap();
        store.can_punch_holes = false;
        store.discard_bytes(10, (1 << 17) - 20).unwrap();
        let mut edge = [0; 12];
        store.read_at(&mut edge, 0).unwrap();
        assert_eq!(edge, [7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 0, 0]);
    }

    #[test]
    fn what_lies_beyond_the_end_is_refused() {
        let mut store = Store::new(tempfile::tempfile().unwrap(), 4096).unwrap();
        for offset in [4096, u64::MAX] {
            assert!(matches!(store.write_at(&[0], offset), Err(StoreError::Beyond { .. })));
            assert!(matches!(store.read_at(&mut [0], offset), Err(StoreError::Beyond { .. })));
            assert!(matches!(store.discard_bytes(offset, 1), Err(StoreError::Beyond { .. })));
        }
    }

    #[test]
    fn a_full_disk_is_named() {
        // /dev/full fails every write as a full disk does.
        let full = std::fs::OpenOptions::new().read(true).write(true).open("/dev/full").unwrap();
        let mut store = Store { file: full, size_bytes: 1 << 20, can_punch_holes: false, overlay: None };
        let error = store.write_at(&[0; 512], 0).unwrap_err();
        assert!(matches!(error, StoreError::Full { .. }), "{error}");
        assert!(error.hint().unwrap().starts_with("make room"), "{error}");
    }
}

//! What a modelled device holds: a sparse file, so that a disk of 2 TB costs what is written to it.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};

use rustix::fs::FallocateFlags;
use rustix::io::Errno;

use fsverdict_text::Hinted;

use super::overlay::{Overlay, OverlayError};

/// Why the store could not do it. The guest is answered with an I/O error; the trial cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("the disk that holds the modelled device is full, after {held_bytes} bytes")]
    Full { held_bytes: u64 },
    #[error("{length} bytes at {offset} lie beyond the modelled device, which has {size_bytes}")]
    Beyond {
        /// Where, in bytes.
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
    /// Whether the file failed that holds it, not who asked for it.
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

/// The content of a modelled device. What was never written, or was discarded, reads as zeroes.
#[derive(Debug)]
pub struct Store {
    file: File,
    size_bytes: u64,
    /// Whether the filesystem below can punch holes; where it cannot, zeroes are written.
    punches: bool,
    /// Takes all writes while it is there.
    overlay: Option<Overlay>,
}

impl Store {
    /// A store in this file, which is open for reading and writing, empty, and best without a name.
    pub fn new(file: File, size_bytes: u64) -> Result<Store, StoreError> {
        file.set_len(size_bytes).map_err(|source| StoreError::Failed { what: "size", source })?;
        Ok(Store { file, size_bytes, punches: true, overlay: None })
    }

    pub fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// The file behind it. What was written since [`Store::lay_over`] is not in it.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// What it takes up on the disk below, in bytes.
    pub fn held_bytes(&self) -> u64 {
        self.file.metadata().map_or(0, |metadata| metadata.blocks() * 512)
    }

    /// Fills `bytes` with what is at `offset` bytes.
    pub fn read_at(&self, bytes: &mut [u8], offset: u64) -> Result<(), StoreError> {
        self.check(offset, bytes.len() as u64)?;
        let failed = |source| StoreError::Failed { what: "read", source };
        self.file.read_exact_at(bytes, offset).map_err(failed)?;
        if let Some(overlay) = &self.overlay {
            overlay.read_at(bytes, offset);
        }
        Ok(())
    }

    /// From now on what is written, or discarded, lies over what the store holds, in memory and for a while.
    pub fn lay_over(&mut self) {
        self.overlay = Some(Overlay::default());
    }

    /// It is again as it was before that.
    pub fn drop_overlay(&mut self) {
        self.overlay = None;
    }

    /// Nothing was ever written.
    pub fn clear(&mut self) -> Result<(), StoreError> {
        let failed = |source| StoreError::Failed { what: "clear", source };
        self.overlay = None;
        self.file.set_len(0).and_then(|()| self.file.set_len(self.size_bytes)).map_err(failed)
    }

    /// Writes `bytes` at `offset` bytes. Many zeroes, of which tables of inodes are made, take up nothing.
    pub fn write_at(&mut self, bytes: &[u8], offset: u64) -> Result<(), StoreError> {
        /// Fewer are not worth a hole.
        const MANY: usize = 1 << 16;
        if self.overlay.is_none() && bytes.len() >= MANY && all_zero(bytes) {
            return self.discard(offset, bytes.len() as u64);
        }
        self.check(offset, bytes.len() as u64)?;
        self.put(bytes, offset)
    }

    fn put(&mut self, bytes: &[u8], offset: u64) -> Result<(), StoreError> {
        if let Some(overlay) = &mut self.overlay {
            return overlay.write_at(bytes, offset, &self.file).map_err(|error| match error {
                OverlayError::Full => StoreError::Overlaid,
                OverlayError::Below(source) => StoreError::Failed { what: "read", source },
            });
        }
        self.file.write_all_at(bytes, offset).map_err(|source| self.failed("write", source))
    }

    /// Lets these bytes read as zeroes and gives their room back.
    pub fn discard(&mut self, offset: u64, length: u64) -> Result<(), StoreError> {
        self.check(offset, length)?;
        if self.overlay.is_none() && self.punches && length > 0 {
            let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            match rustix::fs::fallocate(&self.file, flags, offset, length) {
                Ok(()) => return Ok(()),
                Err(Errno::OPNOTSUPP | Errno::NOSYS) => self.punches = false,
                Err(error) => return Err(self.failed("discard in", error.into())),
            }
        }
        let zeroes = [0; 1 << 16];
        let mut at = offset;
        while at < offset + length {
            let now = (offset + length - at).min(zeroes.len() as u64);
            self.put(&zeroes[..now as usize], at)?;
            at += now;
        }
        Ok(())
    }

    fn check(&self, offset: u64, length: u64) -> Result<(), StoreError> {
        match offset.checked_add(length) {
            Some(end) if end <= self.size_bytes => Ok(()),
            _ => Err(StoreError::Beyond { offset, length, size_bytes: self.size_bytes }),
        }
    }

    fn failed(&self, what: &'static str, source: io::Error) -> StoreError {
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                StoreError::Full { held_bytes: self.held_bytes() }
            }
            _ => StoreError::Failed { what, source },
        }
    }
}

/// Page by page: what is none shows soon, and what is, is looked at many bytes at a time.
fn all_zero(bytes: &[u8]) -> bool {
    bytes.chunks(4096).all(|page| page.iter().fold(0, |seen, byte| seen | byte) == 0)
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
        store.discard(1_999_990_000_000, 1 << 20).unwrap();
        store.read_at(&mut bytes, 1_999_990_000_000 + (1 << 19)).unwrap();
        assert_eq!(bytes, [0; 4096]);
        assert!(store.held_bytes() < 1 << 19, "{}", store.held_bytes());
        // Zeroes over data are zeroes, and take up as little as where nothing was.
        store.write_at(&[7; 1 << 20], 4096).unwrap();
        store.write_at(&[0; 1 << 20], 4096).unwrap();
        store.write_at(&[0; 1 << 20], 1 << 30).unwrap();
        store.read_at(&mut bytes, 8192).unwrap();
        assert_eq!(bytes, [0; 4096]);
        assert!(store.held_bytes() < 1 << 19, "{}", store.held_bytes());
        // Where no hole can be punched, zeroes are written.
        store.write_at(&[7; 1 << 17], 0).unwrap();
        store.punches = false;
        store.discard(10, (1 << 17) - 20).unwrap();
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
            assert!(matches!(store.discard(offset, 1), Err(StoreError::Beyond { .. })));
        }
    }

    #[test]
    fn a_full_disk_is_named() {
        // /dev/full answers every write as a full disk does.
        let full = std::fs::OpenOptions::new().read(true).write(true).open("/dev/full").unwrap();
        let mut store = Store { file: full, size_bytes: 1 << 20, punches: false, overlay: None };
        let error = store.write_at(&[0; 512], 0).unwrap_err();
        assert!(matches!(error, StoreError::Full { .. }), "{error}");
        assert!(error.hint().unwrap().starts_with("make room"), "{error}");
    }
}

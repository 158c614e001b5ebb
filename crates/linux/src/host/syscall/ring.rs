//! Several reads and writes under way at once, by io_uring(7), as safe functions: the buffers are the ring's own for as long as the
//! kernel has them.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use io_uring::{IoUring, opcode, types};

/// A ring with so many slots, each with a buffer of the same length.
pub struct CallRing {
    ring: IoUring,
    slots: Vec<RingSlot>,
    underway: usize,
}

struct RingSlot {
    buffer: Box<[u8]>,
    underway: bool,
}

impl CallRing {
    /// # Errors
    /// `ENOSYS` where the kernel has no io_uring, `EPERM` where it is forbidden (`kernel.io_uring_disabled`, seccomp).
    pub fn new(slots: u32, length: usize) -> io::Result<Self> {
        let ring = IoUring::new(slots.max(1))?;
        let slot = |_| RingSlot { buffer: vec![0; length].into_boxed_slice(), underway: false };
        Ok(CallRing { ring, slots: (0..slots.max(1)).map(slot).collect(), underway: 0 })
    }

    pub fn slot_count(&self) -> usize {
        self.slots.len()
    }

    pub fn in_flight(&self) -> usize {
        self.underway
    }

    /// The buffer of a slot; `None` while the kernel uses it.
    pub fn slot_buffer(&mut self, slot: usize) -> Option<&mut [u8]> {
        self.slots.get_mut(slot).filter(|slot| !slot.underway).map(|slot| &mut *slot.buffer)
    }

    /// Begins to read into a slot's buffer.
    ///
    /// # Errors
    /// `EBUSY` where the slot has a call under way, `EINVAL` beyond its buffer.
    pub fn submit_read(
        &mut self,
        file: BorrowedFd<'_>,
        slot: usize,
        length: usize,
        from: u64,
    ) -> io::Result<()> {
        let place = self.claim_slot(slot, length)?;
        let read = opcode::Read::new(types::Fd(file.as_raw_fd()), place, length as u32).offset(from);
        self.submit_entry(&read.build().user_data(slot as u64), slot)
    }

    /// Starts to write a slot's buffer.
    ///
    /// # Errors
    /// The same as those of [`submit_read`](Self::submit_read).
    pub fn submit_write(
        &mut self,
        file: BorrowedFd<'_>,
        slot: usize,
        length: usize,
        from: u64,
    ) -> io::Result<()> {
        let place = self.claim_slot(slot, length)?;
        let write = opcode::Write::new(types::Fd(file.as_raw_fd()), place, length as u32).offset(from);
        self.submit_entry(&write.build().user_data(slot as u64), slot)
    }

    fn claim_slot(&mut self, slot: usize, length: usize) -> io::Result<*mut u8> {
        match self.slots.get_mut(slot) {
            Some(slot) if slot.underway => Err(io::Error::from(io::ErrorKind::ResourceBusy)),
            Some(slot) if length <= slot.buffer.len() => Ok(slot.buffer.as_mut_ptr()),
            _ => Err(io::Error::from(io::ErrorKind::InvalidInput)),
        }
    }

    fn submit_entry(&mut self, entry: &io_uring::squeue::Entry, slot: usize) -> io::Result<()> {
        // SAFETY: the buffer is on the heap, belongs to this ring, and is neither lent nor freed before the call has ended: `buffer`
        // refuses it while it is under way, and dropping the ring waits. The kernel takes its own reference to the file when the
        // entry is submitted, which happens before this returns.
        unsafe { self.ring.submission().push(entry) }
            .map_err(|_| io::Error::from(io::ErrorKind::ResourceBusy))?;
        loop {
            match self.ring.submit() {
                Ok(_) => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        if let Some(slot) = self.slots.get_mut(slot) {
            slot.underway = true;
        }
        self.underway += 1;
        Ok(())
    }

    /// Waits for one of those that are under way: its slot, and the bytes that it moved.
    ///
    /// # Errors
    /// Errors of waiting. The call's own result is in the returned value.
    pub fn wait_for_one(&mut self) -> io::Result<Option<(usize, io::Result<usize>)>> {
        if self.underway == 0 {
            return Ok(None);
        }
        loop {
            if let Some(done) = self.ring.completion().next() {
                let slot = usize::try_from(done.user_data()).unwrap_or(usize::MAX);
                if let Some(slot) = self.slots.get_mut(slot) {
                    slot.underway = false;
                }
                self.underway -= 1;
                let moved = usize::try_from(done.result());
                return Ok(Some((slot, moved.map_err(|_| io::Error::from_raw_os_error(-done.result())))));
            }
            match self.ring.submit_and_wait(1) {
                Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
                _ => {}
            }
        }
    }
}

impl Drop for CallRing {
    fn drop(&mut self) {
        while self.underway > 0 {
            if self.wait_for_one().is_err() {
                // The kernel may still write there: the memory is given up rather than used by somebody else.
                for slot in std::mem::take(&mut self.slots) {
                    let _ = Box::leak(slot.buffer);
                }
                break;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::fd::AsFd;

    use super::CallRing;

    #[test]
    fn several_calls_are_under_way_and_each_ends_in_its_slot() {
        let Ok(mut ring) = CallRing::new(4, 8) else {
            // Past libtest, in the words that scripts/test-tiers counts.
            let line = concat!("NOT RUN ", file!(), ":", line!(), ": io_uring is forbidden here\n");
            std::io::stderr().write_all(line.as_bytes()).unwrap();
            return;
        };
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"0000000011111111222222223333").unwrap();
        for slot in 0..4 {
            ring.submit_read(file.as_fd(), slot, 8, slot as u64 * 8).unwrap();
            assert!(ring.submit_read(file.as_fd(), slot, 8, 0).is_err() && ring.slot_buffer(slot).is_none());
        }
        let mut moved = [0; 4];
        while let Some((slot, bytes)) = ring.wait_for_one().unwrap() {
            moved[slot] = bytes.unwrap();
        }
        assert_eq!((moved, ring.in_flight()), ([8, 8, 8, 4], 0));
        assert_eq!(ring.slot_buffer(2).unwrap(), b"22222222");
        ring.slot_buffer(0).unwrap().copy_from_slice(b"abcdefgh");
        ring.submit_write(file.as_fd(), 0, 8, 20).unwrap();
        drop(ring);
        let mut found = [0; 8];
        rustix::io::pread(&file, &mut found, 20).unwrap();
        assert_eq!(&found, b"abcdefgh");
        assert!(CallRing::new(1, 8).unwrap().submit_read(file.as_fd(), 0, 9, 0).is_err());
    }
}

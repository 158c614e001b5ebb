//! Completes requests of a guest at the time that the model gives them: moves their data, and answers.

use virtio_queue::QueueT;
use vm_memory::{Address, Bytes, GuestMemoryMmap};

use super::super::BackendError;
use super::{FAILED, OK, SECTOR, ServedDisk};
use crate::device::trace::{Flags, Submitter, Traced};
use crate::device::{Action, Completion, Request};

impl ServedDisk {
    /// Advances the device to `now`, and answers the requests that are done by then; returns true if the guest is to
    /// be called.
    pub(in super::super) fn advance_to(
        &mut self,
        now: u64,
        memory: &GuestMemoryMmap,
    ) -> Result<bool, BackendError> {
        self.last_used_ns = now;
        let mut has_answers = !self.immediate.is_empty();
        for (id, status) in std::mem::take(&mut self.immediate) {
            self.answer_request(id, status, 0, memory)?;
        }
        let mut completions = std::mem::take(&mut self.completions);
        self.device.advance(now, &mut completions);
        for completion in completions.drain(..) {
            let failed = self.complete_request(&completion, memory)?;
            self.tally.record_lateness(&completion, now);
            let flags = if failed { Flags::FAILED } else { Flags::default() };
            let by = self.find_submitter(&completion.request);
            self.tally.record_request(&Traced { by, ..Traced::done(&completion, flags) });
            has_answers = true;
        }
        self.completions = completions;
        Ok(has_answers)
    }

    /// Moves the data of a request that is done, and answers it; returns true if it failed.
    pub(super) fn complete_request(
        &mut self,
        completion: &Completion,
        memory: &GuestMemoryMmap,
    ) -> Result<bool, BackendError> {
        let id = (completion.request.id & 0xffff) as u16;
        let Some(slot) = self.pending.get_mut(usize::from(id)) else {
            return Err(BackendError::Chain("no such slot"));
        };
        if self.contents.does_fail(&completion.request) {
            self.answer_request(id, FAILED, 0, memory)?;
            return Ok(true);
        }
        let mut offset = completion.request.sector * SECTOR;
        let mut written = 0;
        let result = match completion.request.operation {
            Action::Flush => Ok(()),
            Action::Discard | Action::WriteZeroes => {
                self.store.discard_bytes(offset, u64::from(completion.request.sectors) * SECTOR)
            }
            operation @ (Action::Read | Action::Write) => {
                // Buffers that are contiguous, as those of large files are, are moved in one piece.
                let mut result = Ok(());
                let mut pieces = slot.buffers.iter().copied().peekable();
                while let (Some((address, mut length)), Ok(())) = (pieces.next(), &result) {
                    while let Some((_, more)) =
                        pieces.next_if(|(next, _)| address.checked_add(u64::from(length)) == Some(*next))
                    {
                        length += more;
                    }
                    self.buffer.resize(length as usize, 0);
                    result = if operation == Action::Read {
                        written += length;
                        let read = self.store.read_at(&mut self.buffer, offset);
                        memory.write_slice(&self.buffer, address).map_err(BackendError::memory_error)?;
                        read
                    } else {
                        memory.read_slice(&mut self.buffer, address).map_err(BackendError::memory_error)?;
                        self.contents.take_in(&self.buffer);
                        self.store.write_at(&self.buffer, offset)
                    };
                    offset += u64::from(length);
                }
                result
            }
        };
        let result = result.map_err(BackendError::from);
        let status = match result.and_then(|()| self.contents.record_completion(completion)) {
            Ok(()) => OK,
            Err(error) => {
                self.tally.record_error(&error);
                FAILED
            }
        };
        self.answer_request(id, status, written, memory)?;
        Ok(status != OK)
    }

    pub(super) fn answer_request(
        &mut self,
        id: u16,
        status: u8,
        written: u32,
        memory: &GuestMemoryMmap,
    ) -> Result<(), BackendError> {
        let address = self.pending.get(usize::from(id)).map(|slot| slot.status).unwrap_or_default();
        memory.write_obj(status, address).map_err(BackendError::memory_error)?;
        self.queue.add_used(memory, id, written + 1).map_err(BackendError::ring_error)
    }

    /// The process that submitted a pending request.
    pub(super) fn find_submitter(&self, request: &Request) -> Option<Submitter> {
        self.pending.get(usize::try_from(request.id).ok()?)?.submitter
    }
}

//! Implements the virtio block device: takes requests from the guest's ring, times them by the model, moves data
//! between guest and store, and answers.
//!
//! The names of numbers and layouts come from Virtual I/O Device (VIRTIO) 1.2, 2.7 (split virtqueues) and 5.2 (block
//! device).

use std::fs::File;
use std::mem::offset_of;
use std::time::Duration;

use virtio_bindings::virtio_blk::{
    VIRTIO_BLK_F_BLK_SIZE, VIRTIO_BLK_F_DISCARD, VIRTIO_BLK_F_FLUSH, VIRTIO_BLK_F_SEG_MAX,
    VIRTIO_BLK_F_TOPOLOGY, VIRTIO_BLK_F_WRITE_ZEROES, VIRTIO_BLK_S_IOERR, VIRTIO_BLK_S_OK,
    VIRTIO_BLK_S_UNSUPP, VIRTIO_BLK_T_DISCARD, VIRTIO_BLK_T_FLUSH, VIRTIO_BLK_T_GET_ID, VIRTIO_BLK_T_IN,
    VIRTIO_BLK_T_OUT, VIRTIO_BLK_T_WRITE_ZEROES, virtio_blk_config as Space,
    virtio_blk_discard_write_zeroes as Range, virtio_blk_outhdr as Header,
};
use virtio_queue::{Queue, QueueOwnedT, QueueT};
use vm_memory::{Address, Bytes, GuestAddress, GuestMemoryMmap};

use crate::device::trace::{Flags, Submitter, TraceWriter, Traced};
use crate::device::{Action, Completion, Device, Limits, Request, Store};

use super::BackendError;
use super::connection::{u32_at, u64_at};
use super::states::Contents;
use super::tally::Tally;

/// Size of the largest ring that a User-Mode-Linux guest makes (`arch/um/drivers/virtio_uml.c`).
pub(super) const RING: u16 = 256;
/// Bytes of a request's header.
const HEADER_BYTES: usize = size_of::<Header>();
/// Bytes of a range of sectors, as discards and writes of zeroes carry it.
const RANGE_BYTES: usize = size_of::<Range>();
/// Data buffers of one request; a header and a status are added to them. A guest that is offered no number assumes 1.
const MAX_SEGMENTS: u32 = 254;
/// Bytes of a sector.
const SECTOR: u64 = 512;
/// Largest request in bytes. It exceeds the bound that drivers obey, [`Limits::max_sectors_kb`], and limits the
/// memory that a request takes in this process.
const MAX_REQUEST_BYTES: u64 = 64 << 20;

const OK: u8 = VIRTIO_BLK_S_OK as u8;
const FAILED: u8 = VIRTIO_BLK_S_IOERR as u8;
const UNSUPPORTED: u8 = VIRTIO_BLK_S_UNSUPP as u8;

/// Contents of the guest's `/sys/block/vda/serial`.
const SERIAL: &[u8; 20] = b"fsverdict modelled\0\0";

/// A request of the guest that is not answered yet.
#[derive(Debug, Default)]
struct PendingRequest {
    kind: u32,
    /// Guest addresses and lengths of its data buffers, in order.
    buffers: Vec<(GuestAddress, u32)>,
    status: GuestAddress,
    /// The process that submitted it, if the guest reports that.
    submitter: Option<Submitter>,
}

/// A modelled device as a guest sees it.
#[derive(Debug)]
pub(super) struct ServedDisk {
    device: Device,
    store: Store,
    contents: Contents,
    queue: Queue,
    /// Indexed by the head of the descriptor chain, which is the request's id.
    pending: Vec<PendingRequest>,
    /// Requests that take the device no time, to be answered at its next turn: id and status.
    immediate: Vec<(u16, u8)>,
    completions: Vec<Completion>,
    buffer: Vec<u8>,
    /// Time of the last request or answer, in nanoseconds of the guest's clock.
    last_used_ns: u64,
    /// Time from which on every request is answered with an error, in nanoseconds of the guest's clock.
    fails_from_ns: Option<u64>,
    pub(super) tally: Tally,
}

impl ServedDisk {
    pub(super) fn new(
        device: Device,
        store: Store,
        contents: Contents,
        trace: Option<TraceWriter<File>>,
        fails_after: Option<Duration>,
    ) -> Result<Self, BackendError> {
        let queue = Queue::new(RING).map_err(BackendError::ring_error)?;
        let pending = (0..RING).map(|_| PendingRequest::default()).collect();
        let tally = Tally::new(trace);
        Ok(ServedDisk {
            device,
            store,
            contents,
            queue,
            pending,
            immediate: Vec::new(),
            completions: Vec::new(),
            buffer: Vec::new(),
            last_used_ns: 0,
            fails_from_ns: fails_after.map(|after| u64::try_from(after.as_nanos()).unwrap_or(u64::MAX)),
            tally,
        })
    }

    pub(super) fn limits(&self) -> &Limits {
        self.device.limits()
    }

    /// The ring, for the session that negotiates it.
    pub(super) fn queue(&mut self) -> &mut Queue {
        &mut self.queue
    }

    pub(super) fn is_ready(&self) -> bool {
        self.queue.ready()
    }

    /// Time of the last request or answer, in nanoseconds.
    pub(super) fn last_used(&self) -> u64 {
        self.last_used_ns
    }

    /// The time at which this device needs a turn, in nanoseconds, if no request comes before.
    pub(super) fn next_event(&self, now: u64) -> Option<u64> {
        if self.immediate.is_empty() { self.device.next_event() } else { Some(now) }
    }

    /// Takes every request that the guest has put into the ring.
    pub(super) fn submit_requests(&mut self, now: u64, memory: &GuestMemoryMmap) -> Result<(), BackendError> {
        self.last_used_ns = now;
        loop {
            let Some(chain) = self.queue.iter(memory).map_err(BackendError::ring_error)?.next() else {
                return Ok(());
            };
            let id = chain.head_index();
            let slot = self.pending.get_mut(usize::from(id)).ok_or(BackendError::Chain("no such slot"))?;
            slot.buffers.clear();
            slot.buffers.extend(chain.map(|descriptor| (descriptor.addr(), descriptor.len())));
            let (Some((header, length)), Some((status, _))) =
                (slot.buffers.first().copied(), slot.buffers.pop())
            else {
                return Err(BackendError::Chain("it has no buffer"));
            };
            if slot.buffers.is_empty() || (length as usize) < HEADER_BYTES {
                return Err(BackendError::Chain("its header is too short"));
            }
            slot.buffers.remove(0);
            slot.status = status;
            let mut words = [0; HEADER_BYTES];
            memory.read_slice(&mut words, header).map_err(BackendError::memory_error)?;
            slot.kind = u32_at(&words, offset_of!(Header, type_));
            slot.submitter = Submitter::told(u32_at(&words, offset_of!(Header, ioprio)));
            let sector = u64_at(&words, offset_of!(Header, sector));
            let bytes: u64 = slot.buffers.iter().map(|(_, length)| u64::from(*length)).sum();
            let request = match slot.kind {
                VIRTIO_BLK_T_IN => Ok(build_request(id, Action::Read, sector, bytes / SECTOR)),
                VIRTIO_BLK_T_OUT => Ok(build_request(id, Action::Write, sector, bytes / SECTOR)),
                VIRTIO_BLK_T_FLUSH => Ok(build_request(id, Action::Flush, 0, 0)),
                VIRTIO_BLK_T_DISCARD | VIRTIO_BLK_T_WRITE_ZEROES => {
                    let is_discard = slot.kind == VIRTIO_BLK_T_DISCARD;
                    let operation = if is_discard { Action::Discard } else { Action::WriteZeroes };
                    let range = slot.buffers.first().ok_or(BackendError::Chain("it names no range"))?.0;
                    let mut words = [0; RANGE_BYTES];
                    memory.read_slice(&mut words, range).map_err(BackendError::memory_error)?;
                    let sector = u64_at(&words, offset_of!(Range, sector));
                    let sectors = u32_at(&words, offset_of!(Range, num_sectors));
                    Ok(build_request(id, operation, sector, u64::from(sectors)))
                }
                VIRTIO_BLK_T_GET_ID => {
                    let mut name = *SERIAL;
                    let status = match self.contents.enter_next_state(&mut self.store) {
                        Ok(None) => OK,
                        Ok(Some(serial)) => {
                            name = [0; SERIAL.len()];
                            name.iter_mut().zip(serial.as_bytes()).for_each(|(slot, byte)| *slot = *byte);
                            OK
                        }
                        Err(error) => {
                            self.tally.record_error(&error);
                            FAILED
                        }
                    };
                    if let Some((address, length)) = slot.buffers.first() {
                        let name = name.get(..SERIAL.len().min(*length as usize)).unwrap_or_default();
                        memory.write_slice(name, *address).map_err(BackendError::memory_error)?;
                    }
                    Err(status)
                }
                _ => Err(UNSUPPORTED),
            };
            match request {
                Ok(_) if self.fails_from_ns.is_some_and(|from| now >= from) => {
                    self.tally.refused += 1;
                    self.immediate.push((id, FAILED));
                }
                // The comparison is in sectors, because the byte offset of a place far beyond the end may overflow.
                Ok(request)
                    if request.end_sector() > self.store.size_bytes() / SECTOR
                        || bytes > MAX_REQUEST_BYTES =>
                {
                    self.immediate.push((id, FAILED));
                }
                Ok(request) => self.device.submit(now, request),
                Err(status) => self.immediate.push((id, status)),
            }
        }
    }

    /// Advances the device to `now`, and answers the requests that are done by then; returns true if the guest is to
    /// be called.
    pub(super) fn advance_to(&mut self, now: u64, memory: &GuestMemoryMmap) -> Result<bool, BackendError> {
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
    fn complete_request(
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

    /// Puts the requests that are still pending into the trace, and finishes trace and log.
    pub(super) fn finish_trace(&mut self) {
        for (submitted_ns, request) in self.device.pending_requests() {
            let by = self.find_submitter(request);
            self.tally.record_request(&Traced { by, ..Traced::underway(submitted_ns, request) });
        }
        self.tally.record_wear(self.device.wear());
        match self.contents.finish_log() {
            Ok(is_whole) => self.tally.log_is_whole(is_whole),
            Err(error) => self.tally.record_error(&error),
        }
        self.tally.finish_trace();
    }

    /// The process that submitted a pending request.
    fn find_submitter(&self, request: &Request) -> Option<Submitter> {
        self.pending.get(usize::try_from(request.id).ok()?)?.submitter
    }

    fn answer_request(
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

    /// Space that the store takes up on the host's disk, in bytes.
    pub(super) fn held_bytes(&self) -> u64 {
        self.store.held_bytes()
    }
}

fn build_request(id: u16, operation: Action, sector: u64, sectors: u64) -> Request {
    Request { id: u64::from(id), operation, sector, sectors: u32::try_from(sectors).unwrap_or(u32::MAX) }
}

/// The feature bits that the device offers.
pub(super) fn offered_features(limits: &Limits) -> u64 {
    let features = [
        (VIRTIO_BLK_F_SEG_MAX, true),
        (VIRTIO_BLK_F_BLK_SIZE, true),
        (VIRTIO_BLK_F_TOPOLOGY, true),
        (VIRTIO_BLK_F_FLUSH, limits.volatile_cache),
        (VIRTIO_BLK_F_DISCARD, limits.discard.is_some()),
        (VIRTIO_BLK_F_WRITE_ZEROES, limits.write_zeroes),
    ];
    features.iter().map(|(bit, is_offered)| u64::from(*is_offered) << bit).sum()
}

/// Builds the device's configuration space.
pub(super) fn configuration_space(limits: &Limits) -> [u8; 256] {
    /// The largest range of zeroes in one request, in sectors: 2 GiB.
    const MAX_ZEROES_SECTORS: u32 = 1 << 22;
    let mut space = [0; 256];
    let mut put = |offset: usize, bytes: &[u8]| {
        for (slot, byte) in space.iter_mut().skip(offset).zip(bytes) {
            *slot = *byte;
        }
    };
    put(offset_of!(Space, capacity), &(limits.size_bytes / SECTOR).to_le_bytes());
    put(offset_of!(Space, seg_max), &MAX_SEGMENTS.to_le_bytes());
    put(offset_of!(Space, blk_size), &limits.logical_block.to_le_bytes());
    let exponent = (limits.physical_block / limits.logical_block.max(1)).max(1).ilog2();
    put(offset_of!(Space, physical_block_exp), &[exponent as u8]);
    put(offset_of!(Space, num_queues), &1u16.to_le_bytes());
    if let Some(discard) = limits.discard {
        put(offset_of!(Space, max_discard_sectors), &discard.max_sectors.to_le_bytes());
        put(offset_of!(Space, max_discard_seg), &1u32.to_le_bytes());
        let alignment = discard.granularity / SECTOR as u32;
        put(offset_of!(Space, discard_sector_alignment), &alignment.to_le_bytes());
    }
    if limits.write_zeroes {
        put(offset_of!(Space, max_write_zeroes_sectors), &MAX_ZEROES_SECTORS.to_le_bytes());
        put(offset_of!(Space, max_write_zeroes_seg), &1u32.to_le_bytes());
        put(offset_of!(Space, write_zeroes_may_unmap), &[1]);
    }
    space
}

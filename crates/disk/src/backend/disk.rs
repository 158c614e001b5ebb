//! Implements the virtio block device: takes requests from the guest's ring, times them by the model, moves data
//! between guest and store, and answers.
//!
//! The names of numbers and layouts come from Virtual I/O Device (VIRTIO) 1.2, 2.7 (split virtqueues) and 5.2 (block
//! device).

mod completion;

use std::fs::File;
use std::mem::offset_of;
use std::time::Duration;

use virtio_bindings::virtio_blk::{
    VIRTIO_BLK_S_IOERR, VIRTIO_BLK_S_OK, VIRTIO_BLK_S_UNSUPP, VIRTIO_BLK_T_DISCARD, VIRTIO_BLK_T_FLUSH,
    VIRTIO_BLK_T_GET_ID, VIRTIO_BLK_T_IN, VIRTIO_BLK_T_OUT, VIRTIO_BLK_T_WRITE_ZEROES,
    virtio_blk_discard_write_zeroes as Range, virtio_blk_outhdr as Header,
};
use virtio_queue::{Queue, QueueOwnedT, QueueT};
use vm_memory::{Bytes, GuestAddress, GuestMemoryMmap};

use crate::device::trace::{Submitter, TraceWriter, Traced};
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
pub(super) const MAX_SEGMENTS: u32 = 254;
/// Bytes of a sector.
pub(super) const SECTOR: u64 = 512;
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

    /// Space that the store takes up on the host's disk, in bytes.
    pub(super) fn held_bytes(&self) -> u64 {
        self.store.held_bytes()
    }
}

fn build_request(id: u16, operation: Action, sector: u64, sectors: u64) -> Request {
    Request { id: u64::from(id), operation, sector, sectors: u32::try_from(sectors).unwrap_or(u32::MAX) }
}

//! The virtio block device: requests out of the guest's ring into the model, data between guest and store, answers back.
//!
//! Numbers and layouts have their names in Virtual I/O Device (VIRTIO) 1.2, 2.7 (split virtqueues) and 5.2 (block device).

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

/// The largest ring a User-Mode-Linux guest makes (`arch/um/drivers/virtio_uml.c`).
pub(super) const RING: u16 = 256;
/// Bytes of a request's header.
const HEADER: usize = size_of::<Header>();
/// … and of a range of sectors.
const RANGE: usize = size_of::<Range>();
/// Buffers of one request; a header and a status come on top. The guest's default where it is offered none is 1.
const SEGMENTS: u32 = 254;
const SECTOR: u64 = 512;
/// More bytes in one request than any driver asks for, whose bound is [`Limits::max_sectors_kb`]: they pass through memory here.
const LARGEST: u64 = 64 << 20;

const OK: u8 = VIRTIO_BLK_S_OK as u8;
const FAILED: u8 = VIRTIO_BLK_S_IOERR as u8;
const UNSUPPORTED: u8 = VIRTIO_BLK_S_UNSUPP as u8;

/// What the guest's `/sys/block/vda/serial` shows.
const NAME: &[u8; 20] = b"fsverdict modelled\0\0";

/// A request of the guest that is not answered yet.
#[derive(Debug, Default)]
struct Underway {
    kind: u32,
    /// Where its data is in the guest, in order.
    buffers: Vec<(GuestAddress, u32)>,
    status: GuestAddress,
    /// Who submitted it, if the guest tells.
    by: Option<Submitter>,
}

/// A modelled device as a guest sees it.
#[derive(Debug)]
pub(super) struct ServedDisk {
    device: Device,
    store: Store,
    contents: Contents,
    queue: Queue,
    /// By the head of the descriptor chain, which is the request's id.
    underway: Vec<Underway>,
    /// Requests that cost the device nothing, to be answered at its next turn: id and status.
    at_once: Vec<(u16, u8)>,
    completions: Vec<Completion>,
    buffer: Vec<u8>,
    /// When it was last asked for something, or answered.
    used_ns: u64,
    /// From when on it answers everything with an error, in nanoseconds.
    fails_ns: Option<u64>,
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
        let queue = Queue::new(RING).map_err(BackendError::ring)?;
        let underway = (0..RING).map(|_| Underway::default()).collect();
        let tally = Tally::new(trace);
        Ok(ServedDisk {
            device,
            store,
            contents,
            queue,
            underway,
            at_once: Vec::new(),
            completions: Vec::new(),
            buffer: Vec::new(),
            used_ns: 0,
            fails_ns: fails_after.map(|after| u64::try_from(after.as_nanos()).unwrap_or(u64::MAX)),
            tally,
        })
    }

    pub(super) fn limits(&self) -> &Limits {
        self.device.limits()
    }

    /// The ring, for whoever negotiates it.
    pub(super) fn queue(&mut self) -> &mut Queue {
        &mut self.queue
    }

    pub(super) fn is_ready(&self) -> bool {
        self.queue.ready()
    }

    /// When it was last asked for something, or answered, in nanoseconds.
    pub(super) fn last_used(&self) -> u64 {
        self.used_ns
    }

    /// When this device has to have its turn, if nothing is submitted before.
    pub(super) fn next_event(&self, now: u64) -> Option<u64> {
        if self.at_once.is_empty() { self.device.next_event() } else { Some(now) }
    }

    /// Takes every request the guest has put into the ring.
    pub(super) fn submit(&mut self, now: u64, memory: &GuestMemoryMmap) -> Result<(), BackendError> {
        self.used_ns = now;
        loop {
            let Some(chain) = self.queue.iter(memory).map_err(BackendError::ring)?.next() else {
                return Ok(());
            };
            let id = chain.head_index();
            let slot = self.underway.get_mut(usize::from(id)).ok_or(BackendError::Chain("no such slot"))?;
            slot.buffers.clear();
            slot.buffers.extend(chain.map(|descriptor| (descriptor.addr(), descriptor.len())));
            let (Some((header, length)), Some((status, _))) =
                (slot.buffers.first().copied(), slot.buffers.pop())
            else {
                return Err(BackendError::Chain("it has no buffer"));
            };
            if slot.buffers.is_empty() || (length as usize) < HEADER {
                return Err(BackendError::Chain("its header is too short"));
            }
            slot.buffers.remove(0);
            slot.status = status;
            let mut words = [0; HEADER];
            memory.read_slice(&mut words, header).map_err(BackendError::memory)?;
            slot.kind = u32_at(&words, offset_of!(Header, type_));
            slot.by = Submitter::told(u32_at(&words, offset_of!(Header, ioprio)));
            let sector = u64_at(&words, offset_of!(Header, sector));
            let bytes: u64 = slot.buffers.iter().map(|(_, length)| u64::from(*length)).sum();
            let request = match slot.kind {
                VIRTIO_BLK_T_IN => Ok(request(id, Action::Read, sector, bytes / SECTOR)),
                VIRTIO_BLK_T_OUT => Ok(request(id, Action::Write, sector, bytes / SECTOR)),
                VIRTIO_BLK_T_FLUSH => Ok(request(id, Action::Flush, 0, 0)),
                VIRTIO_BLK_T_DISCARD | VIRTIO_BLK_T_WRITE_ZEROES => {
                    let is_discard = slot.kind == VIRTIO_BLK_T_DISCARD;
                    let operation = if is_discard { Action::Discard } else { Action::WriteZeroes };
                    let range = slot.buffers.first().ok_or(BackendError::Chain("it names no range"))?.0;
                    let mut words = [0; RANGE];
                    memory.read_slice(&mut words, range).map_err(BackendError::memory)?;
                    let sector = u64_at(&words, offset_of!(Range, sector));
                    let sectors = u32_at(&words, offset_of!(Range, num_sectors));
                    Ok(request(id, operation, sector, u64::from(sectors)))
                }
                VIRTIO_BLK_T_GET_ID => {
                    let mut name = *NAME;
                    let told = match self.contents.named(&mut self.store) {
                        Ok(None) => OK,
                        Ok(Some(told)) => {
                            name = [0; NAME.len()];
                            name.iter_mut().zip(told.as_bytes()).for_each(|(slot, byte)| *slot = *byte);
                            OK
                        }
                        Err(error) => {
                            self.tally.trouble(&error);
                            FAILED
                        }
                    };
                    if let Some((at, length)) = slot.buffers.first() {
                        let name = name.get(..NAME.len().min(*length as usize)).unwrap_or_default();
                        memory.write_slice(name, *at).map_err(BackendError::memory)?;
                    }
                    Err(told)
                }
                _ => Err(UNSUPPORTED),
            };
            match request {
                Ok(_) if self.fails_ns.is_some_and(|from| now >= from) => {
                    self.tally.refused += 1;
                    self.at_once.push((id, FAILED));
                }
                // In sectors: the byte of a place far beyond the end may not be a number.
                Ok(request) if request.end() > self.store.size_bytes() / SECTOR || bytes > LARGEST => {
                    self.at_once.push((id, FAILED));
                }
                Ok(request) => self.device.submit(now, request),
                Err(status) => self.at_once.push((id, status)),
            }
        }
    }

    /// Lets the device come to `now`, and answers what is done by then; true when the guest is to be called.
    pub(super) fn advance(&mut self, now: u64, memory: &GuestMemoryMmap) -> Result<bool, BackendError> {
        self.used_ns = now;
        let mut answered = !self.at_once.is_empty();
        for (id, status) in std::mem::take(&mut self.at_once) {
            self.answer(id, status, 0, memory)?;
        }
        let mut completions = std::mem::take(&mut self.completions);
        self.device.advance(now, &mut completions);
        for completion in completions.drain(..) {
            let failed = self.complete(&completion, memory)?;
            self.tally.answered(&completion, now);
            let flags = if failed { Flags::FAILED } else { Flags::default() };
            let by = self.submitter(&completion.request);
            self.tally.record(&Traced { by, ..Traced::done(&completion, flags) });
            answered = true;
        }
        self.completions = completions;
        Ok(answered)
    }

    /// Moves the data of a request that is done, and answers it; true when the store could not do it.
    fn complete(&mut self, completion: &Completion, memory: &GuestMemoryMmap) -> Result<bool, BackendError> {
        let id = (completion.request.id & 0xffff) as u16;
        let Some(slot) = self.underway.get_mut(usize::from(id)) else {
            return Err(BackendError::Chain("no such slot"));
        };
        if self.contents.fails(&completion.request) {
            self.answer(id, FAILED, 0, memory)?;
            return Ok(true);
        }
        let mut offset = completion.request.sector * SECTOR;
        let mut written = 0;
        let moved = match completion.request.operation {
            Action::Flush => Ok(()),
            Action::Discard | Action::WriteZeroes => {
                self.store.discard(offset, u64::from(completion.request.sectors) * SECTOR)
            }
            operation @ (Action::Read | Action::Write) => {
                // Buffers that lie one behind the other, as those of large files do, are moved in one piece.
                let mut moved = Ok(());
                let mut pieces = slot.buffers.iter().copied().peekable();
                while let (Some((at, mut length)), Ok(())) = (pieces.next(), &moved) {
                    while let Some((_, more)) =
                        pieces.next_if(|(next, _)| at.checked_add(u64::from(length)) == Some(*next))
                    {
                        length += more;
                    }
                    self.buffer.resize(length as usize, 0);
                    moved = if operation == Action::Read {
                        written += length;
                        let read = self.store.read_at(&mut self.buffer, offset);
                        memory.write_slice(&self.buffer, at).map_err(BackendError::memory)?;
                        read
                    } else {
                        memory.read_slice(&mut self.buffer, at).map_err(BackendError::memory)?;
                        self.contents.take_in(&self.buffer);
                        self.store.write_at(&self.buffer, offset)
                    };
                    offset += u64::from(length);
                }
                moved
            }
        };
        let moved = moved.map_err(BackendError::from);
        let status = match moved.and_then(|()| self.contents.completed(completion)) {
            Ok(()) => OK,
            Err(error) => {
                self.tally.trouble(&error);
                FAILED
            }
        };
        self.answer(id, status, written, memory)?;
        Ok(status != OK)
    }

    /// Puts what was still underway into the trace, and ends it.
    pub(super) fn end(&mut self) {
        for (submitted_ns, request) in self.device.underway() {
            let by = self.submitter(request);
            self.tally.record(&Traced { by, ..Traced::underway(submitted_ns, request) });
        }
        self.tally.worn(self.device.wear());
        match self.contents.end() {
            Ok(is_whole) => self.tally.log_is_whole(is_whole),
            Err(error) => self.tally.trouble(&error),
        }
        self.tally.end();
    }

    /// Who submitted a request that is underway.
    fn submitter(&self, request: &Request) -> Option<Submitter> {
        self.underway.get(usize::try_from(request.id).ok()?)?.by
    }

    fn answer(
        &mut self,
        id: u16,
        status: u8,
        written: u32,
        memory: &GuestMemoryMmap,
    ) -> Result<(), BackendError> {
        let at = self.underway.get(usize::from(id)).map(|slot| slot.status).unwrap_or_default();
        memory.write_obj(status, at).map_err(BackendError::memory)?;
        self.queue.add_used(memory, id, written + 1).map_err(BackendError::ring)
    }

    /// What the store takes up on the disk below, in bytes.
    pub(super) fn held_bytes(&self) -> u64 {
        self.store.held_bytes()
    }
}

fn request(id: u16, operation: Action, sector: u64, sectors: u64) -> Request {
    Request { id: u64::from(id), operation, sector, sectors: u32::try_from(sectors).unwrap_or(u32::MAX) }
}

/// What the device can do, a bit each.
pub(super) fn features(limits: &Limits) -> u64 {
    let features = [
        (VIRTIO_BLK_F_SEG_MAX, true),
        (VIRTIO_BLK_F_BLK_SIZE, true),
        (VIRTIO_BLK_F_TOPOLOGY, true),
        (VIRTIO_BLK_F_FLUSH, limits.volatile_cache),
        (VIRTIO_BLK_F_DISCARD, limits.discard.is_some()),
        (VIRTIO_BLK_F_WRITE_ZEROES, limits.write_zeroes),
    ];
    features.iter().map(|(bit, has)| u64::from(*has) << bit).sum()
}

/// The configuration space.
pub(super) fn configuration(limits: &Limits) -> [u8; 256] {
    /// The largest range of zeroes in one request, in sectors: 2 GiB.
    const ZEROES: u32 = 1 << 22;
    let mut space = [0; 256];
    let mut put = |offset: usize, bytes: &[u8]| {
        for (slot, byte) in space.iter_mut().skip(offset).zip(bytes) {
            *slot = *byte;
        }
    };
    put(offset_of!(Space, capacity), &(limits.size_bytes / SECTOR).to_le_bytes());
    put(offset_of!(Space, seg_max), &SEGMENTS.to_le_bytes());
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
        put(offset_of!(Space, max_write_zeroes_sectors), &ZEROES.to_le_bytes());
        put(offset_of!(Space, max_write_zeroes_seg), &1u32.to_le_bytes());
        put(offset_of!(Space, write_zeroes_may_unmap), &[1]);
    }
    space
}

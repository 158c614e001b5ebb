//! Writes the binary format of the kernel's block layer tracer, version 7: `struct blk_io_trace`
//! (include/uapi/linux/blktrace_api.h).

use std::io::{self, Write};

use super::super::request::Action;
use super::record::{Flags, Traced};

/// `BLK_IO_TRACE_MAGIC` and `BLK_IO_TRACE_VERSION`.
const MAGIC: u32 = 0x6561_7400 | 0x07;
/// Actions: queued, issued to the driver, completed; each with its category in the upper half.
const QUEUE: u32 = 1 | 1 << (4 + 16);
const ISSUE: u32 = 7 | 1 << (6 + 16);
const COMPLETE: u32 = 8 | 1 << (7 + 16);
/// Categories of the request itself.
const READ: u32 = 1 << 16;
const WRITE: u32 = 1 << (1 + 16);
const FLUSH: u32 = 1 << (2 + 16);
const DISCARD: u32 = 1 << (13 + 16);
/// The guest's /dev/vda: 254:0, as the kernel packs device numbers inside.
const DEVICE: u32 = 254 << 20;

/// Writes each request as queued and issued at its submission, and as completed at its completion, sorted by time.
pub(super) fn write(records: &[Traced], out: &mut impl Write) -> io::Result<()> {
    let mut events: Vec<(u64, u32, &Traced)> = Vec::with_capacity(3 * records.len());
    for record in records {
        events.push((record.submitted_ns, QUEUE, record));
        events.push((record.submitted_ns, ISSUE, record));
        events.extend(record.completed_ns.map(|done_ns| (done_ns, COMPLETE, record)));
    }
    events.sort_by_key(|(at_ns, ..)| *at_ns);
    for (sequence, (at_ns, action, record)) in (1_u32..).zip(events) {
        let category = match record.operation {
            Action::Read => READ,
            Action::Write | Action::WriteZeroes => WRITE,
            Action::Flush => WRITE | FLUSH,
            Action::Discard => WRITE | DISCARD,
        };
        // EIO.
        let error: u16 = if action == COMPLETE && record.flags.has(Flags::FAILED) { 5 } else { 0 };
        let mut bytes = [0_u8; 48];
        bytes[0..4].copy_from_slice(&MAGIC.to_ne_bytes());
        bytes[4..8].copy_from_slice(&sequence.to_ne_bytes());
        bytes[8..16].copy_from_slice(&at_ns.to_ne_bytes());
        bytes[16..24].copy_from_slice(&record.sector.to_ne_bytes());
        bytes[24..28].copy_from_slice(&record.sectors.saturating_mul(512).to_ne_bytes());
        bytes[28..32].copy_from_slice(&(action | category).to_ne_bytes());
        // Byte 32: the process, unknown. Byte 36: the device. Byte 40: the processor, the first.
        bytes[36..40].copy_from_slice(&DEVICE.to_ne_bytes());
        bytes[44..46].copy_from_slice(&error.to_ne_bytes());
        // Byte 46: nothing follows.
        out.write_all(&bytes)?;
    }
    Ok(())
}

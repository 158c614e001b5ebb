//! The log as the kernel's dm-log-writes keeps one, for `replay-log` of xfstests and whatever else reads it.
//!
//! Layout: `drivers/md/dm-log-writes.c`, `struct log_write_super` and `struct log_write_entry`. The first sector has the number of
//! entries; each entry is a sector, with the data behind it.

use std::io::{self, Write};

use crate::device::Action;

use super::log::{LogError, LoggedRequest, WriteLog};

/// `WRITE_LOG_MAGIC`.
const MAGIC: u64 = 0x006a_7366_7773_6872;
const VERSION: u64 = 1;
const SECTOR: usize = 512;
/// `LOG_FLUSH_FLAG`, `LOG_DISCARD_FLAG`.
const FLUSH: u64 = 1 << 0;
const DISCARD: u64 = 1 << 2;

/// Writes all of it. A flush stands behind the writes that were completed when it was submitted, as dm-log-writes has it: replayed
/// up to a flush, the log gives what that has made durable.
pub fn export(log: &WriteLog, output: &mut impl Write) -> Result<(), LogError> {
    let mut order: Vec<&LoggedRequest> =
        log.requests().iter().filter(|one| one.changes() || one.is_flush()).collect();
    order.sort_by_key(|one| match one.is_flush() {
        true => (one.submitted_ns, true),
        false => (one.completed_ns, false),
    });
    let head = [MAGIC, VERSION, order.len() as u64, SECTOR as u64];
    sector(output, &head)?;
    let mut bytes = Vec::new();
    for one in order {
        let (flags, has_data) = match one.request.operation {
            Action::Flush => (FLUSH, false),
            Action::Discard => (DISCARD, false),
            _ => (0, true),
        };
        // `data_len` is of marks alone; how much lies behind a write its sectors say.
        sector(output, &[one.request.sector, u64::from(one.request.sectors), flags, 0])?;
        if has_data {
            log.content(one, &mut bytes)?;
            output.write_all(&bytes)?;
        }
    }
    Ok(output.flush()?)
}

/// Numbers at the beginning of a sector.
fn sector(output: &mut impl Write, numbers: &[u64]) -> io::Result<()> {
    let mut bytes = [0; SECTOR];
    for (slot, number) in bytes.chunks_exact_mut(8).zip(numbers) {
        slot.copy_from_slice(&number.to_le_bytes());
    }
    output.write_all(&bytes)
}

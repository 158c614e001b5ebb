//! Exports a write log in the format of the kernel's dm-log-writes, for `replay-log` of xfstests and other readers.
//!
//! Layout: `drivers/md/dm-log-writes.c`, `struct log_write_super` and `struct log_write_entry`. The first sector
//! holds the number of entries; each entry is a sector, followed by its data.

use std::io::{self, Write};

use crate::device::Action;

use super::log::{LogError, LoggedRequest, WriteLog};

/// `WRITE_LOG_MAGIC`.
const MAGIC: u64 = 0x006a_7366_7773_6872;
const VERSION: u64 = 1;
/// Bytes of a sector.
const SECTOR: usize = 512;
/// `LOG_FLUSH_FLAG`, `LOG_DISCARD_FLAG`.
const FLUSH: u64 = 1 << 0;
const DISCARD: u64 = 1 << 2;

/// Writes the whole log. A flush comes after the writes that were completed when it was submitted, as in
/// dm-log-writes: replayed up to a flush, the log gives the state that the flush made durable.
///
/// # Errors
/// When the log cannot be read or the output cannot be written.
pub fn export_log(log: &WriteLog, output: &mut impl Write) -> Result<(), LogError> {
    let mut entries: Vec<&LoggedRequest> =
        log.requests().iter().filter(|logged| logged.changes_content() || logged.is_flush()).collect();
    entries.sort_by_key(|logged| match logged.is_flush() {
        true => (logged.submitted_ns, true),
        false => (logged.completed_ns, false),
    });
    let head = [MAGIC, VERSION, entries.len() as u64, SECTOR as u64];
    write_sector(output, &head)?;
    let mut bytes = Vec::new();
    for logged in entries {
        let (flags, has_data) = match logged.request.operation {
            Action::Flush => (FLUSH, false),
            Action::Discard => (DISCARD, false),
            _ => (0, true),
        };
        // `data_len` is used by marks only; the number of sectors gives the length of the data of a write.
        write_sector(output, &[logged.request.sector, u64::from(logged.request.sectors), flags, 0])?;
        if has_data {
            log.read_content(logged, &mut bytes)?;
            output.write_all(&bytes)?;
        }
    }
    Ok(output.flush()?)
}

/// Writes little-endian numbers at the beginning of a sector of zeroes.
fn write_sector(output: &mut impl Write, numbers: &[u64]) -> io::Result<()> {
    let mut bytes = [0; SECTOR];
    for (slot, number) in bytes.chunks_exact_mut(8).zip(numbers) {
        slot.copy_from_slice(&number.to_le_bytes());
    }
    output.write_all(&bytes)
}

//! Writes a trace while requests complete: compressed in pieces, up to a bound.

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::DeflateEncoder;

use super::record::{Before, Traced, encode};

/// The first bytes of a trace's file: its type and the version of its format.
pub(super) const MAGIC: &[u8; 8] = b"fsvtrac1";
/// Bit in a piece's length: its records contain submitters. A reader that does not know this bit takes the length for
/// damage, instead of a submitter for the next request.
pub(super) const TELLS: u32 = 1 << 31;
/// Bytes of records in a piece before compression.
const PIECE: usize = 1 << 16;

/// The size of a trace's file at its end, or where writing stopped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TraceSize {
    pub records: u64,
    /// Number of records that were left out because the bound was reached.
    pub left_out: u64,
    pub bytes: u64,
}

/// Appends records to a trace. Each piece can be read without those after it, so that a trace lacks only its end if its
/// writer was killed.
#[derive(Debug)]
pub struct TraceWriter<W: Write> {
    sink: W,
    /// Largest size of the file, in bytes.
    bound: u64,
    records: Vec<u8>,
    in_piece: u64,
    /// Whether one of the records in the piece has a submitter.
    tells: bool,
    before: Before,
    written: TraceSize,
}

impl<W: Write> TraceWriter<W> {
    /// Starts a trace of about `bound` bytes at most.
    pub fn new(mut sink: W, bound: u64) -> io::Result<TraceWriter<W>> {
        sink.write_all(MAGIC)?;
        let written = TraceSize { bytes: MAGIC.len() as u64, ..TraceSize::default() };
        let records = Vec::with_capacity(PIECE + 64);
        let before = Before::default();
        Ok(TraceWriter { sink, bound, records, in_piece: 0, tells: false, before, written })
    }

    /// Appends a record; beyond the bound it is only counted.
    pub fn record(&mut self, record: &Traced) -> io::Result<()> {
        if self.written.bytes >= self.bound {
            self.written.left_out += 1;
            return Ok(());
        }
        encode(record, &mut self.before, &mut self.records);
        self.in_piece += 1;
        self.tells |= record.by.is_some();
        if self.records.len() >= PIECE { self.end_piece() } else { Ok(()) }
    }

    fn end_piece(&mut self) -> io::Result<()> {
        if self.in_piece == 0 {
            return Ok(());
        }
        let mut packed = DeflateEncoder::new(Vec::with_capacity(PIECE / 2), Compression::fast());
        packed.write_all(&self.records)?;
        let packed = packed.finish()?;
        let head = packed.len() as u32 | if self.tells { TELLS } else { 0 };
        self.sink.write_all(&head.to_le_bytes())?;
        self.sink.write_all(&packed)?;
        self.written.bytes += 4 + packed.len() as u64;
        self.written.records += self.in_piece;
        self.records.clear();
        self.in_piece = 0;
        self.tells = false;
        // Each piece is decoded by itself.
        self.before = Before::default();
        Ok(())
    }

    /// Writes the remaining records; returns the sink and the size of the trace.
    pub fn finish(mut self) -> io::Result<(W, TraceSize)> {
        self.end_piece()?;
        self.sink.flush()?;
        Ok((self.sink, self.written))
    }
}

//! Writes a trace as it happens: compressed in pieces, up to a bound.

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::DeflateEncoder;

use super::record::{Before, Traced, encode};

/// How a trace's file begins: what it is, and the version of its form.
pub(super) const MAGIC: &[u8; 8] = b"fsvtrac1";
/// In a piece's length: it says of requests who submitted them. Readers that do not know of that take the length for damage,
/// rather than who submitted a request for the next one.
pub(super) const TELLS: u32 = 1 << 31;
/// Bytes of records in a piece before compression.
const PIECE: usize = 1 << 16;

/// How a trace's file ends, or where it stopped being written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TraceSize {
    pub records: u64,
    /// Records that came after the bound was reached, and are not.
    pub left_out: u64,
    pub bytes: u64,
}

/// Appends records to a trace. Each piece can be read without those after it, so that a trace whose writer was killed
/// lacks its end and nothing else.
#[derive(Debug)]
pub struct TraceWriter<W: Write> {
    sink: W,
    /// Bytes the file may have.
    bound: u64,
    records: Vec<u8>,
    in_piece: u64,
    /// Whether one of them says who submitted it.
    tells: bool,
    before: Before,
    written: TraceSize,
}

impl<W: Write> TraceWriter<W> {
    /// A trace of at most about this many bytes.
    pub fn new(mut sink: W, bound: u64) -> io::Result<TraceWriter<W>> {
        sink.write_all(MAGIC)?;
        let written = TraceSize { bytes: MAGIC.len() as u64, ..TraceSize::default() };
        let records = Vec::with_capacity(PIECE + 64);
        let before = Before::default();
        Ok(TraceWriter { sink, bound, records, in_piece: 0, tells: false, before, written })
    }

    /// Appends a record; past the bound it is only counted.
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
        // A piece stands for itself.
        self.before = Before::default();
        Ok(())
    }

    /// Writes what is left, and says what became of it all.
    pub fn finish(mut self) -> io::Result<(W, TraceSize)> {
        self.end_piece()?;
        self.sink.flush()?;
        Ok((self.sink, self.written))
    }
}

//! Reads a trace, including one that lacks its end.

use std::io::{self, Read};

use flate2::read::DeflateDecoder;

use super::record::{Before, Traced, decode};
use super::writer::{MAGIC, TELLS};

/// Why a trace cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    #[error("this is no trace of fsverdict's, or of a version this program does not know")]
    Foreign,
    #[error("the trace is damaged after {records} requests")]
    Damaged { records: u64 },
    #[error("cannot read the trace: {0}")]
    Failed(#[from] io::Error),
}

/// Largest piece in bytes; a larger length means damage.
const LARGEST_PIECE: u64 = 1 << 24;

/// Records of a trace, in the order of completion.
#[derive(Debug)]
pub struct TraceReader<R: Read> {
    source: R,
    piece: Vec<u8>,
    at: usize,
    before: Before,
    records: u64,
    ended: bool,
}

impl<R: Read> TraceReader<R> {
    pub fn new(mut source: R) -> Result<TraceReader<R>, TraceError> {
        let mut magic = [0; MAGIC.len()];
        match source.read_exact(&mut magic) {
            Ok(()) if &magic == MAGIC => {}
            Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => return Err(error.into()),
            _ => return Err(TraceError::Foreign),
        }
        let before = Before::default();
        Ok(TraceReader { source, piece: Vec::new(), at: 0, before, records: 0, ended: false })
    }

    /// Reads the next piece; `false` at the end, and if the last piece is incomplete.
    fn next_piece(&mut self) -> Result<bool, TraceError> {
        let mut head = Vec::new();
        self.source.by_ref().take(4).read_to_end(&mut head)?;
        let Ok(length) = <[u8; 4]>::try_from(head.as_slice()) else { return Ok(false) };
        let length = u64::from(u32::from_le_bytes(length) & !TELLS);
        if length > LARGEST_PIECE {
            return Err(TraceError::Damaged { records: self.records });
        }
        let mut packed = Vec::new();
        self.source.by_ref().take(length).read_to_end(&mut packed)?;
        if (packed.len() as u64) < length {
            return Ok(false);
        }
        self.piece.clear();
        self.at = 0;
        self.before = Before::default();
        let read = DeflateDecoder::new(packed.as_slice()).take(LARGEST_PIECE).read_to_end(&mut self.piece);
        match read {
            Ok(bytes) if bytes > 0 => Ok(true),
            _ => Err(TraceError::Damaged { records: self.records }),
        }
    }

    fn next_record(&mut self) -> Result<Option<Traced>, TraceError> {
        if self.at == self.piece.len() && !self.next_piece()? {
            return Ok(None);
        }
        let mut rest = &self.piece[self.at..];
        let record = decode(&mut rest, &mut self.before);
        self.at = self.piece.len() - rest.len();
        match record {
            Some(record) => {
                self.records += 1;
                Ok(Some(record))
            }
            None => Err(TraceError::Damaged { records: self.records }),
        }
    }
}

impl<R: Read> Iterator for TraceReader<R> {
    type Item = Result<Traced, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let next = self.next_record().transpose();
        self.ended = !matches!(next, Some(Ok(_)));
        next
    }
}

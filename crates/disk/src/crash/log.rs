//! Reads a log of writes: requests with their contents, in the order of completion.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::fs::FileExt;

use crate::device::{Action, Request};

use super::loss::LossRule;
use super::state::CrashState;

/// The first bytes of a log's file: its type and the version of its format.
pub(super) const MAGIC: &[u8; 8] = b"fsvwlog1";
/// Bytes of the header before each request's content.
pub(super) const HEADER: usize = 40;
/// Bytes of a sector.
const SECTOR: u64 = 512;
/// Most sectors of one write: as many as the backend accepts (`MAX_REQUEST_BYTES` there).
const MAX_WRITE_SECTORS: u32 = 1 << 17;
/// Most requests of a log.
pub(super) const MOST_REQUESTS: usize = 1 << 22;

/// Why a log cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    #[error("cannot read the log of writes: {0}")]
    Io(#[from] io::Error),
    #[error("it is no log of writes")]
    Foreign,
    #[error("the log of writes has more than {MOST_REQUESTS} requests")]
    Long,
    #[error("the log of writes is damaged at byte {at}")]
    Damaged {
        /// Offset in bytes.
        at: u64,
    },
}

/// A request that the log contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoggedRequest {
    pub request: Request,
    /// Times of submission and completion, in nanoseconds of the device's clock.
    pub submitted_ns: u64,
    pub completed_ns: u64,
    /// Offset of its content in the file; 0 if it has none, or only zeroes.
    pub(super) content: u64,
}

impl LoggedRequest {
    /// Whether it changes the content of the device.
    pub fn changes_content(&self) -> bool {
        !matches!(self.request.operation, Action::Read | Action::Flush)
    }

    pub fn is_flush(&self) -> bool {
        self.request.operation == Action::Flush
    }
}

/// Encodes the header of a request.
pub(super) fn encode_header(logged: &LoggedRequest) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    let numbers = [logged.submitted_ns, logged.completed_ns, logged.request.sector, logged.content];
    for (slot, number) in header.chunks_exact_mut(8).zip(numbers) {
        slot.copy_from_slice(&number.to_le_bytes());
    }
    header[32..36].copy_from_slice(&logged.request.sectors.to_le_bytes());
    header[36] = logged.request.operation as u8;
    header
}

/// Decodes the header of a request at byte `offset` of the file; `None` where it is invalid.
fn decode_header(header: &[u8; HEADER], offset: u64) -> Option<LoggedRequest> {
    let number = |index: usize| {
        let bytes = header.get(index * 8..index * 8 + 8)?;
        Some(u64::from_le_bytes(bytes.try_into().ok()?))
    };
    let sectors = u32::from_le_bytes(header.get(32..36)?.try_into().ok()?);
    let operation = *Action::ALL.get(usize::from(*header.get(36)?))?;
    let request = Request { id: 0, operation, sector: number(2)?, sectors };
    let logged =
        LoggedRequest { request, submitted_ns: number(0)?, completed_ns: number(1)?, content: number(3)? };
    let is_write = operation == Action::Write;
    let has_place = request.sector.checked_add(u64::from(sectors))?.checked_mul(SECTOR).is_some();
    let in_order = logged.submitted_ns <= logged.completed_ns && logged.content <= offset + HEADER as u64;
    (has_place
        && in_order
        && (!is_write || sectors <= MAX_WRITE_SECTORS)
        && (is_write || logged.content == 0))
        .then_some(logged)
}

/// Requests that change a device, and its flushes, in the order of their completion; their contents stay in the file.
#[derive(Debug)]
pub struct WriteLog {
    file: File,
    requests: Vec<LoggedRequest>,
}

impl WriteLog {
    /// Reads a log up to its last whole request, because a writer that was killed leaves no end. It takes 56 bytes of
    /// memory for each request.
    pub fn read_log(file: File) -> Result<WriteLog, LogError> {
        let length = file.metadata()?.len();
        let mut input = BufReader::with_capacity(1 << 20, file.try_clone()?);
        let mut magic = [0; MAGIC.len()];
        input.read_exact(&mut magic).map_err(|_| LogError::Foreign)?;
        if magic != *MAGIC {
            return Err(LogError::Foreign);
        }
        let (mut offset, mut requests) = (MAGIC.len() as u64, Vec::new());
        let mut last_ns = 0;
        while offset + HEADER as u64 <= length {
            let mut header = [0; HEADER];
            input.read_exact(&mut header)?;
            let logged = decode_header(&header, offset).filter(|logged| logged.completed_ns >= last_ns);
            let logged = logged.ok_or(LogError::Damaged { at: offset })?;
            offset += HEADER as u64;
            last_ns = logged.completed_ns;
            if logged.content == offset {
                let bytes = u64::from(logged.request.sectors) * SECTOR;
                if offset + bytes > length {
                    break;
                }
                input.seek_relative(i64::try_from(bytes).map_err(|_| LogError::Damaged { at: offset })?)?;
                offset += bytes;
            }
            if requests.len() >= MOST_REQUESTS {
                return Err(LogError::Long);
            }
            requests.push(logged);
        }
        Ok(WriteLog { file, requests })
    }

    /// The requests in the order of their completion.
    pub fn requests(&self) -> &[LoggedRequest] {
        &self.requests
    }

    /// Reads the data of a write into `bytes`; the data is zeroes for requests that write zeroes.
    pub fn read_content(&self, logged: &LoggedRequest, bytes: &mut Vec<u8>) -> Result<(), LogError> {
        bytes.clear();
        bytes.resize(logged.request.sectors as usize * SECTOR as usize, 0);
        if logged.content > 0 {
            self.file.read_exact_at(bytes, logged.content)?;
        }
        Ok(())
    }

    /// Number of requests at the beginning of the log that are durable when `cut` requests are completed: they were
    /// completed before one of the completed flushes was submitted. A device without a volatile cache loses no
    /// completed request.
    pub(super) fn durable_count(&self, cut: usize, rule: LossRule) -> usize {
        /// A faulty device has written all but its last requests without a flush.
        const CACHED_REQUESTS: usize = 64;
        let completed = self.requests.get(..cut).unwrap_or(&self.requests);
        if !rule.volatile {
            return completed.len();
        }
        if !rule.flushes {
            return completed.len().saturating_sub(CACHED_REQUESTS);
        }
        let horizon =
            completed.iter().filter(|request| request.is_flush()).map(|flush| flush.submitted_ns).max();
        let Some(horizon) = horizon else { return 0 };
        completed.partition_point(|request| request.completed_ns <= horizon)
    }

    /// The time of a power cut after `cut` completed requests, in nanoseconds of the device's clock.
    pub fn moment_ns(&self, cut: usize) -> u64 {
        cut.checked_sub(1).and_then(|last| self.requests.get(last)).map_or(0, |last| last.completed_ns)
    }

    /// The requests that may or may not have reached the medium when `cut` are completed.
    pub fn uncertain_at(&self, cut: usize, rule: LossRule) -> Vec<LoggedRequest> {
        let numbers = self.uncertain_requests(cut, rule);
        numbers.into_iter().filter_map(|number| self.requests.get(number).copied()).collect()
    }

    /// The uncertain requests that a state lacks, wholly or in part.
    pub fn lost_requests(&self, state: CrashState, rule: LossRule) -> Vec<LoggedRequest> {
        let uncertain = self.uncertain_at(state.cut, rule);
        let is_lost = |(number, logged): &(u32, LoggedRequest)| {
            state
                .survivors
                .surviving_sectors(*number, logged.request.sectors)
                .is_none_or(|sectors| sectors < logged.request.sectors)
        };
        (0..).zip(uncertain).filter(is_lost).map(|(_, logged)| logged).collect()
    }

    /// The indices of the requests that may or may not have reached the medium when `cut` are completed: completed
    /// requests that no flush has made durable, and requests in flight.
    pub(super) fn uncertain_requests(&self, cut: usize, rule: LossRule) -> Vec<usize> {
        /// A device takes fewer requests at once.
        const MAX_IN_FLIGHT: usize = 1024;
        let now_ns = self.moment_ns(cut);
        let completed = self.durable_count(cut, rule)..cut.min(self.requests.len());
        let in_flight = cut..self.requests.len().min(cut.saturating_add(MAX_IN_FLIGHT));
        let is_in_flight =
            |number: &usize| self.requests.get(*number).is_some_and(|request| request.submitted_ns <= now_ns);
        let candidates = completed.chain(in_flight.filter(is_in_flight));
        candidates
            .filter(|number| self.requests.get(*number).is_some_and(LoggedRequest::changes_content))
            .collect()
    }
}

//! Writes the log of a device while it is served: each write with its content. Equal contents are stored once.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};

use xxhash_rust::xxh3::xxh3_128;

use crate::device::Completion;

use super::log::{HEADER, LoggedRequest, MAGIC, MOST_REQUESTS, encode_header};

/// Appends to a log. Equal contents are recognised by a digest of 128 bits.
#[derive(Debug)]
pub struct LogWriter {
    output: BufWriter<File>,
    /// Number of bytes written, and their upper bound.
    written_bytes: u64,
    bound: u64,
    requests: usize,
    /// Offset of each stored content in the file, by its digest.
    stored_contents: HashMap<u128, u64>,
    is_full: bool,
}

impl LogWriter {
    /// Starts a log of at most `bound` bytes in an empty file.
    pub fn new(file: File, bound: u64) -> io::Result<LogWriter> {
        let mut output = BufWriter::with_capacity(1 << 20, file);
        output.write_all(MAGIC)?;
        let written_bytes = MAGIC.len() as u64;
        Ok(LogWriter {
            output,
            written_bytes,
            bound,
            requests: 0,
            stored_contents: HashMap::new(),
            is_full: false,
        })
    }

    /// Appends a completed request; `data` is the content of a write, and empty for other requests. A full log takes
    /// no more requests: states up to its end are right, and later ones cannot be computed.
    pub fn append_completion(&mut self, completion: &Completion, data: &[u8]) -> io::Result<()> {
        let needed_bytes = (HEADER + data.len()) as u64;
        if self.is_full
            || self.written_bytes.saturating_add(needed_bytes) > self.bound
            || self.requests >= MOST_REQUESTS
        {
            self.is_full = true;
            return Ok(());
        }
        self.requests += 1;
        let content_offset = self.written_bytes + HEADER as u64;
        let (mut content, mut is_new) = (0, false);
        if !data.is_empty() && data.iter().any(|byte| *byte != 0) {
            content = *self.stored_contents.entry(xxh3_128(data)).or_insert_with(|| {
                is_new = true;
                content_offset
            });
        }
        let Completion { request, submitted_ns, completed_ns } = *completion;
        let logged = LoggedRequest { request, submitted_ns, completed_ns, content };
        self.output.write_all(&encode_header(&logged))?;
        self.written_bytes = content_offset;
        if is_new {
            self.output.write_all(data)?;
            self.written_bytes += data.len() as u64;
        }
        Ok(())
    }

    /// Whether requests were left out because the log was full.
    pub fn is_full(&self) -> bool {
        self.is_full
    }

    /// Writes the bytes that are still buffered.
    pub fn flush_buffer(mut self) -> io::Result<()> {
        self.output.flush()
    }
}

//! Writes the log of a device as it is served: each write with its content, which is stored once however often it comes again.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};

use xxhash_rust::xxh3::xxh3_128;

use crate::device::Completion;

use super::log::{HEADER, LoggedRequest, MAGIC, MOST_REQUESTS, encode};

/// Appends to a log. Contents are known again by 128 bits of their digest.
#[derive(Debug)]
pub struct LogWriter {
    output: BufWriter<File>,
    /// Bytes written, and how many it may be.
    at: u64,
    bound: u64,
    requests: usize,
    /// Where a content lies, by its digest.
    known: HashMap<u128, u64>,
    is_full: bool,
}

impl LogWriter {
    /// A log of at most this many bytes in this file, which is empty.
    pub fn new(file: File, bound: u64) -> io::Result<LogWriter> {
        let mut output = BufWriter::with_capacity(1 << 20, file);
        output.write_all(MAGIC)?;
        let at = MAGIC.len() as u64;
        Ok(LogWriter { output, at, bound, requests: 0, known: HashMap::new(), is_full: false })
    }

    /// Appends a completed request; `data` is what a write carried, and empty for everything else. A log that is full takes no
    /// more: states of what is in it are right, and later moments cannot be told.
    pub fn record(&mut self, completion: &Completion, data: &[u8]) -> io::Result<()> {
        let room = (HEADER + data.len()) as u64;
        if self.is_full || self.at.saturating_add(room) > self.bound || self.requests >= MOST_REQUESTS {
            self.is_full = true;
            return Ok(());
        }
        self.requests += 1;
        let begins = self.at + HEADER as u64;
        let (mut content, mut is_new) = (0, false);
        if !data.is_empty() && data.iter().any(|byte| *byte != 0) {
            content = *self.known.entry(xxh3_128(data)).or_insert_with(|| {
                is_new = true;
                begins
            });
        }
        let Completion { request, submitted_ns, completed_ns } = *completion;
        let logged = LoggedRequest { request, submitted_ns, completed_ns, content };
        self.output.write_all(&encode(&logged))?;
        self.at = begins;
        if is_new {
            self.output.write_all(data)?;
            self.at += data.len() as u64;
        }
        Ok(())
    }

    /// Whether something was left out.
    pub fn is_full(&self) -> bool {
        self.is_full
    }

    /// Writes what is left.
    pub fn finish(mut self) -> io::Result<()> {
        self.output.flush()
    }
}

//! Exports a trace in the formats of other programs.

use std::io::{self, Write};

use super::super::request::Action;
use super::blktrace;
use super::record::{Flags, Traced};

/// A format that other programs read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TraceFormat {
    /// The format that the kernel's block layer tracer writes, and blkparse, iowatcher and seekwatcher read.
    Blktrace,
    /// fio's I/O log, version 3, which replays the requests: `fio --read_iolog`.
    Iolog,
    Csv,
}

/// Writes records in this format. `device` is the device on which the I/O log is to be replayed.
pub fn export(records: &[Traced], format: TraceFormat, device: &str, out: &mut impl Write) -> io::Result<()> {
    match format {
        TraceFormat::Blktrace => blktrace::write(records, out),
        TraceFormat::Iolog => iolog(records, device, out),
        TraceFormat::Csv => csv(records, out),
    }
}

/// Writes the format of fio(1), "Trace file format v3"; times are microseconds, as in the logs that fio writes
/// itself.
fn iolog(records: &[Traced], device: &str, out: &mut impl Write) -> io::Result<()> {
    let mut records: Vec<&Traced> = records.iter().collect();
    records.sort_by_key(|record| record.submitted_ns);
    let start_ns = records.first().map_or(0, |record| record.submitted_ns);
    writeln!(out, "fio version 3 iolog\n0 {device} add\n0 {device} open")?;
    let mut last_us = 0;
    for record in records {
        last_us = (record.submitted_ns - start_ns) / 1000;
        let (offset, length) = (record.sector.saturating_mul(512), u64::from(record.sectors) * 512);
        let action = match record.operation {
            Action::Read => "read",
            // fio has no action that writes zeroes: it becomes a write.
            Action::Write | Action::WriteZeroes => "write",
            Action::Flush => "sync",
            Action::Discard => "trim",
        };
        writeln!(out, "{last_us} {device} {action} {offset} {length}")?;
    }
    writeln!(out, "{last_us} {device} close")
}

fn csv(records: &[Traced], out: &mut impl Write) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    writer
        .write_record([
            "submitted_ns",
            "completed_ns",
            "operation",
            "sector",
            "sectors",
            "failed",
            "submitter",
        ])
        .map_err(written)?;
    for record in records {
        writer
            .write_record([
                record.submitted_ns.to_string(),
                record.completed_ns.map(|done_ns| done_ns.to_string()).unwrap_or_default(),
                record.operation.name().to_owned(),
                record.sector.to_string(),
                record.sectors.to_string(),
                record.flags.has(Flags::FAILED).to_string(),
                record.by.map_or(String::new(), |by| {
                    let kind = if by.is_kernel_thread() { "kernel" } else { "process" };
                    format!("{kind}:{:08x}", by.number())
                }),
            ])
            .map_err(written)?;
    }
    writer.flush()
}

/// Returns the machine's error, so that a closed pipe or a full disk stays recognisable.
fn written(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}

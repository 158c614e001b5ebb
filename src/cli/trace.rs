//! `fsverdict trace`: prints the requests to a modelled device in one trial, as figures or for other programs.

use std::fmt::Write as _;
use std::io::{BufWriter, IsTerminal, Write};
use std::path::PathBuf;

use clap::Args;

use crate::study::RunFolder;
use fsverdict_disk::device::Action;
use fsverdict_disk::device::trace::{Flags, Metrics, TraceFormat, Traced, export};
use fsverdict_lab::lab::{TRACES, TraceFile};
use fsverdict_linux::host::results::binary_result_writer;
use fsverdict_text::{Bytes, Hinted, Reason};

use super::open_run::find_candidate;
use super::output::write_to;
use super::{CliError, Exit};

#[derive(Debug, Args)]
pub(super) struct TraceArguments {
    /// The run's folder
    run: PathBuf,
    /// The candidate
    candidate: String,
    /// The block [default: the last]
    #[arg(long)]
    block: Option<u32>,
    /// The device, where the plan has several
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    device: usize,
    /// The format [default: figures]
    #[arg(long, value_enum)]
    format: Option<TraceFormArgument>,
    /// The file or device that the iolog names
    #[arg(long, value_name = "FILE", default_value = "device")]
    on: String,
    /// Write into this file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum TraceFormArgument {
    /// Seeks, sequential share, latencies, queue depth
    Figures,
    /// Binary trace for blkparse and iowatcher
    Blktrace,
    /// Log with which fio repeats the requests (`fio --read_iolog`)
    Iolog,
    /// One row per request
    Csv,
}

pub(super) fn run(arguments: &TraceArguments) -> Result<Exit, CliError> {
    let (folder, plan) = RunFolder::open(&arguments.run).map_err(CliError::usage)?;
    find_candidate(&plan, &arguments.candidate)?;
    let mut files = TraceFile::list_traces(folder.handle()).map_err(|error| {
        CliError::Failed(error.reason().after(format!("{}: ", folder.handle().path_of(TRACES).display())))
    })?;
    files.retain(|file| file.candidate == arguments.candidate && file.device == arguments.device);
    files.sort_by_key(|file| (file.block, file.attempt));
    let file = files.iter().rfind(|file| arguments.block.is_none_or(|block| block == file.block));
    let Some(file) = file else {
        if let (Some(block), Some(last)) = (arguments.block, files.last()) {
            return Err(CliError::usage(Reason::new(
                format!("block {block} has no trace of {}", arguments.candidate),
                format!("the last trace of {} is from block {}", arguments.candidate, last.block),
            )));
        }
        return Err(CliError::failed(Reason::new(
            format!("{} has no such trace", folder.handle().path_of(TRACES).display()),
            "traces are kept of trials on a modelled device; name one in the plan: \
             [device] model = \"usb-disk-5400\"",
        )));
    };
    let records = file
        .read_requests()
        .map_err(|reason| CliError::Failed(reason.after(format!("{}: ", file.path().display()))))?;
    let format = match arguments.format.unwrap_or(TraceFormArgument::Figures) {
        TraceFormArgument::Figures => None,
        TraceFormArgument::Blktrace => Some(TraceFormat::Blktrace),
        TraceFormArgument::Iolog => Some(TraceFormat::Iolog),
        TraceFormArgument::Csv => Some(TraceFormat::Csv),
    };
    let to_terminal = arguments.output.is_none() && std::io::stdout().is_terminal();
    if format == Some(TraceFormat::Blktrace) && to_terminal {
        return Err(CliError::usage(Reason::new(
            "a blktrace is binary",
            "--output vda.blktrace.0, then: blkparse -i vda",
        )));
    }
    if format == Some(TraceFormat::Blktrace) && arguments.output.is_none() {
        let mut out = BufWriter::new(binary_result_writer());
        export(&records, TraceFormat::Blktrace, &arguments.on, &mut out)?;
        out.flush()?;
        return Ok(Exit::Done);
    }
    write_to(arguments.output.as_deref(), &[&arguments.run], None, &mut |out| {
        let mut out = BufWriter::new(out);
        match format {
            Some(format) => export(&records, format, &arguments.on, &mut out)?,
            None => out.write_all(figures(file, &records).as_bytes())?,
        }
        Ok(out.flush()?)
    })?;
    Ok(Exit::Done)
}

/// Figures for people.
fn figures(file: &TraceFile, records: &[Traced]) -> String {
    let metrics = Metrics::new(records);
    let mut text = String::new();
    let ms = |ns: Option<u64>| ns.map_or_else(|| "–".to_owned(), |ns| format!("{:.3}", ns as f64 / 1e6));
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "{}, block {}: {:.3} s of device time",
        file.candidate,
        file.block,
        metrics.span_ns as f64 / 1e9
    );
    let _ = writeln!(
        text,
        "\n{:13}{:>10}{:>12}{:>12}{:>10}{:>10}",
        "", "requests", "data", "sequential", "p50 ms", "p99 ms"
    );
    for operation in Action::ALL {
        let share = metrics.share(operation);
        if share.requests == 0 {
            continue;
        }
        let data = if share.bytes == 0 { "–".to_owned() } else { Bytes(share.bytes).to_string() };
        let sequential = match operation {
            Action::Read | Action::Write => {
                format!("{:.1} %", share.sequential as f64 / share.requests as f64 * 100.0)
            }
            _ => "–".to_owned(),
        };
        let (p50, p99) = (ms(share.latency_ns(0.5)), ms(share.latency_ns(0.99)));
        let _ = writeln!(
            text,
            "{:13}{:>10}{data:>12}{sequential:>12}{p50:>10}{p99:>10}",
            operation.name(),
            share.requests
        );
    }
    let far = Bytes(metrics.seek_sectors.saturating_mul(512) / metrics.seeks.max(1));
    let _ = writeln!(text, "\nseeks       {} over {far} on average", metrics.seeks);
    let _ =
        writeln!(text, "queue depth {:.2} on average, {} at most", metrics.mean_depth, metrics.most_depth);
    if metrics.underway > 0 {
        let _ = writeln!(text, "underway    {} at the end", metrics.underway);
    }
    let failed = records.iter().filter(|record| record.flags.has(Flags::FAILED)).count();
    if failed > 0 {
        let _ = writeln!(text, "failed      {failed}");
    }
    text
}

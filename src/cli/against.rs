//! `fsverdict calibrate --against`: a model held against a trace that was measured elsewhere.

use std::ops::Range;
use std::path::{Path, PathBuf};

use clap::Args;

use fsverdict_disk::calibrate::{
    Demerit, Measured, TraceScore, first_fifth, fit_to_trace, read_recording, replay_trace,
};
use fsverdict_disk::device::Model;
use fsverdict_folders::{Existing, read_regular, write_output};
use fsverdict_report::{AgainstReport, FittedNumber, KindShares, Shares, TracePart};
use fsverdict_text::{Bytes, Hinted, Reason};

use super::output::{ReportFormat, write_to, written};
use super::{CliError, Exit};

/// The most bytes that a trace may have.
const LONGEST_TRACE: u64 = 256 << 20;

#[derive(Debug, Args)]
pub(super) struct Against {
    /// Compare a model with a trace of requests and their measured times
    #[arg(long, value_name = "TRACE", requires = "model")]
    pub(super) against: Option<PathBuf>,
    /// The model to compare: a name or a file
    #[arg(long, value_name = "MODEL", requires = "against")]
    model: Option<String>,
    /// Fit the model's numbers to the first fifth of the trace and score it on the rest; write the model into FILE
    #[arg(long, value_name = "FILE", requires = "against", num_args = 0..=1, require_equals = true)]
    #[allow(clippy::option_option, reason = "absent, without a file, with one")]
    fit: Option<Option<PathBuf>>,
    /// The format
    #[arg(long, value_enum, requires = "against")]
    format: Option<ReportFormat>,
}

pub(super) fn run(arguments: &Against, trace: &Path, output: Option<&Path>) -> Result<Exit, CliError> {
    let named = arguments.model.as_deref().unwrap_or_default();
    let model = Model::find(named).map_err(CliError::usage)?;
    let bytes = read_regular(trace, LONGEST_TRACE).map_err(|error| of(trace, &unreadable(error)))?;
    let measured = read_recording(&bytes).map_err(|error| of(trace, &error))?;
    let took = replay_trace(&model, &measured).map_err(|error| of(trace, &error))?;
    let whole = 0..measured.len();
    let mut parts = vec![part("all of it", &measured, &took, whole)];
    let (mut numbers, mut at_bound) = (Vec::new(), Vec::new());
    if let Some(file) = &arguments.fit {
        let (text, state) = Model::file(named).map_err(CliError::usage)?;
        let fitted = fit_to_trace(&text, named, state, &measured).map_err(|error| of(trace, &error))?;
        let better = replay_trace(&fitted.model, &measured).map_err(|error| of(trace, &error))?;
        let (first, rest) = (0..first_fifth(&measured), first_fifth(&measured)..measured.len());
        parts = vec![
            part("the first fifth, as in the file", &measured, &took, first.clone()),
            part("the rest, as in the file", &measured, &took, rest.clone()),
            part("the first fifth, fitted", &measured, &better, first),
            part("the rest, fitted", &measured, &better, rest),
        ];
        let numbers_fitted = fitted.numbers.into_iter();
        numbers =
            numbers_fitted.map(|[number, before, fitted]| FittedNumber { number, before, fitted }).collect();
        at_bound = fitted.at_bound;
        if let Some(file) = file {
            save(file, &fitted.toml)?;
        }
    }
    let name = format!("{} v{}", model.name, model.version);
    let report =
        AgainstReport::new(&name, &trace.display().to_string(), parts.into_iter().flatten().collect());
    let report = report.with_fit(numbers, at_bound);
    let format = arguments.format.unwrap_or(ReportFormat::Terminal).format(output.is_some(), true);
    write_to(output, &[trace], None, &mut |out| written(report.write(format, out)))?;
    Ok(Exit::Done)
}

/// Writes a model into a file of its own.
fn save(file: &Path, toml: &str) -> Result<(), CliError> {
    let written = write_output(file, Existing::Keep, |out| out.write_all(toml.as_bytes()));
    written.map_err(|error| {
        let hint = error.hint();
        let hint = hint.unwrap_or_else(|| "name another file, or remove this one".to_owned());
        CliError::Failed(Reason::new(format!("cannot write the model {}: {error}", file.display()), hint))
    })
}

/// How far the model is off in these requests of the trace; nothing where none of them took any time.
fn part(of: &str, measured: &[Measured], took: &[f64], range: Range<usize>) -> Option<TracePart> {
    let TraceScore { pairs, all, operations, within, kinds } =
        TraceScore::from_latencies(measured, took, range)?;
    let kinds =
        kinds.into_iter().map(|(kind, demerit)| KindShares { kind, shares: shares(&demerit) }).collect();
    Some(TracePart { of: of.to_owned(), pairs, all: shares(&all), operations, within, kinds })
}

fn shares(found: &Demerit) -> Shares {
    Shares {
        n: found.n,
        measured_ns: found.measured,
        predicted_ns: found.predicted,
        demerit: found.share,
        bias: found.bias,
        error: found.error,
        constant: found.constant,
    }
}

/// Wraps the error of a trace, and names the trace.
fn unreadable(error: std::io::Error) -> Reason {
    Reason::new(error, format!("name a file that can be read, of at most {}", Bytes(LONGEST_TRACE)))
}

fn of(trace: &Path, error: &impl Hinted) -> CliError {
    CliError::Failed(error.reason().after(format!("cannot use the trace {}: ", trace.display())))
}

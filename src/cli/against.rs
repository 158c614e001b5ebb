//! `fsverdict calibrate --against`: a model held against a trace that was measured elsewhere.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write as _;
use std::ops::Range;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::calibrate::{Measured, first_fifth, fit_to_trace, kinds, read, replay};
use crate::device::Model;
use crate::host::beneath::read_regular;
use fsverdict_report::{AgainstReport, Answers, write_against};
use fsverdict_text::{Hinted, Reason};

use super::report::{ReportFormat, write_to, written};
use super::{CliError, Exit};

/// The most bytes that a trace may have.
const LONGEST_TRACE: u64 = 256 << 20;

#[derive(Debug, Args)]
pub(super) struct Against {
    /// Hold a model against what was measured: a trace of requests and how long each took
    #[arg(long, value_name = "TRACE", requires = "model")]
    pub(super) against: Option<PathBuf>,
    /// The model that is held against it: a name, or a file
    #[arg(long, value_name = "MODEL", requires = "against")]
    model: Option<String>,
    /// Find what the first fifth of the trace shows of the model's numbers, and score it on the rest; into FILE, the model
    #[arg(long, value_name = "FILE", requires = "against", num_args = 0..=1, require_equals = true)]
    #[allow(clippy::option_option, reason = "absent, without a file, with one")]
    fit: Option<Option<PathBuf>>,
    /// In which form
    #[arg(long, value_enum, requires = "against")]
    format: Option<ReportFormat>,
}

pub(super) fn run(arguments: &Against, trace: &Path, output: Option<&Path>) -> Result<Exit, CliError> {
    let named = arguments.model.as_deref().unwrap_or_default();
    let model = Model::find(named).map_err(CliError::usage)?;
    let bytes = read_regular(trace, LONGEST_TRACE).map_err(|error| of(trace, &Reason::plain(error)))?;
    let measured = read(&bytes).map_err(|error| of(trace, &error))?;
    let took = replay(&model, &measured).map_err(|error| of(trace, &error))?;
    let whole = 0..measured.len();
    let (mut parts, mut numbers) = (vec![answers("all of it", &measured, &took, whole)], Vec::new());
    if let Some(file) = &arguments.fit {
        let (text, state) = Model::file(named).map_err(CliError::usage)?;
        let fitted = fit_to_trace(&text, named, state, &measured).map_err(|error| of(trace, &error))?;
        let better = replay(&fitted.model, &measured).map_err(|error| of(trace, &error))?;
        let (first, rest) = (0..first_fifth(&measured), first_fifth(&measured)..measured.len());
        parts = vec![
            answers("the first fifth, as in the file", &measured, &took, first.clone()),
            answers("the rest, as in the file", &measured, &took, rest.clone()),
            answers("the first fifth, fitted", &measured, &better, first),
            answers("the rest, fitted", &measured, &better, rest),
        ];
        numbers = fitted.numbers;
        if let Some(file) = file {
            save(file, &fitted.toml)?;
        }
    }
    let name = format!("{} v{}", model.name, model.version);
    let report = AgainstReport::new(&name, &trace.display().to_string(), parts, numbers);
    let format = arguments.format.unwrap_or(ReportFormat::Terminal).format(output.is_some(), true);
    write_to(output, &mut |out| written(write_against(&report, format, out)))?;
    Ok(Exit::Done)
}

/// Writes a model into a file of its own.
fn save(file: &Path, toml: &str) -> Result<(), CliError> {
    let written = File::create_new(file).and_then(|mut opened| opened.write_all(toml.as_bytes()));
    written.map_err(|error| {
        let hint = "it must not be there yet: name another, or remove it";
        CliError::Failed(Reason::new(format!("cannot write the model {}: {error}", file.display()), hint))
    })
}

/// What was measured and said of these requests.
fn answers(part: &str, measured: &[Measured], took: &[f64], range: Range<usize>) -> Answers {
    let mut by_kind: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
    let all = measured.iter().zip(kinds(measured)).zip(took);
    for ((one, kind), said) in all.skip(range.start).take(range.len()) {
        let real = one.record.latency_ns().unwrap_or_default() as f64;
        by_kind.entry(kind).or_default().push((real, *said));
    }
    Answers { of: part.to_owned(), kinds: by_kind }
}

/// What is wrong with a trace, after its name.
fn of(trace: &Path, error: &impl Hinted) -> CliError {
    CliError::Failed(error.reason().after(format!("cannot use the trace {}: ", trace.display())))
}

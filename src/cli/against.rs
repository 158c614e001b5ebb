//! `fsverdict calibrate --against`: a model held against a trace that was measured elsewhere.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::calibrate::{kinds, read, replay};
use crate::device::Model;
use crate::host::beneath::read_regular;
use crate::reason::{Hinted, Reason};
use crate::report::{AgainstReport, Answers, write_against};

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
    /// In which form
    #[arg(long, value_enum, requires = "against")]
    format: Option<ReportFormat>,
}

pub(super) fn run(arguments: &Against, trace: &Path, output: Option<&Path>) -> Result<Exit, CliError> {
    let model = Model::find(arguments.model.as_deref().unwrap_or_default()).map_err(CliError::usage)?;
    let bytes = read_regular(trace, LONGEST_TRACE).map_err(|error| of(trace, &Reason::plain(error)))?;
    let measured = read(&bytes).map_err(|error| of(trace, &error))?;
    let took = replay(&model, &measured).map_err(|error| of(trace, &error))?;
    let mut by_kind: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
    for ((one, kind), said) in measured.iter().zip(kinds(&measured)).zip(took) {
        let real = one.record.latency_ns().unwrap_or_default() as f64;
        by_kind.entry(kind).or_default().push((real, said));
    }
    let answers = Answers { of: "all of it".to_owned(), kinds: by_kind };
    let name = format!("{} v{}", model.name, model.version);
    let report = AgainstReport::new(&name, &trace.display().to_string(), vec![answers], Vec::new());
    let format = arguments.format.unwrap_or(ReportFormat::Terminal).format(output.is_some(), true);
    write_to(output, &mut |out| written(write_against(&report, format, out)))?;
    Ok(Exit::Done)
}

/// What is wrong with a trace, after its name.
fn of(trace: &Path, error: &impl Hinted) -> CliError {
    CliError::Failed(error.reason().after(format!("cannot use the trace {}: ", trace.display())))
}

//! Benchmark programs with known output: a shell line that runs one, and a parser that turns its complete output into
//! measurements of the phase.
//!
//! A new one is a file in `adapters/` of the judgement, which describes it. One whose output a description cannot read
//! is a file here and a line in [`adapters`], with its metrics in `journal/` of the judgement.

mod db_bench;
mod described;
mod described_output;
#[cfg(test)]
mod described_tests;
mod fio;
mod fio_output;
#[cfg(test)]
mod fio_tests;
mod number;
mod output_fault;
mod pgbench;

use std::collections::BTreeSet;
use std::sync::LazyLock;

use fsverdict_judgement::journal::{Measurement, MetricInfo, WorkCourse};
use fsverdict_stack::filesystem::{Package, Packages, Tool};

pub use output_fault::OutputFault;

/// The variable in which an adapter's line finds the folder it works in.
pub const FOLDER: &str = "FOLDER";

/// The environment variable with the folder for additional output of the program: a log, a trace.
pub const LOG: &str = "LOG";

/// How much of an output that cannot be used is shown.
const SHOWN: usize = 2000;

pub trait Adapter: Sync {
    fn name(&self) -> &'static str;
    fn summary(&self) -> &'static str;
    /// The program, and the package that contains it.
    fn tool(&self) -> Tool;

    fn program(&self) -> &'static str {
        self.tool().program
    }

    /// The metrics that it can measure; every metric in its results is one of them.
    fn metrics(&self) -> &'static [MetricInfo];
    /// The line for the shell, with the plan's options; the folder to work in is in `$FOLDER`, one for logs in `$LOG`.
    fn command_line(&self, options: &str) -> String;
    /// A hint for a failure with this output; `None` where only the program's own message helps.
    fn hint_for_output(&self, said: &str) -> Option<String>;
    /// Parses the program's standard output and the file `$LOG`; returns an error if they deviate from the program's
    /// known format.
    fn parse_output(&self, output: &str, log: &str) -> Result<Reading, AdapterProblem>;

    /// As [`parse_output`](Self::parse_output), with the output in the error.
    fn read_output(&self, output: &str, log: &str) -> Result<Reading, AdapterError> {
        let failed =
            |(fault, hint)| AdapterError { program: self.program(), fault, hint, output: output.to_owned() };
        let reading = self.parse_output(output, log).map_err(failed)?;
        let odd = reading.measurements.iter().find(|found| !found.value.is_finite() || found.value < 0.0);
        match odd {
            Some(odd) => {
                let fault = OutputFault::Implausible(format!("`{}` is {}", odd.metric, odd.value));
                Err(failed((fault, "try its options by hand")))
            }
            None => Ok(reading),
        }
    }
}

/// A fault of an output, and a hint.
type AdapterProblem = (OutputFault, &'static str);

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reading {
    pub measurements: Vec<Measurement>,
    /// Notes for the reader of the results, in sentences.
    pub notes: Vec<String>,
    /// Bytes of the data it worked on, where it says so: to be held against the machine's memory.
    pub working_set: Option<u64>,
    pub bytes_read: u64,
    pub bytes_written: u64,
    /// The work done over time, if the program reports it.
    pub course: Option<WorkCourse>,
}

impl Reading {
    fn add_metric(&mut self, metric: &MetricInfo, value: f64) {
        self.measurements.push(Measurement::new(metric.name, metric.unit, value));
    }

    /// Adds a latency as a program prints it. One that is printed as 0 is shorter than the program's clock can tell, and absent.
    fn add_latency(&mut self, metric: &MetricInfo, seconds: f64) {
        if seconds > 0.0 {
            self.add_metric(metric, seconds);
        }
    }

    /// Says of these that they were done in too little time for a rate.
    fn too_fast(&mut self, program: &str, names: &[&str]) {
        if !names.is_empty() {
            let note = format!("too fast for a rate, as {program}'s clock goes: {}", names.join(", "));
            self.notes.push(note);
        }
    }

    /// Takes the work done in each second and derives the slowest second; below three seconds it derives none.
    fn set_course(&mut self, course: Option<WorkCourse>, slowest: &MetricInfo) {
        if let Some(rate) = course.as_ref().and_then(WorkCourse::slowest_second) {
            self.add_metric(slowest, rate);
        }
        self.course = course;
    }
}

/// An output that cannot be used, because it is not understood or not of one run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the output of {program} cannot be used: {fault}\n{}", excerpt_of(.output))]
pub struct AdapterError {
    pub program: &'static str,
    pub fault: OutputFault,
    pub hint: &'static str,
    pub output: String,
}

fn excerpt_of(output: &str) -> String {
    let output = output.trim();
    match output.char_indices().nth(SHOWN) {
        _ if output.is_empty() => "it printed nothing".to_owned(),
        None => format!("it printed: {output}"),
        Some((end, _)) => {
            format!("it printed ({} bytes, the first {SHOWN} characters): {}", output.len(), &output[..end])
        }
    }
}

/// All of them, in the order of their names.
pub fn adapters() -> &'static [&'static dyn Adapter] {
    static ADAPTERS: LazyLock<Vec<&dyn Adapter>> = LazyLock::new(|| {
        let mut all: Vec<&dyn Adapter> = vec![&db_bench::DbBench, &fio::Fio, &pgbench::Pgbench];
        all.extend(described::described_adapters().iter().map(|described| -> &dyn Adapter { described }));
        all.sort_by_key(|adapter| adapter.name());
        all
    });
    &ADAPTERS
}

pub fn adapter_by_name(name: &str) -> Option<&'static dyn Adapter> {
    adapters().iter().copied().find(|adapter| adapter.name() == name)
}

/// A program that all of these have, or only Debian.
const fn new_tool(program: &'static str, version: &'static [&'static str], packages: Packages) -> Tool {
    Tool { program, version, packages }
}

/// Of a distribution that does not have it.
const NOT_HERE: Package = Package::Elsewhere("build it from its sources");

const fn of_debian(name: &'static str) -> Packages {
    Packages { debian: Package::Official(name), fedora: NOT_HERE, arch: NOT_HERE, opensuse: NOT_HERE }
}

/// Words of a line of options, for a quick look at which are there; the shell has the last word.
fn option_words(options: &str) -> BTreeSet<&str> {
    options.split_whitespace().collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{adapter_by_name, adapters};
    use fsverdict_judgement::journal::{Better, METRICS, Unit, adapter_metric};

    #[test]
    fn every_adapter_is_documented_and_every_metric_is_unique_and_has_a_direction() {
        let mut names: HashSet<&str> = METRICS.iter().map(|metric| metric.name).collect();
        for known in adapters() {
            assert!(!known.summary().is_empty() && adapter_by_name(known.name()).is_some());
            // pgbench connects to a server, whose data folder the service's start command chooses.
            let works_in_folder = known.name() != "pgbench";
            assert!(known.command_line("--x").contains("--x"));
            assert_eq!(known.command_line("").contains("$FOLDER"), works_in_folder, "{}", known.name());
            for metric in known.metrics() {
                assert!(names.insert(metric.name), "{}", metric.name);
                assert!(!metric.meaning.is_empty() && adapter_metric(metric.name).is_some());
                let rate = matches!(metric.unit, Unit::BytesPerSecond | Unit::PerSecond);
                assert_eq!(
                    metric.better,
                    if rate { Better::Higher } else { Better::Lower },
                    "{}",
                    metric.name
                );
            }
        }
        assert!(adapter_by_name("iozone").is_none() && adapter_metric("durable").is_none());
    }
}

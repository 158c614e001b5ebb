//! Benchmark programs with known output: a shell line that runs one, and a parser that turns its complete output into
//! measurements of the phase.
//!
//! A new one is a file in `adapters/` of the judgement, which describes it. If a description cannot read its output, it
//! also has a file here, and a line in [`Adapter::read_output`].

mod db_bench;
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

use std::sync::LazyLock;

use described_output::OutputReader;
use fsverdict_judgement::journal::{
    AdapterFile, Measurement, MetricInfo, WorkCourse, adapter_file_metrics, adapter_files, adapter_metric,
};
use fsverdict_judgement::plan::Unit;
use fsverdict_stack::filesystem::{Package, Packages, Tool};

pub use output_fault::OutputFault;

/// The variable in which an adapter's line finds the folder it works in.
pub const FOLDER: &str = "FOLDER";

/// The environment variable with the folder for additional output of the program: a log, a trace.
pub const LOG: &str = "LOG";

/// How much of an output that cannot be used is shown.
const SHOWN: usize = 2000;

/// A program with an output that is understood.
#[derive(Debug)]
pub struct Adapter {
    file: &'static AdapterFile,
    metrics: &'static [MetricInfo],
    version: &'static [&'static str],
}

impl Adapter {
    pub fn name(&self) -> &'static str {
        &self.file.name
    }

    pub fn summary(&self) -> &'static str {
        &self.file.summary
    }

    /// The program, and the package that contains it.
    pub fn tool(&self) -> Tool {
        let package = |family: &str| {
            let name = self.file.packages.get(family);
            name.map_or(Package::Elsewhere("build it from its sources"), |name| Package::Official(name))
        };
        let packages = Packages {
            debian: package("debian"),
            fedora: package("fedora"),
            arch: package("arch"),
            opensuse: package("opensuse"),
        };
        Tool { program: self.program(), version: self.version, packages }
    }

    pub fn program(&self) -> &'static str {
        &self.file.program
    }

    /// The metrics that it can measure; every metric in its results is one of them.
    pub fn metrics(&self) -> &'static [MetricInfo] {
        self.metrics
    }

    /// The line for the shell, with the plan's options; the folder to work in is in `$FOLDER`, one for logs in `$LOG`.
    pub fn command_line(&self, options: &str) -> String {
        // The shell has the last word on which options are there.
        let is_given = |word: &str| options.split_whitespace().any(|given| given == word);
        let defaults = self.file.default_options.iter().filter(|(unless, _)| !is_given(unless));
        let all: Vec<&str> = defaults.map(|(_, default)| default.as_str()).chain([options]).collect();
        self.file.command.replace('\n', " ").replace("{options}", &all.join(" ")).trim_end().to_owned()
    }

    /// A hint for a failure with this output; `None` where only the program's own message helps.
    pub fn hint_for_output(&self, output: &str) -> Option<String> {
        let output = output.to_lowercase();
        let is_about = |word: &String| output.contains(&word.to_lowercase());
        self.file.hints.iter().find(|hint| hint.when.iter().any(is_about)).map(|hint| hint.hint.clone())
    }

    /// Parses the program's standard output and the file `$LOG`.
    ///
    /// # Errors
    /// If they deviate from the program's known format; the output is in the error.
    pub fn read_output(&self, output: &str, log: &str) -> Result<Reading, AdapterError> {
        let failed =
            |(fault, hint)| AdapterError { program: self.program(), fault, hint, output: output.to_owned() };
        let reading = match self.name() {
            "db_bench" => db_bench::parse_db_bench(output, &self.file.unusable),
            "fio" => fio::parse_fio(output, log, &self.file.unusable),
            "pgbench" => pgbench::parse_pgbench(output, log, &self.file.unusable),
            _ => OutputReader::new(self.file, self.metrics, output, log).read(),
        };
        let reading = reading.map_err(failed)?;
        let implausible = reading
            .measurements
            .iter()
            .find(|measurement| !measurement.value.is_finite() || measurement.value < 0.0);
        match implausible {
            Some(measurement) => {
                let fault =
                    OutputFault::Implausible(format!("`{}` is {}", measurement.metric, measurement.value));
                Err(failed((fault, "try its options by hand")))
            }
            None => Ok(reading),
        }
    }
}

impl Adapter {
    /// Refuses a time that is longer than the trial has run for, in seconds: a counter that overflowed.
    ///
    /// # Errors
    /// With the metric; the output is in the error.
    pub fn check_times(&self, reading: Reading, longest: f64, output: &str) -> Result<Reading, AdapterError> {
        let is_longer = |one: &&Measurement| one.unit == Unit::Seconds && one.value > longest;
        let Some(one) = reading.measurements.iter().find(is_longer) else { return Ok(reading) };
        let problem =
            format!("`{}` is {} s, and the trial had run for {longest:.1} s", one.metric, one.value);
        let hint = "the program's counter overflowed: try another version of it";
        let fault = OutputFault::Implausible(problem);
        Err(AdapterError { program: self.program(), fault, hint, output: output.to_owned() })
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

    /// Adds a value of the metric of this name.
    fn add_named(&mut self, name: &str, value: f64) {
        self.measurements.extend(measure(name, value));
    }

    /// Adds a latency as a program prints it. One that is printed as 0 is shorter than the program's clock can tell, and absent.
    fn add_latency(&mut self, name: &str, seconds: f64) {
        if seconds > 0.0 {
            self.add_named(name, seconds);
        }
    }

    /// Says of these that they were done in too little time for a rate.
    fn too_fast(&mut self, program: &str, names: &[impl AsRef<str>]) {
        if !names.is_empty() {
            let note = format!(
                "too fast for a rate, as {program}'s clock goes: {}",
                names.iter().map(AsRef::as_ref).collect::<Vec<&str>>().join(", ")
            );
            self.notes.push(note);
        }
    }

    /// Takes the work done in each second and derives the slowest second; below three seconds it derives none.
    fn set_course(&mut self, course: Option<WorkCourse>, slowest: &str) {
        if let Some(rate) = course.as_ref().and_then(WorkCourse::slowest_second) {
            self.add_named(slowest, rate);
        }
        self.course = course;
    }
}

/// A value of the metric of this name, which the file of its adapter has.
fn measure(name: &str, value: f64) -> Option<Measurement> {
    adapter_metric(name).map(|metric| Measurement::new(metric.name, metric.unit, value))
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
pub fn adapters() -> &'static [Adapter] {
    static VERSIONS: LazyLock<Vec<[&str; 1]>> =
        LazyLock::new(|| adapter_files().iter().map(|file| [file.version.as_str()]).collect());
    static ADAPTERS: LazyLock<Vec<Adapter>> = LazyLock::new(|| {
        let files = adapter_files().iter().zip(adapter_file_metrics()).zip(VERSIONS.iter());
        files.map(|((file, metrics), version)| Adapter { file, metrics, version }).collect()
    });
    &ADAPTERS
}

pub fn adapter_by_name(name: &str) -> Option<&'static Adapter> {
    adapters().iter().find(|adapter| adapter.name() == name)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{adapter_by_name, adapters};
    use fsverdict_judgement::journal::{Better, METRICS, Unit, adapter_metric};

    #[test]
    fn a_time_that_is_longer_than_the_trial_is_refused() {
        let known = adapter_by_name("fio").unwrap();
        for (seconds, is_kept) in [(0.5, true), (18_446_744_073.7, false)] {
            let mut reading = super::Reading::default();
            reading.add_named("fio_read_latency_max", seconds);
            let checked = known.check_times(reading, 2.0, "{}");
            assert_eq!(checked.is_ok(), is_kept, "{checked:?}");
            assert!(
                checked
                    .err()
                    .is_none_or(|error| error.to_string().contains("latency_max` is 18446744073.7 s"))
            );
        }
    }

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

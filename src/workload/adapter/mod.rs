//! Benchmark programs whose output is understood: a shell line to run one, and what its full output says, as
//! measurements of the phase.
//!
//! A new one is one file here and one line in [`adapters`].

mod bonnie;
mod fio;

use std::collections::BTreeSet;

use fsverdict_judgement::journal::{Measurement, MetricInfo};

/// The variable in which an adapter's line finds the folder it works in.
pub const FOLDER: &str = "FOLDER";

/// How much of an output that cannot be used is shown.
const SHOWN: usize = 2000;

pub trait Adapter: Sync {
    fn name(&self) -> &'static str;
    fn summary(&self) -> &'static str;
    fn program(&self) -> &'static str;
    /// What it can measure; every metric it gives is among them.
    fn metrics(&self) -> &'static [MetricInfo];
    /// The line for the shell, with the plan's options; the folder to work in is in `$FOLDER`.
    fn line(&self, options: &str) -> String;
    /// What to do when it failed and said this; none where only the program itself knows.
    fn hint(&self, said: &str) -> Option<String>;
    /// What the program printed on its standard output, understood; else what is not as the program is known to print it.
    fn understand(&self, output: &str) -> Result<Reading, AdapterProblem>;

    /// As [`understand`](Self::understand), with the output in the error.
    fn read(&self, output: &str) -> Result<Reading, AdapterError> {
        let output = output.to_owned();
        let failed =
            |(what, hint)| AdapterError { program: self.program(), what, hint, output: output.clone() };
        self.understand(&output).map_err(failed)
    }
}

/// What is wrong with an output, and a hint.
type AdapterProblem = (String, &'static str);

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reading {
    pub measurements: Vec<Measurement>,
    /// What a reader of the numbers must know, in sentences.
    pub notes: Vec<String>,
    /// Bytes of the data it worked on, where it says so: to be held against the machine's memory.
    pub working_set: Option<u64>,
    pub bytes_read: u64,
    pub bytes_written: u64,
}

/// An output that cannot be used, because it is not understood or not of one run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the output of {program} cannot be used: {what}\n{}", shown(.output))]
pub struct AdapterError {
    pub program: &'static str,
    pub what: String,
    pub hint: &'static str,
    pub output: String,
}

fn shown(output: &str) -> String {
    let output = output.trim();
    match output.char_indices().nth(SHOWN) {
        _ if output.is_empty() => "it printed nothing".to_owned(),
        None => format!("it printed: {output}"),
        Some((end, _)) => {
            format!("it printed ({} bytes, the first {SHOWN} characters): {}", output.len(), &output[..end])
        }
    }
}

pub fn adapters() -> &'static [&'static dyn Adapter] {
    &[&bonnie::Bonnie, &fio::Fio]
}

pub fn adapter(name: &str) -> Option<&'static dyn Adapter> {
    adapters().iter().copied().find(|adapter| adapter.name() == name)
}

/// Words of a line of options, for a quick look at which are there; the shell has the last word.
fn words(options: &str) -> BTreeSet<&str> {
    options.split_whitespace().collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{adapter, adapters};
    use fsverdict_judgement::journal::{Better, METRICS, Unit, adapter_metric};

    #[test]
    fn every_adapter_is_documented_and_every_metric_is_unique_and_has_a_direction() {
        let mut names: HashSet<&str> = METRICS.iter().map(|metric| metric.name).collect();
        for known in adapters() {
            assert!(!known.summary().is_empty() && adapter(known.name()).is_some());
            assert!(known.line("--x").contains("--x") && known.line("").contains("$FOLDER"));
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
        assert!(adapter("dbench").is_none() && adapter_metric("durable").is_none());
    }
}

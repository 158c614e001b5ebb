//! Adapters as data: TOML files that are compiled into the binary, each of which describes a benchmark program, its
//! command line, its metrics, and where in its output they stand, unless code reads the output.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use fsverdict_text::Reason;
use serde::Deserialize;

use super::{Better, Group, MetricInfo, Unit};
use crate::plan::Flow;

macro_rules! adapter_files {
    ($($name:literal,)*) => {
        &[$(include_str!(concat!("../../adapters/", $name, ".toml")),)*]
    };
}

const FILES: &[&str] = adapter_files! {
    "bonnie++", "db_bench", "dbench", "fio", "fs_mark", "git", "pgbench", "sqlite",
};

/// A benchmark program. Patterns are regular expressions that are applied to one line.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdapterFile {
    /// The name in plans.
    pub name: String,
    pub summary: String,
    pub program: String,
    /// The option with which the program prints its version.
    pub version: String,
    /// The package by family of distributions (`debian`, `fedora`, `arch`, `opensuse`); one that is missing has none.
    pub packages: BTreeMap<String, String>,
    /// The line for the shell, with `{options}` in it; its line breaks become blanks.
    pub command: String,
    /// Options that stand before the plan's, unless the word of the key is among those.
    #[serde(default)]
    pub default_options: BTreeMap<String, String>,
    #[serde(default, rename = "hint")]
    pub hints: Vec<FailureHint>,
    /// Options of the program that take its results away from where they are read.
    #[serde(default, rename = "refused")]
    pub refused_options: Vec<RefusedOption>,
    /// The hint for an output that cannot be used.
    pub unusable: String,
    /// The note for rates that the program cannot tell, before their names.
    pub too_fast: Option<String>,
    /// The fault of an output that is complete and has no work.
    pub nothing_done: Option<String>,
    /// Whether a time of 0 is a result; otherwise it is shorter than the program's clock can tell, and absent.
    #[serde(default)]
    pub keeps_zeros: bool,
    /// The pattern of every line of `$LOG`; the program's results stand there in place of its output.
    pub log_line: Option<String>,
    /// Lines with which the program reports that it failed.
    #[serde(default, rename = "failure")]
    pub failures: Vec<OutputMark>,
    pub table: Option<OutputTable>,
    pub times: Option<OutputTimes>,
    pub course: Option<OutputCourse>,
    #[serde(rename = "metric")]
    pub metrics: Vec<AdapterMetric>,
}

/// A hint for a program that failed with one of these texts in its output, in whichever case.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FailureHint {
    pub when: Vec<String>,
    pub hint: String,
}

/// Options that a plan may not give, without their hyphens.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RefusedOption {
    pub options: Vec<String>,
    /// A part of the value with which the option does no harm.
    pub unless: Option<String>,
    /// The effect of the option, as the end of a sentence.
    pub does: String,
}

/// Checks the options that a plan gives to an adapter's program.
///
/// # Errors
/// With the option that takes the program's results away from where they are read.
pub fn check_adapter_options(adapter: &str, options: &str) -> Result<(), Reason> {
    let Some(file) = adapter_files().iter().find(|file| file.name == adapter) else { return Ok(()) };
    let mut words = options.split_whitespace().peekable();
    while let Some(word) = words.next() {
        let Some(given) = word.trim_start_matches(['"', '\'']).strip_prefix('-') else { continue };
        let given = given.trim_start_matches('-');
        let (name, value) =
            given.split_once('=').unwrap_or((given, words.peek().copied().unwrap_or_default()));
        let is_meant = |refused: &&RefusedOption| {
            refused.options.iter().any(|option| option == name)
                && !refused.unless.as_ref().is_some_and(|part| value.contains(part.as_str()))
        };
        if let Some(refused) = file.refused_options.iter().find(is_meant) {
            let option = word.split('=').next().unwrap_or_default();
            return Err(Reason::new(
                format!(
                    "`{option}` {}, and fsverdict reads the results of {} itself",
                    refused.does, file.program
                ),
                format!("leave {option} out: what {} printed is in the journal of the run", file.program),
            ));
        }
    }
    Ok(())
}

/// A line and its meaning; `{}` in the text is what the group of the pattern catches.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutputMark {
    #[serde(rename = "match")]
    pub pattern: String,
    pub text: String,
}

/// Lines of words, of which all have the same form.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutputTable {
    /// The line above the table, and the fault if there is none; without it all lines are rows.
    pub heading: Option<OutputMark>,
    /// Further lines of the heading.
    #[serde(default)]
    pub skip: usize,
    /// Whether an empty line ends the table.
    #[serde(default)]
    pub ends: bool,
    /// Between the words, if it is not blanks.
    pub separator: Option<char>,
    /// How many words a row may have. A version of the program is told by it.
    pub words: Vec<usize>,
    /// The fault of another row; `{}` is the number of its words.
    pub odd_row: String,
    /// The fault of a table without a row.
    pub empty: Option<String>,
    /// The fault of a second row, where only one is allowed, and the hint.
    pub single: Option<[String; 2]>,
    /// The line with the number of rows that were asked for.
    pub rows_asked: Option<String>,
    /// The column with the work done so far; a row with 0 has no results.
    pub work: Option<usize>,
    /// Two columns: their product in the last row are the bytes that were written.
    pub bytes_written: Option<[usize; 2]>,
    /// The column with the size of the data that it worked on, by form of the row.
    pub working_set: Option<Vec<usize>>,
}

/// Lines that say when a part of the work was over: this text with the part in it for `{}`, and then the seconds.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutputTimes {
    pub line: String,
    /// In fewer seconds the program's clock is too coarse for a rate.
    pub shortest: f64,
}

/// The work done over time.
#[derive(Debug, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum OutputCourse {
    /// Each second has a line with the average rate since the beginning, and the second.
    Averages { averages: String, printed: String },
    /// Each row of the table has the same work, and its rate in this column.
    Rows { rates: usize },
}

/// A metric, and where its number stands.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdapterMetric {
    pub name: String,
    /// Its unit in the journal; a time or share is better the lower, a rate the higher.
    pub unit: Unit,
    #[serde(default)]
    pub flow: Flow,
    pub meaning: String,
    /// The unit in which the program prints it, if it is another.
    #[serde(default)]
    pub printed: String,
    #[serde(default)]
    pub take: TakenNumber,
    /// The line with the number, for the group of the pattern.
    #[serde(rename = "match")]
    pub pattern: Option<String>,
    /// The fault of an output without such a line.
    pub missing: Option<String>,
    /// The column of the table, by form of the row.
    #[serde(default)]
    pub column: Vec<usize>,
    /// The first word of the rows that count.
    pub row: Option<String>,
    /// Two parts of the work: it was done between their ends; and how much work it is.
    pub between: Option<[String; 2]>,
    #[serde(default)]
    pub work: u32,
    /// A line with which there is no such number, and the note about it.
    pub unless: Option<OutputMark>,
}

/// Which number of several counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TakenNumber {
    #[default]
    Last,
    Sum,
    Mean,
    /// The mean of rates over the same work.
    HarmonicMean,
    Highest,
    /// The lowest of several; of one there is none.
    Lowest,
    /// The slowest second of the work done over time.
    SlowestSecond,
}

impl AdapterMetric {
    fn to_info(&'static self) -> MetricInfo {
        let is_rate = matches!(self.unit, Unit::BytesPerSecond | Unit::PerSecond);
        let better = if is_rate { Better::Higher } else { Better::Lower };
        MetricInfo {
            name: &self.name,
            unit: self.unit,
            better,
            group: Group::Rate,
            flow: self.flow,
            title: &self.name,
            meaning: &self.meaning,
        }
    }
}

/// All adapters, in the order of their names. Tests hold that each file can be read.
pub fn adapter_files() -> &'static [AdapterFile] {
    static READ: LazyLock<Vec<AdapterFile>> =
        LazyLock::new(|| FILES.iter().filter_map(|text| toml::from_str(text).ok()).collect());
    &READ
}

/// The metrics of each of [`adapter_files()`].
pub fn adapter_file_metrics() -> &'static [Vec<MetricInfo>] {
    static METRICS: LazyLock<Vec<Vec<MetricInfo>>> = LazyLock::new(|| {
        let metrics_of =
            |file: &'static AdapterFile| file.metrics.iter().map(AdapterMetric::to_info).collect();
        adapter_files().iter().map(metrics_of).collect()
    });
    &METRICS
}

#[cfg(test)]
mod tests {
    use super::{AdapterFile, FILES, check_adapter_options};

    #[test]
    fn options_that_take_results_away_are_refused_by_name() {
        for (adapter, options, refused) in [
            (
                "fio",
                "--name=a --output=\"$SCRATCH/r.json\"",
                Some("`--output` writes the results into a file"),
            ),
            ("fio", "-output r.json --name=a", Some("`-output`")),
            ("fio", "--output-format=normal --name=a", Some("another form than JSON")),
            ("fio", "--output-format terse --name=a", Some("another form than JSON")),
            ("fio", "--output-format=normal,json --name=a --output-formats", None),
            ("fio", "--name=output --filename=output --rw=write", None),
            ("fio", "--log_window_value=both", Some("`--log_window_value` changes the log")),
            ("pgbench", "-c 4 --log-prefix=/tmp/x", Some("`--log-prefix`")),
            ("pgbench", "-c 4 -T 10 -P 1", None),
            ("git", "--output=x", None),
        ] {
            let found = check_adapter_options(adapter, options);
            assert_eq!(found.is_err(), refused.is_some(), "{options}: {found:?}");
            let said = found.err().map(|reason| reason.what).unwrap_or_default();
            assert!(said.contains(refused.unwrap_or_default()), "{options}: {said}");
        }
    }

    #[test]
    fn every_adapter_file_is_understood() {
        for text in FILES {
            let file: AdapterFile = toml::from_str(text).unwrap();
            assert!(file.command.contains("{options}"), "{}", file.name);
            let is_read_by_code = ["db_bench", "fio", "pgbench"].contains(&file.name.as_str());
            for metric in file.metrics.iter().filter(|_| !is_read_by_code) {
                let sources = [metric.pattern.is_some(), !metric.column.is_empty(), metric.between.is_some()];
                let from_course = usize::from(metric.take == super::TakenNumber::SlowestSecond);
                let count = sources.iter().filter(|is_given| **is_given).count() + from_course;
                assert_eq!(count, 1, "{}", metric.name);
            }
        }
    }
}

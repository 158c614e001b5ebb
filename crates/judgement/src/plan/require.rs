//! `goal.require`: conditions that the recommended candidate must meet. A candidate that misses one is ruled out,
//! however fast it is.

use std::collections::BTreeMap;

use fsverdict_text::value::{any_number, boolean, filled_text};
use fsverdict_text::{Node, Problems, Reason, TextSpan, TomlTable, TomlValue, bounded_list, suggest};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::choice_words::choice_words;
use super::limits;
use super::stored_table::stored_table;
use super::unit::{Unit, unit_written, units_of};
use super::{Phase, PhaseWork, Vocabulary};

/// Short names of latency metrics.
const SHORT: [(&str, &str); 6] = [
    ("p50", "latency_p50"),
    ("p95", "latency_p95"),
    ("p99", "latency_p99"),
    ("p99.9", "latency_p999"),
    ("worst", "latency_max"),
    ("time", "durable"),
];

/// The metric with this short name.
pub(super) fn short_name(name: &str) -> Option<&'static str> {
    SHORT.iter().find(|(short, _)| *short == name).map(|(_, metric)| *metric)
}

stored_table! {
    /// All conditions of a goal.
    #[derive(Debug, Clone, Default, PartialEq)]
    pub struct Requirements {
        /// Conditions on measured values.
        numbers in "bounded_list::<_, _, { limits::REQUIREMENTS }>": Vec<Requirement>,
        /// Conditions on properties of a candidate, which are known before any trial.
        properties in "bounded_list::<_, _, { limits::REQUIREMENTS }>": Vec<RequiredProperty>,
    }
}

/// A bound on a metric of a phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Requirement {
    pub phase: String,
    pub metric: String,
    pub bound: Bound,
    /// The bound in the unit in which the journal stores the metric.
    pub value: f64,
    /// The bound as the plan writes it: `<= 10ms`.
    pub said: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    AtMost,
    AtLeast,
}

choice_words! {
    /// A property of a candidate other than speed.
    pub enum RequiredProperty {
        /// The device contains no readable data: LUKS is among the layers.
        Encryption = "encryption",
        /// Corrupted data are detected when they are read.
        DataChecksums = "data_checksums",
        /// The filesystem is consistent after a power cut, because it has a journal or writes nothing in place.
        CrashSafe = "crash_safe",
        Permissions = "permissions",
        Snapshots = "snapshots",
        Clones = "clones",
        /// Windows can read and write the filesystem.
        Windows = "windows",
        Macos = "macos",
    }
}

impl RequiredProperty {
    /// The keywords of all properties.
    pub fn words() -> Vec<&'static str> {
        Self::ALL.iter().map(|property| property.word()).collect()
    }
}

impl Requirement {
    /// The condition as text: `commit.p99 <= 10ms`.
    pub fn title(&self) -> String {
        let metric = SHORT.iter().find(|(_, metric)| *metric == self.metric).map(|(short, _)| *short);
        format!("{}.{} {}", self.phase, metric.unwrap_or(&self.metric), self.said)
    }

    fn key(&self) -> String {
        self.title().trim_end_matches(&self.said).trim_end().to_owned()
    }
}

impl Requirements {
    /// The conditions in the form that a plan has.
    pub(super) fn to_plan_form(&self) -> BTreeMap<String, Value> {
        let numbers = self.numbers.iter().map(|number| (number.key(), json!(number.said)));
        let properties = self.properties.iter().map(|property| (property.word().to_owned(), json!(true)));
        numbers.chain(properties).collect()
    }
}

/// The context in which requirements are checked.
pub(super) struct RequireContext<'a> {
    pub(super) phases: &'a [Phase],
    pub(super) vocabulary: &'a Vocabulary<'a>,
    pub(super) problems: &'a Problems,
    /// Whether all phases of the plan could be read.
    pub(super) complete: bool,
}

/// A key with its value, in either notation: `"commit.p99" = …` and `commit.p99 = …` are the same.
struct RequireEntry<'a> {
    key: String,
    key_at: TextSpan,
    node: &'a Node,
}

fn flatten_table<'a>(before: &str, table: &'a TomlTable, into: &mut Vec<RequireEntry<'a>>) {
    for entry in &table.entries {
        let key = if before.is_empty() { entry.key.clone() } else { format!("{before}.{}", entry.key) };
        match &entry.node.value {
            TomlValue::Table(inner) => flatten_table(&key, inner, into),
            _ => into.push(RequireEntry { key, key_at: entry.key_at, node: &entry.node }),
        }
    }
}

pub(super) fn read_requirements(node: &Node, context: &RequireContext<'_>) -> Requirements {
    let mut requirements = Requirements::default();
    let TomlValue::Table(table) = &node.value else {
        let message = format!("`require` must be a table, not {}", node.value.type_name());
        let hint = "for example: require = { \"commit.p99\" = \"<= 10ms\", encryption = true }";
        context.problems.add(node.at, message, hint);
        return requirements;
    };
    let mut entries = Vec::new();
    flatten_table("", table, &mut entries);
    for entry in entries {
        match RequiredProperty::from_word(&entry.key) {
            Some(property) => match context.problems.record_error(entry.node.at, boolean(entry.node)) {
                Some(true) => requirements.properties.push(property),
                Some(false) => context.problems.add(
                    entry.node.at,
                    format!("`{}` is required or not said at all", entry.key),
                    "leave it out, or write true",
                ),
                None => {}
            },
            None => requirements.numbers.extend(context.number(&entry)),
        }
    }
    requirements
}

impl RequireContext<'_> {
    fn number(&self, entry: &RequireEntry<'_>) -> Option<Requirement> {
        let phase = self
            .phases
            .iter()
            .filter(|phase| entry.key.strip_prefix(&phase.name).is_some_and(|rest| rest.starts_with('.')))
            .max_by_key(|phase| phase.name.len());
        let Some(phase) = phase else {
            if self.complete {
                let names: Vec<String> =
                    self.phases.iter().map(|phase| format!("{}.p99", phase.name)).collect();
                let words = RequiredProperty::words();
                let known: Vec<&str> = names.iter().map(String::as_str).chain(words).collect();
                let message = format!("`{}` is neither PHASE.METRIC of this plan nor a property", entry.key);
                self.problems.add(entry.key_at, message, suggest(&entry.key, &known));
            }
            return None;
        };
        let name = &entry.key[phase.name.len() + 1..];
        let own = phase.metrics.get(name);
        let metric = match own {
            Some(_) => name,
            None => short_name(name).unwrap_or(name),
        };
        let unit = own.map(super::OwnMetric::kept_in).or_else(|| (self.vocabulary.unit_of)(metric));
        let Some(unit) = unit else {
            let own = phase.metrics.keys().map(String::as_str);
            let known: Vec<&str> = own
                .chain(SHORT.iter().map(|(short, _)| *short))
                .chain(self.vocabulary.metrics.iter().copied())
                .collect();
            let message = format!("there is no metric `{name}`");
            self.problems.add(entry.key_at, message, suggest(name, &known));
            return None;
        };
        if metric.starts_with("latency_") && !matches!(phase.work, PhaseWork::Operation(_)) {
            let message =
                format!("single calls of `{}` are not timed, because it is not an operation", phase.name);
            let hint = format!(
                "read it out of what the program prints: [phase.metric.NAME] match = '…', then \"{}.NAME\"",
                phase.name
            );
            self.problems.add(entry.key_at, message, hint);
            return None;
        }
        let text = self.problems.record_error(
            entry.node.at,
            filled_text(entry.node).map_err(|error| {
                let number =
                    any_number(entry.node).map_or_else(|_| "10ms".to_owned(), |number| number.to_string());
                Reason::new(error.what, format!("for example \"<= {number}\""))
            }),
        )?;
        let bound = self.problems.record_error(entry.node.at, read_bound(&text, unit))?;
        let (phase, metric) = (phase.name.clone(), metric.to_owned());
        Some(Requirement { phase, metric, bound: bound.bound, value: bound.value, said: bound.said })
    }
}

struct ReadBound {
    bound: Bound,
    value: f64,
    said: String,
}

/// Parses a bound such as `<= 10ms`, in a unit that the metric supports.
fn read_bound(text: &str, unit: Unit) -> Result<ReadBound, Reason> {
    let units = units_of(unit);
    let bare = matches!(unit, Unit::PerSecond | Unit::Count | Unit::Ratio);
    let example = match unit {
        Unit::Seconds => "\"<= 10ms\"",
        Unit::Bytes => "\"<= 2GiB\"",
        Unit::BytesPerSecond => "\">= 100MB/s\"",
        Unit::PerSecond | Unit::Count | Unit::Ratio => "\">= 1000\"",
    };
    let hint = format!("as in {example}; the units are {units}");
    let text = text.trim();
    let (bound, rest) = match (text.strip_prefix("<="), text.strip_prefix(">=")) {
        (Some(rest), _) => (Bound::AtMost, rest.trim()),
        (_, Some(rest)) => (Bound::AtLeast, rest.trim()),
        _ => return Err(Reason::new(format!("\"{text}\" begins with neither <= nor >="), hint)),
    };
    let end = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.' && letter != '_');
    let (number, name) = rest.split_at(end.unwrap_or(rest.len()));
    let number: f64 = number
        .replace('_', "")
        .parse()
        .map_err(|_| Reason::new(format!("\"{text}\" has no number behind its sign"), hint.clone()))?;
    let factor = match name.trim() {
        "" if bare => 1.0,
        "" => return Err(Reason::new(format!("\"{text}\" lacks a unit"), hint)),
        name => match unit_written(name)? {
            written if written.unit == unit => written.factor,
            _ => return Err(Reason::new(format!("`{name}` is no unit of this metric"), hint)),
        },
    };
    let value = number * factor;
    if !(value.is_finite() && value > 0.0) {
        return Err(Reason::new(format!("\"{text}\" is no bound above 0"), hint));
    }
    let sign = if bound == Bound::AtMost { "<=" } else { ">=" };
    Ok(ReadBound { bound, value, said: format!("{sign} {rest}") })
}

#[cfg(test)]
mod tests {
    use super::{Bound, read_bound};
    use crate::plan::Unit;

    #[test]
    fn a_bound_is_read_in_any_unit_of_its_metric() {
        for (said, unit, bound, value) in [
            ("<= 10ms", Unit::Seconds, Bound::AtMost, 0.01),
            ("<=1.5 s", Unit::Seconds, Bound::AtMost, 1.5),
            (">= 100MB/s", Unit::BytesPerSecond, Bound::AtLeast, 1e8),
            (">= 1_000", Unit::PerSecond, Bound::AtLeast, 1000.0),
            ("<= 50%", Unit::Ratio, Bound::AtMost, 0.5),
        ] {
            let found = read_bound(said, unit).unwrap();
            assert_eq!((found.bound, found.value), (bound, value), "{said}");
        }
        for (said, unit, why) in [
            ("10ms", Unit::Seconds, "neither <= nor >="),
            ("<= 10", Unit::Seconds, "lacks a unit"),
            ("<= ms", Unit::Seconds, "no number"),
            ("<= 10MB", Unit::Seconds, "no unit of this metric"),
            ("<= 10parsec", Unit::Seconds, "no unit `parsec`"),
            ("<= 0ms", Unit::Seconds, "no bound above 0"),
            ("<= nan", Unit::Ratio, "no number"),
        ] {
            let error = read_bound(said, unit).err().unwrap();
            assert!(error.what.contains(why), "{said}: {}", error.what);
        }
    }
}

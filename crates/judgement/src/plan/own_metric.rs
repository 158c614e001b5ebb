//! `[phase.metric.NAME]`: reads a number from the output of the user's program as a metric of its phase.

use std::collections::BTreeMap;

use fsverdict_text::value::{filled_text, text};
use fsverdict_text::{Node, Problems, Reason, Section, TomlValue};
use serde::{Deserialize, Serialize};

use super::limits::OWN_METRICS;
use super::number_pattern::NumberPattern;
use super::unit::{Better, Unit, unit_written};

pub(super) const OWN_METRIC: &[&str] = &["match", "json", "unit", "better"];

/// The maximum length of a pointer in bytes.
const POINTER_TEXT: usize = 1000;

/// A number in the output of a program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OwnMetric {
    #[serde(flatten)]
    pub found: NumberSource,
    /// The unit in which the program prints the number, as the plan writes it: `ms`, `MB/s`.
    pub unit: String,
    pub better: Better,
}

/// The position of the number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NumberSource {
    /// The single group of a pattern; if several places match, the last counts.
    Match(String),
    /// A JSON pointer (RFC 6901) into the last JSON document.
    Json(String),
}

impl OwnMetric {
    /// The unit in which the journal stores the number.
    pub fn kept_in(&self) -> Unit {
        unit_written(&self.unit).map_or(Unit::Ratio, |written| written.unit)
    }

    /// Converts a printed number to [that unit](Self::kept_in).
    pub fn to_kept_unit(&self, printed: f64) -> f64 {
        printed * unit_written(&self.unit).map_or(1.0, |written| written.factor)
    }
}

/// Those of a phase, by name; nothing where one of them is wrong.
pub(super) fn read_own_metrics(
    node: &Node,
    taken: &[&str],
    problems: &Problems,
) -> Option<BTreeMap<String, OwnMetric>> {
    let mut metrics = BTreeMap::new();
    let TomlValue::Table(table) = &node.value else {
        let message = format!("`metric` is a table of metrics, not {}", node.value.type_name());
        problems.add(node.at, message, "for example: [phase.metric.tps]");
        return None;
    };
    if table.entries.len() > OWN_METRICS {
        let message = format!("a phase may have {OWN_METRICS} metrics of its own");
        problems.add(node.at, message, "");
        return None;
    }
    for entry in &table.entries {
        if problems.record_error(entry.key_at, check_name(&entry.key, taken)).is_none() {
            continue;
        }
        if let Some(metric) = read_own_metric(&entry.node, problems) {
            metrics.insert(entry.key.clone(), metric);
        }
    }
    (metrics.len() == table.entries.len()).then_some(metrics)
}

fn check_name(name: &str, taken: &[&str]) -> Result<(), Reason> {
    let hint = "lower-case letters, digits and _, beginning with a letter, at most 40: tps, commit_p99";
    let fits = name.len() <= 40
        && name.starts_with(|letter: char| letter.is_ascii_lowercase())
        && name.chars().all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_');
    if !fits {
        return Err(Reason::new(format!("a metric may not be called `{}`", name.escape_debug()), hint));
    }
    if taken.contains(&name) || super::require::short_name(name).is_some() {
        return Err(Reason::new(
            format!("there is a metric `{name}` already, which fsverdict measures itself"),
            "give yours another name; `fsverdict list metrics` has those that are taken",
        ));
    }
    Ok(())
}

fn read_own_metric(node: &Node, problems: &Problems) -> Option<OwnMetric> {
    let section = Section::new("[phase.metric.NAME]", node, OWN_METRIC, problems)?;
    let pattern = section.get("match", |node| {
        let pattern = filled_text(node)?;
        NumberPattern::new(&pattern).map(|_| pattern)
    });
    let pointer = section.get("json", |node| {
        let pointer = filled_text(node)?;
        match pointer.starts_with('/') && pointer.len() <= POINTER_TEXT {
            true => Ok(pointer),
            false => Err(Reason::new(
                format!("`{pointer}` is no JSON pointer"),
                "it begins with a slash, and has one before each key or number: /jobs/0/read/iops",
            )),
        }
    });
    let unit = section.need("unit", "unit = \"1/s\"", |node| {
        let name = text(node)?;
        unit_written(&name).map(|_| name)
    });
    let better = section.need("better", "better = \"more\"", |node| text(node)?.parse());
    let source = match (section.entry("match"), section.entry("json")) {
        (None, None) => {
            section.report_missing(
                section.at,
                "it does not say where the number stands",
                "match = 'tps = ([-+0-9.,eE]+)', or json = \"/tps\"",
            );
            None
        }
        (Some(_), Some(entry)) => {
            problems.add(entry.key_at, "it has both `match` and `json`", "a number stands in one place");
            None
        }
        _ => pattern.map(NumberSource::Match).or(pointer.map(NumberSource::Json)),
    };
    Some(OwnMetric { found: source?, unit: unit?, better: better? })
}

//! `[[published]]`: what a study found, as data, so that a report can set today's numbers beside it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::error::ValueError;
use super::section::{Problems, Section, filled_text, number, share, text};
use super::source::{Node, Value};
use super::{Phase, Vocabulary};

pub(super) const PUBLISHED: &[&str] = &["finding", "source", "phase", "metric", "figures", "unit", "claim"];
pub(super) const CLAIM: &[&str] = &[
    "better",
    "than",
    "by",
    "than_phase",
    "alike",
    "within",
    "spread",
    "among",
    "reach",
    "share",
    "of_metric",
    "of_phase",
];

/// Steps of every trial that a finding may be about besides the plan's phases.
const STEPS: [&str; 4] = ["mkfs", "mount", "umount", "fsck"];

/// One finding of a study.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Published {
    /// What was found, in a sentence.
    pub finding: String,
    /// Where it is published.
    pub source: String,
    /// The phase of this plan that repeats it.
    pub phase: String,
    /// The metric it is about.
    pub metric: String,
    /// The published figures by candidate; empty where only a sentence was published.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub figures: BTreeMap<String, f64>,
    /// Unit of the figures.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unit: String,
    /// What must be true for the finding to hold.
    pub claim: Claim,
}

/// What must be true of the estimates for a finding to hold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "kind")]
pub enum Claim {
    /// Each of some candidates is better than each of others, by this factor at least.
    Better {
        /// These …
        better: Vec<String>,
        /// … than these …
        than: Vec<String>,
        /// … by this factor; 1: however little.
        by: f64,
        /// The phase in which the others are looked at; the finding's own when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        than_phase: Option<String>,
    },
    /// Some candidates do not differ by more than a share.
    Alike {
        /// These.
        alike: Vec<String>,
        /// The largest may be this share above the smallest.
        within: f64,
    },
    /// The worst of some candidates is this many times the best.
    Spread {
        /// All that were measured when empty.
        among: Vec<String>,
        /// The factor.
        spread: f64,
    },
    /// Some candidates reach a share of another number of their own: of the bare device's rate, of the wall time.
    Reach {
        /// These …
        reach: Vec<String>,
        /// … at least this share …
        share: f64,
        /// … of this metric; the finding's own when absent …
        #[serde(default, skip_serializing_if = "Option::is_none")]
        of_metric: Option<String>,
        /// … in this phase; the finding's own when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        of_phase: Option<String>,
    },
}

impl Published {
    /// The candidates it names.
    pub fn candidates(&self) -> impl Iterator<Item = &str> {
        let (one, other): (&[String], &[String]) = match &self.claim {
            Claim::Better { better, than, .. } => (better, than),
            Claim::Alike { alike, .. } => (alike, &[]),
            Claim::Spread { among, .. } => (among, &[]),
            Claim::Reach { reach, .. } => (reach, &[]),
        };
        one.iter().chain(other).chain(self.figures.keys()).map(String::as_str)
    }
}

/// Reads all `[[published]]` tables, in order.
pub(super) fn read_published(
    top: &Section<'_>,
    phases: &[Phase],
    vocabulary: &Vocabulary<'_>,
    problems: &Problems,
) -> Vec<Published> {
    let Some(entry) = top.entry("published") else { return Vec::new() };
    let Value::Array(nodes) = &entry.node.value else {
        let hint = "write [[published]], with two brackets on each side";
        problems.add(entry.key_at, "published findings are a list", hint);
        return Vec::new();
    };
    nodes.iter().filter_map(|node| read_one(node, phases, vocabulary, problems)).collect()
}

fn read_one(
    node: &Node,
    phases: &[Phase],
    vocabulary: &Vocabulary<'_>,
    problems: &Problems,
) -> Option<Published> {
    let section = Section::new("[[published]]", node, PUBLISHED, problems)?;
    let finding = section.required("finding", "finding = \"xfs is slow to remove\"", filled_text);
    let source = section.required("source", "source = \"the article, figure 3\"", filled_text);
    let phase = section.required("phase", "phase = \"remove\"", filled_text);
    // A phase that could not be read has no name to be found; its own problem is the one to tell.
    let known: Vec<&str> = phases.iter().map(|phase| phase.name.as_str()).chain(STEPS).collect();
    let phases_are_sound = problems.is_empty();
    if let (Some(phase), true) = (&phase, phases_are_sound) {
        problems.must_be_known(phase.at, "phase", &phase.value, &known);
    }
    let metric = section.optional("metric", filled_text);
    if let Some(metric) = &metric {
        problems.must_be_known(metric.at, "metric", &metric.value, vocabulary.metrics);
    }
    let unit = section.optional("unit", text).map(|unit| unit.value).unwrap_or_default();
    let mut figures = BTreeMap::new();
    if let Some(entry) = section.entry("figures") {
        let Value::Table(table) = &entry.node.value else {
            let hint = "for example: figures = { ext4 = 552, btrfs = 553 }";
            problems.add(entry.node.at, "`figures` must be a table", hint);
            return None;
        };
        for figure in &table.entries {
            if let Some(value) = problems.note(figure.node.at, number(&figure.node)) {
                figures.insert(figure.key.clone(), value);
            }
        }
        if unit.is_empty() {
            section.lacks(section.at, "`figures` need a `unit`", "for example: unit = \"s\"");
        }
    }
    let example = "claim = { better = [\"ext4\"], than = [\"xfs\"] }";
    if section.entry("claim").is_none() {
        section.lacks(section.at, "[[published]] lacks `claim`", &format!("for example: {example}"));
    }
    let claim =
        section.entry("claim").and_then(|entry| read_claim(&entry.node, &known, vocabulary, problems));
    Some(Published {
        finding: finding?.value,
        source: source?.value,
        phase: phase?.value,
        metric: metric.map_or_else(|| "durable".to_owned(), |metric| metric.value),
        figures,
        unit,
        claim: claim?,
    })
}

fn read_claim(
    node: &Node,
    phases: &[&str],
    vocabulary: &Vocabulary<'_>,
    problems: &Problems,
) -> Option<Claim> {
    let section = Section::new("claim", node, CLAIM, problems)?;
    // Each kind has a key to know it by, and keys that go with it.
    let only = |kind: &str, own: &[&str], hint: &str| {
        let others: Vec<&str> =
            CLAIM.iter().copied().filter(|key| *key != kind && !own.contains(key)).collect();
        section.forbid(&others, &format!("`{kind}`"), hint);
    };
    let has = |key: &str| section.entry(key).is_some();
    if has("reach") {
        only(
            "reach",
            &["share", "of_metric", "of_phase"],
            "it goes with `share`, `of_metric` and `of_phase`",
        );
        return read_reach(&section, phases, vocabulary, problems);
    }
    if has("alike") {
        only("alike", &["within"], "it goes with `within`");
        let alike = section.optional("alike", |node| names(node, 2));
        let within = section.required("within", "within = 0.1", share);
        return Some(Claim::Alike { alike: alike?.value, within: within?.value });
    }
    if has("spread") {
        only("spread", &["among"], "it goes with `among`");
        let spread = section.optional("spread", factor)?.value;
        let among =
            section.optional("among", |node| names(node, 2)).map(|among| among.value).unwrap_or_default();
        return Some(Claim::Spread { among, spread });
    }
    only("better", &["than", "by", "than_phase"], "it goes with `than`, `by` and `than_phase`");
    let better = section.required("better", "better = [\"ext4\", \"btrfs\"]", |node| names(node, 1));
    let than = section.required("than", "than = [\"ext2\"]", |node| names(node, 1));
    let by = section.optional("by", factor).map_or(1.0, |by| by.value);
    let than_phase = section.optional("than_phase", filled_text);
    if let Some(phase) = &than_phase {
        problems.must_be_known(phase.at, "phase", &phase.value, phases);
    }
    Some(Claim::Better {
        better: better?.value,
        than: than?.value,
        by,
        than_phase: than_phase.map(|phase| phase.value),
    })
}

fn read_reach(
    section: &Section<'_>,
    phases: &[&str],
    vocabulary: &Vocabulary<'_>,
    problems: &Problems,
) -> Option<Claim> {
    let reach = section.optional("reach", |node| names(node, 1));
    let share = section.required("share", "share = 0.9", share);
    let of_metric = section.optional("of_metric", filled_text);
    if let Some(metric) = &of_metric {
        problems.must_be_known(metric.at, "metric", &metric.value, vocabulary.metrics);
    }
    let of_phase = section.optional("of_phase", filled_text);
    if let Some(phase) = &of_phase {
        problems.must_be_known(phase.at, "phase", &phase.value, phases);
    }
    if of_metric.is_none() && of_phase.is_none() {
        let hint = "for example: of_phase = \"raw-read\", of_metric = \"throughput\"";
        section.lacks(section.at, "`reach` needs `of_metric` or `of_phase`: a share of what?", hint);
    }
    Some(Claim::Reach {
        reach: reach?.value,
        share: share?.value,
        of_metric: of_metric.map(|metric| metric.value),
        of_phase: of_phase.map(|phase| phase.value),
    })
}

fn names(node: &Node, least: usize) -> Result<Vec<String>, ValueError> {
    let hint = "list names of candidates: [\"ext4\", \"xfs\"]";
    let Value::Array(nodes) = &node.value else {
        return Err(ValueError::new(format!("an array is wanted here, not {}", node.value.kind()), hint));
    };
    if nodes.len() < least {
        return Err(ValueError::new(format!("it needs {least} or more candidates"), hint));
    }
    nodes.iter().map(filled_text).collect()
}

fn factor(node: &Node) -> Result<f64, ValueError> {
    match number(node)? {
        factor if factor >= 1.0 => Ok(factor),
        other => Err(ValueError::new(format!("it is a factor of 1 or more, but is {other}"), "twice is 2")),
    }
}

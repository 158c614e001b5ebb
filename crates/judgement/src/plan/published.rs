//! `[[published]]`: the findings of a published study as data, so that a report can compare them with the new
//! measurements.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use fsverdict_text::{Reason, bounded_map};

use super::Vocabulary;
use super::limits;
use super::read_phase::Phases;
use super::stored_table::stored_table;
use fsverdict_text::value::{boolean, filled_text, number, share, text};
use fsverdict_text::{Node, Problems, Section, TomlEntry, TomlValue};

pub(super) const PUBLISHED: &[&str] =
    &["finding", "source", "phase", "metric", "about_cpu", "figures", "unit", "claim"];
pub(super) const CLAIM: &[&str] = &[
    "better",
    "than",
    "by",
    "than_phase",
    "alike",
    "within",
    "spread",
    "among",
    "at_most",
    "reach",
    "share",
    "of",
    "of_metric",
    "of_phase",
];

/// The subjects of a finding besides the plan's phases: steps of every trial, and the goal as a whole.
const STEPS: [&str; 6] = ["mkfs", "mount", "umount", "seal", "fsck", GOAL];

/// The goal as a whole, for findings that concern no single phase.
pub const GOAL: &str = "goal";

stored_table! {
    #[derive(Debug, Clone, PartialEq)]
    pub struct Published {
        finding: String,
        source: String,
        phase: String,
        metric: String,
        /// Whether it is about computation, although its metric is not: where computation is free, the finding stays open.
        about_cpu!: bool,
        /// The published figures by candidate; empty if the study published only a sentence.
        figures in "bounded_map::<_, _, { limits::ENTERED }>": BTreeMap<String, f64>,
        unit!: String,
        /// The condition under which the finding is confirmed.
        claim: Assertion,
    }
}

/// A condition on the estimates that confirms a finding.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "kind")]
pub enum Assertion {
    /// Each of some candidates is better than each of some others by at least this factor.
    Better {
        /// The candidates that must be better.
        better: Vec<String>,
        /// The candidates that must be worse.
        than: Vec<String>,
        /// The factor; 1 means any difference, 0.9 that they may be worse by a tenth.
        by: f64,
        /// The phase of the candidates in `than`; if absent, the finding's own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        than_phase: Option<String>,
        #[serde(flatten)]
        of: Denominator,
    },
    /// Some candidates do not differ by more than a share.
    Alike {
        alike: Vec<String>,
        /// The largest value may exceed the smallest by at most this share.
        within: f64,
        #[serde(flatten)]
        of: Denominator,
    },
    /// The worst of some candidates is at least this many times the best.
    Spread {
        /// The candidates; if empty, all that were measured.
        among: Vec<String>,
        spread: f64,
        /// The upper limit of that factor.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at_most: Option<f64>,
    },
    /// Some candidates reach a share of another of their own numbers, for example of the bare device's rate or of the
    /// wall time.
    Reach {
        /// The candidates.
        reach: Vec<String>,
        /// The minimum share.
        share: f64,
        /// The metric of the other number; if absent, the finding's own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        of_metric: Option<String>,
        /// The phase of the other number; if absent, the finding's own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        of_phase: Option<String>,
    },
}

stored_table! {
    /// The denominator of a claim about ratios: the cost of encryption, for example, is a multiple of the same filesystem's
    /// time without it.
    #[derive(Debug, Clone, Default, PartialEq)]
    pub struct Denominator {
        /// For each candidate, the candidate that supplies the denominator; one that is not listed uses its own number.
        of!: BTreeMap<String, String>,
        /// The metric of the denominator; if absent, the finding's own.
        of_metric?: String,
        /// The phase of the denominator; if absent, the finding's own.
        of_phase?: String,
    }
}

impl Denominator {
    pub fn is_none(&self) -> bool {
        *self == Denominator::default()
    }
}

impl Published {
    pub fn candidates(&self) -> impl Iterator<Item = &str> {
        self.claim.candidates().chain(self.figures.keys().map(String::as_str))
    }
}

impl Assertion {
    /// The candidates in the claim and the candidates in its denominators.
    pub fn candidates(&self) -> impl Iterator<Item = &str> {
        let (first, second): (&[String], &[String]) = match self {
            Assertion::Better { better, than, .. } => (better, than),
            Assertion::Alike { alike, .. } => (alike, &[]),
            Assertion::Spread { among, .. } => (among, &[]),
            Assertion::Reach { reach, .. } => (reach, &[]),
        };
        let bases = self.denominator().into_iter().flat_map(|of| of.of.values());
        first.iter().chain(second).chain(bases).map(String::as_str)
    }

    /// The denominator of the claim's numbers, for claims that may have one.
    pub fn denominator(&self) -> Option<&Denominator> {
        match self {
            Assertion::Better { of, .. } | Assertion::Alike { of, .. } => Some(of),
            Assertion::Spread { .. } | Assertion::Reach { .. } => None,
        }
    }
}

pub(super) fn read_published(
    top: &Section<'_>,
    phases: &Phases,
    vocabulary: &Vocabulary<'_>,
) -> Vec<Published> {
    let Some((_, nodes)) = top.list_of_tables("published", "published findings") else { return Vec::new() };
    // A phase that could not be read has no name here; its own error is the one to report.
    let known: Option<Vec<&str>> = phases.complete.then(|| phases.names().into_iter().chain(STEPS).collect());
    let words = Words { phases: known, metrics: vocabulary.metrics };
    nodes.iter().filter_map(|node| read_finding(node, &words, top.problems)).collect()
}

/// Names that a finding may use.
struct Words<'a> {
    phases: Option<Vec<&'a str>>,
    metrics: &'a [&'a str],
}

impl Words<'_> {
    fn phase(&self, section: &Section<'_>, key: &str) -> Option<String> {
        match &self.phases {
            Some(known) => section.get_word(key, "phase", known),
            None => section.get(key, filled_text),
        }
    }
}

fn read_finding(node: &Node, words: &Words<'_>, problems: &Problems) -> Option<Published> {
    let section = Section::new("[[published]]", node, PUBLISHED, problems)?;
    let finding = section.need("finding", "finding = \"xfs is slow to remove\"", filled_text);
    let source = section.need("source", "source = \"the article, figure 3\"", filled_text);
    if section.entry("phase").is_none() {
        section.need("phase", "phase = \"remove\"", filled_text);
    }
    let phase = words.phase(&section, "phase");
    let metric = section.get_word("metric", "metric", words.metrics);
    let unit = section.get("unit", text).unwrap_or_default();
    let figures = read_table(&section, "figures", "{ ext4 = 552, btrfs = 553 }", number);
    if !figures.is_empty() && unit.is_empty() {
        section.report_missing(section.at, "`figures` need a `unit`", "for example: unit = \"s\"");
    }
    let claim = section.entry("claim");
    if claim.is_none() {
        let hint = "for example: claim = { better = [\"ext4\"], than = [\"xfs\"] }";
        section.report_missing(section.at, "[[published]] lacks `claim`", hint);
    }
    let claim = claim.and_then(|entry| read_claim(&entry.node, words, problems));
    Some(Published {
        finding: finding?,
        source: source?,
        phase: phase?,
        metric: metric.unwrap_or_else(|| "durable".to_owned()),
        about_cpu: section.get("about_cpu", boolean).unwrap_or(false),
        figures,
        unit,
        claim: claim?,
    })
}

/// A table of values by candidate; empty if it is absent.
fn read_table<T>(
    section: &Section<'_>,
    key: &str,
    example: &str,
    read: impl Fn(&Node) -> Result<T, Reason>,
) -> BTreeMap<String, T> {
    let Some(entry) = section.entry(key) else { return BTreeMap::new() };
    let TomlValue::Table(table) = &entry.node.value else {
        let hint = format!("for example: {key} = {example}");
        section.problems.add(entry.node.at, format!("`{key}` must be a table"), hint);
        return BTreeMap::new();
    };
    let read = |entry: &TomlEntry| {
        Some((entry.key.clone(), section.problems.record_error(entry.node.at, read(&entry.node))?))
    };
    table.entries.iter().filter_map(read).collect()
}

/// Each kind of claim: the key that identifies it, and the keys that it allows.
const CLAIMS: [(&str, &[&str]); 4] = [
    ("reach", &["share", "of_metric", "of_phase"]),
    ("alike", &["within", "of", "of_metric", "of_phase"]),
    ("spread", &["among", "at_most"]),
    ("better", &["than", "by", "than_phase", "of", "of_metric", "of_phase"]),
];

fn read_claim(node: &Node, words: &Words<'_>, problems: &Problems) -> Option<Assertion> {
    let section = Section::new("claim", node, CLAIM, problems)?;
    let known = CLAIMS.iter().find(|(kind, _)| section.entry(kind).is_some());
    let (kind, own) = known.unwrap_or(&CLAIMS[3]);
    let others: Vec<&str> = CLAIM.iter().copied().filter(|key| key != kind && !own.contains(key)).collect();
    let own: Vec<String> = own.iter().map(|key| format!("`{key}`")).collect();
    let go_with = format!("it goes with {}", own.join(", "));
    section.forbid_keys(&others, &format!("`{kind}`"), &go_with);
    let of_metric = section.get_word("of_metric", "metric", words.metrics);
    let of_phase = words.phase(&section, "of_phase");
    let of = read_table(&section, "of", "{ \"btrfs+luks2\" = \"btrfs\" }", filled_text);
    match *kind {
        "reach" => {
            let reach = section.get("reach", |node| read_names(node, 1));
            let share = section.need("share", "share = 0.9", share);
            if section.entry("of_metric").is_none() && section.entry("of_phase").is_none() {
                let hint = "for example: of_phase = \"raw-read\", of_metric = \"throughput\"";
                let message = "`reach` needs `of_metric` or `of_phase`: a share of what?";
                section.report_missing(section.at, message, hint);
            }
            Some(Assertion::Reach { reach: reach?, share: share?, of_metric, of_phase })
        }
        "alike" => {
            let alike = section.get("alike", |node| read_names(node, 2));
            let within = section.need("within", "within = 0.1", share);
            Some(Assertion::Alike {
                alike: alike?,
                within: within?,
                of: Denominator { of, of_metric, of_phase },
            })
        }
        "spread" => {
            let among = section.get("among", |node| read_names(node, 2)).unwrap_or_default();
            let at_most = section.get("at_most", read_factor);
            Some(Assertion::Spread { among, spread: section.get("spread", read_factor)?, at_most })
        }
        _ => {
            let better = section.need("better", "better = [\"ext4\", \"btrfs\"]", |node| read_names(node, 1));
            let than = section.need("than", "than = [\"ext2\"]", |node| read_names(node, 1));
            let by = section.get("by", read_advantage).unwrap_or(1.0);
            let than_phase = words.phase(&section, "than_phase");
            let of = Denominator { of, of_metric, of_phase };
            Some(Assertion::Better { better: better?, than: than?, by, than_phase, of })
        }
    }
}

fn read_names(node: &Node, least: usize) -> Result<Vec<String>, Reason> {
    let hint = "list names of candidates: [\"ext4\", \"xfs\"]";
    let TomlValue::Array(nodes) = &node.value else {
        return Err(Reason::new(format!("an array is wanted here, not {}", node.value.type_name()), hint));
    };
    if nodes.len() < least {
        return Err(Reason::new(format!("it needs {least} or more candidates"), hint));
    }
    nodes.iter().map(filled_text).collect()
}

fn read_factor(node: &Node) -> Result<f64, Reason> {
    read_factor_from(1.0, "twice is 2", node)
}

/// A factor by which something is better; below 1, by which it is worse at most.
fn read_advantage(node: &Node) -> Result<f64, Reason> {
    read_factor_from(0.1, "2 is twice as good, 0.9 is worse by a tenth at most", node)
}

fn read_factor_from(least: f64, hint: &str, node: &Node) -> Result<f64, Reason> {
    match number(node)? {
        factor if factor >= least => Ok(factor),
        other => Err(Reason::new(format!("it is a factor of {least} or more, but is {other}"), hint)),
    }
}

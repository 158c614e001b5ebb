//! `[protocol]`: how often, in which order, for how long, and which blocks count.

use std::time::Duration;

use super::disturbance::read_disturbance;
use super::error::ValueError;
use super::section::{Placed, Problems, Section, count, number, text, time, whole};
use super::source::{Node, Value};
use super::suggest::suggest;
use super::twin::Twice;
use super::{Blocks, Disturbance, Legacy, Protocol};

pub(super) const PROTOCOL: &[&str] =
    &["blocks", "seed", "tie", "timeout", "for", "aa", "disturbed", "legacy"];
pub(super) const BLOCKS: &[&str] = &["min", "max"];
const BLOCKS_DEFAULT: Blocks = Blocks { min: 3, max: 30 };
const TIE: f64 = 0.03;
const TIMEOUT: Duration = Duration::from_secs(30 * 60);

/// The protocol, and which candidate is entered twice: that can be settled only when all are known.
pub(super) fn read_protocol(
    top: &Section<'_>,
    problems: &Problems,
) -> Option<(Protocol, Option<Placed<Twice>>)> {
    let mut protocol = Protocol {
        blocks: BLOCKS_DEFAULT,
        seed: 1,
        tie: TIE,
        timeout: TIMEOUT,
        budget: None,
        disturbed: Some(Disturbance::default()),
        legacy: None,
    };
    let Some(entry) = top.entry("protocol") else { return Some((protocol, None)) };
    let section = Section::new("[protocol]", &entry.node, PROTOCOL, problems)?;
    if let Some(entry) = section.entry("blocks") {
        protocol.blocks = read_blocks(&section, &entry.node, problems)?;
    }
    protocol.seed = section.optional("seed", whole).map_or(protocol.seed, |seed| seed.value);
    protocol.tie = section.optional("tie", tie).map_or(protocol.tie, |tie| tie.value);
    protocol.timeout = section.optional("timeout", time).map_or(protocol.timeout, |timeout| timeout.value);
    protocol.budget = section.optional("for", time).map(|budget| budget.value);
    if let Some(entry) = section.entry("disturbed") {
        protocol.disturbed = read_disturbance(&entry.node, problems)?;
    }
    protocol.legacy = section.optional("legacy", legacy).map(|legacy| legacy.value);
    let twice = section.optional("aa", Twice::read);
    let twice = twice.and_then(|Placed { at, value }| value.map(|value| Placed { at, value }));
    Some((protocol, twice))
}

fn legacy(node: &Node) -> Result<Legacy, ValueError> {
    let known = [("best-of", Legacy::BestOf), ("trimmed-mean", Legacy::TrimmedMean), ("mean", Legacy::Mean)];
    let word = text(node)?;
    known.iter().find(|(name, _)| *name == word).map(|(_, legacy)| *legacy).ok_or_else(|| {
        let names = known.map(|(name, _)| name);
        ValueError::new(format!("there is no legacy estimator `{word}`"), suggest(&word, &names))
    })
}

fn tie(node: &Node) -> Result<f64, ValueError> {
    match number(node)? {
        tie if tie <= 0.5 => Ok(tie),
        other => Err(ValueError::new(
            format!("it must lie between 0 and 0.5, but is {other}"),
            "it is a fraction: 3 % is 0.03",
        )),
    }
}

fn read_blocks(section: &Section<'_>, node: &Node, problems: &Problems) -> Option<Blocks> {
    if matches!(node.value, Value::Table(_)) {
        let range = Section::new("blocks", node, BLOCKS, problems)?;
        let min = range.required("min", "blocks = { min = 3, max = 30 }", count)?;
        let max = range.required("max", "blocks = { min = 3, max = 30 }", count)?;
        return problems.note(node.at, Blocks::new(min.value, max.value));
    }
    let fixed = section.optional("blocks", |node| match node.value {
        Value::Integer(_) => count(node).and_then(|number| Blocks::new(number, number)),
        _ => Err(ValueError::new(
            format!("a number or a range is wanted here, not {}", node.value.kind()),
            "write blocks = 5, or blocks = { min = 3, max = 30 }",
        )),
    })?;
    Some(fixed.value)
}

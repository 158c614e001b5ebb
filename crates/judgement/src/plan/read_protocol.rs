//! `[protocol]`: how often, in which order, for how long, and which blocks count.

use std::time::Duration;

use fsverdict_text::Reason;

use super::control::Twice;
use super::disturbance::read_disturbance;
use super::{Blocks, DevicesChoice, Disturbance, Legacy, NuisancesChoice, Protocol, Until};
use fsverdict_text::value::{any_number, count, number, text, time, whole};
use fsverdict_text::{Node, Placed, Section, TomlValue, choose_by_name};

pub(super) const PROTOCOL: &[&str] = &[
    "blocks",
    "until",
    "seed",
    "order",
    "tie",
    "timeout",
    "for",
    "aa",
    "disturbed",
    "legacy",
    "circumstances",
    "devices",
];
pub(super) const BLOCKS: &[&str] = &["min", "max"];
const BLOCKS_DEFAULT: Blocks = Blocks { min: 3, max: 30 };
const TIE: f64 = 0.03;
const TIMEOUT: Duration = Duration::from_secs(30 * 60);

const UNTIL: &[(&str, Until)] = &[("recommended", Until::Recommended), ("ranked", Until::Ranked)];
const CIRCUMSTANCES: &[(&str, NuisancesChoice)] =
    &[("drawn", NuisancesChoice::Drawn), ("fixed", NuisancesChoice::Fixed)];
const DEVICES: &[(&str, DevicesChoice)] = &[("class", DevicesChoice::Class), ("one", DevicesChoice::One)];
const LEGACIES: &[(&str, Legacy)] =
    &[("best-of", Legacy::BestOf), ("trimmed-mean", Legacy::TrimmedMean), ("mean", Legacy::Mean)];

/// The protocol, and which candidate is entered twice: that can be settled only when all are known.
pub(super) fn read_protocol(top: &Section<'_>) -> Option<(Protocol, Option<Placed<Twice>>)> {
    let mut protocol = Protocol {
        blocks: BLOCKS_DEFAULT,
        seed: 1,
        order: None,
        until: Until::default(),
        tie: TIE,
        timeout: TIMEOUT,
        budget: None,
        disturbed: Some(Disturbance::default()),
        legacy: None,
        circumstances: NuisancesChoice::default(),
        devices: DevicesChoice::default(),
    };
    let Some(entry) = top.entry("protocol") else { return Some((protocol, None)) };
    let section = Section::new("[protocol]", &entry.node, PROTOCOL, top.problems)?;
    protocol.blocks = read_blocks(&section).unwrap_or(protocol.blocks);
    protocol.seed = section.get("seed", whole).unwrap_or(protocol.seed);
    protocol.order = section.get("order", whole);
    let until = |node: &Node| choose_by_name(&text(node)?, UNTIL, "a run cannot go on until");
    protocol.until = section.get("until", until).unwrap_or(protocol.until);
    protocol.tie = section.get("tie", read_tie).unwrap_or(protocol.tie);
    protocol.timeout = section.get("timeout", time).unwrap_or(protocol.timeout);
    protocol.budget = section.get("for", time);
    if let Some(entry) = section.entry("disturbed") {
        protocol.disturbed = read_disturbance(&entry.node, top.problems);
    }
    let legacy = |node: &Node| choose_by_name(&text(node)?, LEGACIES, "there is no legacy estimator");
    protocol.legacy = section.get("legacy", legacy);
    let circumstances = |node: &Node| choose_by_name(&text(node)?, CIRCUMSTANCES, "circumstances cannot be");
    protocol.circumstances = section.get("circumstances", circumstances).unwrap_or(protocol.circumstances);
    let devices = |node: &Node| choose_by_name(&text(node)?, DEVICES, "devices cannot be");
    protocol.devices = section.get("devices", devices).unwrap_or(protocol.devices);
    let twice = section.get_placed("aa", Twice::read);
    let twice = twice.and_then(|Placed { at, value }| value.map(|value| Placed { at, value }));
    Some((protocol, twice))
}

fn read_tie(node: &Node) -> Result<f64, Reason> {
    match any_number(node)? {
        tie if (0.0..=0.5).contains(&tie) => number(node),
        other => Err(Reason::new(
            format!("it must lie between 0 and 0.5, but is {other}"),
            "it is a fraction: 3 % is 0.03",
        )),
    }
}

fn read_blocks(section: &Section<'_>) -> Option<Blocks> {
    let node = &section.entry("blocks")?.node;
    if matches!(node.value, TomlValue::Table(_)) {
        let range = Section::new("blocks", node, BLOCKS, section.problems)?;
        let min = range.need("min", "blocks = { min = 3, max = 30 }", count);
        let max = range.need("max", "blocks = { min = 3, max = 30 }", count);
        return section.problems.record_error(node.at, Blocks::new(min?, max?));
    }
    section.get("blocks", |node| match node.value {
        TomlValue::Integer(_) => count(node).and_then(|number| Blocks::new(number, number)),
        ref other => Err(Reason::new(
            match other {
                TomlValue::Number(number) => {
                    format!("a whole number or a range is wanted here, not {number}")
                }
                other => format!("a whole number or a range is wanted here, not {}", other.type_name()),
            },
            "write blocks = 5, or blocks = { min = 3, max = 30 }",
        )),
    })
}

//! `[protocol]`: how many blocks run, when the run ends, which blocks count, and which nuisances vary between blocks.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::choice_words::choice_words;
use super::control::Twice;
use super::keys::{Key, fill_keys, key, key_names, read_keys};
use super::stored_table::stored_table;
use super::value::read_word;
use super::{CONTROL_SUFFIX, Plan};
use fsverdict_text::value::{any_number, count, number, share, time, whole};
use fsverdict_text::{Node, Placed, Problems, Reason, Section, TomlValue};

stored_table! {
    #[derive(Debug, Clone, PartialEq)]
    pub struct Protocol {
        blocks: Blocks,
        /// The seed of generated data, and of all random draws in simulated time.
        seed: u64,
        /// The seed of the random order; if absent, the run draws it and records it.
        order?: u64,
        /// The state of knowledge at which the run ends.
        until!: Until,
        /// δ, as a fraction: relative differences smaller than this do not matter to this user.
        tie: f64,
        /// A trial that takes longer than this is stopped and counts as failed.
        timeout: Duration,
        /// The run starts no new block after this time.
        budget?: Duration,
        /// The rules by which a block does not count; `None`: every block counts.
        disturbed?: Disturbance,
        /// How the study that the plan repeats combined its runs. Reports show this number beside the medians; the verdict
        /// never uses it.
        legacy?: Legacy,
        /// Whether, in simulated time, the circumstances vary between blocks to represent similar machines, or stay fixed.
        circumstances!: NuisancesChoice,
        /// Whether a model that describes a class of devices represents the whole class or one device.
        devices!: DevicesChoice,
    }
}

choice_words! {
    /// Nuisance factors of a trial in simulated time: memory, device size, start time, file names.
    #[derive(Default)]
    pub enum NuisancesChoice, unknown "circumstances cannot be" {
        /// Varied a little in every block, around the plan's values.
        #[default]
        Drawn = "drawn",
        /// The plan's values in every block.
        Fixed = "fixed",
    }

    /// The devices that a model with ranges of numbers represents in simulated time.
    #[derive(Default)]
    pub enum DevicesChoice, unknown "devices cannot be" {
        /// The class: each block uses another device of it, if circumstances are drawn at all.
        #[default]
        Class = "class",
        /// One typical device.
        One = "one",
    }

    /// The state of knowledge at which a run ends.
    #[derive(Default)]
    pub enum Until, unknown "a run cannot go on until" {
        /// A candidate that no other beats by more than δ.
        #[default]
        Recommended = "recommended",
        /// In addition, for each other candidate, whether it is behind the recommended one or tied with it.
        Ranked = "ranked",
    }

    /// A way in which studies combine the results of several runs.
    pub enum Legacy, unknown "there is no legacy estimator" {
        BestOf = "best-of",
        /// The mean without the best and the worst run.
        TrimmedMean = "trimmed-mean",
        Mean = "mean",
    }
}

/// A fixed number of blocks (`min == max`) or an adaptive range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blocks {
    pub min: u32,
    pub max: u32,
}

impl Default for Protocol {
    fn default() -> Self {
        Protocol {
            blocks: Blocks { min: 3, max: 30 },
            seed: 1,
            order: None,
            until: Until::default(),
            tie: 0.03,
            timeout: Duration::from_secs(30 * 60),
            budget: None,
            disturbed: Some(Disturbance::default()),
            legacy: None,
            circumstances: NuisancesChoice::default(),
            devices: DevicesChoice::default(),
        }
    }
}

pub(super) const BLOCKS: &[&str] = &["min", "max"];

/// The keys of `[protocol]`. The candidate that is entered twice is one of the plan's.
#[rustfmt::skip]
pub(super) const PROTOCOL: &[Key<Plan>] = &[
    key!("blocks", "whole number, or table", read |table, section| {
        table.protocol.blocks = read_blocks(section).unwrap_or(table.protocol.blocks);
        Some(())
    }, write |table| json!(table.protocol.blocks)),
    key!("until", "`\"recommended\"` `\"ranked\"`", protocol.until, read_word::<Until>),
    key!("seed", "whole number", protocol.seed, whole),
    key!("order", "whole number", protocol.order, whole),
    key!("tie", "number, 0 to 0.5", protocol.tie, read_tie),
    key!("timeout", "time", protocol.timeout, time),
    key!("for", "time", protocol.budget, time),
    key!("aa", "true, false, or a candidate's name", write |plan| {
        json!(plan.candidates.iter().find_map(|candidate| candidate.name.strip_suffix(CONTROL_SUFFIX)))
    }),
    key!("disturbed", "table, or `false`", read |table, section| {
        if let Some(entry) = section.entry("disturbed") {
            table.protocol.disturbed = read_disturbance(&entry.node, section.problems);
        }
        Some(())
    }, write |table| table.protocol.disturbed.map_or(json!(false), |limits| json!(limits))),
    key!("legacy", "`\"best-of\"` `\"trimmed-mean\"` `\"mean\"`", protocol.legacy, read_word::<Legacy>),
    key!("circumstances", "`\"drawn\"` `\"fixed\"`", protocol.circumstances, read_word::<NuisancesChoice>, unless NuisancesChoice::Drawn),
    key!("devices", "`\"class\"` `\"one\"`", protocol.devices, read_word::<DevicesChoice>, unless DevicesChoice::Class),
];

/// Reads the section into the plan; returns the candidate that is entered twice, which can be settled only when all are
/// known.
pub(super) fn read_protocol(top: &Section<'_>, plan: &mut Plan) -> Option<Placed<Twice>> {
    let section = top.inner_table("protocol", "[protocol]", &key_names(PROTOCOL))?;
    fill_keys(PROTOCOL, &section, plan);
    let Placed { at, value } = section.get_placed("aa", Twice::read)?;
    value.map(|value| Placed { at, value })
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

stored_table! {
    /// The limits of disturbance for a block. A block beyond any of them is discarded with all its measurements, and
    /// repeated completely.
    #[derive(Debug, Clone, Copy, PartialEq)]
    pub struct Disturbance, keys DISTURBED {
        /// The maximum CPU time of other programs in user mode, as a share of the machine's CPU time.
        foreign_cpu: f64 => ("share", share),
        /// The maximum CPU time that a hypervisor gave to others, as a share of the machine's CPU time.
        steal: f64 => ("share", share),
        /// The maximum I/O of others on the same disk, as a share of the run's own bytes.
        foreign_bytes: f64 => ("number", number),
        /// The maximum ratio between the time of a fixed workload and the run's median, in either direction.
        drift: f64 => ("number above 1", read_drift),
    }
}

impl Default for Disturbance {
    fn default() -> Self {
        // A quarter of the CPU or of the disk is more than a quiet desktop uses, and blocks absorb less than that; a
        // hypervisor that takes a tenth is overbooked; clocks of processors vary by less than half.
        Self { foreign_cpu: 0.25, steal: 0.1, foreign_bytes: 0.25, drift: 1.5 }
    }
}

/// As it stands in a plan: `false` for never, or a table of limits.
fn read_disturbance(node: &Node, problems: &Problems) -> Option<Disturbance> {
    let default = Disturbance::default();
    match &node.value {
        TomlValue::Boolean(wanted) => wanted.then_some(default),
        TomlValue::Table(_) => {
            let section = Section::new("disturbed", node, &key_names(DISTURBED), problems)?;
            read_keys(DISTURBED, &section, default)
        }
        other => {
            problems.add(
                node.at,
                format!("`disturbed`: a table of limits or false is wanted here, not {}", other.type_name()),
                "disturbed = { foreign_cpu = 0.5 } bears more, disturbed = false lets every block count",
            );
            None
        }
    }
}

fn read_drift(node: &Node) -> Result<f64, Reason> {
    match number(node)? {
        factor if factor > 1.0 => Ok(factor),
        other => Err(Reason::new(
            format!("it must be above 1, but is {other}"),
            "1.5: half as fast again, or as slow",
        )),
    }
}

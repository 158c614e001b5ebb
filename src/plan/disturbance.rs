//! By which rules, fixed before the run, a block does not count: what others may do to the machine at most.

use serde::{Deserialize, Serialize};

use super::error::ValueError;
use super::section::{Problems, Section, number, share};
use super::source::{Node, Value};

/// How much disturbance a block bears. Beyond any of these it is thrown out, whatever it measured, and repeated whole.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Disturbance {
    /// Other programs in user mode, as a share of the machine's CPU time.
    pub foreign_cpu: f64,
    /// What a hypervisor gave to others, as a share of the machine's CPU time.
    pub steal: f64,
    /// Bytes that others moved on the same disk, as a share of the run's own.
    pub foreign_bytes: f64,
    /// How many times as slow, or as fast, as the run's median a fixed piece of work may be.
    pub drift: f64,
}

impl Default for Disturbance {
    fn default() -> Self {
        // A quarter of the CPU or of the disk is more than a quiet desktop uses, and blocks absorb less than that; a
        // hypervisor that takes a tenth is overbooked; clocks of processors vary by less than half.
        Self { foreign_cpu: 0.25, steal: 0.1, foreign_bytes: 0.25, drift: 1.5 }
    }
}

pub(super) const KEYS: &[&str] = &["foreign_cpu", "steal", "foreign_bytes", "drift"];

/// As it stands in a plan: `false` for never, or a table of limits. The outer `None`: it is wrong, which was noted.
pub(super) fn read_disturbance(node: &Node, problems: &Problems) -> Option<Option<Disturbance>> {
    match &node.value {
        Value::Boolean(false) => Some(None),
        Value::Boolean(true) => Some(Some(Disturbance::default())),
        Value::Table(_) => {
            let section = Section::new("disturbed", node, KEYS, problems)?;
            let default = Disturbance::default();
            let or = |found: Option<super::section::Placed<f64>>, default: f64| {
                found.map_or(default, |found| found.value)
            };
            Some(Some(Disturbance {
                foreign_cpu: or(section.optional("foreign_cpu", share), default.foreign_cpu),
                steal: or(section.optional("steal", share), default.steal),
                foreign_bytes: or(section.optional("foreign_bytes", number), default.foreign_bytes),
                drift: or(section.optional("drift", drift), default.drift),
            }))
        }
        other => {
            problems.add(
                node.at,
                format!("`disturbed`: a table of limits or false is wanted here, not {}", other.kind()),
                "disturbed = { foreign_cpu = 0.5 } bears more, disturbed = false lets every block count",
            );
            None
        }
    }
}

fn drift(node: &Node) -> Result<f64, ValueError> {
    match number(node)? {
        factor if factor > 1.0 => Ok(factor),
        other => Err(ValueError::new(
            format!("it must be above 1, but is {other}"),
            "1.5: half as fast again, or as slow",
        )),
    }
}

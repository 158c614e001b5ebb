//! Rules, fixed before the run, by which a block does not count: limits on other activity of the machine.

use serde::{Deserialize, Serialize};

use super::keys::{Key, PlanValue, key, key_names, read_keys};
use fsverdict_text::value::{number, share};
use fsverdict_text::{Node, Problems, Reason, Section, TomlValue};

/// The limits of disturbance for a block. A block beyond any of them is discarded with all its measurements, and
/// repeated completely.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Disturbance {
    /// The maximum CPU time of other programs in user mode, as a share of the machine's CPU time.
    pub foreign_cpu: f64,
    /// The maximum CPU time that a hypervisor gave to others, as a share of the machine's CPU time.
    pub steal: f64,
    /// The maximum I/O of others on the same disk, as a share of the run's own bytes.
    pub foreign_bytes: f64,
    /// The maximum ratio between the time of a fixed workload and the run's median, in either direction.
    pub drift: f64,
}

impl Default for Disturbance {
    fn default() -> Self {
        // A quarter of the CPU or of the disk is more than a quiet desktop uses, and blocks absorb less than that; a
        // hypervisor that takes a tenth is overbooked; clocks of processors vary by less than half.
        Self { foreign_cpu: 0.25, steal: 0.1, foreign_bytes: 0.25, drift: 1.5 }
    }
}

pub(super) const DISTURBED: &[Key<Disturbance>] = &[
    key!("foreign_cpu", "share", foreign_cpu, share),
    key!("steal", "share", steal, share),
    key!("foreign_bytes", "number", foreign_bytes, number),
    key!("drift", "number above 1", drift, read_drift),
];

/// As it stands in a plan: `false` for never, or a table of limits.
pub(super) fn read_disturbance(node: &Node, problems: &Problems) -> Option<Disturbance> {
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

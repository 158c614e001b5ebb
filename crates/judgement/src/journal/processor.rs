//! The processor model that priced a run's computation, and the charges of a phase.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use fsverdict_text::bounded_map;

/// The maximum number of classes of computation; no kernel counts more.
const MOST_CLASSES: usize = 128;

/// A processor model without its prices: the description for readers of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProcessorModel {
    /// The name in a plan.
    pub name: String,
    /// The source of the prices, in a sentence without a full stop.
    pub source: String,
    /// The date on which the prices were measured or estimated, e.g. `2026-11-27`.
    pub date: String,
    /// Whether the prices were measured on such a processor; otherwise they are estimated from published figures.
    pub measured: bool,
    /// The number of processors that compute at the same time.
    pub processors: u32,
    pub aes_instructions: bool,
    /// The median relative error on data that were not used to fit the prices, as a share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_out_median: Option<f64>,
    /// The 90th percentile of these errors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_out_p90: Option<f64>,
}

impl ProcessorModel {
    /// The title in reports: name, number of processors, and accuracy.
    pub fn title(&self) -> String {
        let percent = |share: f64| format!("{:.0} %", share * 100.0);
        let basis = match (self.measured, self.held_out_median, self.held_out_p90) {
            (false, ..) => "estimated".to_owned(),
            (true, Some(median), Some(most)) => format!(
                "measured; off by {} in the median of what was held out, by up to {} in nine cases of ten",
                percent(median),
                percent(most)
            ),
            (true, ..) => "measured".to_owned(),
        };
        let number = if self.processors == 1 {
            "one processor".to_owned()
        } else {
            format!("{} processors", self.processors)
        };
        let aes = if self.aes_instructions { "with" } else { "without" };
        format!("{} ({number} {aes} AES instructions; {basis})", self.name)
    }
}

/// Computation that the kernel of a trial counted in one phase, if computation has a price.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountedComputation {
    /// Simulated nanoseconds that were charged, summed over all processors.
    pub charged_ns: u64,
    /// The part of them in which other threads could run on other processors.
    pub slept_ns: u64,
    /// How often each class of computation occurred; classes that did not occur are omitted. The name of a class tells
    /// its unit: a byte, a call, a block of code.
    #[serde(deserialize_with = "bounded_map::<_, _, MOST_CLASSES>")]
    pub counts: BTreeMap<String, u64>,
}

#[cfg(test)]
mod tests {
    use super::ProcessorModel;

    #[test]
    fn a_title_says_how_far_a_model_is_to_be_trusted() {
        let estimated = ProcessorModel {
            name: "core2".to_owned(),
            source: "scaled".to_owned(),
            date: "2026-11-27".to_owned(),
            measured: false,
            processors: 2,
            aes_instructions: false,
            held_out_median: Some(0.1),
            held_out_p90: None,
        };
        assert_eq!(estimated.title(), "core2 (2 processors without AES instructions; estimated)");
        let measured = ProcessorModel {
            measured: true,
            processors: 1,
            aes_instructions: true,
            held_out_median: Some(0.137),
            held_out_p90: Some(0.36),
            ..estimated
        };
        let title = measured.title();
        for part in ["one processor with AES", "measured; off by 14 % in the median", "up to 36 %"] {
            assert!(title.contains(part), "{part}: {title}");
        }
    }
}

//! The processor model that priced a run's computation, and what a phase was charged for.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use fsverdict_text::bounded_map;

/// More classes of computation than this no kernel counts.
const MOST_CLASSES: usize = 128;

/// A processor model, without its prices: what a reader needs to know of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProcessorModel {
    /// As a plan names it.
    pub name: String,
    /// Where its prices come from, in a sentence without a full stop.
    pub source: String,
    /// When they were measured or estimated, e.g. `2026-11-27`.
    pub date: String,
    /// Whether they were measured on such a processor; otherwise they are estimated from published figures.
    pub measured: bool,
    /// How many of its processors compute at once.
    pub processors: u32,
    pub aes_instructions: bool,
    /// Of what was not used to fit the prices: the median of the relative errors, as a share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_out_median: Option<f64>,
    /// The same, for nine cases of ten.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_out_p90: Option<f64>,
}

impl ProcessorModel {
    /// For people: its name, its processors, and how far it is to be trusted.
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

/// What the kernel of a trial counted in one phase, where its computation has a price.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountedComputation {
    /// Nanoseconds of simulated time that were charged, of all processors together.
    pub charged_ns: u64,
    /// Those of them in which other threads could run on other processors.
    pub slept_ns: u64,
    /// How often each class of computation occurred; those that did not are left out. What one is stands in its name: a byte, a
    /// call, a block of code.
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
        for told in ["one processor with AES", "measured; off by 14 % in the median", "up to 36 %"] {
            assert!(title.contains(told), "{told}: {title}");
        }
    }
}

//! The comparison of one thing with another of any kind: a ratio of costs, and the outcome that the data shows.

use serde::{Serialize, Serializer};

use crate::statistics::{Estimate, adjust_by_holm};

/// The probability, over a family of comparisons together, of reporting a difference where there is none.
pub const ALPHA: f64 = 0.05;

/// Two of a kind compared: candidates, options, protection levels, kernels or runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Contrast {
    /// The number that is compared: the goal, or a phase and a metric of it.
    #[serde(skip)]
    pub subject: String,
    #[serde(rename = "candidate")]
    pub of: String,
    pub against: String,
    /// How many times as much `of` costs as `against`; the interval is of this pair alone.
    pub ratio: Estimate,
    #[serde(rename = "relation", serialize_with = "serialize_relation")]
    pub outcome: ContrastOutcome,
}

impl Contrast {
    /// The same seen from the other side.
    pub(crate) fn invert(&self) -> Self {
        Contrast {
            subject: self.subject.clone(),
            of: self.against.clone(),
            against: self.of.clone(),
            ratio: self.ratio.invert(),
            outcome: self.outcome.invert(),
        }
    }

    /// Whether it has this outcome, in its family of tests or by its own interval alone.
    pub fn has_outcome(&self, outcome: ContrastOutcome, tie: f64) -> bool {
        self.outcome == outcome || ContrastOutcome::from_interval(&self.ratio, tie) == outcome
    }
}

/// The outcome of a comparison. δ is the share below which a difference does not matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContrastOutcome {
    /// The first costs more.
    Behind,
    /// The two are within δ.
    Tied,
    /// The first is not better by more than δ.
    NotBetter,
    /// The first costs less.
    Better,
    /// Nothing is certain.
    Undecided,
}

impl ContrastOutcome {
    /// Classifies a ratio by its interval alone, as one comparison that is no part of a family.
    pub fn from_interval(ratio: &Estimate, tie: f64) -> Self {
        let (least, most) = tied_range(tie);
        match ratio.ends() {
            _ if ratio.within(least, most) => Self::Tied,
            Some((_, high)) if high < 1.0 && ratio.point < least => Self::Better,
            Some((low, _)) if low > 1.0 && ratio.point > most => Self::Behind,
            _ => Self::Undecided,
        }
    }

    /// Classifies a ratio with its p-value, which is adjusted for the other comparisons. A difference needs both: p ≤ α,
    /// and a ratio outside ±δ. A tie needs the whole interval within ±δ.
    fn from_test(ratio: &Estimate, adjusted_p: f64, tie: f64) -> Self {
        let (least, most) = tied_range(tie);
        match adjusted_p <= ALPHA {
            true if ratio.point > most => Self::Behind,
            true if ratio.point < least => Self::Better,
            _ if ratio.within(least, most) => Self::Tied,
            _ => Self::Undecided,
        }
    }

    /// Whether the two are shown to differ by more than δ.
    pub fn is_difference(self) -> bool {
        matches!(self, Self::Behind | Self::Better)
    }

    /// The word for the outcome of a change from one run to another.
    pub fn as_change(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Behind => "worse",
            Self::Tied => "same",
            Self::NotBetter | Self::Undecided => "undecided",
        }
    }

    /// The same seen from the other side; "not better" says nothing of it.
    pub fn invert(self) -> Self {
        match self {
            Self::Behind => Self::Better,
            Self::Better => Self::Behind,
            Self::NotBetter => Self::Undecided,
            same => same,
        }
    }
}

fn tied_range(tie: f64) -> (f64, f64) {
    (1.0 / (1.0 + tie), 1.0 + tie)
}

/// The test of one comparison before the others of its family are taken into account.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ContrastTest {
    pub(crate) ratio: Estimate,
    /// Two-sided p-value of this comparison alone; 1 where there is too little data for a test.
    pub(crate) p: f64,
}

/// The outcome of a test beside the others of its family.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct FamilyOutcome {
    pub(crate) p_adjusted: f64,
    pub(crate) outcome: ContrastOutcome,
}

/// Judges comparisons together: with Holm's correction, the more there are, the clearer each must be.
pub(crate) fn judge_family(tests: &[ContrastTest], tie: f64) -> Vec<FamilyOutcome> {
    let adjusted = adjust_by_holm(&tests.iter().map(|test| test.p).collect::<Vec<_>>());
    let judged = tests.iter().zip(adjusted).map(|(test, p_adjusted)| FamilyOutcome {
        p_adjusted,
        outcome: ContrastOutcome::from_test(&test.ratio, p_adjusted, tie),
    });
    judged.collect()
}

/// Writes the outcome with the words of the JSON report's standings.
fn serialize_relation<S: Serializer>(outcome: &ContrastOutcome, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(match outcome {
        ContrastOutcome::Behind => "behind",
        ContrastOutcome::Tied => "tied",
        ContrastOutcome::NotBetter => "not_better",
        ContrastOutcome::Better => "better",
        ContrastOutcome::Undecided => "open",
    })
}

#[cfg(test)]
mod tests {
    use super::{ContrastOutcome, ContrastTest, judge_family};
    use crate::statistics::Estimate;

    #[test]
    fn a_difference_needs_significance_and_size_and_no_knowledge_is_no_tie() {
        let outcome = |ratio, p| judge_family(&[ContrastTest { ratio, p }], 0.03)[0].outcome;
        let judged =
            |point, low, high, p| outcome(Estimate { point, low: Some(low), high: Some(high), n: 6 }, p);
        assert_eq!(judged(1.1, 1.05, 1.15, 0.001), ContrastOutcome::Behind);
        assert_eq!(judged(0.9, 0.85, 0.95, 0.001), ContrastOutcome::Better);
        assert_eq!(judged(1.01, 1.005, 1.02, 0.001), ContrastOutcome::Tied);
        assert_eq!(judged(1.1, 0.9, 1.3, 0.2), ContrastOutcome::Undecided);
        assert_eq!(outcome(Estimate::without_interval(1.0, 2), 1.0), ContrastOutcome::Undecided);
    }

    #[test]
    fn without_a_test_the_whole_interval_must_agree() {
        let outcome = |low, point, high, n| {
            let end = |end| (n >= 3).then_some(end);
            ContrastOutcome::from_interval(&Estimate { point, low: end(low), high: end(high), n }, 0.03)
        };
        assert_eq!(outcome(1.1, 1.2, 1.4, 6), ContrastOutcome::Behind);
        assert_eq!(outcome(0.5, 0.6, 0.9, 6), ContrastOutcome::Better);
        assert_eq!(outcome(0.98, 1.0, 1.02, 6), ContrastOutcome::Tied);
        assert_eq!(outcome(0.9, 1.2, 1.4, 6), ContrastOutcome::Undecided);
        assert_eq!(outcome(1.3, 1.4, 1.5, 2), ContrastOutcome::Undecided);
    }
}
